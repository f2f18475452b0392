"""What every store of the clocks promises. Each adapter's tests inherit this class and bring a `world`.

`world.store` and `world.other` are two clients of the same rows; `await world.runs(table_id, shortest)` is what an opening pulka
does, and `runs_all` does it for many.
"""

from __future__ import annotations

import asyncio

from services.table.clocks.store import AT_A_TIME, Beat, Outage, Running, Silence
from shared.events import address
from shared.leases.port import NOBODY, ShareLease
from tests.leases.lease_contract import LeaseContract


def table_in(partition: int, letter: str = "a") -> str:
    return f"{partition}-" + letter * 26


class ClockStoreContract(LeaseContract):
    """The leases' contract, and what the clocks keep besides."""

    # ---- under a lease --------------------------------------------------------------------------------------------------

    async def test_who_was_overtaken_writes_nothing(self, world):
        """The old epoch notes nothing and strikes nothing out."""
        await world.runs(table_in(3), 5_000)
        old = await world.store.take("one", ShareLease("TABLE_3", NOBODY, 0))
        assert await world.other.take("two", old) is not None
        held = {"TABLE_3": old.epoch}
        await world.store.note(held, [Running(table_in(3), 5_000, 7, 7)], [])
        await world.store.note(held, [], [table_in(3)])
        assert await world.other.tables(["TABLE_3"], fresh=True) == [Running(table_in(3), 5_000)]

    # ---- when somebody could move --------------------------------------------------------------------------------------

    async def test_a_beat_moves_on_once(self, world):
        """Of two that saw the same beat one moves it, and only its outage is written down."""
        assert await world.store.beat("one", [Silence("TABLE_0", 0, 100), Silence("TABLE_1", 0, 90)]) == {"TABLE_0", "TABLE_1"}
        moved = await asyncio.gather(
            world.store.beat("one", [Silence("TABLE_0", 100, 9_000, 8_000)]),
            world.other.beat("two", [Silence("TABLE_0", 100, 9_100, 8_100)]),
        )
        assert sorted(map(len, moved)) == [0, 1]
        holder, at = ("one", 9_000) if moved[0] else ("two", 9_100)
        assert await world.store.beats() == {"TABLE_0": Beat(at, holder), "TABLE_1": Beat(90, "one")}
        assert await world.other.outages() == [Outage(100, at - 1_000, ("TABLE_0",))]

    async def test_a_beat_can_be_put_back(self, world):
        """By whoever knows where it is: a clock was ahead."""
        await world.store.beat("one", [Silence("TABLE_0", 0, 9_000)])
        assert await world.other.beat("two", [Silence("TABLE_0", 8_999, 50)]) == frozenset()
        assert await world.other.beat("two", [Silence("TABLE_0", 9_000, 50)]) == {"TABLE_0"}
        assert await world.store.beats() == {"TABLE_0": Beat(50, "two")}

    async def test_outages_come_latest_first_and_are_struck_out(self, world):
        """Those of several streams, of the same time or another, are all there; what ends after the given time goes."""
        await world.store.beat("one", [Silence(f"TABLE_{number}", 0, 100) for number in range(3)])
        await world.store.beat("one", [Silence(f"TABLE_{number}", 100, 9_000, 5_000) for number in range(2)])
        await world.store.beat("one", [Silence("TABLE_2", 100, 20_000, 19_000)])
        outages = await world.store.outages()
        told = {(stream, one.began, one.ended) for one in outages for stream in one.streams}
        assert told == {("TABLE_0", 100, 5_000), ("TABLE_1", 100, 5_000), ("TABLE_2", 100, 19_000)}
        assert [one.ended for one in outages] == sorted((one.ended for one in outages), reverse=True)
        await world.other.strike(5_000)
        assert {one.ended for one in await world.store.outages()} == {5_000}

    # ---- which tables run ----------------------------------------------------------------------------------------------

    async def test_tables_are_told_by_stream(self, world):
        """A stream's tables are those whose address says so, whatever the partition's number."""
        ids = [table_in(partition) for partition in (0, 1, 11, 31)]
        for table_id in ids:
            await world.runs(table_id, 5_000)
        for table_id in ids:
            (row,) = await world.store.tables([address.table(table_id).stream])
            assert row == Running(table_id, 5_000)
            assert row.stream == address.table(table_id).stream
        assert len(await world.store.tables(["TABLE_1", "TABLE_31"])) == 2
        assert await world.store.tables([]) == []

    async def test_a_table_is_fresh_until_it_is_noted(self, world):
        """What was found is there for whoever takes over; a pulka that opens once more changes nothing."""
        lease = await world.store.take("one", ShareLease("TABLE_1", NOBODY, 0))
        await world.runs(table_in(1), 5_000)
        await world.runs(table_in(1, "b"), 6_000)
        assert {row.table_id for row in await world.store.tables(["TABLE_1"], fresh=True)} == {table_in(1), table_in(1, "b")}
        await world.store.note({"TABLE_1": lease.epoch}, [Running(table_in(1), 5_000, 12, 34_000)], [])
        await world.runs(table_in(1), 5_000)
        assert [row.table_id for row in await world.other.tables(["TABLE_1"], fresh=True)] == [table_in(1, "b")]
        assert Running(table_in(1), 5_000, 12, 34_000) in await world.other.tables(["TABLE_1"])

    async def test_fresh_tables_come_in_parts(self, world):
        """So that no statement grows with what has gathered; the whole is told of a stream that is taken over."""
        lease = await world.store.take("one", ShareLease("TABLE_1", NOBODY, 0))
        ids = [f"1-{number:026}" for number in range(AT_A_TIME + 5)]
        await world.runs_all(ids, 5_000)
        first = await world.store.tables(["TABLE_1"], fresh=True)
        assert (len(first), len(await world.store.tables(["TABLE_1"]))) == (AT_A_TIME, AT_A_TIME + 5)
        await world.store.note({"TABLE_1": lease.epoch}, first, [])
        rest = await world.store.tables(["TABLE_1"], fresh=True)
        assert {row.table_id for row in [*first, *rest]} == set(ids)

    async def test_a_table_that_is_over_goes(self, world):
        """Of a stream that is held; what was found there meanwhile makes no new row."""
        lease = await world.store.take("one", ShareLease("TABLE_1", NOBODY, 0))
        await world.runs(table_in(1), 5_000)
        await world.runs(table_in(2), 5_000)
        await world.store.note({"TABLE_1": lease.epoch}, [], [table_in(1), table_in(2)])
        await world.store.note({"TABLE_1": lease.epoch}, [Running(table_in(1), 5_000, 3, 3)], [])
        assert await world.other.tables(["TABLE_1", "TABLE_2"]) == [Running(table_in(2), 5_000)]
