"""Both stores of the clocks, held to the one contract; and what an instance of an earlier version left in Postgres."""

from __future__ import annotations

import time

import pytest

from services.table import running_tables
from services.table.clocks.memory import MemoryClockStore, MemoryRows
from services.table.clocks.outages import Outages
from services.table.clocks.postgres import PostgresClockStore
from services.table.clocks.store import Beat, Outage, Running, Silence
from services.table.openings import Openings
from shared.projections.core import checkpoint
from shared.projections.core.projection import schema_of
from tests.services.table.clock_store_contract import ClockStoreContract, table_in

# The tables as they were made while one instance swept all streams.
BEFORE = """
CREATE TABLE running_table (
    table_id text PRIMARY KEY, shortest bigint NOT NULL, look_at bigint NOT NULL, revision bigint NOT NULL, ends_at bigint NOT NULL
);
CREATE INDEX running_table_look_at ON running_table (look_at);
CREATE TABLE sweep (only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one), holder text NOT NULL, beat bigint NOT NULL);
CREATE TABLE key_seen (key_id text PRIMARY KEY);
CREATE TABLE outage (began bigint PRIMARY KEY, ended bigint NOT NULL);
"""
_TAKE = """
INSERT INTO sweep AS s (holder, beat) VALUES ($1, $2)
ON CONFLICT (only_one) DO UPDATE SET holder = excluded.holder, beat = excluded.beat
WHERE s.holder = excluded.holder OR s.beat < excluded.beat - 3000
RETURNING holder
"""


class World:
    """Two clients of the same rows."""

    def __init__(self, store, other, runs, runs_all):
        self.store, self.other, self.runs, self.runs_all = store, other, runs, runs_all


class TestMemory(ClockStoreContract):
    """The in-memory twin."""

    @pytest.fixture
    def world(self):
        rows = MemoryRows()

        async def runs(table_id, shortest):
            rows.runs(table_id, shortest)

        async def runs_all(ids, shortest):
            for table_id in ids:
                rows.runs(table_id, shortest)

        return World(MemoryClockStore(rows), MemoryClockStore(rows), runs, runs_all)

    async def test_time_is_its_own(self):
        """The store's clock is the one that it was given."""
        assert await MemoryClockStore(MemoryRows(lambda: 7)).time() == 7


@pytest.fixture
def schema(namespace):
    return schema_of(Openings(None, None, None), namespace)


@pytest.fixture
async def stores(postgres_dsn, schema):
    """Two clients of the same Postgres."""
    both = PostgresClockStore(postgres_dsn, schema), PostgresClockStore(postgres_dsn, schema)
    for store in both:
        await store.open()
    yield both
    for store in both:
        await store.close()


class TestPostgres(ClockStoreContract):
    """The adapter for Postgres."""

    @pytest.fixture
    async def world(self, connection, schema, stores):
        await checkpoint.prepare(connection, schema, running_tables.DDL)

        async def runs(table_id, shortest):
            await running_tables.runs(connection, table_id, shortest)

        async def runs_all(ids, shortest):
            insert = "INSERT INTO running_table (table_id, shortest, look_at, revision, ends_at) SELECT unnest($1::text[]), $2, 0, 0, 0"
            await connection.execute(insert, ids, shortest)

        return World(*stores, runs, runs_all)

    async def test_time_is_that_of_the_server(self, world):
        """Milliseconds since 1970, by the server's clock, which here is this machine's."""
        assert abs(await world.store.time() - time.time() * 1000) < 5_000

    async def test_it_opens_again_after_its_connection_was_lost(self, world, connection):
        """Whatever became of the old one."""
        await connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE $1", "%clocks")
        await world.store.open()
        assert await world.store.beats() == {}


async def test_what_an_earlier_version_left_is_there(connection, schema, stores):
    """An upgrade loses no running table and no outage, and goes on from the old heartbeat; a second start changes nothing."""
    await connection.execute(f'CREATE SCHEMA "{schema}"')
    await connection.execute(f'SET search_path TO "{schema}"')
    await connection.execute(BEFORE)
    await connection.execute("INSERT INTO running_table VALUES ($1, 5000, 99, 12, 34000)", table_in(1))
    await connection.execute("INSERT INTO outage VALUES (100, 5000), (9000, 20000)")
    await connection.execute("INSERT INTO sweep (holder, beat) VALUES ('old', 30000)")
    for _ in range(2):
        await checkpoint.prepare(connection, schema, running_tables.DDL)
    store = stores[0]
    assert await store.tables(["TABLE_1"], fresh=True) == [Running(table_in(1), 5_000, 12, 34_000)]
    assert await store.outages() == [Outage(9_000, 20_000), Outage(100, 5_000)]
    assert await store.beats() == {"": Beat(30_000, "old")}


async def test_an_instance_of_an_earlier_version_beside(connection, schema, stores):
    """Its statements go on to work, its outages are learned and those of this version are told to it; as long as this version beats, it
    does not take what passed for an outage.
    """
    await checkpoint.prepare(connection, schema, running_tables.DDL)
    store, outages = stores[0], Outages()
    assert await connection.fetchval(_TAKE, "old", 1_000) == "old"
    await connection.execute("INSERT INTO outage (began, ended) VALUES (10, 4010) ON CONFLICT DO NOTHING")
    await store.beat("new", [Silence("TABLE_0", 1_000, 90_000), Silence("TABLE_1", 1_000, 90_500, 90_000)])
    outages.learn(await store.outages())
    assert [outages.credit(table_in(partition), 0) for partition in (0, 1)] == [4_000, 89_990]  # what overlaps counts once
    rows = await connection.fetch("SELECT began, ended FROM outage ORDER BY ended DESC LIMIT 100")
    assert [tuple(row) for row in rows] == [(1_000, 90_000), (10, 4_010)]
    assert await connection.fetchval(_TAKE, "older", 91_000) is None
    assert await connection.fetchval("SELECT beat FROM sweep") == 90_000
