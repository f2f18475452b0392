"""One instance with 10,000 open tables: what a move waits, and what memory it takes, against the same rate at 10 tables. JSON lines.

The tables are served by two instances of `pulka serve table`, each with a log of its own, on embedded servers in a temporary folder. This
process opens them straight in the log, in mid-deal, lets the instance show each once, and moves over HTTP at a constant rate, at tables
drawn by lot: in turns at the instance that has ten open and at the one that has ten thousand, as the machine may be slower a minute later.
The other one is stopped meanwhile. What is sent is learnt from the log before a move's clock starts.

The log alone takes appends at the same rate in the same turns, of as many other aggregates: NATS too looks longer for the last message of
one subject among ten thousand. What the moves lose beyond that is the table service's.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import secrets
import signal
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
from services.table.tables import Tables
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
ROUNDS = 7  # of each kind, in turns
SETTLE = 8.0  # seconds, a look of the clocks at every table and more, between a stop and what is measured


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


class Side:
    """An instance with so many open tables, and the log alone with as many aggregates."""

    def __init__(self, servers: EmbeddedServers, folder: Path, count: int) -> None:
        self.servers = servers
        self.count = count
        self.namespace = f"many{count}"
        self.club = Club(servers.nats_url, servers.postgres_dsn, self.namespace, folder, "table")
        self.moves: list[list[float]] = []
        self.appends: list[list[float]] = []

    async def open(self) -> None:
        """Open everything."""
        self.log = await open_log(self.servers.nats_url, self.namespace, durable=True)
        schema = schema_of(Openings(None, None, None), self.namespace)  # type: ignore[arg-type] # its name is all that is asked of it
        postgres = await asyncpg.connect(self.servers.postgres_dsn, server_settings={"search_path": schema})
        empty = resident(self.club.process.pid)
        self.room = Room(Tables(self.log, TableCodec(KEYS), capacity=1 << 30), postgres, self.club.url)
        self.ids = await self.room.open(self.count)
        tell("instance_memory", "MB", [resident(self.club.process.pid)], tables=self.count, empty=round(empty))
        await postgres.close()
        self.bare = Bare(await open_log(self.servers.nats_url, f"bare{self.count}", durable=True))
        await self.bare.open(self.count)

    async def round(self, seconds: float) -> None:
        """Move at the tables, and append, for so long each."""
        self.club.process.send_signal(signal.SIGCONT)
        await asyncio.sleep(SETTLE)
        self.moves.append(await self.room.waits(self.ids, seconds))
        self.club.process.send_signal(signal.SIGSTOP)
        self.appends.append(await self.bare.waits(seconds))

    def told(self) -> None:
        """Tell the figures."""
        for what, places, rounds in (("move", "tables", self.moves), ("append", "aggregates", self.appends)):
            tell(f"{what}_p50", "ms", [percentile(took, 50) for took in rounds], rate=RATE, **{places: self.count})
            tell(f"{what}_p99", "ms", [percentile(took, 99) for took in rounds], rate=RATE, **{places: self.count})

    async def close(self) -> None:
        """Close both logs."""
        await self.log.close()
        await self.bare.log.close()


def percentile(took: list[float], percent: int) -> float:
    """Of a sorted list."""
    return took[len(took) * percent // 100]


async def measure(servers: EmbeddedServers, folder: Path, tables: int, seconds: float) -> None:
    """All figures, and how the many compare with the few, round by round."""
    few, many = (Side(servers, folder, count) for count in (FEW, tables))
    with few.club, many.club:
        for side in (few, many):
            await side.open()
            side.club.process.send_signal(signal.SIGSTOP)
        for _ in range(ROUNDS):
            for side in (few, many):
                await side.round(seconds)
        for side in (few, many):
            side.club.process.send_signal(signal.SIGCONT)
            side.told()
            await side.close()
    for what, lists in (("move", (few.moves, many.moves)), ("append", (few.appends, many.appends))):
        p99s = [[percentile(took, 99) for took in rounds] for rounds in lists]
        tell(f"{what}_p99_many_to_few", "ratio", [after / before for before, after in zip(*p99s, strict=True)])


def main() -> None:
    """On servers of its own."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--tables", type=int, default=MANY)
    asked.add_argument("--seconds", type=float, default=10.0)
    given = asked.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))  # errors and worse: figures only
    with tempfile.TemporaryDirectory(prefix="pulka-bench-") as folder, EmbeddedServers(Path(folder) / "home") as servers:
        uvloop.run(measure(servers, Path(folder), given.tables, given.seconds))


if __name__ == "__main__":
    main()
