"""Load, decide, append when races are lost, acks go missing and the log is not what it was: nothing twice, nothing guessed."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.eventlog.aggregates.aggregates import (
    ATTEMPTS,
    CAPACITY,
    BrokenChain,
    Committed,
)
from shared.eventlog.command_keys import CommandKeys
from shared.eventlog.memory import MemoryLog, MemoryStore
from shared.eventlog.port import Conflict, OutcomeUnknown, StorageFull, Unavailable
from shared.events.commit import FIRST_PREV_HASH, Commit, decode, encode, hash_of
from tests.contracts.commits import some_table
from tests.contracts.counter import LIMIT, Added, Clear, add, counters, request


@pytest.fixture
def memory():
    return MemoryLog(MemoryStore())


def rival(log, table, total):
    """A decision during which another instance is faster, `total` times."""
    beaten = []

    def decide(loaded, _at):
        if len(beaten) < total:
            beaten.append(loaded.revision)
            store_behind_the_back(log, table, f"rival{len(beaten)}")
        return (Added(1, loaded.state),)

    return decide


def store_behind_the_back(log, table, command_id, **changes):
    """One more commit in the log that the instance under test knows nothing of; `changes` spoil it."""
    head = log.store.aggregate(table)
    commit = {
        "aggregate": table.subject,
        "revision": len(head) + 1,
        "schema": 1,
        "at": 1,
        "actor": "rival",
        "command_id": command_id,
        "command_digest": "d",
        "cause": None,
        "correlation": None,
        "prev_hash": hash_of(head[-1].data) if head else FIRST_PREV_HASH,
        "events": Clear().seal(table, (Added(1, len(head)),), b""),
    }
    log.store.store(table, encode(Commit(**commit | changes)), len(head) + 1)


async def test_a_lost_race_is_decided_anew(memory):
    """Somebody else was first four times: the fifth decision is made on the newest state and stored."""
    table = some_table()
    answer = await counters(memory).transact(table, request("a"), rival(memory, table, ATTEMPTS - 1))
    assert (answer.loaded.revision, answer.loaded.state) == (ATTEMPTS, ATTEMPTS)


async def test_five_lost_races_are_a_conflict_with_the_head(memory):
    """A command that loses five times is given back, with the revision that a client can start from."""
    table = some_table()
    instance = counters(memory)
    with pytest.raises(Conflict) as conflict:
        await instance.transact(table, request("a"), rival(memory, table, 99))
    assert conflict.value.head.revision == ATTEMPTS
    assert isinstance(await instance.transact(table, request("a"), add(1)), Committed)


@pytest.mark.parametrize("written", [True, False])
async def test_an_unknown_outcome_is_settled_by_the_repeat(memory, written):
    """Written or not, the caller hears "unknown", and the repeat makes it exactly once."""
    table = some_table()
    instance = counters(memory)
    await instance.transact(table, request("a"), add(1))
    memory.lose_next_ack(written=written)
    with pytest.raises(OutcomeUnknown):
        await instance.transact(table, request("b"), add(1))
    assert table not in instance.cache
    answer = await instance.transact(table, request("b"), add(1))
    assert (answer.loaded.revision, answer.loaded.state, answer.repeated) == (2, 2, written)
    assert len(memory.store.aggregate(table)) == 2


async def test_a_log_that_is_away_or_full_changes_nothing(memory):
    """The caller hears which of the two it is, and the command can be repeated once it is over."""
    table = some_table()
    instance = counters(memory)
    await instance.transact(table, request("a"), add(1))
    memory.disconnect()
    with pytest.raises(Unavailable):
        await instance.transact(table, request("b"), add(1))
    memory.reconnect()
    memory.store.max_bytes = 1
    with pytest.raises(StorageFull):
        await instance.transact(table, request("b"), add(1))
    memory.store.max_bytes = None
    assert (await instance.transact(table, request("b"), add(1))).loaded.revision == 2


async def test_each_attempt_is_sealed_with_fresh_entropy(memory):
    """A decision that is taken again must not use a nonce twice."""
    table = some_table()
    drawn = []

    def entropy():
        drawn.append(bytes([len(drawn)]))
        return drawn[-1]

    answer = await counters(memory, entropy=entropy).transact(table, request("a"), rival(memory, table, 2))
    assert len(drawn) == 3
    assert drawn[-1].hex().encode() in answer.stored.data


async def test_a_decision_that_fails_leaves_the_aggregate_usable(memory):
    """An error in the rules is the caller's to see; the next command finds everything in order."""
    table = some_table()
    instance = counters(memory)

    def broken(_loaded, _at):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await instance.transact(table, request("a"), broken)
    assert isinstance(await instance.transact(table, request("a"), add(1)), Committed)
    assert instance._lanes == {}


@pytest.mark.parametrize("change", [{"prev_hash": "f" * 64}, {"revision": 3}, {"aggregate": "table.0.other"}])
async def test_a_chain_that_does_not_close_stops_everything(memory, change):
    """A commit that does not follow from the one before is never folded over."""
    table = some_table()
    await counters(memory).transact(table, request("a"), add(1))
    store_behind_the_back(memory, table, "b", **change)
    with pytest.raises(BrokenChain):
        await counters(memory).load(table)
    with pytest.raises(BrokenChain):
        await counters(memory).transact(table, request("c"), add(1))


async def test_a_log_that_has_lost_what_it_acknowledged_stops_everything(memory):
    """The leader knows less than this instance was told is durable (a restored copy): neither an answer nor a new commit comes of it."""
    table = some_table()
    instance = counters(memory)
    await instance.transact(table, request("a"), add(1))
    await instance.transact(table, request("b"), add(1))
    memory.store.purge(table)
    for _ in range(2):
        with pytest.raises(BrokenChain):
            await instance.transact(table, request("c"), add(1))
        with pytest.raises(BrokenChain):
            await instance.transact(table, request("d"), add(LIMIT))
    assert memory.store.aggregate(table) == []


def test_a_command_is_found_in_its_own_place_only():
    """Sixteen bytes that lie across two neighbours are no command; those behind them still are found."""
    one, two = b"a" * 8 + b"b" * 8, b"b" * 8 + b"c" * 8
    keys = CommandKeys(one + two + b"b" * 16)
    assert [keys.recent_revision(key) for key in (one, two, b"b" * 16, b"c" * 16)] == [1, 2, 3, 0]


class Step:
    """One client's turn: which of two instances, which command, and what the wire does to it."""

    strategy = st.tuples(
        st.integers(0, 1),
        st.integers(0, 5),
        st.integers(1, 3),
        st.sampled_from(["well", "well", "well", "ack lost", "request lost", "cancelled"]),
    )


@settings(max_examples=60, deadline=None)  # no deadline: the first example pays for the event loop
@given(st.lists(st.lists(Step.strategy, min_size=1, max_size=4), min_size=1, max_size=6), st.sampled_from((0, CAPACITY)))
def test_any_interleaving_of_moves_stalls_and_retries(rounds, capacity):
    """Whatever is lost, cancelled and repeated at two instances: each command has one event at most, decided on the state before it."""
    asyncio.run(_interleave(rounds, capacity))


async def _interleave(rounds, capacity):
    table = some_table()
    store = MemoryStore()
    logs = [MemoryLog(store), MemoryLog(store)]
    instances = [counters(log, capacity=capacity) for log in logs]
    answered = {}

    async def turn(which, command, amount, wire):
        if wire in {"ack lost", "request lost"}:
            logs[which].lose_next_ack(written=wire == "ack lost")
        task = asyncio.create_task(instances[which].transact(table, request(f"c{command}"), add(amount)))
        if wire == "cancelled":
            await asyncio.sleep(0)  # one turn of the loop: it has begun
            task.cancel()
        try:
            answer = await task
        except (OutcomeUnknown, Conflict, asyncio.CancelledError):
            return
        assert answered.setdefault(command, answer.stored) == answer.stored

    for steps in rounds:
        await asyncio.gather(*(turn(*step) for step in steps))
    for instance in instances:
        await instance.drain()
    records = store.aggregate(table)
    assert [record.revision for record in records] == list(range(1, len(records) + 1))
    commands = [decode(record.data).command_id for record in records]
    assert len(commands) == len(set(commands))
    assert set(answered.values()) <= set(records)
    loaded = await counters(MemoryLog(store)).load(table)  # its fold checks every event against the total it was decided on
    assert loaded.revision == len(records)
