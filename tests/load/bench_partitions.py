"""What more partitions and copies cost: a start, a table opened under a key, and copies that are added under writers. JSON lines.

Runs on embedded servers of its own in a temporary folder; the copies on three nodes of NATS.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

import structlog
import uvloop

from services.cli.embedded import EmbeddedServers
from services.lobby.tables import Order, Tables
from services.lobby.terms import OpenTable, Terms, agree
from shared.eventlog.jetstream.connection import Connection
from shared.eventlog.jetstream.log import JetStreamLog, open_log
from shared.eventlog.jetstream.streams import Namespace
from shared.eventlog.jetstream.upkeep import Upkeep, Wanted
from shared.events.keys import MasterKeys
from tests.contracts.cluster import Cluster
from tests.contracts.commits import some_commit, some_table
from tests.load.figures import tell

OPENED = 200  # tables a run, one after the other
WRITERS = 16  # tables in play while copies are added
SECONDS = 30.0  # for a cluster that is being made
STAGES = ((8, 8), (16, 8), (16, 16), (64, 64))  # known and used
KEYS = MasterKeys((("bench", bytes(range(32))),))


async def starts(url: str, rounds: int) -> None:
    """Milliseconds to open the log, the first time and again."""
    for partitions in (8, 16, 64):
        first: list[float] = []
        again: list[float] = []
        for number in range(rounds):
            for runs in (first, again):
                began = time.perf_counter()
                log = await open_log(url, f"start_{partitions}_{number}", partitions=partitions, open_seconds=SECONDS)
                runs.append(1000 * (time.perf_counter() - began))
                await log.close()
        tell("log_first_start", "ms", first, partitions=partitions)
        tell("log_start", "ms", again, partitions=partitions)


async def tables_opened(url: str, rounds: int) -> None:
    """Milliseconds a table that a host opens under a key, stage after stage in each round."""
    runs: dict[tuple[int, int], list[float]] = {stage: [] for stage in STAGES}
    terms = agree(OpenTable())
    assert isinstance(terms, Terms)
    for number in range(rounds):
        for known, used in STAGES:
            log = await open_log(url, f"open_{known}_{used}_{number}", partitions=known, used=used, open_seconds=SECONDS)
            runs[known, used].append(await _milliseconds_a_table(log, terms))
            await log.close()
    for (known, used), took in runs.items():
        tell("table_opened_under_a_key", "ms", took, known=known, used=used)


async def _milliseconds_a_table(log: JetStreamLog, terms: Terms) -> float:
    tables = Tables(log, KEYS)
    began = time.perf_counter()
    for number in range(OPENED):
        await tables.open(Order("host", f"key-{number}", number, "request"), terms)
    return 1000 * (time.perf_counter() - began) / OPENED


async def copies_added(cluster: Cluster, number: int) -> tuple[float, float]:
    """Seconds until every stream has three copies that hold all, and the longest that one append waited meanwhile."""
    namespace = f"copies_{number}"
    log = await open_log(cluster.url, namespace, replicas=1, append_seconds=SECONDS, open_seconds=SECONDS)
    over, longest = asyncio.Event(), 0.0

    async def write(number: int) -> None:
        nonlocal longest
        table, sequence, revision = some_table(number % 8), 0, 0
        while not over.is_set():
            revision += 1
            began = time.perf_counter()
            sequence = (await log.append(table, some_commit(table, revision, size=300), sequence)).sequence
            longest = max(longest, time.perf_counter() - began)

    connection = Connection()
    await connection.open(cluster.url, "bench", SECONDS, None)
    upkeep = Upkeep(connection, Namespace(namespace), Wanted())
    async with asyncio.TaskGroup() as writers:
        for writer in range(WRITERS):
            writers.create_task(write(writer))
        await asyncio.sleep(1)  # some hundred commits a stream
        began = time.perf_counter()
        async for _ in upkeep.apply(await upkeep.survey(SECONDS), SECONDS, lower=False):
            pass
        while any(stream.behind for stream in (await upkeep.survey(SECONDS)).streams):  # noqa: ASYNC110 - told to nobody
            await asyncio.sleep(0)
        took = time.perf_counter() - began
        over.set()
    await connection.close()
    await log.close()
    return took, longest


async def run(rounds: int) -> None:
    """All figures."""
    with tempfile.TemporaryDirectory(prefix="pulka-bench-") as folder:
        with EmbeddedServers(Path(folder) / "home", postgres=False) as servers:
            await starts(servers.nats_url, rounds)
            await tables_opened(servers.nats_url, rounds)
        with Cluster(Path(folder)) as cluster:
            added = [await copies_added(cluster, number) for number in range(rounds)]
        tell("copies_added", "s", [took for took, _ in added], streams=18, writers=WRITERS)
        tell("longest_append_meanwhile", "s", [longest for _, longest in added], writers=WRITERS)


def main() -> None:
    """Run them once each with `--rounds 1`; the figures are of five."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))  # errors only
    uvloop.run(run(parser.parse_args().rounds))


if __name__ == "__main__":
    main()
