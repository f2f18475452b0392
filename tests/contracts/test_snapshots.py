"""Snapshots are a cache and nothing more: whatever lies there, or is missing, every answer is the log's."""

import asyncio
import random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.eventlog import snapshots
from shared.eventlog.aggregates.aggregates import Committed, Mismatch
from shared.eventlog.command_keys import BESIDE, CHUNK_KEYS, KEY_BYTES, CommandKeys
from shared.eventlog.memory import MemoryLog, MemoryStore
from shared.eventlog.port import Unavailable
from shared.eventlog.snapshots import LARGEST, STATE
from shared.events.commit import decode, hash_of
from tests.contracts.commits import some_table
from tests.contracts.counter import CounterBooks, add, counters, request

UP_AND_DOWN = (1, -1)  # a counter has a limit


class Watched:
    """A log that notes from where on it was read."""

    def __init__(self, log):
        self._log = log
        self.reads = []

    def __getattr__(self, name):
        return getattr(self._log, name)

    async def hear(self, _address, _heard):
        """What is stored elsewhere is learned by conflicts alone."""
        raise Unavailable("deaf")

    async def read(self, address, after=0, until=0):
        found = await self._log.read(address, after, until)
        self.reads.append(len(found))
        return found


async def played(log, table, commands):
    """A counter after so many commands, its books closed, as the instance that did it."""
    instance = counters(log)
    for number in range(commands):
        await instance.transact(table, request(f"c{number}", now=number), add(1))
    await instance.drain()
    return instance


async def kept_at(log, table, revision):
    """Wait until the snapshot of `revision` lies there: it was sent without waiting for an answer."""
    async with asyncio.timeout(5):
        while True:
            data = await log.snapshots.read(table, STATE)
            if data is not None and snapshots.decode(data).revision == revision:
                return snapshots.decode(data)


# ---- on both logs --------------------------------------------------------------------------------------------------------


async def test_a_part_is_replaced_in_place(logs):
    """The newest of a part is read, by any client; parts and aggregates do not mix; what is too large is not kept."""
    one, two = logs
    table, other = some_table(), some_table()
    assert await two.snapshots.read(table, "a") is None
    await one.snapshots.keep(table, "a", b"1")
    await one.snapshots.keep(table, "b", b"2")
    await one.snapshots.keep(other, "a", b"3")
    await one.snapshots.keep(table, "a", b"4")
    await one.snapshots.keep(table, "a", b"x" * (LARGEST + 1))
    await one.snapshots.keep(other, "end", b"")
    async with asyncio.timeout(5):
        while await two.snapshots.read(other, "end") is None:
            pass
    assert [await two.snapshots.read(table, "a"), await two.snapshots.read(table, "b"), await two.snapshots.read(other, "a")] == [
        b"4",
        b"2",
        b"3",
    ]


async def test_a_first_touch_reads_what_came_after_the_snapshot(logs):
    """Of forty commits only the last one is asked for, beside the snapshot that names it; and the answer is what a whole fold gives."""
    table = some_table()
    await played(logs[0], table, 40)
    await kept_at(logs[0], table, 40)
    watched = Watched(logs[1])
    loaded = await counters(watched).load(table)
    assert watched.reads == []
    assert loaded == await counters(logs[1], books=None).load(table)


async def test_a_repeat_of_an_old_command_gets_its_first_answer(logs):
    """From a snapshot, with its chunks of keys and without them; with another payload it is refused."""
    table = some_table()
    first = await played(logs[0], table, 40)
    answered = await first.transact(table, request("c7", now=99), add(1))
    await kept_at(logs[0], table, 40)
    fresh = counters(logs[1])
    again = await fresh.transact(table, request("c7", now=99), add(1))
    assert isinstance(again, Committed)
    assert again.repeated
    assert (again.stored, again.hash, again.loaded) == (answered.stored, answered.hash, answered.loaded)
    with pytest.raises(Mismatch):
        await fresh.transact(table, request("c7", digest="another"), add(1))
    assert len(await logs[1].read(table)) == 40


async def test_a_conflict_reads_only_what_is_new(logs):
    """A copy that fell behind by one commit reads nothing, by more it reads these alone."""
    table = some_table()
    one = await played(logs[0], table, 20)
    watched = Watched(logs[1])
    two = counters(watched)
    await two.load(table)
    watched.reads.clear()
    await one.transact(table, request("one more"), add(1))
    assert (await two.transact(table, request("two"), add(1))).loaded.revision == 22
    assert watched.reads == []
    for number in range(3):
        await one.transact(table, request(f"three {number}"), add(1))
    assert (await two.transact(table, request("four"), add(1))).loaded.revision == 26
    assert watched.reads == [3]


# ---- whatever lies there -------------------------------------------------------------------------------------------------


#: By what somebody or something may have changed: the fields of a snapshot as they are then.
CHANGED = {
    "another fold": lambda _: {"fold": "0"},
    "another aggregate": lambda _: {"subject": some_table().subject},
    "another history": lambda _: {"head_hash": hash_of(b"")},
    "another place": lambda kept: {"sequence": kept.sequence - 1},
    "a place to come": lambda kept: {"sequence": kept.sequence + 5, "revision": kept.revision + 5},
    "another revision": lambda kept: {"revision": kept.revision - 3, "recent": kept.recent[: -3 * KEY_BYTES]},
    "another time": lambda kept: {"at": kept.at + 1},
    "no state": lambda _: {"state": b"none"},
    "no filter": lambda _: {"filter": b""},
    "part of a key": lambda kept: {"recent": kept.recent + b"k"},
    "too many keys": lambda kept: {"recent": kept.recent + b"k" * KEY_BYTES * kept.revision},
}


def changed(data, what):
    """A part as it is then."""
    if what in CHANGED:
        kept = snapshots.decode(data)
        return snapshots.encode(msgspec.structs.replace(kept, **CHANGED[what](kept)))
    return {"cut off": data[:-3], "empty": b""}[what]


@pytest.mark.parametrize("what", ["cut off", "empty", *CHANGED])
@pytest.mark.parametrize("commands", [12, 40], ids="{} commands".format)
async def test_a_wrong_snapshot_changes_no_answer(what, commands):
    """It is passed over, and the aggregate folded from its first commit; keys may lie in the snapshot itself, or in a chunk."""
    store, table = MemoryStore(), some_table()
    answered = await (await played(MemoryLog(store), table, commands)).transact(table, request("c3", now=3), add(1))
    kept = store.snapshots.kept
    kept[table, STATE] = changed(kept[table, STATE], what)
    loaded = await counters(MemoryLog(store)).load(table)
    assert (loaded.revision, loaded.state, loaded.at) == (commands, commands, commands - 1)
    again = await counters(MemoryLog(store)).transact(table, request("c3", now=3), add(1))
    assert (again.repeated, again.stored) == (True, answered.stored)
    assert (await counters(MemoryLog(store)).transact(table, request("new"), add(1))).loaded.revision == commands + 1


async def test_a_flipped_bit_anywhere_changes_no_answer():
    """Of every byte of a snapshot."""
    store, table = MemoryStore(), some_table()
    await played(MemoryLog(store), table, 3)
    whole = store.snapshots.kept[table, STATE]
    for place in range(len(whole)):
        store.snapshots.kept[table, STATE] = whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :]
        watched = Watched(MemoryLog(store))
        instance = counters(watched)
        assert (await instance.load(table)).state == 3
        assert watched.reads == [3]  # from the first commit on
        await instance.drain()  # it writes the right one


async def test_a_state_that_cannot_be_packed_is_not_kept():
    """And nothing else goes wrong."""

    class Unwilling(CounterBooks):
        def pack(self, _address, state):
            raise TypeError(state)

    store, table = MemoryStore(), some_table()
    instance = counters(MemoryLog(store), books=Unwilling())
    await instance.transact(table, request("c"), add(1))
    await instance.drain()
    assert not store.snapshots.kept
    assert (await counters(MemoryLog(store)).load(table)).state == 1


@settings(max_examples=40, deadline=None)  # no deadline: the first example pays for the event loop
@given(st.randoms(use_true_random=False))
def test_deleting_any_at_random_while_commands_run_changes_no_answer(lot):
    """Two instances with hardly a cache, old commands repeated, parts deleted, old parts put back: the commands count once, in order."""
    asyncio.run(_deleting(lot))


async def _deleting(lot: random.Random):
    store, table = MemoryStore(), some_table()
    kept, once_kept = store.snapshots.kept, []
    instances = [counters(MemoryLog(store), capacity=lot.choice((0, 1 << 20))) for _ in range(2)]
    answers = {}
    for _ in range(60):
        if lot.random() < 0.1:
            instances[lot.randrange(2)] = counters(MemoryLog(store), capacity=0)  # a restart
        if kept and lot.random() < 0.3:
            part = lot.choice(list(kept))
            once_kept.append((part, kept.pop(part)))
        if once_kept and lot.random() < 0.1:
            part, data = lot.choice(once_kept)
            kept[part] = data
        number = lot.randrange(len(answers) + 1)
        answer = await lot.choice(instances).transact(table, request(f"c{number}"), add(1))
        assert answers.setdefault(number, answer.stored) == answer.stored
        if lot.random() < 0.5:
            await asyncio.sleep(0)
    commands = [decode(stored.data).command_id for stored in store.aggregate(table)]
    assert len(commands) == len(set(commands)) == len(answers)


# ---- command keys --------------------------------------------------------------------------------------------------------


def test_keys_leave_memory_in_whole_chunks_and_none_is_forgotten():
    """2,000 commands in closings of 40: fewer than a chunk stay; each key is found in its place, or is perhaps older; others rarely."""
    lot = random.Random(5)
    made, keys, parts = [], CommandKeys(), {}
    for _ in range(50):
        for _ in range(40):
            made.append(lot.randbytes(16))
            keys = keys.added(made[-1])
        shelved, pieces = keys.shelved()
        parts |= {chunk.first: (chunk, piece) for chunk, piece in pieces}
        keys = keys.settled()
        assert len(keys.recent) < CHUNK_KEYS * 16
        assert all(shelved.perhaps_older(key) for key in made)
    for revision, key in enumerate(made, 1):
        assert keys.recent_revision(key) == (revision if revision >= keys.first else 0)
        assert revision >= keys.first or keys.perhaps_older(key)
    assert b"".join(piece for _, piece in (parts[first] for first in sorted(parts))) == b"".join(made)
    assert [chunk.first for chunk in shelved.chunks] == [1, 513, 1025, 1537]
    assert sum(shelved.perhaps_older(lot.randbytes(16)) for _ in range(20_000)) < 200  # 1 in 450 is expected


async def test_what_is_pushed_out_after_each_command_makes_few_chunks():
    """Two aggregates of which one has room, 700 commands each, their books closed by nobody: two chunks, and no repeat is taken for new."""

    class Open(CounterBooks):
        def closes(self, _loaded, _events):
            return False

    store, tables = MemoryStore(), (some_table(), some_table())
    crowded = counters(MemoryLog(store), books=Open(), capacity=0)
    for number in range(700):
        for table in tables:
            await crowded.transact(table, request(f"c{number}"), add(UP_AND_DOWN[number % 2]))
            await crowded.drain()
    kept = snapshots.decode(store.snapshots.kept[tables[0], STATE])
    assert (kept.revision, [chunk.first for chunk in kept.chunks]) == (700, [1, 1 + CHUNK_KEYS])
    assert len(kept.recent) <= BESIDE * KEY_BYTES
    assert sorted(part for table, part in store.snapshots.kept if table == tables[0]) == ["keys-1", "keys-513", "state"]
    for number in (0, 511, 512, 600, 699):
        assert (await crowded.transact(tables[0], request(f"c{number}"), add(UP_AND_DOWN[number % 2]))).loaded.revision == number + 1
    assert len(store.aggregate(tables[0])) == 700


class Slow:
    """Snapshots that are kept when `go` is set, and are asked for in vain until then."""

    def __init__(self, store):
        self._snapshots = store.snapshots
        self.go = asyncio.Event()
        self.asked = []

    async def read(self, address, part):
        self.asked.append(address)
        return await self._snapshots.read(address, part)

    async def keep(self, address, part, data):
        await self.go.wait()
        await self._snapshots.keep(address, part, data)


async def test_what_waits_to_be_written_is_still_at_hand():
    """Pushed out and asked for again before its snapshot lies there: it is what it was, nothing is read, and the newest one is written."""
    store, table, other = MemoryStore(), some_table(), some_table()
    log = Watched(MemoryLog(store))
    log.snapshots = Slow(store)
    instance = counters(log, capacity=0)
    for number in range(3):
        await instance.transact(table, request(f"c{number}"), add(1))
    await instance.transact(other, request("o"), add(1))  # pushes it out
    assert table not in instance.cache
    log.reads.clear()
    log.snapshots.asked.clear()
    assert (await instance.transact(table, request("c3"), add(1))).loaded.state == 4
    assert (log.reads, log.snapshots.asked) == ([], [])
    await instance.transact(other, request("p"), add(1))
    log.snapshots.go.set()
    await instance.drain()
    assert snapshots.decode(store.snapshots.kept[table, STATE]).revision == 4


async def test_an_older_state_takes_no_newer_ones_place_while_it_waits():
    """A slow first touch that ends late brings what was true before; at hand stays what was acknowledged since."""
    instance = counters(MemoryLog(MemoryStore()))
    table, books = some_table(), instance._books
    states = []
    for number in range(2):
        await instance.transact(table, request(f"c{number}"), add(1))
        states.append(instance.cache.get(table))
    books.keep(states[1])
    books.keep(states[0])
    assert books.taken_back(table) is states[1]
    await books.drain()


class Even(CounterBooks):
    """Books that are closed at every second commit."""

    def closes(self, loaded, _events):
        return loaded.revision % 2 == 0


async def test_what_is_at_hand_is_the_newest_that_was_acknowledged_here():
    """A state waits to be written, and one commit later the aggregate is pushed out: nobody is shown the older one."""
    store, table, other = MemoryStore(), some_table(), some_table()
    log = MemoryLog(store)
    log.snapshots = Slow(store)
    instance = counters(log, capacity=0, books=Even())
    for number in range(3):
        await instance.transact(table, request(f"c{number}"), add(1))
    await instance.transact(other, request("o"), add(1))  # pushes it out, one commit behind its snapshot
    assert (await instance.load(table)).state == 3
    log.snapshots.go.set()
    await instance.drain()


async def test_a_chunk_that_is_gone_is_not_made_longer():
    """Another one lies beside it then, and its own keys are found in the log."""
    store, table = MemoryStore(), some_table()
    await played(MemoryLog(store), table, 40)
    del store.snapshots.kept[table, "keys-1"]
    second = counters(MemoryLog(store))
    for number in range(40, 80):
        await second.transact(table, request(f"c{number}"), add(1))
    await second.drain()
    assert [chunk.first for chunk in snapshots.decode(store.snapshots.kept[table, STATE]).chunks] == [1, 41]
    for number in (7, 50):
        assert (await counters(MemoryLog(store)).transact(table, request(f"c{number}"), add(1))).repeated
    assert len(store.aggregate(table)) == 80


async def test_a_long_aggregate_of_a_log_without_snapshots_is_kept_at_its_first_touch():
    """As older programs left it: 1,100 commands make three chunks, the next instance reads one commit, no repeat is taken for new."""
    store, table = MemoryStore(), some_table()
    old = counters(MemoryLog(store), books=None)
    for number in range(1100):
        await old.transact(table, request(f"c{number}"), add(UP_AND_DOWN[number % 2]))
    first = counters(MemoryLog(store))
    await first.load(table)
    await first.drain()
    assert sorted(part for _, part in store.snapshots.kept) == ["keys-1", "keys-1025", "keys-513", "state"]
    assert all(len(data) <= LARGEST for data in store.snapshots.kept.values())
    watched = Watched(MemoryLog(store))
    second = counters(watched)
    await second.load(table)
    assert watched.reads == []
    for number in (0, 600, 1099):
        assert (await second.transact(table, request(f"c{number}"), add(UP_AND_DOWN[number % 2]))).loaded.revision == number + 1
    del store.snapshots.kept[table, "keys-513"]
    third = counters(MemoryLog(store))
    assert (await third.transact(table, request("c600"), add(UP_AND_DOWN[0]))).repeated
    assert len(store.aggregate(table)) == 1100
