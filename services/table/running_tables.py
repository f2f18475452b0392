"""Which tables are in play, and when to look at each again: all that the clocks need to find a turn that ran out.

A row is made when a pulka opens and goes when it is over. It does not follow the game: whoever looks reads the log, and notes at which
`revision` they folded the table and when the turn that they found ends.
"""

from __future__ import annotations

import asyncpg

from shared.events.keys import MasterKeys
from shared.projections.core.checkpoint import CONNECT_S
from shared.projections.core.projection import Connection

DDL = """
CREATE TABLE IF NOT EXISTS running_table (
    table_id text   PRIMARY KEY,
    shortest bigint NOT NULL,
    look_at  bigint NOT NULL,
    revision bigint NOT NULL,
    ends_at  bigint NOT NULL
);
CREATE INDEX IF NOT EXISTS running_table_look_at ON running_table (look_at);
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

_RUNS = "INSERT INTO running_table (table_id, shortest, look_at, revision, ends_at) VALUES ($1, $2, 0, 0, 0) ON CONFLICT DO NOTHING"
_SEEN = "INSERT INTO key_seen (key_id) VALUES ($1) ON CONFLICT DO NOTHING"


async def runs(connection: Connection, table_id: str, shortest: int) -> None:
    """A pulka has opened; `shortest` is the least that a turn of it can last, in milliseconds. It is looked at soon."""
    await connection.execute(_RUNS, table_id, shortest)


async def require_keys(postgres_dsn: str, schema: str, keys: MasterKeys) -> None:
    """Raises `UnknownKey`, naming it, when an instance has sealed under a master key that is not here: those deals could never be opened.

    From now on the present sealing key counts among them.
    """
    connection = await asyncpg.connect(postgres_dsn, timeout=CONNECT_S, server_settings={"search_path": schema})
    try:
        keys.require(frozenset(row["key_id"] for row in await connection.fetch("SELECT key_id FROM key_seen")))
        await connection.execute(_SEEN, keys.ids[0])
    finally:
        await connection.close()
