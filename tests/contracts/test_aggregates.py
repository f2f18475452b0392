"""Load, decide, append, on both logs: every command takes effect once, decided on the newest state, and its first answer is its answer."""

import asyncio
import json

import nats
import pytest

from shared.eventlog.aggregates.aggregates import (
    BrokenChain,
    Committed,
    Mismatch,
    Nothing,
    QueueFull,
    RefusedAt,
)
from shared.eventlog.memory import MemoryLog, MemoryStore
from shared.eventlog.port import Conflict
from shared.events.commit import hash_of
from tests.contracts.commits import some_table
from tests.contracts.counter import LIMIT, Added, add, counters, request


async def purge_before(log, stored):
    """Take out what lies before a commit, as whoever may."""
    if isinstance(log, MemoryLog):
        await log.purge(stored.address, stored.sequence)
        return
    client = await nats.connect(log.operator_url)
    space = log._namespace
    order = json.dumps({"filter": space.subject(stored.address), "seq": stored.sequence}).encode()
    await client.request(f"$JS.API.STREAM.PURGE.{space.stream(stored.stream)}", order, timeout=5)
    await client.close()


@pytest.fixture
def memory():
    return MemoryLog(MemoryStore())


# ---- once, in order ------------------------------------------------------------------------------------------------------


async def test_a_command_is_decided_and_stored(logs):
    """The answer names the stored commit, its place in the chain and the state after it, and another instance loads the same."""
    table = some_table()
    first = await counters(logs[0]).transact(table, request("a", now=7), add(2))
    second = await counters(logs[1]).transact(table, request("b", now=9), add(3))
    assert isinstance(second, Committed)
    assert (second.loaded.state, second.loaded.revision, second.loaded.at, second.events) == (5, 2, 9, (Added(3, 2),))
    assert second.commit.prev_hash == first.hash == hash_of(first.stored.data)
    assert second.stored == await logs[0].head(table)
    assert await counters(logs[0]).load(table) == second.loaded


async def test_many_commands_at_once_each_take_effect_once(logs):
    """Forty commands from two instances at once: forty revisions, no gap, none decided on a stale state."""
    table = some_table()
    instances = [counters(log, queue=40) for log in logs]
    answers = []

    async def insist(number):
        while True:
            try:
                answers.append(await instances[number % 2].transact(table, request(f"c{number}"), add(1)))
            except Conflict:  # lost five times in a row to the other instance: the client comes again
                continue
            return

    await asyncio.gather(*map(insist, range(40)))
    assert sorted(answer.loaded.revision for answer in answers) == list(range(1, 41))
    assert sorted(answer.loaded.state for answer in answers) == list(range(1, 41))
    assert (await counters(logs[0]).load(table)).state == 40


async def test_a_double_click_makes_one_event_and_one_answer(logs):
    """The same command ten times in parallel at two instances: one commit, ten equal answers."""
    table = some_table()
    instances = [counters(log) for log in logs]
    answers = await asyncio.gather(*(instances[n % 2].transact(table, request("same"), add(1)) for n in range(10)))
    assert {(answer.stored, answer.loaded, answer.events) for answer in answers} == {
        (answers[0].stored, answers[0].loaded, (Added(1, 0),)),
    }
    assert [answer.repeated for answer in answers].count(False) == 1
    assert len(await logs[0].read(table)) == 1


async def test_a_repeat_gets_its_first_answer_however_late(logs):
    """After later commits, and after a restart, a repeat is answered as it was the first time, and nothing is decided."""
    table = some_table()
    before = counters(logs[0])
    answers = [await before.transact(table, request(f"c{number}"), add(number)) for number in range(1, 6)]
    after = counters(logs[1])
    for instance in (before, after, after):
        for number, answer in enumerate(answers, 1):
            calls = []
            repeat = await instance.transact(table, request(f"c{number}", now=99), add(77, calls))
            assert repeat.repeated
            assert (repeat.stored, repeat.loaded, repeat.events, repeat.hash) == (
                answer.stored,
                answer.loaded,
                answer.events,
                answer.hash,
            )
            assert calls == []
    assert len(await logs[0].read(table)) == 5


async def test_one_key_of_two_actors_is_two_commands(logs):
    """The scope of a key is the aggregate and the actor; a player cannot reach another's answer."""
    table = some_table()
    instance = counters(logs[0])
    mine = await instance.transact(table, request("key", actor="ann"), add(1))
    theirs = await instance.transact(table, request("key", actor="bob"), add(1))
    assert (mine.loaded.revision, theirs.loaded.revision, theirs.repeated) == (1, 2, False)


async def test_a_key_with_another_payload_is_a_mismatch(logs):
    """Same command id, other digest: refused, now and after later commits and a restart."""
    table = some_table()
    instance = counters(logs[0])
    await instance.transact(table, request("key", digest="one"), add(1))
    for each in (instance, counters(logs[1])):
        with pytest.raises(Mismatch) as mismatch:
            await each.transact(table, request("key", digest="two"), add(1))
        assert mismatch.value.revision == 1
    await instance.transact(table, request("other"), add(1))
    with pytest.raises(Mismatch):
        await instance.transact(table, request("key", digest="two"), add(1))
    assert len(await logs[0].read(table)) == 2


async def test_a_repeat_is_known_after_its_digest_key_was_replaced(logs):
    """The same command, its digest now made under a new key, gets its first answer; another payload under the new key does not."""
    table = some_table()
    first = await counters(logs[0]).transact(table, request("key", digest="old"), add(1))
    again = await counters(logs[1]).transact(table, request("key", digest="new", former_digests=("older", "old")), add(1))
    assert (again.repeated, again.stored) == (True, first.stored)
    with pytest.raises(Mismatch):
        await counters(logs[1]).transact(table, request("key", digest="new", former_digests=("older",)), add(1))


async def test_time_never_goes_back_within_an_aggregate(logs):
    """`at` is the request's time, or the last commit's if the clock went back."""
    table = some_table()
    instance = counters(logs[0])
    times = [(await instance.transact(table, request(f"c{now}", now=now), add(1))).commit.at for now in (50, 20, 60)]
    assert times == [50, 50, 60]


async def test_events_of_one_command_stand_or_fall_together(logs):
    """What one command caused is one commit."""
    table = some_table()
    answer = await counters(logs[0]).transact(table, request("a"), lambda _loaded, _at: (Added(1, 0), Added(2, 1)))
    assert len(await logs[1].read(table)) == 1
    assert (answer.loaded.state, answer.loaded.revision) == (3, 1)


# ---- refusals and what is newest -----------------------------------------------------------------------------------------


async def test_a_refusal_is_given_on_the_newest_state_only(logs):
    """An instance whose copy is stale would refuse; it asks the leader first and decides on what is true now."""
    table = some_table()
    stale, busy = counters(logs[0]), counters(logs[1])
    await stale.transact(table, request("a"), add(LIMIT))
    await busy.transact(table, request("b"), add(-LIMIT))
    calls = []
    answer = await stale.transact(table, request("c"), add(5, calls))
    assert isinstance(answer, Committed)
    assert calls == [1, 2]
    refusal = await busy.transact(table, request("d"), add(LIMIT))
    assert isinstance(refusal, RefusedAt)
    assert (refusal.refused.code, refusal.revision) == ("over_the_limit", 3)


async def test_a_refusal_is_not_remembered(logs):
    """The same command may succeed later, once the rules let it."""
    table = some_table()
    instance = counters(logs[0])
    await instance.transact(table, request("a"), add(LIMIT))
    assert isinstance(await instance.transact(table, request("b"), add(1)), RefusedAt)
    await instance.transact(table, request("c"), add(-1))
    assert isinstance(await instance.transact(table, request("b"), add(1)), Committed)


async def test_nothing_to_do_stores_nothing_and_is_said_of_the_newest(logs):
    """A decision without events leaves no commit, and the answer is the newest state, whatever the copy knew."""
    table = some_table()
    stale, busy = counters(logs[0]), counters(logs[1])
    await stale.transact(table, request("a"), add(1))
    newest = await busy.transact(table, request("b"), add(1))
    answer = await stale.transact(table, request("c"), add(0))
    assert answer == Nothing(newest.loaded)
    assert len(await logs[0].read(table)) == 2


async def test_a_repeat_that_a_stale_copy_would_refuse_gets_its_first_answer(logs):
    """The command was decided by another instance and would be refused by now: the first answer stands."""
    table = some_table()
    stale, busy = counters(logs[0]), counters(logs[1])
    await stale.transact(table, request("a"), add(LIMIT - 1))
    first = await busy.transact(table, request("b"), add(1))
    again = await stale.transact(table, request("b"), add(2))
    assert (again.stored, again.repeated) == (first.stored, True)


async def test_load_at_the_leader_is_the_newest(logs):
    """A copy may be behind; asked at the leader it is not."""
    table = some_table()
    stale, busy = counters(logs[0]), counters(logs[1])
    await stale.transact(table, request("a"), add(1))
    newest = await busy.transact(table, request("b"), add(1))
    assert (await stale.load(table)).revision == 1
    assert await stale.load(table, at_leader=True) == newest.loaded
    assert await stale.load(table) == newest.loaded
    assert (await stale.load(some_table(), at_leader=True)).revision == 0


async def test_a_small_cache_forgets_and_reads_again(logs):
    """Aggregates that were pushed out are as they were when they come back."""
    tables = [some_table() for _ in range(4)]
    measured = counters(logs[1], books=None)
    await measured.transact(some_table(), request("c"), add(1))
    instance = counters(logs[0], books=None, capacity=measured.cache.bytes * 5 // 2)  # room for two
    for turn in range(3):
        for table in tables:
            await instance.transact(table, request(f"c{turn}"), add(1))
    assert [(await instance.load(table)).state for table in tables] == [3, 3, 3, 3]
    assert len(instance.cache) == 2
    assert instance.cache.bytes <= instance.cache.capacity
    assert (instance.cache.hits, instance.cache.misses) == (0, 16)  # each was pushed out before it was asked for again


# ---- queue and cancellation ----------------------------------------------------------------------------------------------


def last_of(loaded, _at):
    """Decide that there will be no more."""
    return (Added(0, loaded.state, last=True),)


async def test_an_archived_aggregate_is_known_by_its_last_commit(logs):
    """What came before a commit that stands alone may have left the log: fresh, cached and stale instances all find it, and build on it."""
    table = some_table()
    settings = {"alone": lambda events: bool(events) and events[-1].last}
    writer, stale, cached = (counters(log, **settings) for log in (logs[0], logs[1], logs[1]))
    await writer.transact(table, request("a"), add(2))
    await stale.load(table)
    await writer.transact(table, request("b"), add(3))
    ended = await writer.transact(table, request("z"), last_of)
    await cached.load(table)
    await purge_before(logs[0], ended.stored)
    for instance in (stale, cached, counters(logs[1], **settings)):
        loaded = await instance.load(table, at_leader=True)
        assert (loaded.state, loaded.revision, loaded.sequence) == (5, 3, ended.stored.sequence)
    refused = await counters(logs[1], **settings).transact(table, request("c"), add(LIMIT))
    assert refused.revision == 3


async def test_only_a_commit_that_stands_alone_may(logs):
    """Any other gap at the beginning is a broken chain."""
    table = some_table()
    instance = counters(logs[0], books=None)  # a snapshot would be as good as what it was made of
    await instance.transact(table, request("a"), add(2))
    second = await instance.transact(table, request("b"), add(3))
    await purge_before(logs[0], second.stored)
    with pytest.raises(BrokenChain):
        await counters(logs[1], alone=lambda events: events[-1].last).load(table)


async def test_a_full_queue_refuses_at_once(logs):
    """More commands than may wait for one aggregate: the rest hears so, nothing of theirs is decided; other aggregates go on."""
    table = some_table()
    instance = counters(logs[0], queue=3)
    calls = []
    answers = await asyncio.gather(
        *(instance.transact(table, request(f"c{number}"), add(1, calls)) for number in range(5)),
        instance.transact(some_table(), request("c"), add(1)),
        return_exceptions=True,
    )
    assert [type(answer) for answer in answers] == [Committed, Committed, Committed, QueueFull, QueueFull, Committed]
    assert calls == [0, 1, 2]
    assert isinstance(await instance.transact(table, request("later"), add(1)), Committed)
    assert instance._lanes == {}


async def test_commands_survive_their_callers(logs):
    """Callers that are cancelled, one in mid-append and two in the queue, leave all three commands to their end."""
    table = some_table()
    instance = counters(logs[0])
    begun = asyncio.Event()

    def decide(loaded, _at):
        begun.set()
        return (Added(1, loaded.state),)

    callers = [asyncio.create_task(instance.transact(table, request(f"c{number}"), decide)) for number in range(3)]
    await begun.wait()
    for caller in callers:
        caller.cancel()
    assert all(isinstance(end, asyncio.CancelledError) for end in await asyncio.gather(*callers, return_exceptions=True))
    await instance.drain()
    assert [record.revision for record in await logs[1].read(table)] == [1, 2, 3]
    assert (await instance.transact(table, request("c1"), add(9))).repeated
