"""How late turns end: 10,000 tables of 30 s turns that everybody has left, 333 time-outs a second, and as many of which half are played on.
And how long turns wait when one of two instances is killed, or stands still. JSON lines.

The tables are served by one `pulka serve table`, on embedded servers in a temporary folder. This process opens them, evenly over a turn's
time, and makes the moves at those that are played, straight in the log: to the clocks it is another instance. How late a turn ended is
told by the log, where the time-out's commit names the deadline and what was credited; the processor time by the service's `/metrics`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import secrets
import signal
import sys
import tempfile
import time
from contextlib import aclosing
from pathlib import Path

import asyncpg
import httpx
import msgspec
import structlog
import uvloop

from services.cli.embedded import EmbeddedServers
from services.table.openings import Openings
from services.table.running_tables import runs
from services.table.tables import Tables
from shared.eventlog.jetstream.log import JetStreamLog, open_log
from shared.eventlog.port import LogError
from shared.events import address
from shared.events.address import ENTROPY_BYTES, FEWEST, new_id
from shared.events.commit import decode
from shared.events.keys import MasterKeys
from shared.events.sealing import TableCodec, name_of
from shared.projections.core.projection import schema_of
from shared.rules.convention.options import resolve
from shared.rules.pulka import decider as match
from shared.rules.pulka.decider import OpenPulka
from tests.journeys.club import Club
from tests.load.figures import tell
from tests.partitions import TABLE_STREAMS

TABLES = 10_000
TURN_S = 30
THINKS_S = 10  # seconds between two moves at a table that is played
ROUNDS = 5  # of each way to end
POLL_S = 0.02  # seconds between two looks at what other processes do
SECONDS = 60  # that are measured, once all tables are open
PLAYERS = ("ann", "ben", "cid")
KEYS = MasterKeys((("test", bytes.fromhex("5a" * 32)),))  # as the service has them
OPENING = OpenPulka(
    resolve("sochi", 100), "00" * 32, len(PLAYERS), 100, PLAYERS, {"clock": {"move_s": TURN_S, "cut_s": TURN_S}}, 0
)  # fmt: skip
TimedOut = msgspec.json.Decoder(dict[str, msgspec.Raw])


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class Load:
    """Tables in the log, and who plays at some of them."""

    def __init__(self, log: JetStreamLog, postgres: asyncpg.Connection, played: int) -> None:
        self.tables = Tables(log, TableCodec(KEYS), capacity=1 << 30)  # bytes: all that are played
        self._postgres = postgres
        self._played = played
        self._playing: list[asyncio.Task[None]] = []
        self._random = random.Random(1)
        self.moves = 0

    async def open(self, count: int) -> None:
        """Open `count` tables, evenly over a turn's time; at the first ones people begin to play."""
        began, batch = time.monotonic(), 50
        for first in range(0, count, batch):
            ids = [new_id(secrets.token_bytes(ENTROPY_BYTES)) for _ in range(min(batch, count - first))]
            await asyncio.gather(*(self._open(table_id) for table_id in ids))
            await self._postgres.execute(
                "INSERT INTO running_table (table_id, shortest, look_at, revision, ends_at) SELECT unnest($1::text[]), $2, 0, 0, 0",
                ids,
                1000 * TURN_S,
            )
            for number, table_id in enumerate(ids, first):
                if number % 2 and number < 2 * self._played:
                    self._playing.append(asyncio.create_task(self._play(table_id)))
            await asyncio.sleep(max(0.0, began + TURN_S * (first + batch) / count - time.monotonic()))

    async def _open(self, table_id: str) -> None:
        await self.tables.open(table_id, OPENING, now_ms(), None)
        await self.tables.start_deal(table_id, 1, now_ms())

    async def _play(self, table_id: str) -> None:
        """Random legal moves, one every ten seconds or so."""
        while True:
            await asyncio.sleep(THINKS_S * self._random.uniform(0.5, 1.5))
            pulka = (await self.tables.load(table_id)).state.pulka
            seat = match.to_act(pulka)
            if match.phase(pulka) == "between_deals":
                await self.tables.start_deal(table_id, pulka.number + 1, now_ms())
            elif seat is not None:
                move = self._random.choice(match.legal_moves(pulka, seat))
                request = msgspec.structs.replace(self.tables._own_request(secrets.token_hex(8), now_ms(), None), actor=PLAYERS[seat])
                await self.tables.move(table_id, PLAYERS[seat], move, None, request)
                self.moves += 1

    async def end(self) -> None:
        """Everybody leaves."""
        for task in self._playing:
            task.cancel()
        ended = await asyncio.gather(*self._playing, return_exceptions=True)
        wrong = [one for one in ended if isinstance(one, Exception) and not isinstance(one, LogError)]
        if wrong:
            raise wrong[0]


async def lateness(log: JetStreamLog, since: int) -> list[float]:
    """Seconds, of every turn that ran out after `since`."""
    late: list[float] = []
    for stream in TABLE_STREAMS:
        last = await log.last_sequence(stream)
        async with aclosing(log.follow(stream)) as batches:
            async for batch in batches:
                for stored in batch:
                    commit = decode(stored.data)
                    if commit.actor == "clock" and commit.at >= since and name_of(commit.events[0]) == "TurnTimedOut":
                        event = TimedOut.decode(commit.events[0])
                        late.append((commit.at - int(bytes(event["deadline"])) - int(bytes(event.get("credit", b"0")))) / 1000)
                if batch and batch[-1].sequence >= last:
                    break
    return sorted(late)


def processor_s(metrics: str) -> float:
    """Of the service's process so far."""
    return next(float(line.split()[1]) for line in metrics.splitlines() if line.startswith("process_cpu_seconds_total"))


async def measure(servers: EmbeddedServers, folder: Path, name: str, count: int, played: int, seconds: int) -> None:
    """The figures of `count` tables, at `played` of which somebody plays."""
    namespace = f"clocks{played}"
    with Club(servers.nats_url, servers.postgres_dsn, namespace, folder, "table") as club:
        log = await open_log(servers.nats_url, namespace, durable=True)
        schema = schema_of(Openings(None, None, None), namespace)  # type: ignore[arg-type] # its name is all that is asked of it
        postgres = await asyncpg.connect(servers.postgres_dsn, server_settings={"search_path": schema})
        async with httpx.AsyncClient(base_url=club.url, trust_env=False) as http:
            load = Load(log, postgres, played)
            await load.open(count)
            since, moves, before = now_ms(), load.moves, processor_s((await http.get("/metrics")).text)
            await asyncio.sleep(seconds)
            used = processor_s((await http.get("/metrics")).text) - before
            until, moves = now_ms(), load.moves - moves
            await load.end()
        late = await lateness(log, since)
        outages = await postgres.fetchval("SELECT count(*) FROM outage")
        more = {"tables": count, "played": played, "turn_s": TURN_S}
        elapsed = (until - since) / 1000
        tell(f"{name}_time_outs", "1/s", [len(late) / elapsed], **more, moves=round(moves / elapsed))
        for place, share in (("median", 0.5), ("p99", 0.99), ("worst", 1.0)):
            tell(f"{name}_late_{place}", "s", [late[min(len(late) - 1, int(share * len(late)))]], **more)
        tell(f"{name}_processor", "cores", [used / elapsed], **more)
        tell(f"{name}_outages", "rows", [outages], **more)
        await postgres.close()
        await log.close()


async def looked_after(postgres: asyncpg.Connection) -> dict[str, set[str]]:
    """Streams by holder."""
    found: dict[str, set[str]] = {}
    for row in await postgres.fetch("SELECT stream, holder FROM clock_lease WHERE holder <> ''"):
        found.setdefault(row["holder"], set()).add(row["stream"])
    return found


async def take_over(servers: EmbeddedServers, folder: Path) -> None:
    """Milliseconds from an instance's end until the last of its streams has ended a turn again, each with a table of turns of a second."""
    namespace = "takeover"
    terms = {"clock": {"move_s": 1, "cut_s": 1}}
    log = await open_log(servers.nats_url, namespace, durable=True)
    tables = Tables(log, TableCodec(KEYS))
    stays = Club(servers.nats_url, servers.postgres_dsn, namespace, folder, "table")
    stays.start()
    schema = schema_of(Openings(None, None, None), namespace)  # type: ignore[arg-type] # its name is all that is asked of it
    postgres = await asyncpg.connect(servers.postgres_dsn, server_settings={"search_path": schema})
    addresses = []
    for partition in range(FEWEST):
        table_id = new_id(bytes([partition]) + secrets.token_bytes(ENTROPY_BYTES - 1))
        await tables.open(table_id, msgspec.structs.replace(OPENING, terms=terms), now_ms(), None)
        await tables.start_deal(table_id, 1, now_ms())
        await runs(postgres, table_id, 1000)
        addresses.append(address.table(table_id))
    for name, sent in (("killed", signal.SIGKILL), ("stopped", signal.SIGSTOP)):
        took: list[float] = []
        for _ in range(ROUNDS):
            (holder,) = await looked_after(postgres)
            ends = Club(servers.nats_url, servers.postgres_dsn, namespace, folder, "table")
            ends.start()
            while len(found := await looked_after(postgres)) < 2 or len(found[holder]) != FEWEST / 2:  # noqa: ASYNC110 - others' rows
                await asyncio.sleep(POLL_S)
            await asyncio.sleep(1)  # of the newcomer's first turns
            mine = [where for where in addresses if where.stream not in found[holder]]
            os.kill(ends.process.pid, sent)
            since = now_ms()
            waiting = set(mine)
            while waiting:
                await asyncio.sleep(POLL_S)
                for where in list(waiting):
                    head = await log.head(where)
                    if head is not None and decode(head.data).at > since + 100:  # what was under way when it ended is not taken over
                        waiting.discard(where)
            took.append(now_ms() - since)
            ends.kill()
            while set(await looked_after(postgres)) != {holder}:  # noqa: ASYNC110 - as above
                await asyncio.sleep(POLL_S)
        outages = await postgres.fetchval("SELECT count(*) FROM outage")
        tell(f"clocks_take_over_{name}", "ms", took, worst=max(took), outages=outages, of="from its end to the last stream's next time-out")
    stays.kill()
    await postgres.close()
    await log.close()


def main() -> None:
    """On servers of its own."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--tables", type=int, default=TABLES)
    asked.add_argument("--seconds", type=int, default=SECONDS)
    asked.add_argument("--only", choices=("abandoned", "half_played", "take_over"))
    given = asked.parse_args(sys.argv[1:])
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))  # errors and worse: figures only
    with tempfile.TemporaryDirectory(prefix="pulka-bench-") as folder, EmbeddedServers(Path(folder) / "home") as servers:
        for name, played in (("abandoned", 0), ("half_played", given.tables // 2)):
            if given.only in {None, name}:
                uvloop.run(measure(servers, Path(folder), f"clocks_{name}", given.tables, played, given.seconds))
        if given.only in {None, "take_over"}:
            uvloop.run(take_over(servers, Path(folder)))


if __name__ == "__main__":
    main()
