"""Which tables are in play, and what else the clocks keep in Postgres: all that they need to find a turn that ran out.

A row is made when a pulka opens and goes when it is over. It does not follow the game: whoever looks after its stream reads the log, and
notes at which `revision` they folded the table and when the turn that they found ends. `known` says that such a one has the row at hand;
`look_at` and `sweep` are read by instances of an earlier version only, which may run beside for a while. `outage.streams` is null where
nobody could move at any table.
"""

from __future__ import annotations

from typing import Final

import asyncpg

from shared.events.keys import MasterKeys
from shared.leases.postgres import LeaseTables
from shared.projections.core.checkpoint import CONNECT_S
from shared.projections.core.projection import Connection

CLOCK_LEASES: Final = LeaseTables("clock_lease", "clock_instance")

_FIRST = """
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
_REST = """
CREATE TABLE IF NOT EXISTS clock_beat (
    stream text   PRIMARY KEY,
    holder text   NOT NULL,
    beat   bigint NOT NULL
);
DO $$ BEGIN  -- what was added to tables of before; asked first, since ALTER locks the table even where there is nothing to add
    IF NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'running_table'::regclass AND attname = 'known') THEN
        ALTER TABLE running_table ADD COLUMN known boolean NOT NULL DEFAULT false;
        CREATE INDEX running_table_fresh ON running_table (table_id) WHERE NOT known;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'outage'::regclass AND attname = 'streams') THEN
        ALTER TABLE outage ADD COLUMN streams text[], DROP CONSTRAINT outage_pkey, ADD PRIMARY KEY (began, ended);
    END IF;
END $$;
"""
DDL = _FIRST + CLOCK_LEASES.ddl + _REST

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
