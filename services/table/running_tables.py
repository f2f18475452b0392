"""Which tables wait for whom, and until when: the small read table that the clocks sweep."""

from __future__ import annotations

from collections.abc import Sequence

import asyncpg

from services.table.table import Table, Tables, deadline
from shared.eventlog.port import Recorded
from shared.events.commit import decode
from shared.events.keys import MasterKeys
from shared.events.sealing import key_ids
from shared.projections.follow import CONNECT_S
from shared.projections.projection import Connection
from shared.rules import pulka as match

DDL = """
CREATE TABLE IF NOT EXISTS running_table (
    table_id      text   PRIMARY KEY,
    revision      bigint NOT NULL,
    turn_revision bigint NOT NULL,
    turn_began    bigint NOT NULL,
    deadline      bigint NOT NULL,
    phase         text   NOT NULL,
    number        int    NOT NULL
);
CREATE INDEX IF NOT EXISTS running_table_deadline ON running_table (deadline);
CREATE TABLE IF NOT EXISTS sweep (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    holder   text    NOT NULL,
    beat     bigint  NOT NULL
);
CREATE TABLE IF NOT EXISTS key_seen (
    key_id text PRIMARY KEY
);
CREATE TABLE IF NOT EXISTS outage (
    began bigint PRIMARY KEY,
    ended bigint NOT NULL
);
"""

_UPSERT = """
INSERT INTO running_table (table_id, revision, turn_revision, turn_began, deadline, phase, number) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (table_id) DO UPDATE SET revision = excluded.revision, turn_revision = excluded.turn_revision, turn_began = excluded.turn_began,
    deadline = excluded.deadline, phase = excluded.phase, number = excluded.number
WHERE running_table.revision < excluded.revision
"""

_SEEN = "INSERT INTO key_seen (key_id) VALUES ($1) ON CONFLICT DO NOTHING"


async def require_keys(postgres_dsn: str, schema: str, keys: MasterKeys) -> None:
    """Raises `UnknownKey`, naming it, when the log holds boxes under a master key that is not here: its deals could never be opened."""
    connection = await asyncpg.connect(postgres_dsn, timeout=CONNECT_S, server_settings={"search_path": schema})
    try:
        keys.require(frozenset(row["key_id"] for row in await connection.fetch("SELECT key_id FROM key_seen")))
    finally:
        await connection.close()


class RunningTables:
    """One row a pulka in play."""

    name = "running_tables"
    version = 1
    ddl = DDL

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def apply(self, connection: Connection, batch: Sequence[Recorded]) -> None:
        """Bring the rows of the tables in `batch` up to at least their last commit there."""
        seen = frozenset[str]().union(*(key_ids(decode(recorded.data)) for recorded in batch))
        if seen:
            await connection.executemany(_SEEN, [(key_id,) for key_id in sorted(seen)])
        newest = {recorded.address.id: recorded.revision for recorded in batch}
        tables = [await self._at_least(table_id, revision) for table_id, revision in newest.items()]
        ended = [table.pulka.table_id for table in tables if deadline(table) is None]
        if ended:
            await connection.execute("DELETE FROM running_table WHERE table_id = ANY($1)", ended)
        rows = [_row(table) for table in tables if deadline(table) is not None]
        if rows:
            await connection.executemany(_UPSERT, rows)

    async def _at_least(self, table_id: str, revision: int) -> Table:
        loaded = await self._tables.load(table_id)
        if loaded.revision < revision:
            loaded = await self._tables.load(table_id, at_leader=True)
        return loaded.state


def _row(table: Table) -> tuple[str, int, int, int, int | None, str, int]:
    pulka = table.pulka
    return pulka.table_id, table.revision, table.turn_revision, table.turn_began, deadline(table), match.phase(pulka), pulka.number
