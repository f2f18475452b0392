"""Replay from nothing into a fresh schema, and tell whether two schemas hold the same bytes."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from typing import Final

import asyncpg

from shared.eventlog.port import EventLog
from shared.projections.chronicle import Chronicle, OnlyRead
from shared.projections.follow import Worker
from shared.projections.projection import Connection, Projection

APART: Final = frozenset({"lease", "parking_orders"})  # tables that say who works and on what, not what the log says

Progress = Callable[[int, int], None]


async def rebuild(
    event_log: EventLog,
    projection: Projection,
    streams: tuple[str, ...],
    postgres_dsn: str,
    schema: str,
    progress: Progress = lambda _done, _all: None,
    chronicle: Chronicle | None = None,
) -> int:
    """Fill `schema` from the log's beginning to where it ended when we began; returns how many sequences that were.

    `schema` must not exist: a rebuild beside the live rows never touches them. `progress(done, all)` counts sequences, gaps included.
    What `chronicle` says is left out is left out here too; nothing is told to it.
    Raises `FileExistsError` when the schema exists, `RefusedToRun`, and of the log `Unavailable`.
    """
    await _refuse_existing(postgres_dsn, schema)
    marks = {stream: await event_log.last_sequence(stream) for stream in streams}
    total, done = sum(marks.values()), dict.fromkeys(streams, 0)
    missing, arrived = set(streams), asyncio.Event()

    def reached(stream: str, sequence: int) -> None:
        done[stream] = min(sequence, marks[stream])
        progress(sum(done.values()), total)
        if sequence >= marks[stream]:
            missing.discard(stream)
        if not missing:
            arrived.set()

    read_only = None if chronicle is None else OnlyRead(chronicle)
    workers = [Worker(event_log, stream, projection, postgres_dsn, schema, reached, chronicle=read_only) for stream in streams]
    running = [asyncio.create_task(worker.run()) for worker in workers]
    waiting = asyncio.create_task(arrived.wait())
    try:
        await asyncio.wait({waiting, *running}, return_when=asyncio.FIRST_COMPLETED)  # a worker ends before only when it refuses
        for worker in workers:
            worker.stop()
        await asyncio.gather(*running)
    finally:
        for task in (waiting, *running):
            task.cancel()
        await asyncio.gather(waiting, *running, return_exceptions=True)
    return total


async def _refuse_existing(postgres_dsn: str, schema: str) -> None:
    connection = await asyncpg.connect(postgres_dsn)
    try:
        if await connection.fetchval("SELECT count(*) FROM pg_namespace WHERE nspname = $1", schema):
            raise FileExistsError(f"schema {schema} exists; a rebuild needs a fresh one")
    finally:
        await connection.close()


async def fingerprint(connection: Connection, schema: str) -> dict[str, str]:
    """SHA-256, hex, of every table's rows in the order of its primary key, leases left out: equal when the rows are the same bytes."""
    keys = await connection.fetch(
        """
        SELECT c.relname AS name, string_agg(quote_ident(a.attname), ', ' ORDER BY array_position(i.indkey::int2[], a.attnum)) AS columns
        FROM pg_class c
        JOIN pg_namespace n ON n.oid = c.relnamespace
        JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY(i.indkey::int2[])
        WHERE n.nspname = $1 AND c.relkind = 'r'
        GROUP BY c.relname
        """,
        schema,
    )
    hashes: dict[str, str] = {}
    for name, columns in sorted((row["name"], row["columns"]) for row in keys):
        if name in APART:
            continue
        rows = hashlib.sha256()

        async def add(data: bytes, rows: hashlib._Hash = rows) -> None:
            rows.update(data)

        await connection.copy_from_query(f'SELECT * FROM "{schema}"."{name}" ORDER BY {columns}', output=add)  # noqa: S608 - names from the catalogue
        hashes[name] = rows.hexdigest()
    return hashes
