"""The ledger's figures: rebuild of all books from the log, and how long after its append a commit can be read. JSON lines.

Runs on embedded servers of its own in a temporary folder. Whole pulkas are played into the log first, by a seeded lot.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

import asyncpg
import structlog
import uvloop

from services.cli.embedded import EmbeddedServers
from services.cli.serving.process import settle_memory
from services.ledger.audit.verify import verify_table
from services.ledger.books import Books
from services.ledger.main import PACE
from shared.eventlog.jetstream.log import JetStreamLog, open_log
from shared.events.commit import decode
from shared.projections.following.projector import Projector
from shared.projections.versions.rebuild import rebuild
from tests.load.figures import tell
from tests.partitions import TABLE_STREAMS
from tests.services.ledger.played import PlayedTable

WRITERS = 128  # tables played at once: enough for the log to write in groups
RATE = 300  # events a second, at which the lag is measured


async def fill(log: JetStreamLog, commits: int) -> list[PlayedTable]:
    """`commits` commits of whole deals, spread over the partitions."""
    tables = [PlayedTable(log, seed, partition=seed % 8, players=3 + seed % 2, target=100) for seed in range(WRITERS)]
    await asyncio.gather(*(played.play(commits=commits // WRITERS) for played in tables))
    return tables


def events_in(tables: list[PlayedTable]) -> int:
    """How many events the tables' commits hold."""
    return sum(len(decode(recorded.data).events) for played in tables for recorded in played.commits)


async def rebuild_rates(log: JetStreamLog, dsn: str, events: int, rounds: int) -> list[float]:
    """Events a second of rebuilds from nothing, of all books and all partitions in this process."""
    rates = []
    for number in range(rounds):
        began = time.perf_counter()
        await rebuild(log, Books(), TABLE_STREAMS, dsn, f"bench_{number}", lambda done, total: told(f"rebuild: {done}/{total}"))
        rates.append(events / (time.perf_counter() - began))
        await drop(dsn, f"bench_{number}")
    return rates


async def lags(log: JetStreamLog, dsn: str, seconds: float, seed: int) -> list[float]:
    """Milliseconds from each append's ack to the moment at which its rows are readable, at `RATE` events a second."""
    projector = Projector(log, Books(), TABLE_STREAMS, dsn, "bench_live", PACE)
    await projector.start()
    tables = [PlayedTable(log, seed + place, partition=place % 8, target=500) for place in range(64)]
    found: list[float] = []
    waiting: set[asyncio.Task[None]] = set()

    async def readable(position: str, appended: float) -> None:
        if not await projector.at_least.wait(position, 10.0):
            raise TimeoutError(position)
        found.append(1000 * (time.perf_counter() - appended))

    last = [await played.step() for played in tables][-1]
    await projector.at_least.wait(last.position, 10.0)
    found.clear()
    began, events, place = time.perf_counter(), 0, 0
    while (now := time.perf_counter() - began) < seconds:
        if events > RATE * now:
            await asyncio.sleep(events / RATE - now)
            continue
        recorded = await tables[place % len(tables)].step()
        place += 1
        events += len(decode(recorded.data).events)
        task = asyncio.create_task(readable(recorded.position, time.perf_counter()))
        waiting.add(task)
        task.add_done_callback(waiting.discard)
        told(f"lag: {now:.0f}/{seconds:.0f} s")
    await asyncio.gather(*waiting)
    await projector.stop()
    await drop(dsn, "bench_live")
    return sorted(found)


async def verified_per_second(log: JetStreamLog, tables: list[PlayedTable]) -> float:
    """Commits a second of verifications from the log: hashes, deals and rules."""
    began, commits = time.perf_counter(), 0
    for played in tables[:16]:
        verdict = await verify_table(log, played.address)
        if not verdict["verified"]:
            raise AssertionError(verdict["problems"])
        commits += verdict["commits"]
    return commits / (time.perf_counter() - began)


async def drop(dsn: str, schema: str) -> None:
    """Take a schema away."""
    connection = await asyncpg.connect(dsn)
    await connection.execute(f'DROP SCHEMA "{schema}" CASCADE')
    await connection.close()


async def run(nats_url: str, dsn: str, commits: int, seconds: float, rounds: int) -> None:
    """All figures."""
    log = await open_log(nats_url, "bench", durable=True)
    tables = await fill(log, commits)
    events = events_in(tables)
    rates = await rebuild_rates(log, dsn, events, rounds)
    tell("ledger_rebuild", "events/s", rates, of=f"{sum(len(played.commits) for played in tables)} commits, {events} events")
    tell("ledger_verify_from_log", "commits/s", [await verified_per_second(log, tables) for _ in range(rounds)])
    medians, tails = [], []
    for number in range(rounds):
        found = await lags(log, dsn, seconds / rounds, 1000 * (number + 1))
        medians.append(found[len(found) // 2])
        tails.append(found[len(found) * 99 // 100])
    tell("ledger_log_to_readable_p50", "ms", medians, of=f"{RATE} events/s")
    tell("ledger_log_to_readable_p99", "ms", tails, of=f"{RATE} events/s")
    await log.close()


def told(progress: str) -> None:
    """How far it is, for a person who watches."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{progress:<60}")


def main() -> None:
    """Run and print."""
    options = argparse.ArgumentParser()
    options.add_argument("--commits", type=int, default=60_000)
    options.add_argument("--seconds", type=float, default=25.0)
    options.add_argument("--rounds", type=int, default=5)
    chosen = options.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(30))  # warnings and worse: figures only
    settle_memory()  # as services and the command do
    with tempfile.TemporaryDirectory() as home, EmbeddedServers(Path(home) / "home") as servers:
        uvloop.run(run(servers.nats_url, servers.postgres_dsn, chosen.commits, chosen.seconds, chosen.rounds))


if __name__ == "__main__":
    main()
