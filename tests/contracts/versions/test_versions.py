"""Versions of a projection's rows: filled beside the one that is read, switched to when they are as far, and never in between."""

import asyncio

import asyncpg
import pytest

from shared.eventlog.memory import MemoryLog, MemoryStore
from shared.projections.core import checkpoint
from shared.projections.core.history import LogBehindCheckpoint
from shared.projections.following.projector import Projector
from shared.projections.versions import next_version
from shared.projections.versions.live_version import LiveVersion, NewerRows
from shared.projections.versions.next_version import AlreadyFilling, NextVersion
from shared.projections.versions.rebuild import fingerprint, rebuild
from tests.contracts.projection_subject import POISON, Tally, Writer
from tests.contracts.versions.conftest import PATIENCE, STREAMS, states, until

pytestmark = pytest.mark.servers


class Newer(Tally):
    """The tally of a later program: other rows of the same log."""

    version = 2


class Held(Tally):
    """A tally that stands before its first batch until it is let go."""

    def __init__(self):
        super().__init__()
        self.held, self.go = asyncio.Event(), asyncio.Event()

    async def apply(self, connection, batch):
        self.held.set()
        await self.go.wait()
        await super().apply(connection, batch)


async def test_the_first_version_of_an_empty_log_is_read_at_once(log, world, connection, versions):
    """Two services that start together on an empty database follow one and the same first version, and it is announced."""
    one, two = await asyncio.gather(world.follow(log), world.follow(log))
    assert (one.live.number, two.live.number) == (1, 1)
    assert await states(connection, versions) == {1: "live"}
    assert set(world.announced) == {(1, 0)}
    written = await Writer(log).spread(3, 1)
    assert await one.at_least.wait(written[-1].position)
    assert await two.at_least.wait(written[-1].position)


async def test_an_empty_database_under_a_log_is_filled_before_it_is_read(log, world, connection, versions):
    """Where rows are missing nobody reads the little that there is: the first version is read when it holds the whole log."""
    await Writer(log).spread(40, 4)
    live = await world.follow(log)
    (version,) = await versions.known(connection)
    assert (version.state, version.marks) == ("live", {"LOBBY_0": 40})
    assert await connection.fetchval("SELECT sum(commits) FROM tally") == 40
    assert live.health()["status"] == "ok"


async def test_a_next_version_is_filled_beside_the_live_one(any_log, world, connection, versions):
    """While commits come, the next version is filled and read from then on; its rows are those of the one before, byte for byte."""
    writer = Writer(any_log)
    live = await world.follow(any_log)
    await writer.spread(150, 5)
    filling = asyncio.create_task(world.next(any_log).fill("ann"))
    while not filling.done():
        (last,) = await writer.spread(1, 1)
        assert await live.at_least.wait(last.position, PATIENCE)
    done = await filling
    assert (done.version.number, done.version.previous, done.version.author, done.parked) == (2, 1, "ann", 0)
    (last,) = await writer.spread(1, 1)
    assert await live.at_least.wait(last.position, PATIENCE)
    assert live.live.number == 2
    assert await states(connection, versions) == {1: "retired", 2: "live"}
    await rebuild(any_log, Tally(), STREAMS, world.dsn, versions.schema(2) + "_again")
    assert await fingerprint(connection, versions.schema(2) + "_again") == await fingerprint(connection, versions.schema(2))
    assert world.announced == [(1, 0), (2, 1)]


async def test_the_old_version_stands_where_readers_left_it(log, world, connection, versions):
    """After a switch nobody can take the old version's leases, a service that has not heard of it included; its rows move no more."""
    writer = Writer(log)
    await writer.spread(5, 1)
    await world.follow(log)
    behind = Projector(log, Tally(), STREAMS, world.dsn, versions.schema(1))  # a service that never looks at the registry
    await behind.start()
    try:
        done = await world.next(log).fill("ann")
        await writer.spread(5, 1)
        await until(lambda: moved(connection, versions.schema(2), 10))
        assert await moved(connection, versions.schema(1), done.version.marks["LOBBY_0"])
        assert await checkpoint.take(connection, "LOBBY_0", "the test") is None
    finally:
        await behind.stop()


async def moved(connection, schema, sequence):
    return await connection.fetchval(f"SELECT sequence FROM \"{schema}\".checkpoint WHERE stream = 'LOBBY_0'") == sequence


async def test_readers_are_not_switched_to_a_version_that_is_behind(log, world, connection, versions):
    """However long the next version is held up, and however far the live one goes meanwhile: it is read when it is as far."""
    writer, held = Writer(log), Held()
    live = await world.follow(log)
    await writer.spread(5, 1)
    filling = asyncio.create_task(world.next(log, held).fill("ann"))
    await held.held.wait()
    written = await writer.spread(20, 2)
    assert await live.at_least.wait(written[-1].position)
    assert await states(connection, versions) == {1: "live", 2: "filling"}
    held.go.set()
    done = await filling
    assert done.version.marks == {"LOBBY_0": 25}


async def test_of_two_fillings_the_second_is_refused(log, world, connection, versions):
    """Whoever comes second is told which version is being filled and for whom; the first one is not disturbed."""
    held = Held()
    await Writer(log).spread(5, 1)
    filling = asyncio.create_task(world.next(log, held).fill("ann"))
    await held.held.wait()
    with pytest.raises(AlreadyFilling, match="version 1 is being filled, for ann"):
        await world.next(log).fill("boris")
    held.go.set()
    assert (await filling).version.number == 1
    assert await states(connection, versions) == {1: "live"}


async def test_a_filling_that_is_cut_off_is_never_read(log, world, connection, versions):
    """A filling whose process has gone leaves the live version alone; what it left behind goes with the next one."""
    await world.follow(log)
    await Writer(log).spread(5, 1)
    killed = await asyncpg.connect(world.dsn)
    await versions.alone(killed)
    half = await versions.begin(killed, Tally.version, "ann")
    await checkpoint.prepare(killed, versions.schema(half.number), Tally.ddl)
    await killed.close()  # as the kernel does it for a process that was killed
    assert await states(connection, versions) == {1: "live", 2: "filling"}
    done = await world.next(log).fill("boris")
    assert await states(connection, versions) == {1: "retired", done.version.number: "live"}
    assert await connection.fetchval("SELECT sum(commits) FROM tally") == 5


async def held_filling(world, log):
    """A filling beside a version that is followed, in the middle of its first batch."""
    held = Held()
    await world.follow(log)
    await Writer(log).spread(5, 1)
    filling = asyncio.create_task(world.next(log, held).fill("ann"))
    await held.held.wait()
    return filling


async def test_a_filling_that_is_cancelled_clears_away(log, world, connection, versions):
    """Ctrl-C leaves nothing but what was there."""
    filling = await held_filling(world, log)
    filling.cancel()
    await asyncio.gather(filling, return_exceptions=True)
    assert await states(connection, versions) == {1: "live"}
    assert await connection.fetchval("SELECT to_regnamespace($1)", versions.schema(2)) is None


async def test_older_versions_are_dropped(log, world, connection, versions):
    """The version that was read last is kept; those before it go, once nobody can be reading them."""
    await world.follow(log)
    await Writer(log).spread(5, 1)
    assert (await world.next(log).fill("ann")).dropped == []
    assert (await world.next(log).fill("ann")).dropped == []  # it was left a moment ago
    assert (await world.next(log).fill("ann", unread_s=0)).dropped == [1, 2]
    assert await states(connection, versions) == {3: "retired", 4: "live"}
    assert await versions.drop(connection, 3)
    assert not await versions.drop(connection, 3)
    with pytest.raises(ValueError, match="being read"):
        await versions.drop(connection, 4)


async def test_a_newer_program_fills_its_own_version(log, world, connection, versions):
    """A program whose rows are others never reads those that are there: it fills a version and follows that; the old program gives up."""
    writer = Writer(log)
    older = await world.follow(log)
    await writer.spread(30, 3)
    newer = await world.follow(log, Newer())
    assert (newer.live.number, newer.live.rows) == (2, 2)
    assert await states(connection, versions) == {1: "retired", 2: "live"}

    async def given_up():
        return older.health().get("reason") == "newer_rows"

    await until(given_up)
    assert older.health()["status"] == "down"
    with pytest.raises(NewerRows, match="newer program"):
        await world.follow(log)


async def test_what_is_parked_is_told_with_the_switch(log, world):
    """A commit that cannot be applied parks its aggregate in the next version too; the switch says how many commits wait."""
    writer = Writer(log)
    sick = writer.aggregate()
    await writer.spread(5, 2)
    await writer.append(sick, POISON)
    await writer.append(sick)
    assert (await world.next(log).fill("ann")).parked == 2


async def test_a_log_that_ends_before_what_is_read_fills_nothing(log, world, connection, versions):
    """A log restored from an older copy can never fill a version that shows as much: said at once, and the old one is read on."""
    live = await world.follow(log)
    written = await Writer(log).spread(10, 2)
    assert await live.at_least.wait(written[-1].position)
    await live.stop()
    older = MemoryLog(MemoryStore())
    await Writer(older).spread(9, 2)
    with pytest.raises(LogBehindCheckpoint, match="ends at sequence 9, but the version that is read shows 10"):
        await world.next(older).fill("ann")
    assert await states(connection, versions) == {1: "live"}


async def test_whoever_loses_the_right_to_fill_fills_nothing(log, world, connection, versions):
    """With the session of a filling its right is gone: it ends at once, another may begin, and no number is used twice."""
    filling = await held_filling(world, log)
    await connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1", f"{versions.registry} next"[:63]
    )
    with pytest.raises(ConnectionError, match="was lost"):
        await filling
    assert await states(connection, versions) == {1: "live"}
    assert (await world.next(log).fill("boris")).version.number == 3


async def test_a_switch_that_stands_still_lets_the_live_version_go_on(log, world, connection, versions, monkeypatch):
    """A process that is stopped in the middle of the switch holds the live version's workers for a moment only, and switches nothing."""
    monkeypatch.setattr(next_version, "IDLE_MS", 200)
    calls, held = 0, asyncio.Event()

    async def stage(_connection):
        nonlocal calls
        calls += 1
        if calls == 2:  # within the switch, as the leases are locked
            held.set()
            await asyncio.Event().wait()

    writer = Writer(log)
    live = await world.follow(log)
    await writer.spread(5, 1)
    filling = asyncio.create_task(NextVersion(log, Tally(), STREAMS, world.dsn, versions, stage).fill("ann"))
    await held.wait()
    (last,) = await writer.spread(1, 1)
    assert await live.at_least.wait(last.position, PATIENCE)
    assert await states(connection, versions) == {1: "live", 2: "filling"}
    filling.cancel()
    await asyncio.gather(filling, return_exceptions=True)
    assert await states(connection, versions) == {1: "live"}


async def test_what_is_derived_is_there_when_readers_come(log, world, versions):
    """The stage behind the rows is brought up to date before the switch, with the workers stopped: nobody reads rows without it."""
    done = []

    async def stage(connection):
        done.append(await connection.fetchval("SELECT coalesce(sum(commits), 0) FROM tally"))

    kept = []

    class Beside:
        def __init__(self, schema):
            self.schema = schema

        def start(self):
            kept.append(("start", self.schema))

        async def stop(self):
            kept.append(("stop", self.schema))

    live = LiveVersion(log, Tally(), STREAMS, world.dsn, versions, stage=stage, beside=Beside)
    world.started.append(live)
    await live.start()
    await Writer(log).spread(7, 2)
    await NextVersion(log, Tally(), STREAMS, world.dsn, versions, stage).fill("ann")

    async def followed():
        return len(kept) == 3

    await until(followed)
    assert done[-1] == 7
    assert sorted(kept) == [("start", versions.schema(1)), ("start", versions.schema(2)), ("stop", versions.schema(1))]
    assert live.beside.schema == versions.schema(2)


async def test_an_empty_log_is_filled_too(log, world, connection, versions):
    """A rebuild before anything happened makes the tables, and what is derived from them finds them there."""

    async def stage(connection):
        assert await connection.fetchval("SELECT count(*) FROM tally") == 0

    await world.follow(log)
    await NextVersion(log, Tally(), STREAMS, world.dsn, versions, stage).fill("ann")
    assert await states(connection, versions) == {1: "retired", 2: "live"}


async def test_a_schema_that_others_left_is_not_written_into(log, world, connection, versions):
    """Rows of a program that knew no registry stay as they are: the first version takes a number above theirs."""
    await connection.execute(f'CREATE SCHEMA "{versions.schema(4)}"')
    live = await world.follow(log)
    assert live.live.number == 5
    assert await versions.drop(connection, 4)


async def test_reads_of_a_new_version_are_planned_by_what_it_holds(log, world, connection, versions):
    """Postgres knows how many rows the tables have when readers come, as it does of a version that was read for long."""
    await Writer(log).spread(60, 30)
    await world.next(log).fill("ann")
    known = await connection.fetchval("SELECT reltuples FROM pg_class WHERE oid = $1::regclass", f'"{versions.schema(1)}".tally')
    assert known == await connection.fetchval("SELECT count(*) FROM tally") > 20
