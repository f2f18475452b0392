"""What every event log promises to its readers. As in `log_contract`, each adapter's tests inherit this class and bring a `world`."""

import asyncio
import time
from contextlib import aclosing

import pytest

from shared.eventlog.port import Conflict, LastCommits, LogBehind, Unavailable
from tests.contracts.commits import PATIENCE, fill, flat, follow_all, follow_batches, some_commit, some_table, take


class ReadingContract:
    # ---- head and read ------------------------------------------------------------------------------------------------

    async def test_the_head_is_never_stale(self, world):
        """What one client has stored, another client's head shows at once, every time."""
        table = some_table()
        head = None
        for revision in range(1, 101):
            head = await world.log.append(table, some_commit(table, revision), head.sequence if head else 0)
            assert await world.other.head(table) == head

    async def test_many_heads_are_told_together(self, world):
        """Of each aggregate of a stream its last commit, of one without commits nothing; none at all are nothing."""
        tables = [some_table(partition=5) for _ in range(120)]
        for table in tables[1:]:
            await fill(world.log, table, 2)
        heads = await world.log.heads(tables)
        assert heads.found == {table: await world.log.head(table) for table in tables[1:]}
        assert (await world.log.heads(tables[:1])).found == {}
        assert await world.log.heads([]) == LastCommits({})

    async def test_heads_are_told_again_where_something_came(self, world):
        """Asked for what lies after a sequence, it tells of the aggregates that have something there, and how far that holds."""
        tables = [some_table(partition=5) for _ in range(9)]
        for table in tables[1:]:
            await fill(world.log, table, 2)
        told = await world.log.heads(tables)
        assert told.as_of == max(head.sequence for head in told.found.values())
        assert await world.log.heads(tables, told.as_of) == LastCommits({}, told.as_of)
        new = [await world.log.append(table, some_commit(table, 3), told.found[table].sequence) for table in tables[2:5]]
        newest = await world.log.append(tables[0], some_commit(tables[0], 1), 0)
        again = await world.log.heads(tables, told.as_of)
        assert again == LastCommits({stored.address: stored for stored in (*new, newest)}, newest.sequence)
        assert await world.log.heads(tables[5:], told.as_of) == LastCommits({}, newest.sequence)
        assert await world.log.heads(tables, new[0].sequence) == LastCommits(
            {one.address: one for one in (*new[1:], newest)}, newest.sequence
        )

    async def test_read_gives_what_comes_after(self, world):
        """Reading goes on after a sequence, and what is there is all there is."""
        table = some_table()
        records = await fill(world.log, table, 5)
        assert await world.other.read(table, after=records[1].sequence) == records[2:]
        assert await world.other.read(table, after=records[1].sequence, until=records[4].sequence) == records[2:]
        assert await world.other.read(table, after=records[4].sequence) == []

    async def test_an_aggregate_without_commits_is_empty(self, world):
        """No commits: no head, nothing to read."""
        assert await world.log.head(some_table()) is None
        assert await world.log.read(some_table()) == []

    async def test_a_long_aggregate_is_read_whole(self, world):
        """More commits than any one answer carries come in order and without a gap."""
        table, other = some_table(partition=7), some_table(partition=7)
        await asyncio.gather(fill(world.log, table, 1203), fill(world.log, other, 300))
        assert [record.revision for record in await world.log.read(table)] == list(range(1, 1204))

    async def test_last_sequence_is_the_newest_commit_of_the_stream(self, world):
        """It counts all aggregates of a stream and starts at 0."""
        one, two = some_table(partition=2), some_table(partition=2)
        assert await world.log.last_sequence("TABLE_2") == 0
        await fill(world.log, one, 2)
        (last,) = await fill(world.log, two, 1)
        assert await world.other.last_sequence("TABLE_2") == last.sequence == 3

    async def test_the_next_commit_after_a_place_is_named(self, world):
        """Over the gaps of archived aggregates, and 0 at the end, also where the last commits were purged."""
        kept, gone = some_table(partition=2), some_table(partition=2)
        assert await world.log.next_after("TABLE_2", 0) == 0
        await fill(world.log, gone, 2)
        (last,) = await fill(world.log, kept, 1)
        await fill(world.log, other := some_table(partition=2), 1)
        assert [await world.other.next_after("TABLE_2", after) for after in (0, 1, 3, 4, 9)] == [1, 2, 4, 0, 0]
        await world.purge(gone)
        await world.purge(other)
        assert [await world.other.next_after("TABLE_2", after) for after in (0, 1, 2, 3)] == [last.sequence] * 3 + [0]

    # ---- follow -------------------------------------------------------------------------------------------------------

    async def test_follow_gives_every_commit_in_order_in_batches(self, world):
        """All aggregates of the stream, in the order of the stream, no batch larger than asked."""
        tables = [some_table(partition=0) for _ in range(4)]
        records = sorted(flat(await asyncio.gather(*(fill(world.log, table, 30) for table in tables))), key=lambda r: r.sequence)
        batches = await asyncio.wait_for(follow_batches(world.log, "TABLE_0", 0, 120, 25), PATIENCE)
        assert all(0 < len(batch) <= 25 for batch in batches)
        assert flat(batches) == records

    async def test_follow_resumes_after_a_position(self, world):
        """A follower that comes back with its position gets the rest, no more and no less."""
        records = await fill(world.log, some_table(partition=0), 20)
        rest = await asyncio.wait_for(follow_all(world.log, "TABLE_0", records[11].sequence, 8), PATIENCE)
        assert rest == records[12:]

    async def test_follow_goes_on_live(self, world):
        """Commits stored while a follower waits reach it."""
        table = some_table(partition=0)
        following = asyncio.create_task(follow_all(world.log, "TABLE_0", 0, 40))
        records = await fill(world.other, table, 40)
        assert await asyncio.wait_for(following, PATIENCE) == records

    async def test_an_idle_follow_gives_signs_of_life(self, world):
        """An empty batch comes again and again while nothing happens (the worlds beat ten times a second)."""
        async with aclosing(world.log.follow("TABLE_1")) as followed:
            started = time.monotonic()
            assert [await asyncio.wait_for(anext(followed), 1) for _ in range(3)] == [[], [], []]
            assert time.monotonic() - started > 0.1

    async def test_follow_steps_over_the_gaps_of_archived_aggregates(self, world):
        """Sequences that were purged are passed over, and those behind them come."""
        gone, kept = some_table(partition=0), some_table(partition=0)
        await fill(world.log, kept, 2)
        await fill(world.log, gone, 3)
        (last,) = await fill(world.log, other := some_table(partition=0), 1)
        await world.purge(gone)
        found = await asyncio.wait_for(follow_all(world.log, "TABLE_0", 0, 3), PATIENCE)
        assert [record.address for record in found] == [kept, kept, other]
        assert found[-1] == last

    async def test_follow_comes_back_after_the_connection_was_lost(self, world):
        """Commits stored while the follower's wire was cut come after it heals, each once."""
        table = some_table(partition=0)
        records = await fill(world.other, table, 3)
        seen = []
        async with aclosing(world.log.follow("TABLE_0")) as followed:
            while len(seen) < 3:
                seen += await asyncio.wait_for(anext(followed), PATIENCE)
            await world.cut()
            for revision in range(4, 8):
                records.append(await world.other.append(table, some_commit(table, revision), records[-1].sequence))
            await world.heal()
            while len(seen) < 7:
                seen += await asyncio.wait_for(anext(followed), PATIENCE)
        assert seen == records

    async def test_follow_refuses_a_log_that_ends_before_its_position(self, world):
        """A log restored from an older copy is not read on as if nothing had happened."""
        await fill(world.log, some_table(partition=0), 2)
        async with aclosing(world.log.follow("TABLE_0", after=3)) as followed:
            with pytest.raises(LogBehind):
                await asyncio.wait_for(anext(followed), PATIENCE)

    # ---- watch --------------------------------------------------------------------------------------------------------

    async def test_watch_begins_with_the_log_and_goes_on_live(self, world):
        """What was there, then what is stored, in one order and each once; two watchers see the same."""
        table = some_table()
        records = await fill(world.log, table, 3)
        async with aclosing(world.log.watch(table)) as one, aclosing(world.log.watch(table, after=records[1].sequence)) as two:
            assert await asyncio.wait_for(take(one, 3), PATIENCE) == records
            for revision in range(4, 10):
                records.append(await world.other.append(table, some_commit(table, revision), records[-1].sequence))
                assert await asyncio.wait_for(anext(one), PATIENCE) == records[-1]
            assert await asyncio.wait_for(take(two, 7), PATIENCE) == records[2:]

    async def test_watch_sees_one_aggregate_only(self, world):
        """Neighbours in the same stream do not show, nor do commits that were refused."""
        mine, theirs = some_table(partition=3), some_table(partition=3)
        async with aclosing(world.log.watch(mine)) as watched:
            first = asyncio.create_task(anext(watched))
            await fill(world.other, theirs, 3)
            stale = [some_table(partition=3) for _ in range(30)]
            answers = await asyncio.gather(
                *(world.other.append(table, some_commit(table, 9), 99) for table in stale),
                world.other.append(mine, some_commit(mine, 9), 99),
                return_exceptions=True,
            )
            assert all(isinstance(answer, Conflict) for answer in answers)
            records = await fill(world.other, mine, 2)
            assert [await asyncio.wait_for(first, PATIENCE), await asyncio.wait_for(anext(watched), PATIENCE)] == records

    async def test_watch_neither_misses_nor_repeats_over_reconnects(self, world):
        """The wire is cut and healed again and again while commits are stored: the watcher sees each once, in order."""
        table = some_table()
        records = await fill(world.other, table, 1)
        async with aclosing(world.log.watch(table)) as watched:
            seen = await asyncio.wait_for(take(watched, 1), PATIENCE)
            for _ in range(3):
                await world.cut()
                for _ in range(5):
                    records.append(await world.other.append(table, some_commit(table, records[-1].revision + 1), records[-1].sequence))
                await world.heal()
                records.append(await world.other.append(table, some_commit(table, records[-1].revision + 1), records[-1].sequence))
                seen += await asyncio.wait_for(take(watched, 6), PATIENCE)
            await world.cut()
            records.append(await world.other.append(table, some_commit(table, records[-1].revision + 1), records[-1].sequence))
            await world.heal()
            seen += await asyncio.wait_for(take(watched, 1), 2)  # at once, although nothing comes after it that would show the gap
        assert seen == records

    async def test_a_slow_watcher_loses_nothing(self, world):
        """Hundreds of commits while the watcher looks away: it gets them all, from the log if need be."""
        table = some_table()
        records = await fill(world.other, table, 1)
        async with aclosing(world.log.watch(table)) as watched:
            await asyncio.wait_for(anext(watched), PATIENCE)
            for revision in range(2, 402):
                records.append(await world.other.append(table, some_commit(table, revision), records[-1].sequence))
            assert await asyncio.wait_for(take(watched, 400), PATIENCE) == records[1:]

    async def test_other_aggregates_than_tables_can_be_watched(self, world):
        """The lobby's and the ledger's aggregates are watched like tables."""
        for address in (world.address("lobby", "club"), world.address("ledger", "checkpoint")):
            async with aclosing(world.log.watch(address)) as watched:
                (first,) = await fill(world.other, address, 1)
                assert await asyncio.wait_for(anext(watched), PATIENCE) == first
                second = await world.other.append(address, some_commit(address, 2), first.sequence)
                assert await asyncio.wait_for(anext(watched), PATIENCE) == second

    async def test_a_closed_log_ends_its_readers(self, world):
        """Followers and watchers of a log that is closed end with an error instead of waiting for ever."""
        table = some_table(partition=0)
        await fill(world.log, table, 1)
        async with aclosing(world.log.follow("TABLE_0")) as followed, aclosing(world.log.watch(table)) as watched:
            await asyncio.wait_for(anext(followed), PATIENCE)
            await asyncio.wait_for(anext(watched), PATIENCE)
            waiting = [asyncio.create_task(_next_commits(followed)), asyncio.create_task(anext(watched))]
            await world.log.close()
            for error in await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), PATIENCE):
                assert isinstance(error, Unavailable)


async def _next_commits(followed):
    while True:
        commits = await anext(followed)
        if commits:
            return commits
