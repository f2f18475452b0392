"""Where a worker stands and whether it may work: one checkpoint and one lease row a stream.

The lease row is locked first in every batch transaction, and its epoch compared: whoever was stopped, continued and overtaken finds
another epoch and writes nothing. A session lock would stay held by a stopped process; a row lock goes when the server ends the
transaction that idles.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Final

import asyncpg
import msgspec

from shared.projections.core.projection import Connection

LEASE_S: Final = 2.0  # seconds without renewal after which another worker may take over: with its polling every half second, within 3 s
CONNECT_S: Final = 5.0  # seconds to open a connection on loopback or in a cluster
COMMAND_S: Final = 30.0  # seconds a statement may take: a batch takes milliseconds, making the tables waits for another worker
IDLE_TRANSACTION_MS: Final = 2_000  # a stopped process holds the lease row no longer than a lease lasts; a batch never idles that long
DDL_LOCK: Final = 0x70756C6B61  # "pulka": advisory lock under which tables are made, since CREATE … IF NOT EXISTS races with itself

DDL: Final = """
CREATE TABLE IF NOT EXISTS checkpoint (
    stream text PRIMARY KEY,
    sequence bigint NOT NULL,
    aggregate text,
    hash text,
    at bigint NOT NULL
);
CREATE TABLE IF NOT EXISTS lease (
    stream text PRIMARY KEY,
    holder text NOT NULL,
    epoch bigint NOT NULL,
    renewed timestamptz NOT NULL
);
CREATE TABLE IF NOT EXISTS heads (
    aggregate text PRIMARY KEY,
    revision bigint NOT NULL,
    hash text NOT NULL
);
CREATE TABLE IF NOT EXISTS parked (
    aggregate text NOT NULL,
    sequence bigint NOT NULL,
    stream text NOT NULL,
    revision bigint NOT NULL,
    reason text NOT NULL,
    hash text NOT NULL,
    at bigint,
    PRIMARY KEY (aggregate, sequence)
);
CREATE TABLE IF NOT EXISTS skipped (
    aggregate text NOT NULL,
    revision bigint NOT NULL,
    hash text NOT NULL,
    author text NOT NULL,
    why text NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (aggregate, revision)
);
CREATE TABLE IF NOT EXISTS parking_orders (
    id text PRIMARY KEY,
    stream text NOT NULL,
    aggregate text NOT NULL,
    kind text NOT NULL,
    revision bigint NOT NULL,
    author text NOT NULL,
    why text NOT NULL,
    asked timestamptz NOT NULL DEFAULT clock_timestamp(),
    outcome text,
    told bool NOT NULL DEFAULT false
);
DO $$ BEGIN  -- schemas of before; asked first, since ALTER locks the table even where there is nothing to add
    IF NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'parked'::regclass AND attname = 'hash') THEN
        ALTER TABLE parked ADD COLUMN hash text NOT NULL DEFAULT '', ADD COLUMN at bigint;
    END IF;
END $$;
"""


class LeaseLost(Exception):
    """Another worker has taken over this stream; nothing of the present batch was written."""


class CheckpointMoved(LeaseLost):
    """The rows are not where this worker left them: the database was put back. Nothing was written; it goes on from where they are."""


class Checkpoint(msgspec.Struct, frozen=True):
    """The last commit applied: its sequence in `stream` (0: none), its aggregate's subject, its hash, its `at` in milliseconds."""

    stream: str
    sequence: int
    aggregate: str | None
    hash: str | None
    at: int


class Lease(msgspec.Struct, frozen=True):
    """The right to move one stream's checkpoint, until somebody raises the epoch."""

    stream: str
    holder: str
    epoch: int


async def prepare(connection: Connection, schema: str, ddl: str) -> None:
    """Make schema and tables where they are missing, one worker at a time, and set the connection's search path to the schema."""
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", DDL_LOCK)
        await connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
        await connection.execute(f'SET LOCAL search_path TO "{schema}"')
        await connection.execute(DDL + ddl)
    await connection.execute(f'SET search_path TO "{schema}"')


async def opened(dsn: str, schema: str, purpose: str, command_s: float = COMMAND_S) -> Connection:
    """A connection to `schema`, which `close` gives up. `purpose`: who holds it, for people who look at the server; `command_s`: seconds
    that a statement may take.

    A process that is stopped in a transaction keeps no row locked for long. Raises what asyncpg raises, `OSError` and `TimeoutError`.
    """
    return await asyncpg.connect(
        dsn,
        timeout=CONNECT_S,
        command_timeout=command_s,
        server_settings={
            "application_name": f"pulka {schema} {purpose}",
            "search_path": schema,
            "idle_in_transaction_session_timeout": str(IDLE_TRANSACTION_MS),
        },
    )


@asynccontextmanager
async def connected(dsn: str, schema: str, ddl: str, purpose: str) -> AsyncIterator[Connection]:
    """A connection for a worker: to `schema`, with its tables made. `purpose` and errors as in `opened`."""
    connection = await opened(dsn, schema, purpose)
    try:
        await connection.execute("SET synchronous_commit TO off")  # rows and checkpoint are lost together or not at all; the log has them
        await prepare(connection, schema, ddl)
        yield connection
    finally:
        await close(connection)


async def close(connection: Connection) -> None:
    """Give the connection up, whatever state it is in."""
    with suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
        await connection.close(timeout=0.3)  # seconds: a server that answers at all answers faster, and a stop must not wait


async def take(connection: Connection, stream: str, holder: str) -> Lease | None:
    """Take the lease if it is free, run out or already `holder`'s; `None` while another holds it."""
    epoch = await connection.fetchval(
        """
        INSERT INTO lease AS l (stream, holder, epoch, renewed) VALUES ($1, $2, 1, clock_timestamp())
        ON CONFLICT (stream) DO UPDATE SET holder = $2, epoch = l.epoch + 1, renewed = clock_timestamp()
        WHERE l.holder = $2 OR l.renewed < clock_timestamp() - $3 * interval '1 second'
        RETURNING epoch
        """,
        stream,
        holder,
        LEASE_S,
    )
    return None if epoch is None else Lease(stream, holder, epoch)


async def renew(connection: Connection, lease: Lease, applied: int | None = None) -> None:
    """Say that the worker lives. `applied`: the sequence at which the rows have to be, if that matters.

    Raises `LeaseLost` when the epoch is another's, `CheckpointMoved` when the rows are elsewhere.
    """
    row = await connection.fetchrow(
        """
        UPDATE lease SET renewed = clock_timestamp() WHERE stream = $1 AND epoch = $2
        RETURNING epoch, coalesce((SELECT sequence FROM checkpoint WHERE stream = $1), 0) AS applied
        """,
        lease.stream,
        lease.epoch,
    )
    _check(lease, row, applied)


async def release(connection: Connection, lease: Lease) -> None:
    """Let another worker take over at once."""
    await connection.execute("UPDATE lease SET renewed = to_timestamp(0) WHERE stream = $1 AND epoch = $2", lease.stream, lease.epoch)


async def lock(connection: Connection, lease: Lease, applied: int | None = None) -> None:
    """Lock the lease row until the transaction ends. `applied`: the sequence at which the rows have to be, if that matters.

    Raises `LeaseLost` when the epoch is another's, `CheckpointMoved` when the rows are elsewhere.
    """
    row = await connection.fetchrow(
        """
        SELECT epoch, coalesce((SELECT sequence FROM checkpoint WHERE stream = $1), 0) AS applied
        FROM lease WHERE stream = $1 FOR UPDATE
        """,
        lease.stream,
    )
    _check(lease, row, applied)


def _check(lease: Lease, row: Mapping[str, int] | None, applied: int | None) -> None:
    if row is None or row["epoch"] != lease.epoch:
        raise LeaseLost(lease.stream)
    if applied is not None and row["applied"] != applied:
        raise CheckpointMoved(f"{lease.stream} was applied up to {applied}, the rows are at {row['applied']}")


async def read(connection: Connection, stream: str) -> Checkpoint:
    """The stream's checkpoint; sequence 0 when nothing was ever applied."""
    row = await connection.fetchrow("SELECT stream, sequence, aggregate, hash, at FROM checkpoint WHERE stream = $1", stream)
    return Checkpoint(stream, 0, None, None, 0) if row is None else Checkpoint(*row)


async def move(connection: Connection, schema: str, to: Checkpoint) -> None:
    """Move the checkpoint within the batch's transaction, and tell whoever listens on the channel `schema` once it is committed."""
    await connection.execute(
        """
        WITH moved AS (
            INSERT INTO checkpoint (stream, sequence, aggregate, hash, at) VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (stream) DO UPDATE SET sequence = $2, aggregate = $3, hash = $4, at = $5
        )
        SELECT pg_notify($6, $7)
        """,
        to.stream,
        to.sequence,
        to.aggregate,
        to.hash,
        to.at,
        schema,
        f"{to.stream}:{to.sequence}",
    )
