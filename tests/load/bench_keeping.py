"""What keeping the books costs: rows a second of an export in each form and its memory, commits a second to the archive. JSON lines.

Runs on embedded servers of its own in a temporary folder. Whole pulkas are played into the log first, by a seeded lot.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import tempfile
import time
from pathlib import Path

import structlog
import uvloop

from services.cli.embedded import EmbeddedServers
from services.ledger.archive.archiving import Archiver
from services.ledger.audit.proofs import Proofs
from services.ledger.books import Books
from services.ledger.desk.readers import Readers, live_books
from services.ledger.exports import export_rows
from services.ledger.exports.export_files import FormName, form_of, written
from services.ledger.exports.export_rows import Scope
from services.ledger.own.own_events import OwnEvents
from shared.eventlog.jetstream.log import open_log
from shared.projections.versions.live_version import LiveVersion
from shared.projections.versions.versions import Versions
from tests.load.figures import tell
from tests.partitions import TABLE_STREAMS
from tests.services.ledger.played import PlayedTable

AT_ONCE = 32  # tables played at once: enough for the log to write in groups
NOW = 1_800_000_000_000  # milliseconds, later than whatever is played
FORMS: tuple[FormName, ...] = ("ndjson", "csv", "parquet")


async def exported(readers: Readers, form: FormName) -> tuple[int, float]:
    """How many bytes all entries are, and how many seconds they take."""
    scope, began, size = Scope(everything=True), time.perf_counter(), 0
    async with readers.reading() as connection:
        place = await export_rows.beginning(connection)
    async for piece in written(readers.reading, "entries", scope, place, form_of(form, "entries", None, resumed=False)):
        size += len(piece)
    return size, time.perf_counter() - began


async def run(nats_url: str, dsn: str, folder: Path, tables: int, rounds: int) -> None:
    """All figures."""
    log, versions = await open_log(nats_url, "bench", durable=True), Versions(Books.name, "bench")
    books = LiveVersion(log, Books(), TABLE_STREAMS, dsn, versions)
    await books.start()
    played = [PlayedTable(log, seed, partition=seed % 8, players=3 + seed % 2, target=20) for seed in range(tables)]
    for begin in range(0, tables, AT_ONCE):
        await asyncio.gather(*(table.play() for table in played[begin : begin + AT_ONCE]))
    for table in played:
        await books.at_least.wait(table.commits[-1].position, 60.0)
    readers = Readers(dsn, versions, Books.version)
    await readers.open()
    connection = await live_books(dsn, versions)
    rows = await connection.fetchval("SELECT sum(json_array_length(written::json -> 'entries')) FROM scores")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for form in FORMS:
        taken = [await exported(readers, form) for _ in range(rounds)]
        tell(f"export_{form}", "entries/s", [rows / seconds for _, seconds in taken], of=f"{rows} entries, {taken[0][0]} bytes")
    tell("export_memory", "MB", [(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024], of="Arrow included")
    archiver = Archiver(log, connection, OwnEvents(log), Proofs("bench"), folder, author="operator:bench", clock=lambda: NOW)
    began = time.perf_counter()
    moved = [await archiver.move(table_id) async for table_id, _ in archiver.due(NOW)]
    seconds = time.perf_counter() - began
    if any(one.state != "archived" for one in moved):
        raise AssertionError(moved)
    tell("archive", "commits/s", [sum(one.commits for one in moved) / seconds], of=f"{len(moved)} tables, verified, written, purged")
    await connection.close()
    await readers.close()
    await books.stop()
    await log.close()


def main() -> None:
    """Run and print."""
    options = argparse.ArgumentParser()
    options.add_argument("--tables", type=int, default=64)
    options.add_argument("--rounds", type=int, default=5)
    chosen = options.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(30))  # warnings and worse: figures only
    with tempfile.TemporaryDirectory() as home, EmbeddedServers(Path(home) / "home") as servers:
        folder = Path(home) / "archive"
        uvloop.run(run(servers.nats_operator_url, servers.postgres_dsn, folder, chosen.tables, chosen.rounds))


if __name__ == "__main__":
    main()
