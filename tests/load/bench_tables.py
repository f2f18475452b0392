"""What a table costs on its hundredth deal, and outside of the cache. JSON lines.

* `first_touch_100_deals`, `first_touch_1_deal`: milliseconds until an instance that does not hold a table has it, and their ratio.
* `moves_without_affinity`: moves a second of two instances of which each takes a move by lot, against the same two hashed by table; of
  tables with a history of over 1,000 commits. Both live in this process, so that a move costs what both have to do for it.
* `cached_table`: bytes that an instance's memory grows by for each table in mid-pulka that it holds.

Runs on an embedded NATS of its own in a temporary folder; the deals before are played into the log by a seeded lot.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import random
import statistics
import tempfile
import time
from itertools import count
from pathlib import Path

import structlog
import uvloop

from services.cli.embedded import EmbeddedServers
from services.cli.serving.process import settle_memory
from services.table.table import Tables
from shared.eventlog.aggregates.aggregates import CAPACITY, Committed, Request
from shared.eventlog.jetstream.log import JetStreamLog, open_log
from shared.events.sealing import TableCodec
from shared.rules.language.moves import Concede
from shared.rules.pulka import decider as match
from shared.rules.pulka.decider import Pulka
from tests.load.figures import tell
from tests.services.ledger.played import BEGAN, KEYS, PlayedTable

TABLES = 64
TOUCHES = 40  # of each kind, one after the other in turns
HELD = 2_000  # tables whose memory is measured
AMONG_THEM = 6  # moves into a deal: in mid-pulka and in mid-deal


async def dealt(log: JetStreamLog, seed: int, deals: int, moves: int = 0) -> PlayedTable:
    """A table after so many deals, and so many commits of the next one."""
    played = PlayedTable(log, seed, partition=seed % 8, players=3 + seed % 2, target=10_000)
    while played.pulka.number < deals or played.pulka.deal is not None or played.pulka.commitment:
        await played.step()
    for _ in range(moves):
        await played.step()
    return played


async def touched(log: JetStreamLog, table_id: str) -> float:
    """Seconds of a first touch."""
    tables = Tables(log, TableCodec(KEYS))
    began = time.perf_counter()
    await tables.load(table_id)
    return time.perf_counter() - began


async def first_touches(log: JetStreamLog) -> None:
    """Of tables of 100 deals and of one."""
    old = [await dealt(log, 8 * number, 100, 20) for number in range(4)]
    young = [await dealt(log, 8 * number + 1, 1, 20) for number in range(4)]
    for played in (*old, *young):  # a first touch of all writes what the instance that played them would have written
        tables = Tables(log, TableCodec(KEYS))
        await tables.load(played.id)
        await tables.drain()
    took: dict[str, list[float]] = {"first_touch_100_deals": [], "first_touch_1_deal": []}
    for number in range(TOUCHES):
        took["first_touch_100_deals"].append(1000 * await touched(log, old[number % 4].id))
        took["first_touch_1_deal"].append(1000 * await touched(log, young[number % 4].id))
    for name, values in took.items():
        tell(name, "ms", values)
    many, one = (statistics.median(values) for values in took.values())
    tell("first_touch_100_deals_to_1", "ratio", [many / one])


class Players:
    """All players of some tables, at one instance or several."""

    def __init__(self, log: JetStreamLog, ids: list[str], capacity: int, *, instances: int = 1, hashed: bool = True) -> None:
        self.instances = [Tables(log, TableCodec(KEYS), capacity=capacity) for _ in range(instances)]
        self.hashed = hashed
        self.lot = random.Random(7)
        self.ids = ids
        self.busy: set[str] = set()
        self.seen: dict[str, Pulka] = {}  # by table, after the last move here
        self.keys = count()
        self.made = 0

    async def play(self, until: float) -> None:
        """Move after move, at a table that nobody else moves at."""
        while time.perf_counter() < until:
            table_id = self.lot.choice([one for one in self.ids if one not in self.busy])
            self.busy.add(table_id)
            await self.move(table_id)
            self.busy.discard(table_id)
            self.made += 1

    async def move(self, table_id: str) -> None:
        """One move, drawn by lot; the next deal where none is in progress."""
        tables = self.instances[hash(table_id) % len(self.instances)] if self.hashed else self.lot.choice(self.instances)
        if table_id not in self.seen:
            self.seen[table_id] = (await tables.load(table_id, at_leader=True)).state.pulka
        pulka = self.seen[table_id]  # as whoever sends a move has it, from the stream
        now = BEGAN * 2
        if match.phase(pulka) == "between_deals":
            started = await tables.start_deal(table_id, pulka.number + 1, now)
            assert isinstance(started, Committed), started
            self.seen[table_id] = started.loaded.state.pulka
            return
        seat = match.to_act(pulka)
        assert seat is not None
        legal = [move for move in match.legal_moves(pulka, seat) if not isinstance(move, Concede)]
        request = Request(f"bench-{id(self)}-{next(self.keys)}", pulka.seats[seat], "", now)
        outcome = await tables.move(table_id, pulka.seats[seat], self.lot.choice(legal), None, request)
        assert isinstance(outcome, Committed), outcome
        self.seen[table_id] = outcome.loaded.state.pulka


async def moves_a_second(players: Players, seconds: float) -> float:
    """With 32 moves under way at 64 tables."""
    players.seen.clear()
    made, began = players.made, time.perf_counter()
    await asyncio.gather(*(players.play(began + seconds) for _ in range(TABLES // 2)))
    return (players.made - made) / (time.perf_counter() - began)


async def without_affinity(log: JetStreamLog, seconds: float, rounds: int) -> None:
    """Two instances, hashed by table and not, in turns at the same tables."""
    ids = [(await dealt(log, 500_000 + seed, 30)).id for seed in range(TABLES)]
    rates: dict[bool, list[float]] = {True: [], False: []}
    both = [Players(log, ids, CAPACITY, instances=2, hashed=hashed) for hashed in (True, False)]
    for _ in range(rounds):
        for players in both:
            for tables in players.instances:
                for table_id in ids:
                    await tables.load(table_id, at_leader=True)
            rates[players.hashed].append(await moves_a_second(players, seconds))
    tell("moves_hashed_by_table", "moves/s", rates[True])
    tell("moves_without_affinity", "moves/s", rates[False])
    tell("moves_without_affinity_to_hashed", "ratio", [b / a for a, b in zip(rates[True], rates[False], strict=True)])


async def memory(log: JetStreamLog) -> None:
    """Bytes of a table in mid-pulka that is held."""
    ids = [(await dealt(log, 100_000 + seed, 2, AMONG_THEM + seed % 30)).id for seed in range(HELD // 10)]
    tables = Tables(log, TableCodec(KEYS), capacity=1 << 40)
    await tables.load(ids[0])
    gc.collect()
    before = resident()
    instances = [Tables(log, TableCodec(KEYS), capacity=1 << 40) for _ in range(10)]
    for instance in instances:
        for table_id in ids:
            await instance.load(table_id)
    gc.collect()
    held = sum(len(instance.cache) for instance in instances)
    tell("cached_table", "bytes", [(resident() - before) / held], of=f"{held} tables")
    tell("cached_table_as_counted", "bytes", [sum(instance.cache.bytes for instance in instances) / held])


def resident() -> int:
    """Bytes of this process in memory."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS"))
    return 1024 * int(line.split()[1])


async def run(nats_url: str, seconds: float, rounds: int) -> None:
    """All figures."""
    log = await open_log(nats_url, "bench", durable=True)
    await memory(log)
    await first_touches(log)
    await without_affinity(log, seconds, rounds)
    await log.close()


def main() -> None:
    """Run and print."""
    options = argparse.ArgumentParser()
    options.add_argument("--seconds", type=float, default=3.0)
    options.add_argument("--rounds", type=int, default=5)
    chosen = options.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(30))  # warnings and worse: figures only
    settle_memory()
    with tempfile.TemporaryDirectory() as home, EmbeddedServers(Path(home) / "home") as servers:
        uvloop.run(run(servers.nats_url, chosen.seconds, chosen.rounds))


if __name__ == "__main__":
    main()
