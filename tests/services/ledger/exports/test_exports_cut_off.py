"""Exports that stop half way: they go on to the same bytes, are told in parts, and half of one is never taken for a whole one."""

from __future__ import annotations

import json
import sys
from contextlib import asynccontextmanager

import httpx
import pytest

from services.ledger.desk.desk import Desk
from services.ledger.exports import export_files, export_rows
from services.ledger.exports.export_api import export_routes
from services.ledger.exports.export_rows import Scope
from shared.web import application
from shared.web.service import Service
from shared.web.settings import Settings
from tests.served import served
from tests.services.ledger.exports.test_exports import WHATS, exported, settled
from tests.services.ledger.played import PlayedTable
from tests.token_keys import token_files

pytestmark = pytest.mark.servers


@pytest.mark.parametrize("what", WHATS)
async def test_a_download_that_was_cut_goes_on_to_the_same_bytes(site, log, monkeypatch, what):
    """Cut off anywhere, it goes on from the last cursor line to the very bytes of one that was never cut, whatever was played meanwhile."""
    tables = [PlayedTable(log, seed) for seed in (11, 12, 13)]
    await settled(site, *tables)
    monkeypatch.setattr(export_rows.parts, "__defaults__", (2,))  # parts so small that there are several
    whole = (await exported(site, what)).content
    marks = [at for at in range(len(whole)) if whole.startswith(b'{"cursor"', at)]
    assert len(marks) >= 2
    first = json.loads(whole[marks[0] : whole.index(b"\n", marks[0])])["cursor"]
    later = PlayedTable(log, 14)
    await settled(site, later)
    cut = whole[: whole.index(b"\n", marks[0]) + 1]
    assert cut + (await exported(site, what, cursor=first)).content == whole
    assert later.id.encode() in (await exported(site, what)).content


async def test_no_more_than_a_part_is_held(site, log, connection):
    """Whatever there is to tell is told in parts of a bounded size: nothing waits for the last row before the first is sent."""
    await settled(site, *(PlayedTable(log, seed) for seed in range(30, 34)))

    class Reading:
        """The rows as they are now."""

        async def __aenter__(self):
            return connection

        async def __aexit__(self, *_):
            pass

    start = await export_rows.beginning(connection)
    largest = [len(part.rows) async for part in export_rows.parts(Reading, "deals", Scope(everything=True), start, 3)]
    assert len(largest) > 4
    assert max(largest) <= 3
    form = export_files.form_of("ndjson", "deals", None, resumed=False)
    pieces = [piece async for piece in export_files.written(Reading, "deals", Scope(everything=True), start, form)]
    assert sum(largest) == sum(piece.count(b'"record"') for piece in pieces)


class Failing:
    """Readers of the books that go away after so many reads."""

    def __init__(self, readers, reads):
        self._readers, self._left = readers, reads

    @asynccontextmanager
    async def reading(self):
        self._left -= 1
        if self._left < 0:
            raise ConnectionError("Postgres has gone")
        async with self._readers.reading() as connection:
            yield connection


@pytest.mark.parametrize("form", ["ndjson", "csv", "parquet"])
async def test_half_an_export_is_never_taken_for_a_whole_one(site, log, monkeypatch, tmp_path, form):
    """When the database goes away in the middle the connection breaks off, whatever the form; before the first row it is a 503."""
    await settled(site, PlayedTable(log, 25), PlayedTable(log, 26))
    monkeypatch.setattr(export_rows.parts, "__defaults__", (2,))

    async def fetched(reads):
        failing = Desk(log, Failing(site.desk.readers, reads), site.desk._at_least)

        async def nothing():
            """Started and stopped by the fixtures."""

        async def health():
            return {"status": "ok"}

        service = Service(name="ledger", routes=export_routes(lambda: failing), start=nothing, stop=nothing, health=health)
        app = application.build([service], Settings(master_keys_file=str(tmp_path / "master_keys"), **token_files(tmp_path)))
        async with served(app) as server, httpx.AsyncClient(trust_env=False) as client:
            return await client.get(f"http://127.0.0.1:{server.port}/v1/ledger/export/entries", params={"format": form})

    assert (await fetched(0)).json()["code"] == "unavailable"
    with pytest.raises(httpx.RemoteProtocolError):
        await fetched(3)
    assert (await fetched(1000)).status_code == 200


async def test_a_server_without_pyarrow_says_so(site, monkeypatch):
    """`format=parquet` where the extra is not installed is a problem that names it, and no defect of the server."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "services.ledger.exports.export_parquet", raising=False)
    answer = await site.get("/export/entries", format="parquet")
    assert (answer.status_code, answer.json()["code"]) == (406, "not_acceptable")
    assert "parquet" in answer.json()["detail"]
