"""The figures of versions: what a rebuild in a process of its own takes, reads during it and without it, point reads. JSON lines.

Runs on embedded servers of its own in a temporary folder. Whole pulkas are played into the log first, by a seeded lot.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import structlog
import uvloop

from services.cli.embedded import EmbeddedServers
from services.cli.serving.process import settle_memory
from services.ledger.books import Books
from services.ledger.desk.desk import Desk
from services.ledger.desk.readers import Readers
from services.ledger.views import kept_entries, score_sheet, sections
from shared.eventlog.jetstream.log import open_log
from shared.projections.core.at_least import AtLeast
from shared.projections.versions.versions import Versions
from tests.load.bench_ledger import WRITERS, events_in, told
from tests.load.figures import tell
from tests.partitions import TABLE_STREAMS
from tests.services.ledger.played import PlayedTable

NAMESPACE = "bench"
RATE = 200  # reads a second while latencies are measured: a club's, far below what one process can do
IDLE_S = 5.0  # seconds without a rebuild: as long as one takes
WARM = 200  # reads before a figure, so that every connection is open and every statement known
REBUILD = [sys.executable, "-c", "from services.cli.main import main; main()", "ledger", "rebuild", "--json", "--by", "bench"]


class Rebuilt(msgspec.Struct, frozen=True):
    """What one `pulka ledger rebuild` said, the most memory it ever held (MB), and the processor time it took (seconds)."""

    seconds: float
    peak: float
    busy: float


def rebuild_in_a_process(nats_url: str, dsn: str) -> Rebuilt:
    """Run the command; its figures are the kernel's."""
    environment = os.environ | {"PULKA_NATS_URL": nats_url, "PULKA_POSTGRES_DSN": dsn, "PULKA_NAMESPACE": NAMESPACE}
    process = subprocess.Popen(REBUILD, env=environment, stdout=subprocess.PIPE)
    assert process.stdout is not None
    answer: dict[str, Any] = msgspec.json.decode(process.stdout.read())
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    return Rebuilt(answer["seconds"], used.ru_maxrss / 1024, used.ru_utime + used.ru_stime)


async def read_sheet(desk: Desk, played: PlayedTable) -> None:
    """All that the score sheet of one table is made of, as `GET …/sheet` reads it."""
    async with desk.table(played.id, None, None) as (connection, seen):
        chosen = await sections.chosen(connection, seen.sight, None)
        await score_sheet.read(connection, played.id, chosen.last_deal, after=chosen.section.deals_before)
        await kept_entries.kept(connection, seen.sight.table, chosen.section, chosen.last_deal)


async def latencies(desk: Desk, tables: list[PlayedTable], ended: Callable[[float], bool]) -> list[float]:
    """Milliseconds a sheet takes, `RATE` a second however long each takes, until `ended` (it is given the seconds since the beginning)."""
    found: list[float] = []
    reading: set[asyncio.Task[None]] = set()
    draw, began = random.Random(5), time.perf_counter()

    async def one(due: float) -> None:
        await read_sheet(desk, draw.choice(tables))
        found.append(1000 * (time.perf_counter() - due))

    while not ended(now := time.perf_counter() - began):
        due = (len(found) + len(reading)) / RATE
        if due > now:
            await asyncio.sleep(due - now)
            continue
        task = asyncio.create_task(one(began + due))
        reading.add(task)
        task.add_done_callback(reading.discard)
        await asyncio.sleep(0)
    await asyncio.gather(*reading)
    return sorted(found)


async def point_reads(desk: Desk, tables: list[PlayedTable], reads: int) -> float:
    """Reads of a table's newest state and its first deal, a second of this process's own processor time."""

    async def some(first: int) -> None:
        for number in range(first, first + reads // 4):
            played = tables[number % len(tables)]
            async with desk.table(played.id, None, None) as (connection, seen):
                await score_sheet.read(connection, played.id, seen.sight.last_deal, limit=1)

    began = time.process_time()
    await asyncio.gather(*(some(7 * part) for part in range(4)))
    return reads / (time.process_time() - began)


async def run(nats_url: str, dsn: str, commits: int, rounds: int) -> None:
    """All figures."""
    log = await open_log(nats_url, NAMESPACE, durable=True)
    tables = [PlayedTable(log, seed, partition=seed % 8, players=3 + seed % 2, target=500) for seed in range(WRITERS)]
    for part in (commits // 3, commits):
        await asyncio.gather(*(played.play(commits=part // WRITERS) for played in tables))
        events, rebuilt = events_in(tables), []
        for number in range(rounds):
            told(f"rebuild of {events} events: {number}/{rounds}")
            rebuilt.append(await asyncio.to_thread(rebuild_in_a_process, nats_url, dsn))
        tell("ledger_rebuild_command", "events/s", [events / one.seconds for one in rebuilt], of=f"{events} events, the whole command")
        tell("ledger_rebuild_memory", "MB", [one.peak for one in rebuilt], of=f"{events} events")
    readers = Readers(dsn, Versions(Books.name, NAMESPACE), Books.version)
    await readers.open()
    desk = Desk(log, readers, AtLeast(TABLE_STREAMS))
    await point_reads(desk, tables, WARM)
    tell("ledger_point_reads", "reads/s of a core", [await point_reads(desk, tables, 4000) for _ in range(rounds)], of="table and deal")
    idle, busy, beside = [], [], []
    for number in range(rounds):
        told(f"reads beside a rebuild: {number}/{rounds}")
        found = await latencies(desk, tables, lambda seconds: seconds > IDLE_S)
        idle.append(found[len(found) * 99 // 100])
        rebuilding = asyncio.create_task(asyncio.to_thread(rebuild_in_a_process, nats_url, dsn))
        found = await latencies(desk, tables, lambda _, rebuilding=rebuilding: rebuilding.done())  # type: ignore[misc]
        beside.append(events / (await rebuilding).seconds)
        busy.append(found[len(found) * 99 // 100])
    tell("ledger_read_p99_idle", "ms", idle, of=f"sheets, {RATE} a second")
    tell("ledger_read_p99_during_rebuild", "ms", busy, of=f"sheets, {RATE} a second")
    tell("ledger_rebuild_beside_readers", "events/s", beside, of=f"{events} events, {RATE} sheets a second read meanwhile")
    await readers.close()
    await log.close()


def main() -> None:
    """Run and print."""
    options = argparse.ArgumentParser()
    options.add_argument("--commits", type=int, default=126_000)  # some 176,000 events, so that a rebuild lasts; 720,000 are a million
    options.add_argument("--rounds", type=int, default=5)
    chosen = options.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(30))  # warnings and worse: figures only
    settle_memory()  # as services do
    with tempfile.TemporaryDirectory() as home, EmbeddedServers(Path(home) / "home") as servers:
        uvloop.run(run(servers.nats_url, servers.postgres_dsn, chosen.commits, chosen.rounds))


if __name__ == "__main__":
    main()
