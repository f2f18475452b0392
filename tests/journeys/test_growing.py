"""Partitions grow from 8 to 16 while tables play, over two instances of everything that are replaced one after the other.

The stages, each under load and without affinity: eight partitions known by both; sixteen known by one, beside one that knows eight; known
by both; used by one, beside one that knows sixteen and uses eight; used by both.
"""

from __future__ import annotations

import asyncio
import itertools
import subprocess
import sys
from contextlib import aclosing
from pathlib import Path

import asyncpg
import httpx
import msgspec
import pytest

from services.bots.client import Api, ApiProblem
from services.bots.seated import Seated
from services.ledger.books import Books
from services.ledger.players import rating_rows
from shared.eventlog.jetstream.log import open_log
from shared.events.address import table as table_address
from shared.projections.versions.rebuild import fingerprint, rebuild
from shared.projections.versions.versions import Versions
from tests.journeys.club import Club

pytestmark = [pytest.mark.servers, pytest.mark.chaos, pytest.mark.timeout(600)]

VERIFY = Path(__file__).resolve().parents[2] / "deploy" / "verify" / "verify.py"
AT_ONCE = 3  # tables in play: what two cores carry beside two instances and the servers
TERMS = {"convention": "sochi", "players": 3, "target": 1, "rated": False}
PATIENCE = 240.0  # seconds for a stage on a busy machine; it takes some ten


class Wherever(httpx.AsyncBaseTransport):
    """Sends each request to another instance, in turn: nobody stays with one."""

    def __init__(self, clubs):
        self._clubs = clubs
        self._turns = itertools.count()
        self._wire = httpx.AsyncHTTPTransport(limits=httpx.Limits(max_connections=None))

    async def handle_async_request(self, request):
        club = self._clubs[next(self._turns) % len(self._clubs)]
        request.url = request.url.copy_with(port=club.port)
        request.headers["Host"] = f"127.0.0.1:{club.port}"
        return await self._wire.handle_async_request(request)

    async def aclose(self):
        await self._wire.aclose()


class Load:
    """Tables that are opened, played to their end by built-in players, and followed by the next, until it is told to end."""

    def __init__(self, http):
        self._http = http
        self.ended = False
        self.opened: list[str] = []
        self.over: list[str] = []
        self.news = asyncio.Event()

    async def run(self):
        async with asyncio.TaskGroup() as group:
            for number in range(AT_ONCE):
                group.create_task(self._one_after_another(number))

    async def _one_after_another(self, number):
        for played in itertools.count():
            if self.ended:
                return
            seats = [Api(self._http, patience=PATIENCE) for _ in range(3)]
            for place, api in enumerate(seats):
                await api.sign_up(f"player {place}")
            table = await seats[0].open_table(TERMS)
            assert table not in self.opened
            self.opened.append(table)
            for place, api in enumerate(seats):
                await api.sit(table, place)
            async with asyncio.TaskGroup() as group:
                seeds = [f"{number} {played} {place}" for place in range(3)]
                players = [group.create_task(Seated(api, table, seed).play()) for api, seed in zip(seats, seeds, strict=True)]
                for api in seats:
                    await api.ready(table)
            assert players[0].result()["status"] == "over"
            self.over.append(table)
            self.news.set()

    async def until(self, true):
        async with asyncio.timeout(PATIENCE):
            while not true():
                self.news.clear()
                await self.news.wait()

    async def some_more(self):
        """Some tables have been opened and played to their end since now."""
        before, over = len(self.opened), len(self.over)
        await self.until(lambda: len(self.over) >= over + 2 and len(self.opened) > before)


def partition(table):
    return table_address(table).partition


async def restart(club, **settings):
    club.environment |= settings
    await asyncio.to_thread(club.stop)
    await asyncio.to_thread(club.start)


async def opened_under(club, token, key):
    """The table that this command makes, or has made, at this instance."""
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": key.replace(" ", "-")}
    async with httpx.AsyncClient(base_url=club.url, trust_env=False, timeout=20) as http:
        answer = await http.post("/v1/lobby/tables", json=TERMS, headers=headers)
    assert answer.status_code in {200, 201}, answer.text
    return answer.json()["id"]


async def exported(club, cursor=None):
    """Rows of some deals' entries and the cursor after them; the first ones without a cursor to go on with."""
    async with httpx.AsyncClient(base_url=club.url, trust_env=False, timeout=20) as http:
        answer = await http.get("/v1/ledger/export/entries", params={"limit": 4} | ({"cursor": cursor} if cursor else {}))
    assert answer.status_code == 200, answer.text
    lines = [msgspec.json.decode(line) for line in answer.text.splitlines()]
    return [line for line in lines if "table_id" in line], answer.headers.get("Pulka-Cursor")


async def rest_of(club, cursor):
    found = []
    while cursor is not None:
        rows, cursor = await exported(club, cursor)
        found += rows
    return found


def pulka(club, *arguments, **settings):
    command = [sys.executable, "-c", "from services.cli.main import main; main()", *arguments, "--json"]
    done = subprocess.run(command, env=club.environment | settings, capture_output=True, text=True, check=False, timeout=PATIENCE)
    return done.returncode, msgspec.json.decode(done.stdout or done.stderr)


async def health(club):
    async with httpx.AsyncClient(base_url=club.url, trust_env=False, timeout=20) as http:
        return (await http.get("/health")).json()["services"]


async def test_partitions_grow_while_tables_play(nats_urls, postgres_dsn, namespace, tmp_path):
    """Nothing is lost or made twice, every table answers at every instance, and the books are what a rebuild makes of the log."""
    sites = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        sites.append(Club(nats_urls.service, postgres_dsn, namespace, tmp_path / name, PULKA_BOTS="no"))
    with sites[0] as one, sites[1] as two:
        async with httpx.AsyncClient(base_url=one.url, transport=Wherever(sites), timeout=20, trust_env=False) as http:
            host = Api(http, patience=PATIENCE)
            await host.sign_up("host")
            load = Load(http)
            playing = asyncio.create_task(load.run())
            try:
                kept = await grow(one, two, load, host)
            finally:
                load.ended = True
            async with asyncio.timeout(PATIENCE):
                await playing
        await nothing_is_lost_or_doubled(one, two, load, kept, nats_urls, postgres_dsn, namespace)


async def grow(one, two, load, host):
    """All stages, one after the other; the export that was begun at the first, and the keys under which tables were opened at each."""
    keys: dict[str, set[str]] = {}

    async def opened_everywhere(key, clubs):
        keys.setdefault(key, set()).update([await opened_under(club, host.token, key) for club in clubs])

    await opened_everywhere("both know eight", (one, two))
    await load.some_more()
    rows, cursor = await exported(one)
    begun = {(row["table_id"], row["deal"], row["entry"]) for row in rows}
    assert cursor is not None

    await restart(two, PULKA_PARTITIONS="16")
    await opened_everywhere("both know eight", (one, two))
    await opened_everywhere("one knows sixteen", (two, one))
    await load.some_more()
    assert (await health(one))["table"]["log_streams"]["partitions"] == {"there": 8, "known": 8, "used": 8}
    assert (await health(two))["table"]["log_streams"]["partitions"] == {"there": 16, "known": 16, "used": 8}
    assert max(map(partition, load.opened)) < 8

    await restart(one, PULKA_PARTITIONS="16")
    await load.some_more()
    assert max(map(partition, load.opened)) < 8
    keys["early"] = {await opened_under(one, host.token, f"early {number}") for number in range(8)}

    await restart(two, PULKA_PARTITIONS_USED="16")
    await opened_everywhere("both know eight", (one, two))
    await opened_everywhere("one knows sixteen", (one, two))
    for number in range(8):  # those of before, and new ones at either instance first: each command makes one table
        assert await opened_under(two, host.token, f"early {number}") in keys["early"]
        await opened_everywhere(f"there {number}", (one, two, one))
        await opened_everywhere(f"here {number}", (two, one, two))
    await load.until(lambda: any(partition(table) >= 8 for table in load.over))
    await load.some_more()

    await restart(one, PULKA_PARTITIONS_USED="16")
    await opened_everywhere("both know eight", (one, two))
    await load.some_more()
    before = len(load.opened)
    await load.until(lambda: any(partition(table) >= 8 for table in load.opened[before:]))
    keys.pop("early")
    assert {key: len(tables) for key, tables in keys.items()} == dict.fromkeys(keys, 1)
    return begun, cursor


async def nothing_is_lost_or_doubled(one, two, load, kept, nats_urls, postgres_dsn, namespace):
    assert sorted(load.over) == sorted(load.opened)
    log = await open_log(nats_urls.service, namespace)
    assert (log.partitions.known, log.partitions.used) == (16, 16)
    for table in load.over:
        head = await log.head(table_address(table))
        for club in (one, two):
            async with httpx.AsyncClient(base_url=club.url, trust_env=False, timeout=20) as http:
                view = (await http.get(f"/v1/tables/{table}")).json()
                assert (view["status"], view["revision"]) == ("over", head.revision)
                audit = await http.get(f"/v1/ledger/tables/{table}/audit/verify", params={"at_least": head.position})
                assert (audit.json()["verified"], audit.json()["commits"]) == (True, head.revision)
                row = (await http.get(f"/v1/lobby/tables/{table}")).json()
                assert row["status"] == "over"
    begun, cursor = kept
    rest = {(row["table_id"], row["deal"], row["entry"]) for row in await rest_of(two, cursor)}
    assert not begun & rest
    assert all(partition(table) < 8 for table, *_ in begun | rest)  # as of when it was begun
    rows, cursor = await exported(one)
    everything = [(row["table_id"], row["deal"], row["entry"]) for row in rows + await rest_of(one, cursor)]
    assert len(everything) == len(set(everything))
    assert begun | rest <= set(everything)
    assert {table for table, *_ in everything} == set(load.over)
    status, verified = await asyncio.to_thread(pulka, one, "audit", "verify")
    assert (status, verified["verified"], len(verified["tables"])) == (0, True, len(load.over))
    await the_books_are_a_rebuild(log, postgres_dsn, namespace)
    await later_commands_follow(one, two, load, nats_urls, log)
    with pytest.raises(AssertionError, match="PULKA_PARTITIONS is 8: it is never lowered"):
        await restart(two, PULKA_PARTITIONS="8", PULKA_PARTITIONS_USED="8")
    two.environment |= {"PULKA_PARTITIONS": "16", "PULKA_PARTITIONS_USED": ""}
    await asyncio.to_thread(two.start)
    assert (await health(two))["lobby"]["log_streams"]["partitions"] == {"there": 16, "known": 16, "used": 16}
    await log.close()


async def a_turn_ends_there(http):
    """The clocks look after a table in a partition that was added: whoever is to cut, and does not, has it done for them."""
    while True:
        seats = [Api(http) for _ in range(3)]
        for place, api in enumerate(seats):
            await api.sign_up(f"sleeper {place}")
        table = await seats[0].open_table(TERMS | {"clock": {"move_s": 1, "cut_s": 1}})
        if partition(table) >= 8:
            break
    for place, api in enumerate(seats):
        await api.sit(table, place)
    for api in seats:
        await api.ready(table)
    async with asyncio.timeout(PATIENCE), aclosing(seats[0].frames(table)) as frames:
        async for frame in frames:
            if frame.kind == "commit" and any(event["type"] == "TurnTimedOut" for event in frame.data["events"]):
                return


async def the_books_are_a_rebuild(log, postgres_dsn, namespace):
    schema = Versions(Books.name, namespace).schema(1)
    await rebuild(log, Books(), log.partitions.table_streams, postgres_dsn, schema + "_again")
    for name in (schema, schema + "_again"):  # ratings are a second stage, which a rebuild leaves to whoever orders it
        rated = await asyncpg.connect(postgres_dsn, server_settings={"search_path": name})
        await rating_rows.recompute(rated)
        await rated.close()
    connection = await asyncpg.connect(postgres_dsn)
    live, again = await fingerprint(connection, schema), await fingerprint(connection, schema + "_again")
    await connection.execute(f'DROP SCHEMA "{schema}_again" CASCADE')
    await connection.close()
    assert {name for name in live.keys() | again.keys() if live.get(name) != again.get(name)} == set()


async def later_commands_follow(one, two, load, nats_urls, log):
    """What operators do reaches the partitions that were added: a rebuild, the archive and its verification, an erasure."""
    status, switched = await asyncio.to_thread(pulka, one, "ledger", "rebuild")
    assert (status, switched["version"]) == (0, 2)
    assert max(int(stream.removeprefix("TABLE_")) for stream in switched["marks"]) >= 8
    folder = one.errors.parent / "archive"
    operators = {"PULKA_NATS_OPERATOR_URL": nats_urls.operator}
    status, moved = await asyncio.to_thread(pulka, one, "archive", "--older-than", "0", "--to", str(folder), **operators)
    assert sorted(moved["tables"]) == sorted(load.over), moved
    assert {path.parent.name for path in folder.rglob("*.ndjson.gz")} == {str(partition(table)) for table in load.over}
    status, verified = await asyncio.to_thread(pulka, one, "archive", "verify", str(folder))
    assert (status, {row["verified"] for row in verified["tables"]}) == (0, {True})
    async with httpx.AsyncClient(base_url=two.url, trust_env=False, timeout=20) as http:
        gone = Api(http)
        while not gone.player or partition(gone.player) < 8:
            await gone.sign_up("nobody for long")
        await gone._ask("DELETE", "/v1/lobby/me", None, {})
        late = max(load.over, key=partition)
        assert (await http.get(f"/v1/tables/{late}")).status_code == 410
        stranger = [sys.executable, str(VERIFY), str(folder / str(partition(late)) / f"{late}.ndjson.gz")]
        checked = await asyncio.to_thread(subprocess.run, stranger, capture_output=True, text=True, check=False)
        assert checked.returncode == 4, checked.stdout + checked.stderr
        await a_turn_ends_there(http)
        with pytest.raises(ApiProblem, match="no_such_table"):
            await gone.view("63-" + "a" * 26)
    async with httpx.AsyncClient(base_url=one.url, trust_env=False, timeout=20) as http:
        me = await http.get("/v1/lobby/me", headers={"Authorization": f"Bearer {gone.token}"})
        assert me.json()["player"] == {"id": gone.player, "name": None}
        names = await http.get("/v1/lobby/names", params={"ids": gone.player})
        assert names.json()["names"] == {gone.player: None}
    assert await log.last_sequence(f"LOBBY_{partition(gone.player)}") > 0
