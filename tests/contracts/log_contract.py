"""What every event log promises. Each adapter's tests inherit this class and bring a `world`: a log whose wire and disk can fail.

`world.log` is one client and `world.other` a second of the same log, whose wire never fails; `cut`, `heal`, `lose_ack`, `lose_request`
break the first one's wire; `purge` takes an aggregate out behind everybody's back, `operators()` is a client that may; `small()`
opens a log with room for some 16 KiB a stream.
"""

import asyncio
import time

import pytest

from shared.eventlog.port import (
    MAX_COMMIT_BYTES,
    CommitTooLarge,
    Conflict,
    OutcomeUnknown,
    StorageFull,
    Unavailable,
)
from tests.contracts.commits import fill, insist, some_commit, some_table


class LogContract:
    # ---- append -------------------------------------------------------------------------------------------------------

    async def test_a_commit_is_read_back_as_it_was_stored(self, world):
        """What append answers is what head and read give, byte for byte."""
        table = some_table()
        first, second = await fill(world.log, table, 2)
        assert (first.address, first.stream, first.revision, second.revision) == (table, table.stream, 1, 2)
        assert first.sequence < second.sequence
        assert await world.log.read(table) == [first, second]
        assert await world.other.head(table) == second

    async def test_a_stale_expectation_is_a_conflict_that_names_the_head(self, world):
        """Two commits on one revision: one is stored, the other learns what was."""
        table = some_table()
        first, second = await fill(world.log, table, 2)
        for expected in (0, first.sequence):
            with pytest.raises(Conflict) as conflict:
                await world.other.append(table, some_commit(table, 2), expected)
            assert conflict.value.head == second
        assert await world.log.read(table) == [first, second]

    async def test_an_expectation_on_an_empty_aggregate_is_a_conflict_without_a_head(self, world):
        """Expecting commits where there are none is refused, not guessed at."""
        with pytest.raises(Conflict) as conflict:
            await world.log.append(some_table(), some_commit(some_table(), 2), 7)
        assert conflict.value.head is None

    async def test_other_aggregates_do_not_disturb_an_expectation(self, world):
        """The expectation is on the aggregate's own last commit, wherever the stream has got to."""
        mine, theirs = some_table(partition=3), some_table(partition=3)
        (first,) = await fill(world.log, mine, 1)
        await fill(world.log, theirs, 5)
        second = await world.log.append(mine, some_commit(mine, 2), first.sequence)
        assert second.sequence == first.sequence + 6

    async def test_what_lies_in_a_partition_that_is_not_known_is_not_there(self, world):
        """An instance that knows eight partitions finds nothing in a ninth, at once, and writes nothing there."""
        table = some_table(partition=8)
        assert await world.log.head(table) is None
        assert await world.log.newest(table) is None
        assert (await world.log.heads([table])).found == {}
        assert await world.log.read(table) == []
        with pytest.raises(Unavailable, match="TABLE_8 is not known"):
            await world.log.append(table, some_commit(table, 1), 0)

    async def test_a_repeat_gets_the_stored_commit(self, world):
        """The same commit again, by either client, makes nothing new and answers the same."""
        table = some_table()
        data = some_commit(table, 1, "once")
        first = await world.log.append(table, data, 0)
        assert await world.log.append(table, data, 0) == first
        assert await world.other.append(table, data, 0) == first
        assert await world.log.read(table) == [first]

    async def test_a_repeat_sealed_to_other_bytes_gets_the_stored_ones(self, world):
        """Another instance seals the same command anew: the first bytes count."""
        table = some_table()
        first = await world.log.append(table, some_commit(table, 1, "once"), 0)
        assert await world.other.append(table, some_commit(table, 1, "once", size=9), 0) == first

    async def test_a_repeat_after_the_duplicate_window_gets_the_stored_commit(self, world):
        """Nothing relies on the broker's memory of message ids: after 100 ms a repeat is answered as before."""
        table, others = some_table(partition=1), some_table(partition=1)
        data = some_commit(table, 1, "once")
        first = await world.log.append(table, data, 0)
        over = time.monotonic() + 0.12  # the window is 100 ms
        last = await world.log.append(others, some_commit(others, 1), 0)
        while time.monotonic() < over:
            last = await world.log.append(others, some_commit(others, last.revision + 1), last.sequence)
        assert await world.log.append(table, data, 0) == first
        assert await world.log.read(table) == [first]

    async def test_the_same_command_id_at_another_table_is_another_commit(self, world):
        """A client may use one key at two tables of one stream; none is swallowed."""
        one, two = some_table(partition=2), some_table(partition=2)
        first = await world.log.append(one, some_commit(one, 1, "key"), 0)
        second = await world.log.append(two, some_commit(two, 1, "key"), 0)
        assert first.sequence != second.sequence
        assert await world.log.read(two) == [second]

    async def test_concurrent_writers_leave_no_gap_and_no_double(self, world):
        """Eight writers with two clients on one aggregate: revisions 1..n, each command exactly once."""
        table = some_table()
        commands = [f"{writer}-{number}" for writer in range(8) for number in range(6)]

        async def write(writer):
            log = world.log if writer % 2 else world.other
            for number in range(6):
                await insist(log, table, f"{writer}-{number}")

        await asyncio.gather(*map(write, range(8)))
        records = await world.log.read(table)
        assert [record.revision for record in records] == list(range(1, len(commands) + 1))
        assert sorted(world.command_of(record) for record in records) == sorted(commands)

    async def test_one_stale_commit_among_many_takes_none_with_it(self, world):
        """Sixty commits of different tables at once, one of them stale: that one is a conflict, the others are stored."""
        tables = [some_table(partition=5) for _ in range(60)]
        (before,) = await fill(world.other, tables[30], 1)
        answers = await asyncio.gather(
            *(world.log.append(table, some_commit(table, 1), 0) for table in tables),
            return_exceptions=True,
        )
        stale = answers.pop(30)
        assert isinstance(stale, Conflict)
        assert stale.head == before
        del tables[30]
        for table, answer in zip(tables, answers, strict=True):
            assert await world.other.read(table) == [answer]

    async def test_many_commits_at_once_are_each_told_their_own_place(self, world):
        """Two hundred commits of different tables and a second one of each behind it: every answer names the commit that lies there."""
        tables = [some_table(partition=6) for _ in range(100)]
        answers = await asyncio.gather(*(fill(world.log, table, 2) for table in tables))
        for table, answer in zip(tables, answers, strict=True):
            assert await world.other.read(table) == answer
        assert len({record.sequence for answer in answers for record in answer}) == 200

    async def test_two_commits_of_one_aggregate_at_once(self, world):
        """Two writers of one client on the same revision, in a crowd: one is stored, the other a conflict, the crowd unharmed."""
        table, crowd = some_table(partition=6), [some_table(partition=6) for _ in range(60)]
        answers = await asyncio.gather(
            *(world.log.append(each, some_commit(each, 1), 0) for each in crowd),
            world.log.append(table, some_commit(table, 1), 0),
            world.log.append(table, some_commit(table, 1), 0),
            return_exceptions=True,
        )
        (stored,) = await world.other.read(table)
        assert stored in answers[60:]
        assert [error.head for error in answers if isinstance(error, Exception)] == [stored]

    async def test_a_commit_that_is_too_large_is_refused_before_it_is_sent(self, world):
        """The limit is the log's own, said in one word, and the largest legal commit is taken."""
        table = some_table()
        spare = MAX_COMMIT_BYTES - len(some_commit(table, 1, "big"))
        with pytest.raises(CommitTooLarge):
            await world.log.append(table, some_commit(table, 1, "big", size=spare + 1), 0)
        largest = await world.log.append(table, some_commit(table, 1, "big", size=spare), 0)
        assert await world.other.read(table) == [largest]

    # ---- what the wire does -------------------------------------------------------------------------------------------

    async def test_a_lost_ack_ends_unknown_and_its_repeat_finds_the_commit(self, world):
        """Written, but the ack was lost and nobody could be asked: unknown, not failed; the repeat gets that very commit."""
        table = some_table()
        data = some_commit(table, 1, "once")
        async with world.lose_ack():
            with pytest.raises(OutcomeUnknown):
                await world.log.append(table, data, 0)
        await world.heal()
        assert (await world.log.append(table, data, 0)).data == data
        assert [record.data for record in await world.other.read(table)] == [data]

    async def test_a_lost_request_ends_unknown_and_its_repeat_is_stored(self, world):
        """Never written, and nobody could be asked: unknown; the repeat is stored, once."""
        table = some_table()
        data = some_commit(table, 1, "once")
        async with world.lose_request():
            with pytest.raises(OutcomeUnknown):
                await world.log.append(table, data, 0)
        await world.heal()
        await world.log.append(table, data, 0)
        assert [record.data for record in await world.other.read(table)] == [data]

    async def test_an_unknown_commit_that_somebody_overtook_is_a_conflict_for_its_repeat(self, world):
        """The request was lost and another commit took its place: the repeat must decide anew."""
        table = some_table()
        data = some_commit(table, 1, "slow")
        async with world.lose_request():
            with pytest.raises(OutcomeUnknown):
                await world.log.append(table, data, 0)
        (winner,) = await fill(world.other, table, 1)
        await world.heal()
        with pytest.raises(Conflict) as conflict:
            await world.log.append(table, data, 0)
        assert conflict.value.head == winner

    async def test_without_a_connection_everything_is_refused_at_once(self, world):
        """While the log is away nobody waits for it; once it is back everything goes on."""
        table = some_table()
        (first,) = await fill(world.log, table, 1)
        await world.log.confirm(table.stream)
        assert await world.log.newest(table) == first
        await world.cut()
        assert not world.log.connected()
        started = time.monotonic()
        for attempt in (
            world.log.append(table, some_commit(table, 2), first.sequence),
            world.log.head(table),
            world.log.read(table),
            world.log.newest(table),
            world.log.heads([table]),
            world.log.last_sequence(table.stream),
            world.log.confirm(table.stream),  # also where a stream has one copy, and that was known before
        ):
            with pytest.raises(Unavailable):
                await attempt
        assert time.monotonic() - started < 0.5
        await world.heal()
        assert world.log.connected()
        assert await world.log.read(table) == [first]
        await world.log.append(table, some_commit(table, 2), first.sequence)

    async def test_a_full_store_is_said_and_nothing_is_lost(self, world):
        """Full is an answer of its own; what was acknowledged stays readable, and room lets writing go on."""
        log = await world.small()
        table, other = some_table(partition=4), some_table(partition=4)
        await fill(log, other, 2, size=2000)
        records = await fill(log, table, 2, size=2000)
        with pytest.raises(StorageFull):
            await fill(log, some_table(partition=4), 20, size=2000)
        assert await log.read(table) == records
        with pytest.raises(StorageFull):
            await log.append(table, some_commit(table, 3, size=2000), records[-1].sequence)
        await world.purge(other)
        assert await log.append(table, some_commit(table, 3, size=2000), records[-1].sequence)

    async def test_an_archived_aggregate_keeps_its_last_commit(self, world):
        """A purge takes out what lies before a commit, once; that one stays and is built upon, and nobody else loses anything."""
        operators = await world.operators()
        gone, kept = some_table(partition=3), some_table(partition=3)
        records, others = await fill(world.log, gone, 5), await fill(world.log, kept, 2)
        assert await operators.purge(gone, records[-1].sequence) == 4
        assert await operators.purge(gone, records[-1].sequence) == 0
        assert await world.other.read(gone) == records[-1:]
        assert await world.other.head(gone) == records[-1]
        assert await world.other.read(kept) == others
        with pytest.raises(Conflict):
            await world.log.append(gone, some_commit(gone, 1), 0)
        assert await world.log.append(gone, some_commit(gone, 6), records[-1].sequence)

    async def test_a_purge_needs_a_commit_that_stays(self, world):
        """Without a commit at the place there is nothing to stay, and nothing is taken out."""
        operators = await world.operators()
        table, other = some_table(partition=3), some_table(partition=3)
        records, others = await fill(world.log, table, 3), await fill(world.log, other, 1)
        for place in (0, others[0].sequence, others[0].sequence + 1):
            with pytest.raises(ValueError, match="has no commit"):
                await operators.purge(table, place)
        assert await world.other.read(table) == records

    async def test_a_full_store_is_said_to_each_of_many(self, world):
        """Sixty commits at once into a store for seven: each is stored or told that it is full, and the answers are true."""
        log = await world.small()
        tables = [some_table(partition=4) for _ in range(60)]
        appends = [log.append(table, some_commit(table, 1, size=2000), 0) for table in tables]
        answers = await asyncio.gather(*appends, return_exceptions=True)
        stored = [answer for answer in answers if not isinstance(answer, StorageFull)]
        assert 0 < len(stored) < 10
        for table, answer in zip(tables, answers, strict=True):
            assert await log.read(table) == ([] if isinstance(answer, StorageFull) else [answer])
