"""Who looks after which streams: fair shares, and what becomes of the share of one who died. On both stores."""

from __future__ import annotations

import pytest

from services.table import running_tables
from services.table.clocks.memory import MemoryClockStore, MemoryRows
from services.table.clocks.postgres import PostgresClockStore
from services.table.openings import Openings
from services.table.table import deadline, shortest_turn
from services.table.tables import Tables
from shared.eventlog.memory import MemoryLog
from shared.events import address
from shared.events.sealing import TableCodec
from shared.leases.shares import LEASE_S
from shared.projections.core import checkpoint
from shared.projections.core.projection import schema_of
from shared.rules.pulka import decider as match
from tests.partitions import TABLE_STREAMS
from tests.services.table.clock_sweeper import APART, Sweeper
from tests.services.table.playing import KEYS, TABLE_ID, Playing

STREAM = address.table(TABLE_ID).stream
BEGAN = 1_764_000_000_000  # milliseconds since 1970


@pytest.fixture
def schema(namespace):
    return schema_of(Openings(None, None, None), namespace)


@pytest.fixture
def tables():
    return Tables(MemoryLog(), TableCodec(KEYS))


def held(sweepers):
    return [len(one.clocks._held) for one in sweepers]


async def rounds(sweepers, begin, count):
    for number in range(count):
        for one in sweepers:
            await one.sweep(begin + number * APART // 2)
    return begin + count * APART // 2


class Shares:
    """What holds on either store. `world.new_store()` makes one more client of the same rows; `world.runs` says that a table runs."""

    async def test_a_new_instance_gets_its_share(self, world, tables):
        """The first has all; a second gets half, a third its third; one that stops gives its share back at once."""
        sweepers = [Sweeper(tables, await world.new_store())]
        now = await rounds(sweepers, BEGAN, 2)
        assert held(sweepers) == [8]
        for sizes in ([4, 4], [2, 3, 3]):
            sweepers.append(Sweeper(tables, await world.new_store()))
            now = await rounds(sweepers, now, 4)
            assert sorted(held(sweepers)) == sizes
        leaving = sweepers.pop()
        await leaving.clocks.stop()
        await rounds(sweepers, now, 2)
        assert held(sweepers) == [4, 4]
        streams = {stream for one in sweepers for stream in one.clocks._held}
        assert streams == set(TABLE_STREAMS)

    async def test_the_share_of_one_who_was_killed_is_taken_over_within_3_s(self, world, tables):
        """A holder that shows no sign of life for a lease's time is dead, whatever any wall clock says; no outage is made of it."""
        stays, dies = Sweeper(tables, await world.new_store()), Sweeper(tables, await world.new_store())
        now = await rounds([stays, dies], BEGAN, 4)
        assert held([stays, dies]) == [4, 4]
        for step in range(1, 13):
            await stays.sweep(now + step * 250)
            if held([stays]) == [8]:
                break
        assert LEASE_S - 1 <= step / 4 <= 3  # what it saw last is up to a second old
        assert await stays.store.outages() == []

    async def test_rows_that_were_away_for_all_make_nobody_dead(self, world, tables):
        """Whoever reads them again first takes nothing from the others."""
        first, second = Sweeper(tables, await world.new_store()), Sweeper(tables, await world.new_store())
        now = await rounds([first, second], BEGAN, 4)
        for later in (10_000, 10_250, 10_500):
            await first.sweep(now + later)
        assert held([first, second]) == [4, 4]
        await second.sweep(now + 10_500)
        assert held([first, second]) == [4, 4]

    async def test_one_who_was_stopped_and_overtaken_does_nothing(self, world):
        """It goes on and finds another epoch: it drops what it had, and ends no turn on old knowledge."""
        playing = await Playing(terms={"clock": {"move_s": 30, "cut_s": 5}}).open()
        await playing.until("auction")
        table = await playing.table()
        await world.runs(TABLE_ID, shortest_turn(table.terms))
        stopped, other = [Sweeper(playing.tables, await world.new_store(), [STREAM]) for _ in range(2)]
        await stopped.sweep(table.turn_began)
        assert held([stopped]) == [1]
        for at in range(table.turn_began, deadline(table), APART):
            await other.sweep(at)
        assert held([other]) == [1]
        assert await stopped.sweep(deadline(table) + 1) == []
        assert held([stopped]) == [0]
        (done,) = await other.sweep(deadline(table) + 2)
        assert done.events[0].deadline == deadline(table)
        assert await other.store.outages() == []


async def test_a_deal_that_a_dead_instance_would_have_started_is_started():
    """Whoever made the last move of a deal starts the next one; when it dies in between, another does within three seconds."""
    rows, playing = MemoryRows(), await Playing(terms={"clock": {"move_s": 30, "cut_s": 30}}).open()
    rows.runs(TABLE_ID, 30_000)
    ours, dies = Sweeper(playing.tables, rows, [STREAM]), Sweeper(playing.tables, rows)
    await playing.until("play")
    while match.phase((await playing.table()).pulka) != "between_deals":
        await ours.sweep(playing.now)
        await dies.sweep(playing.now)
        assert held([ours]) == [1]
        (entry,) = ours.clocks._schedule.entries()
        ours.clocks._schedule.put(entry, 0)
        await ours.sweep(playing.now)
        await playing.step()
    over = (await playing.table()).pulka.number
    assert entry.again > playing.now + 3_000
    for step in range(1, 13):
        if await ours.sweep(playing.now + 250 * step):
            break
    assert match.phase((await playing.table()).pulka) == "cut"
    assert (await playing.table()).pulka.number == over + 1


class TestSharesInMemory(Shares):
    """On the twin."""

    @pytest.fixture
    def world(self):
        rows = MemoryRows()

        class World:
            async def new_store(self):
                return MemoryClockStore(rows)

            async def runs(self, table_id, shortest):
                rows.runs(table_id, shortest)

        return World()


class TestSharesInPostgres(Shares):
    """On Postgres, each instance with a connection of its own."""

    @pytest.fixture
    async def world(self, connection, schema, postgres_dsn):
        await checkpoint.prepare(connection, schema, running_tables.DDL)
        stores = []

        class World:
            async def new_store(self):
                stores.append(PostgresClockStore(postgres_dsn, schema))
                await stores[-1].open()
                return stores[-1]

            async def runs(self, table_id, shortest):
                await running_tables.runs(connection, table_id, shortest)

        yield World()
        for store in stores:
            await store.close()
