"""Several ledgers over the same books: one leads each stream, and whatever becomes of it, nothing is written twice or left out."""

from __future__ import annotations

import asyncio
import os
import signal
import time

import asyncpg
import httpx
import pytest

from services.ledger.books import Books
from shared.eventlog.jetstream.log import open_log
from shared.projections.versions.versions import Versions
from tests.chaos.ledger_lives import Lives
from tests.chaos.ledger_play import Club, Watch, differences

pytestmark = [pytest.mark.chaos, pytest.mark.servers]


@pytest.fixture
def schema(namespace):
    return Versions(Books.name, namespace).schema(1)  # the first one, which an empty log opens


@pytest.fixture
async def log(nats_url, namespace):
    log = await open_log(nats_url, namespace, durable=True)
    yield log
    await log.close()


@pytest.fixture
async def lives(nats_url, postgres_dsn, namespace, tmp_path):
    async with Lives(nats_url, postgres_dsn, namespace, tmp_path) as lives:
        yield lives


@pytest.fixture
async def watch(connection, schema):
    watch = Watch()
    await connection.add_listener(schema, watch)
    return watch


async def leaders(connection):
    """By stream the process that leads it."""
    rows = await connection.fetch("SELECT stream, holder FROM lease")
    return {row["stream"]: int(row["holder"].split(":")[1]) for row in rows}


async def led_by(connection, lives):
    """Wait until each stream is led by one of `lives`; those in which nothing happens come in their own time."""
    async with asyncio.timeout(30):
        while not set((await leaders(connection)).values()) <= {life.pid for life in lives}:  # noqa: ASYNC110 - a row tells nobody of itself
            await asyncio.sleep(0.02)  # the interval of a poll


async def back(life):
    """Wait until a ledger is on its feet again."""
    async with asyncio.timeout(30):
        while (await well(life))["status"] != "ok":  # noqa: ASYNC110 - another process tells only who asks
            await asyncio.sleep(0.02)  # the interval of a poll


async def well(life):
    """What `/health` of a ledger says of its books."""
    async with httpx.AsyncClient(base_url=life.url, trust_env=False) as client:
        return (await client.get("/health")).json()["services"]["ledger"]["books"]


async def test_three_ledgers_share_the_books_and_follow_each_other(log, lives, watch, connection, postgres_dsn, schema, record_property):
    """Three started at once, two killed one after the other, a fourth that takes over from the last in order: rows as of a rebuild."""
    club, others = Club(log, watch), [await lives.start() for _ in range(3)]
    for life in others:
        await life.through(life.ready.wait())
    assert [(await well(life))["status"] for life in others] == ["ok"] * 3
    await club.play(60)
    await watch.all_of(log)
    while len(others) > 1:
        led = await leaders(connection)
        dying = max(others, key=lambda life: list(led.values()).count(life.pid))
        others.remove(dying)
        await dying.kill()
        killed = time.perf_counter()
        await club.play(60)
        await watch.all_of(log)
        record_property("take_over_ms", round(1000 * (time.perf_counter() - killed)))  # a figure, not a condition
        await led_by(connection, others)
    fourth = await lives.start()
    await fourth.through(fourth.ready.wait())
    await led_by(connection, others)  # nobody gives way to who comes later
    os.kill(others[0].pid, signal.SIGTERM)
    await others[0].ended.wait()
    await club.play(60)
    await watch.all_of(log)
    await led_by(connection, [fourth])
    assert await connection.fetchval("SELECT count(*) FROM audit_trail") == club.made
    assert await differences(connection, log, postgres_dsn, schema) == set()


async def test_a_leader_that_stood_still_writes_nothing_more(log, lives, watch, connection, postgres_dsn, schema):
    """Stopped in the middle of a transaction, overtaken and continued, it finds itself overtaken, and stands by for the next time."""
    club, leader = Club(log, watch), await lives.start()
    await leader.through(leader.ready.wait())
    standby = await lives.start()
    await standby.through(standby.ready.wait())
    await club.play(40)
    await watch.all_of(log)
    ours = await asyncpg.connect(postgres_dsn, server_settings={"search_path": schema})
    async with ours.transaction():
        await ours.execute("LOCK TABLE audit_trail IN EXCLUSIVE MODE")
        await club.play(8)
        while not await ours.fetchval(  # noqa: ASYNC110 - Postgres tells nobody that somebody waits
            "SELECT count(*) FROM pg_locks WHERE relation = 'audit_trail'::regclass AND NOT granted"
        ):
            await asyncio.sleep(0.002)  # the interval of a poll
        leader.stop()
    await ours.close()
    await watch.all_of(log)
    await led_by(connection, [standby])
    epochs = await connection.fetch("SELECT stream, epoch FROM lease ORDER BY stream")
    leader.go_on()
    await back(leader)  # its workers stand by
    await club.play(40)
    await watch.all_of(log)
    assert await connection.fetch("SELECT stream, epoch FROM lease ORDER BY stream") == epochs
    await standby.kill()
    await club.play(40)
    await watch.all_of(log)
    await led_by(connection, [leader])
    assert await connection.fetchval("SELECT count(*) FROM audit_trail") == club.made
    assert await differences(connection, log, postgres_dsn, schema) == set()
