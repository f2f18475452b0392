"""Replay from nothing into a fresh schema, and tell whether two schemas hold the same bytes."""

from __future__ import annotations

import hashlib
from typing import Final

import asyncpg

from shared.eventlog.port import EventLog
from shared.projections.core.projection import Connection, Projection
from shared.projections.parking.chronicle import Chronicle
from shared.projections.versions.filling import Archive, Counted, Filling, Progress, marks_of

APART: Final = frozenset({"lease", "parking_orders"})  # tables that say who works and on what, not what the log says


async def rebuild(  # noqa: PLR0913 - what to read, where to write, and three options
    event_log: EventLog,
    projection: Projection,
    streams: tuple[str, ...],
    postgres_dsn: str,
    schema: str,
    progress: Progress = lambda _done, _all: None,
    chronicle: Chronicle | None = None,
    *,
    archived: Archive | None = None,
) -> int:
    """Fill `schema` from the beginning to where the log ended when we began; returns how many sequences that were.

    `schema` must not exist: a rebuild beside the live rows never touches them. `progress(done, all)` counts sequences, gaps included.
    What `chronicle` says is left out is left out here too; nothing is told to it. `archived`: commits that may have left the log; they are
    applied first.
    Raises `FileExistsError` when the schema exists, `RefusedToRun`, of the log `Unavailable`, of the archive `StillFails`.
    """
    await _refuse_existing(postgres_dsn, schema)
    marks = await marks_of(event_log, streams)
    counted = Counted(marks, progress)
    filling = Filling(event_log, projection, streams, postgres_dsn, schema, counted.reached, chronicle)
    try:
        await filling.begin(archived)
        await filling.reach(marks)
    finally:
        await filling.close()
    return counted.total


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
