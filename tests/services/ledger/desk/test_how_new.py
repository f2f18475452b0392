"""Every answer of the ledger says how new it is, and every route waits for a position that it is given."""

from __future__ import annotations

import re

import asyncpg
import pytest

from services.ledger.books import Books
from shared.events.commit import decode
from shared.projections.versions.next_version import NextVersion
from tests.partitions import TABLE_STREAMS
from tests.services.ledger.played import PlayedTable

pytestmark = pytest.mark.servers


async def test_every_route_says_how_new_its_answer_is(site):
    """`as_of` stands in the body of a JSON answer or in a header of any other, and is the time of a commit that the log has."""
    played = await PlayedTable(site._log, 7, target=2).play()
    last = played.commits[-1].position
    times = {decode(commit.data).at for commit in played.commits}
    document = (await site.client.get("/schema/openapi.json")).json()
    asked = 0
    for path in sorted(path for path in document["paths"] if path.startswith("/v1/ledger") and "get" in document["paths"][path]):
        filled = re.sub(r"\{(\w+)\}", lambda name: known(played)[name[1]], path)
        answer = await site.get(filled.removeprefix("/v1/ledger"), at_least=last)
        assert answer.status_code == 200, (path, answer.text)
        body = answer.json() if answer.headers["content-type"].startswith("application/json") else {}
        as_of = answer.headers.get("Pulka-As-Of") or (body.get("as_of") if isinstance(body, dict) else None)
        assert as_of is not None, path
        assert int(as_of) in times, path
        asked += 1
        late = await site.get(filled.removeprefix("/v1/ledger"), at_least="MOON_0:1")
        assert (late.status_code, late.json()["path"]) == (400, "at_least"), path
    assert asked > 8


@pytest.mark.parametrize("form", ["image/svg+xml", "text/html"])
async def test_a_drawing_says_how_new_it_is(site, form):
    """Where the body has no room for it, the headers say it: the time of the newest commit that is drawn, and its position."""
    played = await PlayedTable(site._log, 7).play(deals=2)
    answer = await site.get(f"/tables/{played.id}/sheet", headers={"Accept": form}, at_least=played.commits[-1].position)
    assert answer.headers["content-type"].startswith(form)
    assert answer.headers["Pulka-Position"] == played.commits[-1].position
    assert int(answer.headers["Pulka-As-Of"]) == decode(played.commits[-1].data).at


async def test_pages_and_positions_go_on_over_a_switch(site, postgres_dsn, versions):
    """A cursor and a position that one version gave out hold in the next: no row is missing and none comes twice."""
    played = await PlayedTable(site._log, 7, target=4).play()
    page = await site.read(played, "/audit", limit=30)
    position, revisions = page["position"], [commit["revision"] for commit in page["commits"]]
    await NextVersion(site._log, Books(), TABLE_STREAMS[:1], postgres_dsn, versions).fill("ann")
    while page["cursor"] is not None:
        page = await site.read(played, "/audit", limit=30, cursor=page["cursor"], at_least=position)
        revisions += [commit["revision"] for commit in page["commits"]]
        assert page["position"] == position
    assert revisions == list(range(1, len(played.commits) + 1))
    assert (await versions_read(postgres_dsn, versions)) == 2


async def versions_read(postgres_dsn, versions):
    connection = await asyncpg.connect(postgres_dsn)
    live = await versions.live(connection)
    await connection.close()
    return live.number


def known(played):
    """What stands for each name in a path."""
    return {"table_id": played.id, "number": "1", "player": played.seats[0], "what": "entries", "convention": "sochi"}
