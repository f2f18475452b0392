"""What every projection may rely on: exactly once into the rows, whatever is killed, and readers who are told no more than that."""

import asyncio
import random

import pytest
import structlog

from shared.projections.core import checkpoint
from shared.projections.core.at_least import AtLeast
from shared.projections.following import follow
from shared.projections.following.projector import Projector
from shared.projections.versions.rebuild import fingerprint, rebuild
from tests.contracts.followers import Arrival, tallied
from tests.contracts.projection_subject import Tally, Writer

pytestmark = pytest.mark.servers


async def test_rows_follow_the_log(any_log, running, connection):
    """What is appended before and while a worker runs stands in its rows exactly once, and the checkpoint is the last sequence."""
    writer, arrival = Writer(any_log), Arrival()
    await writer.spread(120, 7)
    running.start(any_log, reached=arrival)
    await writer.spread(80, 3)
    await arrival.at(200)
    assert sum((await tallied(connection)).values()) == 200
    assert await connection.fetchval("SELECT sequence FROM checkpoint") == 200


async def test_a_rebuild_equals_the_live_rows(any_log, running, connection, schema, postgres_dsn):
    """A replay from nothing gives the same bytes as rows that grew with the log, and leaves the live rows alone."""
    writer, arrival, seen = Writer(any_log), Arrival(), []
    running.start(any_log, reached=arrival)
    for _ in range(10):
        await writer.spread(30, 4)
    await arrival.at(300)
    live = await fingerprint(connection, schema)
    fresh = schema + "_again"
    streams = ("LOBBY_0", "LOBBY_1")
    assert await rebuild(any_log, Tally(), streams, postgres_dsn, fresh, lambda done, total: seen.append((done, total))) == 300
    again = await fingerprint(connection, fresh)
    assert again.keys() == {"checkpoint", "heads", "parked", "skipped", "tally"}
    assert {table: digest for table, digest in again.items() if table != "checkpoint"} == {
        table: digest for table, digest in live.items() if table != "checkpoint"
    }
    live_checkpoint = await connection.fetch("SELECT * FROM checkpoint")
    await connection.execute(f'SET search_path TO "{fresh}"')
    assert [row for row in await connection.fetch("SELECT * FROM checkpoint") if row["sequence"]] == live_checkpoint
    assert seen[-1] == (300, 300)
    assert await fingerprint(connection, schema) == live
    with pytest.raises(FileExistsError):
        await rebuild(any_log, Tally(), ("LOBBY_0",), postgres_dsn, fresh)


async def test_sessions_killed_at_random_points(any_log, running, connection, schema, postgres_dsn):
    """Postgres sessions that are terminated anywhere in a batch cost no commit and count none twice."""
    writer, arrival, chance = Writer(any_log), Arrival(), random.Random(5)
    addresses = [writer.aggregate() for _ in range(6)]
    running.start(any_log, reached=arrival)
    for appended in range(20, 320, 20):
        for _ in range(20):
            await writer.append(chance.choice(addresses))
        await arrival.at(appended - chance.randrange(20))  # at times before, at times after the last batch
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1", f"pulka {schema} LOBBY_0"[:63]
        )
    await arrival.at(300)
    live = await fingerprint(connection, schema)
    await rebuild(any_log, Tally(), ("LOBBY_0",), postgres_dsn, schema + "_again")
    assert await fingerprint(connection, schema + "_again") == live


async def test_workers_cancelled_at_random_points(log, running, connection, schema, postgres_dsn):
    """A worker that is cut off at any await leaves rows and checkpoint of the same batch, and the next one goes on from there."""
    writer, chance = Writer(log), random.Random(9)
    await writer.spread(400, 9)
    await checkpoint.prepare(connection, schema, Tally.ddl)  # a worker may be cut off before it has made the tables
    for _ in range(20):
        arrival = Arrival()
        _, task = running.start(log, reached=arrival, projection=Slow(chance.randrange(1, 60)))
        await asyncio.wait({task}, timeout=chance.random() * 0.1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await connection.execute("UPDATE lease SET renewed = to_timestamp(0)")  # a cut-off worker cannot release it
        commits = await connection.fetchval("SELECT coalesce(sum(commits), 0) FROM tally")
        assert commits == (await connection.fetchval("SELECT sequence FROM checkpoint") or 0)
    arrival = Arrival()
    running.start(log, reached=arrival)
    await arrival.at(400)
    live = await fingerprint(connection, schema)
    await rebuild(log, Tally(), ("LOBBY_0",), postgres_dsn, schema + "_again")
    assert await fingerprint(connection, schema + "_again") == live


class Slow(Tally):
    """Stands still in the middle of its batch, until it is cut off."""

    def __init__(self, after):
        super().__init__()
        self.after = after

    async def apply(self, connection, batch):
        await super().apply(connection, batch[: self.after])
        await asyncio.Event().wait()


async def test_a_stopped_leader_writes_nothing(log, running, connection):
    """A worker whose lease another took while it stood still fails its batch at the lease row and becomes the standby."""
    writer, arrival = Writer(log), Arrival()
    gate = Gate()
    first, _ = running.start(log, projection=gate, reached=arrival)
    await writer.spread(5, 2)
    await arrival.at(5)
    gate.hold()
    await writer.spread(5, 2)
    await gate.held.wait()  # in its batch, before it commits; Postgres ends the idle transaction, as it does to a stopped process
    second_arrival = Arrival()
    second, _ = running.start(log, reached=second_arrival)
    await second_arrival.at(10)
    assert second.status().epoch == first.status().epoch + 1
    gate.release()
    await writer.spread(5, 2)
    await second_arrival.at(15)
    assert sum((await tallied(connection)).values()) == 15
    assert second.status().state == "following"


class Gate(Tally):
    """A tally that can be held between its rows and the commit of the batch."""

    def __init__(self):
        super().__init__()
        self.held, self.open = asyncio.Event(), asyncio.Event()
        self.open.set()

    def hold(self):
        self.open.clear()

    def release(self):
        self.open.set()

    async def apply(self, connection, batch):
        await super().apply(connection, batch)
        if not self.open.is_set():
            self.held.set()
            await self.open.wait()


async def test_a_standby_takes_over_at_once_after_a_drain(log, running, connection):
    """A worker that is stopped gives its lease up, and the standby goes on where it ended."""
    writer, one, two = Writer(log), Arrival(), Arrival()
    first, task = running.start(log, reached=one)
    await writer.spread(10, 2)
    await one.at(10)
    second, _ = running.start(log, reached=two)
    await second.settled.wait()
    assert second.status().state == "standby"
    first.stop()
    await task
    await writer.spread(10, 2)
    await two.at(20, seconds=2 * follow.STANDBY_S + 1)
    assert sum((await tallied(connection)).values()) == 20


@pytest.mark.parametrize("played_on", [0, 10])
async def test_rows_that_are_put_back_under_a_live_worker(log, running, connection, schema, postgres_dsn, played_on):
    """A worker whose rows are suddenly older ones writes no batch onto them: it goes on from where they are, and no commit is missing.

    It sees so by itself, even if nobody plays on.
    """
    writer, arrival = Writer(log), Arrival()
    worker, _ = running.start(log, reached=arrival)
    await writer.spread(20, 3)
    await arrival.at(20)
    kept = ("checkpoint", "heads", "tally")
    for table in kept:
        await connection.execute(f"CREATE TABLE backup_{table} AS SELECT * FROM {table}")
    await writer.spread(30, 3)  # aggregates of which the backup knows nothing: no chain would show that they are missing
    await arrival.at(50)
    async with connection.transaction():
        await connection.execute("SELECT FROM lease FOR UPDATE")
        for table in kept:
            await connection.execute(f"DELETE FROM {table}; INSERT INTO {table} SELECT * FROM backup_{table}")
    arrival.sequence = 0
    with structlog.testing.capture_logs() as lines:
        await writer.spread(played_on, 2)
        await arrival.at(50 + played_on)
    assert [line["how"] for line in lines if line["event"] == "lease_lost"] == [
        "CheckpointMoved: LOBBY_0 was applied up to 50, the rows are at 20"
    ]
    assert worker.status().state == "following"
    assert sum((await tallied(connection)).values()) == 50 + played_on
    for table in kept:
        await connection.execute(f"DROP TABLE backup_{table}")
    await rebuild(log, Tally(), ("LOBBY_0",), postgres_dsn, schema + "_again")
    assert await fingerprint(connection, schema + "_again") == await fingerprint(connection, schema)


async def test_a_reader_is_not_told_of_rows_that_were_lost():
    """A position that was reached is not, once a fresh connection finds older rows or none can be had; who waits is woken later."""
    known = AtLeast(("LOBBY_0",))
    known.reached("LOBBY_0", 50)
    assert await known.wait("LOBBY_0:50", 0.01)
    known.restarted({"LOBBY_0": 20})
    assert await known.wait("LOBBY_0:20", 0.01)
    assert not await known.wait("LOBBY_0:50", 0.01)
    known.restarted({})
    assert not await known.wait("LOBBY_0:20", 0.01)
    waiting = asyncio.create_task(known.wait("LOBBY_0:50"))
    await asyncio.sleep(0)  # let it begin to wait
    known.restarted({"LOBBY_0": 60})
    assert await waiting


def test_what_others_reach_in_streams_that_are_not_known_is_passed_over():
    """Beside a process that knows more partitions, one that knows fewer hears of rows that it does not read, and of its own."""
    known = AtLeast(("LOBBY_0",))
    for payload in ("LOBBY_12:7", "nothing", "LOBBY_0:9"):
        known.notified(None, 0, "channel", payload)
    assert known._reached == {"LOBBY_0": 9}


async def test_at_least_waits_for_the_rows(log, schema, connection, postgres_dsn):
    """A reader that names a position is woken when the rows have it, also in a process that does not project; a later one times out."""
    writer = Writer(log)
    one = Projector(log, Tally(), ("LOBBY_0",), postgres_dsn, schema)
    two = Projector(log, Tally(), ("LOBBY_0",), postgres_dsn, schema)
    await one.start()
    await two.start()
    try:
        assert sorted(status.state for projector in (one, two) for status in projector.status()) == ["following", "standby"]
        waiting = [asyncio.create_task(projector.at_least.wait("LOBBY_0:1")) for projector in (one, two)]
        await writer.spread(1, 1)
        assert await asyncio.gather(*waiting) == [True, True]
        assert await connection.fetchval("SELECT sequence FROM checkpoint") == 1
        assert not await one.at_least.wait("LOBBY_0:2", 0.05)
        for unknown in ("", "LOBBY_0", "LOBBY_9:1", "LOBBY_0:-1", "LOBBY_0:x", "LOBBY_0:1:1", "LOBBY_0:²"):
            with pytest.raises(ValueError, match="^" + unknown[:5]):
                await one.at_least.wait(unknown)
    finally:
        await one.stop()
        await two.stop()
