"""One instance with 10,000 open tables: what a move waits, and what memory it takes, against the same rate at 10 tables. JSON lines.

The tables are served by one `pulka serve table`, on embedded servers in a temporary folder. This process opens them straight in the log, in
mid-deal, lets the instance show each once, and moves over HTTP at a constant rate, at tables drawn by lot: first at an instance that has
ten open, then at one that has ten thousand. What it sends it learns from the log before a move's clock starts.

After that, with no instance there, the log alone takes appends at the same rate, of as many other aggregates: NATS too looks longer for the
last message of one subject among ten thousand. What the moves lose beyond that is the table service's.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import secrets
import statistics
import sys
import tempfile
import time
from pathlib import Path

import asyncpg
import msgspec
import structlog
import uvloop

from services.cli.embedded import EmbeddedServers
from services.table.openings import Openings
from services.table.table import Tables
from shared.eventlog.jetstream.log import JetStreamLog, open_log
from shared.eventlog.port import Stored
from shared.events.address import ENTROPY_BYTES, FEWEST, Address, new_id
from shared.events.sealing import TableCodec
from shared.projections.core.projection import schema_of
from shared.rules.language.moves import Concede
from shared.rules.pulka import decider as match
from shared.web.auth import PLAY, READ
from tests.contracts.commits import fill, some_commit, some_table
from tests.journeys.club import Club
from tests.load.bench_clocks import KEYS, OPENING, PLAYERS, now_ms
from tests.load.figures import tell
from tests.load.keep_alive import KeepAlive
from tests.token_keys import ISSUER

FEW, MANY = 10, 10_000
TURN_S = 3600  # nobody's time runs out meanwhile
RATE = 100.0  # moves a second: each of ten tables makes ten, and waits for each
CONNECTIONS = 16
AT_ONCE = 32  # tables that are opened together
ROUNDS = 5  # of each kind, in turns


class Room:
    """Tables in the log, and who moves at them."""

    def __init__(self, tables: Tables, postgres: asyncpg.Connection, url: str) -> None:
        self.tables = tables
        self.postgres = postgres
        self.url = url
        self.lot = random.Random(3)
        self.busy: set[str] = set()
        now = time.time_ns() // 1_000_000_000
        self.authorization = {player: f"Authorization: Bearer {ISSUER.issue(player, (PLAY, READ), now)}\r\n" for player in PLAYERS}

    async def open(self, count: int) -> list[str]:
        """So many tables, each some moves into its first deal, shown once by the instance."""
        ids = [new_id(secrets.token_bytes(ENTROPY_BYTES)) for _ in range(count)]
        waiting, began = iter(ids), time.monotonic()
        done = 0

        async def some() -> None:
            nonlocal done
            connection = await KeepAlive.open(self.url)
            for table_id in waiting:
                await self._begin(table_id)
                status, answer = await connection.request("GET", f"/v1/tables/{table_id}")
                assert status == 200, answer
                done += 1
                if sys.stderr.isatty():
                    sys.stderr.write(f"\r{done}/{count} tables open, {time.monotonic() - began:.0f} s ")
            await connection.close()

        await asyncio.gather(*(some() for _ in range(AT_ONCE)))
        await self.postgres.execute(
            "INSERT INTO running_table (table_id, shortest, look_at, revision, ends_at) SELECT unnest($1::text[]), $2, 0, 0, 0",
            ids,
            1000 * TURN_S,
        )
        return ids

    async def _begin(self, table_id: str) -> None:
        opening = msgspec.structs.replace(OPENING, terms={"clock": {"move_s": TURN_S, "cut_s": TURN_S}})
        await self.tables.open(table_id, opening, now_ms(), None)
        await self.tables.start_deal(table_id, 1, now_ms())
        for _ in range(self.lot.randrange(1, 12)):
            pulka = (await self.tables.load(table_id)).state.pulka
            seat = match.to_act(pulka)
            if seat is None:
                break
            wanted = self.lot.choice([move for move in match.legal_moves(pulka, seat) if not isinstance(move, Concede)])
            request = msgspec.structs.replace(self.tables._own_request(secrets.token_hex(8), now_ms(), None), actor=PLAYERS[seat])
            await self.tables.move(table_id, PLAYERS[seat], wanted, None, request)

    async def waits(self, ids: list[str], seconds: float) -> list[float]:
        """Milliseconds of every move at the constant rate, sorted."""
        connections: asyncio.Queue[KeepAlive] = asyncio.Queue()
        for _ in range(CONNECTIONS):
            connections.put_nowait(await KeepAlive.open(self.url))
        began, took, moving = time.perf_counter(), [], set()
        for number in range(int(RATE * seconds)):
            await asyncio.sleep(max(0.0, began + number / RATE - time.perf_counter()))
            free = [one for one in self.lot.sample(ids, min(len(ids), FEW)) if one not in self.busy]
            if free:  # else all ten are waited for, and this move is left out
                task = asyncio.create_task(self.move(free[0], connections, took))
                moving.add(task)
                task.add_done_callback(moving.discard)
        await asyncio.gather(*moving)
        while not connections.empty():
            await connections.get_nowait().close()
        return sorted(took)

    async def move(self, table_id: str, connections: asyncio.Queue[KeepAlive], took: list[float]) -> None:
        """One move; between two deals it waits for the next."""
        self.busy.add(table_id)
        try:
            pulka = (await self.tables.load(table_id, at_leader=True)).state.pulka
            seat = match.to_act(pulka)
            if seat is None:
                return
            wanted = msgspec.to_builtins(
                self.lot.choice([move for move in match.legal_moves(pulka, seat) if not isinstance(move, Concede)])
            )
            headers = f"{self.authorization[PLAYERS[seat]]}Idempotency-Key: {secrets.token_hex(8)}\r\n"
            connection = await connections.get()
            sent = time.perf_counter()
            status, answer = await connection.request("POST", f"/v1/tables/{table_id}/moves", wanted, headers)
            took.append(1000 * (time.perf_counter() - sent))
            connections.put_nowait(connection)
            assert status == 200, answer
        finally:
            self.busy.discard(table_id)


class Bare:
    """As many aggregates as there are tables, in a log of their own, and appends to them by lot at the same rate."""

    def __init__(self, log: JetStreamLog) -> None:
        self.log = log
        self.lot = random.Random(3)
        self.ends: dict[Address, Stored] = {}

    async def open(self, count: int) -> None:
        """So many, of some commits each."""
        waiting = iter([some_table(partition=number % FEWEST) for number in range(count)])

        async def some() -> None:
            for where in waiting:
                self.ends[where] = (await fill(self.log, where, self.lot.randrange(3, 14)))[-1]

        await asyncio.gather(*(some() for _ in range(AT_ONCE)))

    async def waits(self, seconds: float) -> list[float]:
        """Milliseconds of every append, sorted."""
        began, took, appending, places = time.perf_counter(), list[float](), set[asyncio.Task[None]](), list(self.ends)
        busy: set[Address] = set()

        async def append(where: Address) -> None:
            busy.add(where)
            end = self.ends[where]
            data = some_commit(where, end.revision + 1, size=300)
            sent = time.perf_counter()
            self.ends[where] = await self.log.append(where, data, end.sequence)
            took.append(1000 * (time.perf_counter() - sent))
            busy.discard(where)

        for number in range(int(RATE * seconds)):
            await asyncio.sleep(max(0.0, began + number / RATE - time.perf_counter()))
            free = [one for one in self.lot.sample(places, min(len(places), FEW)) if one not in busy]
            if free:
                task = asyncio.create_task(append(free[0]))
                appending.add(task)
                task.add_done_callback(appending.discard)
        await asyncio.gather(*appending)
        return sorted(took)


def resident(pid: int) -> float:
    """Megabytes of a process in memory."""
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


async def measure(servers: EmbeddedServers, folder: Path, tables: int, seconds: float) -> tuple[list[float], list[float]]:
    """The figures of one instance with so many open tables; the p99 of each round, of moves and of bare appends."""
    namespace = f"many{tables}"
    with Club(servers.nats_url, servers.postgres_dsn, namespace, folder, "table") as club:
        log = await open_log(servers.nats_url, namespace, durable=True)
        schema = schema_of(Openings(None, None, None), namespace)  # type: ignore[arg-type] # its name is all that is asked of it
        postgres = await asyncpg.connect(servers.postgres_dsn, server_settings={"search_path": schema})
        empty = resident(club.process.pid)
        room = Room(Tables(log, TableCodec(KEYS), capacity=1 << 30), postgres, club.url)
        ids = await room.open(tables)
        tell("instance_memory", "MB", [resident(club.process.pid)], tables=tables, empty=round(empty))
        rounds = [await room.waits(ids, seconds) for _ in range(ROUNDS)]
        p99 = [took[len(took) * 99 // 100] for took in rounds]
        tell("move_p50", "ms", [took[len(took) // 2] for took in rounds], tables=tables, rate=RATE)
        tell("move_p99", "ms", p99, tables=tables, rate=RATE)
        await postgres.close()
        await log.close()
    bare = Bare(await open_log(servers.nats_url, f"bare{tables}", durable=True))
    await bare.open(tables)
    floors = [await bare.waits(seconds) for _ in range(ROUNDS)]
    floor = [took[len(took) * 99 // 100] for took in floors]
    tell("append_p50", "ms", [took[len(took) // 2] for took in floors], aggregates=tables, rate=RATE)
    tell("append_p99", "ms", floor, aggregates=tables, rate=RATE)
    await bare.log.close()
    return p99, floor


def main() -> None:
    """On servers of its own."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--tables", type=int, default=MANY)
    asked.add_argument("--seconds", type=float, default=10.0)
    given = asked.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))  # errors and worse: figures only
    with tempfile.TemporaryDirectory(prefix="pulka-bench-") as folder, EmbeddedServers(Path(folder) / "home") as servers:
        measured = [uvloop.run(measure(servers, Path(folder), count, given.seconds)) for count in (FEW, given.tables)]
    (few, few_bare), (many, many_bare) = measured
    tell("move_p99_many_to_few", "ratio", [statistics.median(many) / statistics.median(few)])
    tell("append_p99_many_to_few", "ratio", [statistics.median(many_bare) / statistics.median(few_bare)])


if __name__ == "__main__":
    main()
