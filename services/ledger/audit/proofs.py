"""Signed checkpoints as rows, with the leaves that proofs need. The log has what was signed; the leaves follow from the tables' commits and
are checked against the signed root before a row says that they are there, so the whole schema can be made again from the log.

A table's leaf is written only for checkpoints in which it has changed: at checkpoint n it is the latest up to n.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from typing import Any, Final

import asyncpg
import msgspec

from shared.events.checkpoint_document import Leaf, Signed
from shared.events.ledger_events import CheckpointSigned
from shared.projections.core import checkpoint
from shared.projections.core.projection import Connection

NAME: Final = "proofs"  # of the schema, behind the namespace
LEAVES_A_FETCH: Final = 1_000  # rows of a quarter of a kilobyte
STRAYS: Final = 100  # that are told: nobody reads more of them one by one
COMMAND_S: Final = 30.0  # seconds for a statement: all leaves of a large club take a second
DDL: Final = """
CREATE TABLE IF NOT EXISTS signed (
    number bigint PRIMARY KEY,
    at bigint NOT NULL,
    text text NOT NULL,
    signature text NOT NULL,
    cut text NOT NULL
);
CREATE TABLE IF NOT EXISTS leaves (
    table_id text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    revision bigint NOT NULL,
    head text NOT NULL,
    tree text NOT NULL,
    PRIMARY KEY (table_id, number)
);
CREATE INDEX IF NOT EXISTS leaves_in_order ON leaves (number, table_id);
"""


class Row(msgspec.Struct, frozen=True):
    """A checkpoint's row, every column of it."""

    number: int
    at: int
    text: str
    signature: str
    cut: str


def row_of(event: CheckpointSigned) -> Row:
    """The row that `event` makes."""
    cut = msgspec.json.encode(event.cut, order="sorted").decode()
    return Row(event.number, Signed(event.signed, event.signature).header.at, event.signed, event.signature, cut)


def goes_along(leaf: Leaf | None, revisions: int, *, hidden: bool = False) -> bool:
    """Whether an export file with a table's first `revisions` commits takes the proof of its `leaf` in a checkpoint.

    A leaf of fewer commits proves those. One of more goes along only where the file says that the rest is `hidden`: whoever checks it
    then learns that the checkpoint knows more. Elsewhere it is of a moment after the file, and would call its end missing.
    """
    return leaf is not None and (hidden or leaf.revision <= revisions)


class Proofs:
    """The rows, read and written through a connection of anybody's; every name is qualified."""

    def __init__(self, namespace: str = "") -> None:
        self.schema = f"{namespace}_{NAME}" if namespace else NAME

    async def prepare(self, dsn: str) -> None:
        """Make the tables where they are missing. Raises what asyncpg raises."""
        connection = await asyncpg.connect(dsn, command_timeout=COMMAND_S)
        try:
            async with connection.transaction():
                await connection.execute("SELECT pg_advisory_xact_lock($1)", checkpoint.DDL_LOCK)
                await connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{self.schema}"')
                await connection.execute(f'SET LOCAL search_path TO "{self.schema}"')
                await connection.execute(DDL)
        finally:
            await checkpoint.close(connection)

    async def newest(self, connection: Connection) -> int:
        """The number up to which all are there, 0 for none, also where no service has made the tables yet."""
        if await connection.fetchval("SELECT to_regclass($1)", f'"{self.schema}".signed') is None:
            return 0
        found: int = await connection.fetchval(f'SELECT coalesce(max(number), 0) FROM "{self.schema}".signed')  # noqa: S608 - our own schema's name
        return found

    async def one(self, connection: Connection, number: int) -> Signed | None:
        """A checkpoint."""
        rows = await self._read(connection, "WHERE number = $1", number)
        return rows[0] if rows else None

    async def page(self, connection: Connection, before: int | None, limit: int) -> list[Signed]:
        """The newest ones first, those with numbers below `before`."""
        return await self._read(connection, "WHERE $1::bigint IS NULL OR number < $1 ORDER BY number DESC LIMIT $2", before, limit)

    async def _read(self, connection: Connection, which: str, *values: object) -> list[Signed]:
        rows = await connection.fetch(f'SELECT text, signature FROM "{self.schema}".signed {which}', *values)  # noqa: S608 - constants of ours
        return [Signed(row["text"], row["signature"]) for row in rows]

    async def rows(self, connection: Connection) -> list[Row]:
        """The rows of all checkpoints, from the first on."""
        rows = await connection.fetch(f'SELECT number, at, text, signature, cut FROM "{self.schema}".signed ORDER BY number')  # noqa: S608 - our own schema's name
        return [Row(*row) for row in rows]

    async def changes(self, connection: Connection, newest: int) -> AsyncGenerator[tuple[int, Leaf], None]:
        """The rows of the leaves of checkpoints 1 to `newest`, each with its checkpoint's number, in order; within a transaction."""
        query = f"""
        SELECT number, table_id, revision, head, tree FROM "{self.schema}".leaves
        WHERE number BETWEEN 1 AND $1 ORDER BY number, table_id
        """  # noqa: S608 - our own schema's name
        if newest:
            async for number, *leaf in connection.cursor(query, newest, prefetch=LEAVES_A_FETCH):
                yield number, Leaf(*leaf)

    async def strays(self, connection: Connection, newest: int) -> list[tuple[int, Leaf]]:
        """Rows of leaves of checkpoints that are none, some of them, where `newest` is the last."""
        if not newest:
            return []
        rows = await connection.fetch(
            f"""
            SELECT number, table_id, revision, head, tree FROM "{self.schema}".leaves
            WHERE number NOT BETWEEN 1 AND $1 ORDER BY number, table_id LIMIT $2
            """,  # noqa: S608 - our own schema's name
            newest,
            STRAYS,
        )
        return [(number, Leaf(*leaf)) for number, *leaf in rows]

    async def leaf(self, connection: Connection, table: str, number: int) -> Leaf | None:
        """A table's leaf in checkpoint `number`; None when it had no commit yet."""
        row = await connection.fetchrow(
            f"""
            SELECT table_id, revision, head, tree FROM "{self.schema}".leaves
            WHERE table_id = $1 AND number <= $2 ORDER BY number DESC LIMIT 1
            """,  # noqa: S608 - our own schema's name
            table,
            number,
        )
        return None if row is None else Leaf(*row)

    async def holding(self, connection: Connection, table: str, head: str) -> tuple[int, Leaf] | None:
        """The newest checkpoint in which the table ends with the commit of hash `head`, and its leaf there; None where it never did."""
        number = await self.newest(connection)
        if not number:
            return None
        rows = await connection.fetch(
            f"""
            SELECT number, table_id, revision, head, tree FROM "{self.schema}".leaves
            WHERE table_id = $1 AND number <= $2 ORDER BY number DESC
            """,  # noqa: S608 - our own schema's name
            table,
            number,
        )
        for first, *leaf in rows:
            if (found := Leaf(*leaf)).head == head:
                return number, found
            number = first - 1  # the last one before this leaf was another
        return None

    async def leaves(self, connection: Connection, number: int) -> list[Leaf]:
        """All leaves of checkpoint `number`, in order."""
        rows = await connection.fetch(
            f"""
            SELECT DISTINCT ON (table_id) table_id, revision, head, tree FROM "{self.schema}".leaves
            WHERE number <= $1 ORDER BY table_id, number DESC
            """,  # noqa: S608 - our own schema's name
            number,
        )
        return [Leaf(*row) for row in rows]

    async def write(self, connection: Connection, event: CheckpointSigned, changed: Iterable[Leaf]) -> None:
        """A checkpoint whose leaves were found to be those that were signed; the second time nothing."""
        columns: list[list[Any]] = [list(column) for column in zip(*map(msgspec.structs.astuple, changed), strict=True)]
        async with connection.transaction():
            await connection.execute(
                f"""
                INSERT INTO "{self.schema}".leaves (table_id, number, revision, head, tree)
                SELECT table_id, $1, revision, head, tree
                FROM unnest($2::text[], $3::bigint[], $4::text[], $5::text[]) AS row (table_id, revision, head, tree)
                ON CONFLICT (table_id, number) DO UPDATE SET revision = EXCLUDED.revision, head = EXCLUDED.head, tree = EXCLUDED.tree
                """,  # noqa: S608 - our own schema's name
                event.number,
                *(columns or [[], [], [], []]),
            )
            await connection.execute(
                f"""
                INSERT INTO "{self.schema}".signed (number, at, text, signature, cut) VALUES ($1, $2, $3, $4, $5)
                ON CONFLICT (number) DO NOTHING
                """,  # noqa: S608 - our own schema's name
                *msgspec.structs.astuple(row_of(event)),
            )
