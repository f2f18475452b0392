"""The keeper of the ratings: woken by a result, back after a lost connection, and a defect is seen."""

from __future__ import annotations

import asyncio
import time

import pytest

from services.ledger.books import Books
from services.ledger.players import pulka_results, rating_keeper, rating_rows
from services.ledger.players.pulka_results import PulkaResult
from services.ledger.players.rating_keeper import RatingKeeper
from shared.projections.core import checkpoint

pytestmark = pytest.mark.servers

RESULT = PulkaResult("a", 1, 9, 1000, 1000, "anna boris clara", "10 0 -10", annulled=False, unrated="")
ENOUGH_S = 10.0  # seconds; it takes milliseconds


@pytest.fixture
async def rows(connection, schema):
    await checkpoint.prepare(connection, schema, Books.ddl)
    return connection


@pytest.fixture
async def keeper(postgres_dsn, schema, rows, monkeypatch):  # noqa: ARG001 - its tables must be there
    monkeypatch.setattr(rating_keeper, "LOOK_S", 3600)  # it looks when it is woken, and only then
    keeper = RatingKeeper(postgres_dsn, schema)
    keeper.start()
    assert await keeper.caught_up(ENOUGH_S)
    yield keeper
    await keeper.stop()


async def test_a_result_wakes_it(keeper, rows, schema):  # noqa: ARG001 - it works behind
    """Nobody has to ask for it: the rating comes by itself."""
    await pulka_results.write(rows, [RESULT])
    async with asyncio.timeout(ENOUGH_S):
        while (await rating_rows.due(rows))["pulkas"]:
            pass
    assert await rows.fetchval("SELECT count(*) FROM ratings") == 3
    assert abs(rating_keeper.RATED.labels(schema)._value.get() - time.time()) < ENOUGH_S  # shown on /metrics


async def test_it_comes_back_after_a_lost_connection(keeper, rows, schema):
    """Its connection ended by the server, it connects anew and rates what came meanwhile."""
    ended = await rows.fetchval(
        "SELECT bool_and(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = $1", f"pulka {schema} ratings"
    )
    assert ended
    await pulka_results.write(rows, [RESULT])
    assert await keeper.caught_up(ENOUGH_S)
    assert await rows.fetchval("SELECT count(*) FROM ratings") == 3
    assert keeper.health() == {"status": "ok", "reason": None}


async def test_who_waits_too_long_is_told(keeper, rows, schema):
    """While another holds the ratings, waiting ends in time with a no; afterwards with a yes."""
    async with rows.transaction():
        await rows.execute("SELECT pg_advisory_xact_lock($1)", rating_rows._lock(schema))
        assert not await keeper.caught_up(0.2)
    assert await keeper.caught_up(ENOUGH_S)


async def test_a_defect_is_seen(keeper, rows):
    """What nobody foresaw is told by `/health`, and tried again."""
    await rows.execute("INSERT INTO pulka_results VALUES ('b', 1, 9, 1000, 1000, 'anna boris', 'x y', false, '')")
    await rows.execute("INSERT INTO ratings_due VALUES ('b', 1000, 'b')")
    assert not await keeper.caught_up(0.5)
    assert keeper.health() == {"status": "down", "reason": "defect"}
    await rows.execute("DELETE FROM pulka_results")
    assert await keeper.caught_up(ENOUGH_S)
    assert keeper.health()["status"] == "ok"
