"""`pulka export`: the same rows from a server and from the database, whole or not at all, and gone on with after any interruption."""

from __future__ import annotations

import asyncio
import csv
import json
import os
import pty
import subprocess
import sys
from contextlib import asynccontextmanager

import pyarrow.parquet
import pytest
from click.testing import CliRunner

from services.cli.operator import export as export_module
from services.cli.operator import export_source
from services.cli.operator.export import export
from services.ledger.exports import export_rows
from services.ledger.exports.export_api import export_routes
from services.ledger.exports.export_forms import BOM
from shared.web import application
from shared.web.auth import OPERATE, READ
from shared.web.service import CannotStart, ServersUnreachable, Service
from shared.web.settings import Settings, read_settings
from tests.served import served
from tests.services.ledger.played import PlayedTable
from tests.token_keys import token_files

pytestmark = pytest.mark.servers


@pytest.fixture
async def played(site, log):
    """Two pulkas to the end, one of them private."""
    tables = [await PlayedTable(log, 41).play(), await PlayedTable(log, 42, terms={"visibility": "private"}).play()]
    for table in tables:
        await site.read(table, "/sheet", table.seats[0])
    return tables


class Command:
    """`pulka export` with the settings of a club."""

    def __init__(self, **settings):
        self._settings = settings

    async def __call__(self, *arguments):
        return await asyncio.to_thread(CliRunner(env=self._settings).invoke, export, [str(one) for one in arguments])


@pytest.fixture
def command(postgres_dsn, namespace, tmp_path):
    return Command(PULKA_POSTGRES_DSN=postgres_dsn, PULKA_NAMESPACE=namespace, PULKA_HOME=str(tmp_path / "nowhere"), PULKA_TOKEN="")


def rows(text):
    return [json.loads(line) for line in text.splitlines()]


@asynccontextmanager
async def cutting(port, *after):
    """A wire to `port` that is cut after so many bytes: one number a connection, later ones are left alone."""
    limits, carried = list(after), set()

    async def carry(reader, writer):
        carried.add(asyncio.current_task())
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        left = limits.pop(0) if limits else 1 << 40

        async def ask():
            while data := await reader.read(65536):
                far_writer.write(data)

        asking = asyncio.create_task(ask())
        try:
            while left > 0 and (data := await far_reader.read(min(left, 4096))):
                writer.write(data)
                left -= len(data)
            await writer.drain()
        finally:
            asking.cancel()
            (writer.transport.abort if left <= 0 else writer.close)()
            far_writer.close()
            await asyncio.gather(writer.wait_closed(), far_writer.wait_closed(), asking, return_exceptions=True)

    server = await asyncio.start_server(carry, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    for task in carried:
        task.cancel()  # one that is kept alive for a further request
    await asyncio.gather(*carried, return_exceptions=True)


async def test_from_the_database_all_of_it_comes(played, command, tmp_path):
    """Without a server the rows themselves are read: as lines on standard output, or as a file in any form, with the same content."""
    printed = await command("entries")
    assert printed.exit_code == 0, printed.output
    found = rows(printed.stdout)
    assert {row["table_id"] for row in found} == {table.id for table in played}
    for form in ("ndjson", "csv", "parquet"):
        out = tmp_path / f"entries.{form}"
        told = await command("entries", "--format", form, "--out", out, "--json")
        assert json.loads(told.stdout) == {"file": str(out), "what": "entries", "player": None, "format": form, "rows": len(found)}
        assert {path.name for path in tmp_path.glob(f"entries.{form}*")} == {out.name}
    assert (tmp_path / "entries.ndjson").read_text() == printed.stdout
    with (tmp_path / "entries.csv").open(newline="") as file:
        assert [row["why"] for row in csv.DictReader(file)] == [row["why"] for row in found]
    assert pyarrow.parquet.read_table(tmp_path / "entries.parquet").num_rows == len(found)


async def test_from_a_server_a_token_decides(site, played, command, tmp_path):
    """Over HTTP without a token public pulkas come, with a player's his own too, with the club's keys all."""
    public, private = played
    token = site.token(private.seats[1], READ)["Authorization"].removeprefix("Bearer ")
    (tmp_path / "home" / "keys").mkdir(parents=True)
    token_files(tmp_path / "home" / "keys")
    operator = Command(PULKA_HOME=str(tmp_path / "home"), PULKA_TOKEN="")
    async with served(site.app) as server:
        url = f"http://127.0.0.1:{server.port}"
        assert {row["table_id"] for row in rows((await command("statement", "--url", url)).stdout)} == {public.id}
        own = rows((await command("statement", "--url", url, "--token", token, "--player", private.seats[1])).stdout)
        assert [row["table_id"] for row in own] == [private.id]
        everything = await operator("statement", "--url", url)
        assert everything.stdout == (await command("statement")).stdout
        refused = await command("statement", "--url", url, "--token", "nonsense")
        assert isinstance(refused.exception, CannotStart)
        assert "token_invalid" in str(refused.exception)
    away = await command("statement", "--url", url)
    assert isinstance(away.exception, ServersUnreachable)


@pytest.mark.parametrize("behind", ["", ".part", ".new"])
async def test_nothing_is_written_over(played, command, tmp_path, behind):
    """A pipe or a link in the way is refused before anything is asked, and so is a file: with `--resume` too, and one that is another's."""
    assert played
    out, target = tmp_path / "file", tmp_path / "target"
    at = tmp_path / f"file{behind}"
    target.write_text("mine")
    for make in (lambda: os.mkfifo(at), lambda: at.symlink_to(target), lambda: at.symlink_to(tmp_path / "nowhere")):
        make()
        for more in ((), ("--resume",)):
            refused = await command("entries", "--out", out, *more)
            assert isinstance(refused.exception, CannotStart)
            assert "not a regular file" in str(refused.exception)
        at.unlink()
    assert {path.name: path.read_text() for path in tmp_path.glob("[ft][ia]*")} == {"target": "mine"}
    out.write_text("mine")
    for more in ((), ("--resume",)):
        refused = await command("entries", "--out", out, *more)
        assert isinstance(refused.exception, CannotStart)
        assert (refused.exception.exit_code, out.read_text(), [*tmp_path.glob("file.*")]) == (2, "mine", [])
        assert str(refused.exception) == f"{out} exists; an export never overwrites a file"
    (tmp_path / "file.part").write_text("")
    assert "file.part can go" in str((await command("entries", "--out", out, "--resume")).exception)
    assert "can go" not in str((await command("entries", "--out", out)).exception)
    (tmp_path / "file.part").unlink()
    part = out.rename(tmp_path / "file.part")
    for content in ("mine", "mine\n"):
        part.write_text(content)
        refused = await command("entries", "--out", out, "--resume")
        assert "is no interrupted export" in str(refused.exception)
        assert (part.read_text(), out.exists()) == (content, False)


async def test_a_refused_export_leaves_nothing(command, tmp_path):
    """Where nothing came there is no FILE.part that looks like the beginning of something."""
    away = await command("entries", "--out", tmp_path / "file", "--url", "http://127.0.0.1:1")
    assert isinstance(away.exception, ServersUnreachable)
    assert not [*tmp_path.glob("file*")]


@pytest.mark.parametrize("what", ["entries", "deals"])
async def test_an_interrupted_file_is_gone_on_with(played, command, tmp_path, monkeypatch, what):
    """Whatever an earlier run has left, cut at any byte, `--resume` makes the whole file of it, to the byte."""
    assert played
    monkeypatch.setattr(export_rows.parts, "__defaults__", (3,))
    out = tmp_path / "file"
    await command(what, "--out", out)
    whole = out.read_bytes()
    form = [line async for line in export_source.from_database(_settings(command), what, None)(None)]
    lines = b"".join(form)
    assert lines.count(b'{"cursor"') > 3
    for at in (0, 5, len(form[0]), len(form[0]) + 40, len(lines) // 3, len(lines) // 2, len(lines) - 10, len(lines)):
        out.unlink()
        (tmp_path / "file.part").write_bytes(lines[:at])
        done = await command(what, "--out", out, "--resume")
        assert done.exit_code == 0, done.output
        assert out.read_bytes() == whole, at
        assert not (tmp_path / "file.part").exists()


def _settings(command):
    return read_settings(command._settings)


async def test_a_server_that_goes_away_in_the_middle_is_asked_again(site, played, command, tmp_path, monkeypatch):
    """The wire cut twice in the middle of an answer: the file is whole all the same; cut again and again, it says how to go on."""
    assert played
    monkeypatch.setattr(export_rows.parts, "__defaults__", (3,))
    monkeypatch.setattr(export_source, "PAUSE", 0.0)
    out = tmp_path / "file"
    async with served(site.app) as server:
        plain = await command("entries", "--url", f"http://127.0.0.1:{server.port}")
        async with cutting(server.port, 1500, 900) as url:
            told = await command("entries", "--url", url, "--out", out)
            assert told.exit_code == 0, told.output
            assert out.read_text() == plain.stdout
        out.unlink()
        async with cutting(server.port, *[700] * 5) as url:
            gone = await command("entries", "--url", url, "--out", out)
            assert isinstance(gone.exception, ServersUnreachable)
            assert "--resume" in str(gone.exception)
            assert (await command("entries", "--url", url, "--out", out, "--resume")).exit_code == 0
            assert out.read_text() == plain.stdout


async def test_bad_usage_is_named(command, tmp_path):
    """Documents have no columns, a partial file is of one export only, and without books there is nothing to read."""
    assert (await command("deals", "--format", "csv")).exit_code == 2
    assert (await command("everything")).exit_code == 2
    assert (await command("entries", "--resume")).exit_code == 2
    assert (await command("entries", "--out", tmp_path / "nowhere" / "file")).exit_code == 2
    assert (await command("entries", "--player", "")).exit_code == 2
    part = tmp_path / "file.part"
    part.write_bytes(b'{"export":{"format":1,"what":"deals","player":null,"cursor":"x"}}\n')
    other = await command("entries", "--out", tmp_path / "file", "--resume")
    assert isinstance(other.exception, CannotStart)
    assert part.exists()
    part.write_bytes(b'{"cursor":7}\n')
    assert isinstance((await command("entries", "--out", tmp_path / "file", "--resume")).exception, CannotStart)
    no_books = await command("entries")
    assert isinstance(no_books.exception, CannotStart)
    assert "no rows" in str(no_books.exception)
    assert isinstance((await Command(PULKA_POSTGRES_DSN="")("entries")).exception, CannotStart)
    away = await Command(PULKA_POSTGRES_DSN="postgresql://nobody@127.0.0.1:1/none")("entries")
    assert isinstance(away.exception, ServersUnreachable)


async def test_a_player_that_the_books_do_not_know(command, played):
    """Status 0 and no rows, and a line that says so; for a player with pulkas there is none."""
    nobody = await command("entries", "--player", "nobody")
    assert (nobody.exit_code, "You may see no data of a player with the id nobody" in nobody.stderr) == (0, True)
    assert "There is nothing" not in (await command("entries", "--player", played[0].seats[0])).stderr


def test_parquet_is_not_written_to_a_terminal():
    """Bytes for programs: refused as usage, before anything is asked."""
    ours, terminal = pty.openpty()
    command = [sys.executable, "-c", "from services.cli.main import main; main()", "export", "entries", "--format", "parquet"]
    done = subprocess.run(command, stdout=terminal, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    os.close(terminal)
    os.close(ours)
    assert (done.returncode, "--out FILE" in done.stderr) == (2, True)


async def test_what_an_earlier_run_left_is_not_written_over(played, command, tmp_path):
    """F39: a FILE.part without --resume is refused, with both ways out, and stays as it is; with --resume it is gone on with."""
    assert played
    out, part = tmp_path / "file", tmp_path / "file.part"
    await command("entries", "--out", out)
    whole = out.read_bytes()
    out.unlink()
    lines = [line async for line in export_source.from_database(_settings(command), "entries", None)(None)]
    part.write_bytes(b"".join(lines[:3]))
    for form in ("ndjson", "csv"):
        refused = await command("entries", "--out", out, "--format", form)
        assert isinstance(refused.exception, CannotStart)
        assert (refused.exception.exit_code, str(refused.exception)) == (
            2,
            f"{part} was left by an earlier run: --resume goes on with it, or remove it",
        )
        assert (part.read_bytes(), out.exists()) == (b"".join(lines[:3]), False)
    assert (await command("entries", "--out", out, "--resume")).exit_code == 0
    assert (out.read_bytes(), part.exists()) == (whole, False)


async def test_rows_with_names_are_not_put_behind_rows_without(played, command, tmp_path):
    """F39: what was begun without names goes on without them, and with names with them; anything else belongs to another export."""
    assert played
    club = Command(**command._settings, PULKA_LOBBY_URL="http://127.0.0.1:1")  # its names are not to be had: that is no reason to stop
    out, part = tmp_path / "file", tmp_path / "file.part"
    for begun, other in (((), ("--names",)), (("--names",), ())):
        named = bool(begun)
        lines = [line async for line in export_source.from_database(_settings(club), "entries", None, names=named)(None)]
        part.write_bytes(b"".join(lines[:3]))
        refused = await club("entries", "--out", out, "--resume", *other)
        assert isinstance(refused.exception, CannotStart)
        assert "belongs to another export" in str(refused.exception)
        assert part.exists()
        assert (await club("entries", "--out", out, "--resume", *begun)).exit_code == 0
        out.unlink()


@pytest.mark.parametrize("more", [(), ("--resume",)])
async def test_of_two_at_once_one_is_told(played, command, tmp_path, more):
    """F39: while one run writes FILE.part another one for the same FILE ends with a sentence and status 2, and disturbs nothing."""
    assert played
    out, part = tmp_path / "file", tmp_path / "file.part"
    with export_module._held(part, resume=False):
        refused = await command("entries", "--out", out, *more)
        assert isinstance(refused.exception, CannotStart)
        assert (refused.exception.exit_code, str(refused.exception)) == (
            2,
            f"another `pulka export` is writing {part} now; wait for it, or give another --out",
        )
        assert part.exists()
    assert (await command("entries", "--out", out, "--resume")).exit_code == 0
    assert not part.exists()


@pytest.mark.parametrize(("separator", "bom"), [("semicolon", True), ("semicolon", False), ("comma", True)])
async def test_f38_a_spreadsheet_gets_its_csv(site, played, command, separator, bom):
    """F38: separator and mark of UTF-8 reach the file over HTTP and by the command alike."""
    told = await command("entries", "--format", "csv", "--separator", separator, *(["--bom"] if bom else []))
    asked = {"format": "csv", "separator": separator, "bom": str(bom).lower()}
    answer = await site.get("/export/entries", headers=site.token("boss", OPERATE), **asked)
    assert told.stdout_bytes == answer.content
    assert answer.content.startswith(BOM) == bom
    head, *_ = answer.content.removeprefix(BOM).decode().splitlines()
    assert head.startswith("table_id;" if separator == "semicolon" else "table_id,")
    assert all(table.id.encode() in answer.content for table in played)


async def test_f38_names_are_asked_for_by_the_command(site, played, command, tmp_path):
    """F38: `--names` asks a server for them; beside the database it needs a lobby, and says so where none is known."""
    public, _ = played

    async def names(players):
        return {player: "Борис" for player in players if player == public.seats[1]}

    async def nothing():
        """Started and stopped by the fixtures."""

    async def health():
        return {"status": "ok"}

    service = Service(name="ledger", routes=export_routes(lambda: site.desk, names), start=nothing, stop=nothing, health=health)
    async with served(
        application.build([service], Settings(master_keys_file=str(tmp_path / "master_keys"), **token_files(tmp_path)))
    ) as server:
        url = f"http://127.0.0.1:{server.port}"
        found = {row["player"]: row["name"] for row in rows((await command("statement", "--url", url, "--names")).stdout)}
        assert found == dict.fromkeys(public.seats) | {public.seats[1]: "Борис"}
        assert "Борис" not in (await command("statement", "--url", url)).stdout
    refused = await command("statement", "--names")
    assert isinstance(refused.exception, CannotStart)
    assert "PULKA_LOBBY_URL" in str(refused.exception)
