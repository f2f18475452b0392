"""The ledger is killed at fifty random points while pulkas are played; in the end its rows are those of a rebuild from nothing."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

import asyncpg
import pytest

from services.ledger.books import Books
from shared.eventlog.jetstream.log import open_log
from shared.projections.versions.versions import Versions
from tests.chaos.ledger_lives import Lives
from tests.chaos.ledger_play import COMMITS, Club, Watch, differences

pytestmark = [pytest.mark.chaos, pytest.mark.servers]

KILLS = 50
BY_COMMAND = 10  # every tenth life is `pulka serve ledger` itself, the others what it runs, without importing it again
SETTLED = 5  # every fifth life has begun everything that a ledger does before play goes on
POINTS = ("while it starts", "between batches", "in a transaction")
WRITTEN = ("tables", "audit_trail", "heads", "checkpoint")  # by every batch, one after the other within its transaction


@pytest.fixture
def schema(namespace):
    return Versions(Books.name, namespace).schema(1)  # the first one, which an empty log opens


@pytest.fixture
async def log(nats_url, namespace):
    log = await open_log(nats_url, namespace, durable=True)
    yield log
    await log.close()


async def in_a_transaction(dsn, schema, table, life):
    """Kill `life` while it waits in the middle of a transaction, for a table that we hold until it is dead."""
    ours = await asyncpg.connect(dsn, server_settings={"search_path": schema})
    try:
        async with asyncio.timeout(30), ours.transaction():
            await ours.execute(f'LOCK TABLE "{table}" IN EXCLUSIVE MODE')
            while not await ours.fetchval(  # noqa: ASYNC110 - see the poll
                "SELECT count(*) FROM pg_locks WHERE relation = $1::regclass AND NOT granted", f'"{schema}"."{table}"'
            ):
                await asyncio.sleep(0.002)  # the interval of a poll: Postgres tells nobody that somebody waits
            await life.kill()
    finally:
        await ours.close()


@pytest.mark.timeout(240)  # some 40 s on two cores; a busy machine takes several times as long
async def test_killed_at_fifty_points_the_rows_are_those_of_a_rebuild(log, nats_url, namespace, postgres_dsn, connection, schema, tmp_path):
    """While it starts, between two batches, and in the middle of a transaction: nothing is lost, nothing is there twice."""
    chance, watch, points = random.Random(50), Watch(), Counter()
    club = Club(log, watch)
    await connection.add_listener(schema, watch)
    async with Lives(nats_url, postgres_dsn, namespace, tmp_path) as lives:
        for number in range(KILLS):
            life = await (lives.command() if number % BY_COMMAND == BY_COMMAND - 1 else lives.start())
            if number % SETTLED == 0:  # the first makes the tables, before there is anything to write into them
                await life.through(life.ready.wait())
            playing, point = club.begin(), chance.choice(POINTS)
            match point:
                case "while it starts":
                    await life.through(club.until(club.made + chance.randrange(COMMITS)))
                case "between batches":
                    batches = watch.batches + chance.randrange(1, 12)
                    await life.through(watch.until(lambda batches=batches: watch.batches >= batches))
                case "in a transaction":
                    await in_a_transaction(postgres_dsn, schema, chance.choice(WRITTEN), life)
            await life.kill()
            club.end()
            await playing
            points[point] += 1
            await connection.execute("UPDATE lease SET renewed = to_timestamp(0)")  # as if two seconds had passed: the dead renew nothing
        life = await lives.start()
        await life.through(watch.all_of(log))
    assert points.total() == KILLS
    assert min(points[point] for point in POINTS) > KILLS // 6, points
    assert await differences(connection, log, postgres_dsn, schema) == set()
    assert await connection.fetchval("SELECT count(*) FROM audit_trail") == club.made == sum(len(one.commits) for one in club.tables)
    assert await connection.fetchval("SELECT count(*) FROM parked") == 0
    assert await connection.fetchval("SELECT count(DISTINCT table_id) FROM accounts WHERE net IS NOT NULL") > 3  # settled on the way
