"""Instances without affinity: who has lost a race hears the other's commits from then on, and loses no more; who is alone hears nothing."""

import asyncio

from shared.eventlog.aggregates import hearing
from shared.eventlog.aggregates.aggregates import Committed
from shared.eventlog.aggregates.hearing import OWN_IN_A_ROW, Hearing
from shared.eventlog.memory import MemoryLog, MemoryStore
from shared.eventlog.port import Unavailable
from tests.contracts.commits import some_table
from tests.contracts.counter import LIMIT, add, counters, request


class Counted:
    """A log that counts appends and what is listened to."""

    def __init__(self, log):
        self._log = log
        self.appends = 0
        self.listening = 0

    def __getattr__(self, name):
        return getattr(self._log, name)

    async def append(self, address, data, expected):
        self.appends += 1
        return await self._log.append(address, data, expected)

    async def hear(self, address, heard):
        leave = await self._log.hear(address, heard)
        self.listening += 1

        async def left():
            self.listening -= 1
            await leave()

        return left


async def caught_up(instance, table, revision):
    """Wait until an instance has heard of a commit."""
    async with asyncio.timeout(5):
        while (await instance.load(table)).revision < revision:  # noqa: ASYNC110 - what it hears sets no event
            await asyncio.sleep(0)


async def listens(counted, *, to):
    """Wait until so many are listened to."""
    async with asyncio.timeout(5):
        while counted.listening != to:  # noqa: ASYNC110 - what it does beside its commands sets no event
            await asyncio.sleep(0)


async def test_after_one_conflict_the_others_commits_are_heard(logs):
    """Twenty commands in turns: the first one elsewhere costs a second append, the others none."""
    table, counted = some_table(), Counted(logs[1])
    one, two = counters(logs[0]), counters(counted)
    await one.transact(table, request("0"), add(1))
    await two.load(table)
    await one.transact(table, request("1"), add(1))
    assert counted.listening == 0
    assert (await two.transact(table, request("2"), add(1))).loaded.revision == 3
    assert counted.appends == 2
    await listens(counted, to=1)
    for turn in range(10):
        stored = await one.transact(table, request(f"one {turn}"), add(1))
        await caught_up(two, table, stored.loaded.revision)
        assert isinstance(await two.transact(table, request(f"two {turn}"), add(1)), Committed)
    assert counted.appends == 12
    assert (await counters(logs[0]).load(table)).state == 23
    await two.drain()
    assert counted.listening == 0


async def test_who_would_have_refused_for_what_it_had_not_heard_listens(logs):
    """A refusal that the newest state does not bear out says as much as a lost race: the others' commits are heard from then on."""
    table, counted = some_table(), Counted(logs[1])
    one, two = counters(logs[0]), counters(counted)
    await one.transact(table, request("0"), add(LIMIT))
    await two.load(table)
    await one.transact(table, request("1"), add(-LIMIT))
    assert counted.listening == 0
    assert isinstance(await two.transact(table, request("2"), add(1)), Committed)
    assert counted.appends == 1
    await listens(counted, to=1)
    await two.drain()


async def test_who_is_alone_hears_nothing_after_a_while(logs):
    """So many commands in a row of its own, and the instance listens no more."""
    table, counted = some_table(), Counted(logs[1])
    one, two = counters(logs[0]), counters(counted)
    await two.transact(table, request("0"), add(1))
    await one.transact(table, request("1"), add(1))
    await two.transact(table, request("2"), add(1))
    for turn in range(OWN_IN_A_ROW + 1):
        await two.transact(table, request(f"own {turn}"), add(1))
    await listens(counted, to=0)


async def test_no_more_than_so_many_are_listened_to(monkeypatch):
    """The one that was listened to longest is let go."""
    monkeypatch.setattr(hearing, "MOST", 3)
    store = MemoryStore()
    counted = Counted(MemoryLog(store))
    one, two = counters(MemoryLog(store)), counters(counted)
    for _ in range(6):
        table = some_table()
        await two.transact(table, request("0"), add(1))
        await one.transact(table, request("1"), add(1))
        await two.transact(table, request("2"), add(1))
    for _ in range(20):
        await asyncio.sleep(0)  # what was begun and ended gets its turns
    assert counted.listening == 3


async def test_who_could_not_listen_takes_nobody_else_along():
    """A first try that ends late, and in vain, leaves the one that began meanwhile: it can still be ended."""
    table, counted, answers = some_table(), Counted(MemoryLog(MemoryStore())), [asyncio.Event(), asyncio.Event()]
    asked = iter(answers)

    class Slow:
        """A log that answers when it is told to, the first time that it is not there."""

        async def hear(self, address, heard):
            answer = next(asked)
            await answer.wait()
            if answer is answers[0]:
                raise Unavailable("not connected")
            return await counted.hear(address, heard)

    hears = Hearing(Slow(), lambda _: True)
    hears.conflict(table)
    for _ in range(OWN_IN_A_ROW + 1):
        hears.own(table)
    hears.conflict(table)
    await asyncio.sleep(0)  # both have asked
    answers[1].set()
    await listens(counted, to=1)
    answers[0].set()
    await asyncio.sleep(0)  # the answer gets its turn
    await hears.drain()
    assert counted.listening == 0
