"""Many who watch one table: each sees what they would see alone, and is sent what was made once for all who see the same."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress

import msgspec
import pytest

from services.table.viewer_stream import Reader
from shared.eventlog.aggregates.aggregates import Committed
from shared.events.redaction import PublicCodec
from shared.rules.language.moves import Answer, Join
from shared.web.problems import Problem
from shared.web.streams.streaming import Streams
from tests.services.cli.processes import until_async
from tests.services.table.onlooking import FORMS, Onlooker
from tests.services.table.playing import KEYS, PLAYERS, TABLE_ID, Playing
from tests.services.table.test_viewer_stream import reader_of, token

LATE = {"spectators": {"allowed": True, "delay_deals": 1}}
PRIVATE = {"visibility": "private"}
BEAT = b"heartbeat"
OTHERS = ("eve", "fay", None)  # without a seat at first, and without a token


class Crowd:
    """A table that is played, and onlookers who come, go, fall behind and come back as the seed says."""

    def __init__(self, seed, terms):
        self.random = random.Random(seed)
        self.playing = Playing(target=40, terms=terms, seed=seed)
        self.reader = reader_of(self.playing)
        self.streams = Streams(queue=6, per_token=1 << 30)
        self.looking = []
        self.gone = {}

    async def come(self):
        """Somebody, at the head or where they were; a stream of the past begins at the beginning."""
        player = self.random.choice((*PLAYERS[:3], *OTHERS))
        caller = player and token(player)
        cursor = self.random.choice((None, None, 0, self.gone.get(player)))
        onlooker = Onlooker(self.playing, self.reader, self.streams, caller, self.random.choice(list(FORMS)))
        with suppress(Problem):  # a private table, or a cursor that who has lost their seat may not use
            self.looking.append(await onlooker.open(cursor))

    async def go(self):
        onlooker = self.looking.pop(self.random.randrange(len(self.looking)))
        await onlooker.close()
        assert onlooker.matches()
        self.gone[onlooker.caller and onlooker.caller.player] = onlooker.last

    async def somebody_else_sits_down(self):
        """Eve takes a seat, if all who are asked agree."""
        await self.playing.send("eve", Join(self.random.randrange(3)))
        while (motion := (table := await self.playing.table()).pulka.members.motion) is not None:
            outcome = await self.playing.send(table.pulka.seats[motion.waiting[0]], Answer(accept=True))
            if not isinstance(outcome, Committed):
                break

    async def act(self):
        """One thing that happens."""
        match self.random.choices(("step", "come", "go", "slow", "quick", "turn"), (60, 8, 5, 4, 6, 10))[0]:
            case "come" if len(self.looking) < 12:
                await self.come()
            case "go" if self.looking:
                await self.go()
            case "slow" if self.looking:
                self.random.choice(self.looking).takes.clear()
            case "quick" if self.looking:
                self.random.choice(self.looking).takes.set()
            case "turn":
                for _ in range(self.random.randrange(1, 60)):
                    await asyncio.sleep(0)
            case _:
                await self.playing.step()

    async def end(self):
        """Everybody gets all there is, and goes; nothing of them stays."""
        for onlooker in self.looking:
            await onlooker.settled()
        assert all(onlooker.matches() for onlooker in self.looking)
        assert all(len(onlooker.frames) == len(onlooker.alone) for onlooker in self.looking)
        for onlooker in self.looking:
            await onlooker.close()
        seated = (await self.playing.table()).pulka.seats[0]
        assert (await self.reader.now(TABLE_ID, token(seated)))["presence"] == [False] * 3
        assert (self.streams.count, len(self.reader.feeds)) == (0, 0)


@pytest.mark.parametrize("terms", [{}, LATE, PRIVATE], ids=["open", "late", "private"])
@pytest.mark.parametrize("seed", [1, 2, pytest.param(range(3, 15), marks=pytest.mark.slow)], ids=str)
async def test_everybody_sees_what_they_would_see_alone(seed, terms):
    """Whenever onlookers come, go, fall behind, change seats and come back: what they get is, byte for byte, what the plain fold of the
    log for that one viewer gives, without a gap or a repeat.
    """
    for one in [seed] if isinstance(seed, int) else seed:
        crowd = Crowd(one, terms)
        await crowd.playing.open()
        for turn in range(250):
            if turn in {90, 200}:
                await crowd.somebody_else_sits_down()
            await crowd.act()
        await crowd.end()


class Counted(PublicCodec):
    """Counts what it makes."""

    def __init__(self, keys):
        super().__init__(keys)
        self.made = 0

    def encoded(self, commit, eye):
        self.made += 1
        return super().encoded(commit, eye)


async def watched(count, terms=None, codec=None, target=40, **streams):
    """A table in its first auction with so many spectators, all of them among the others already."""
    playing = await Playing(target=target, terms=terms).open()
    await playing.until("auction")
    reader = Reader(playing.tables, codec or PublicCodec(KEYS), lambda: playing.now)
    house = Streams(**streams)
    looking = [await Onlooker(playing, reader, house, None, list(FORMS)[number % 2]).open() for number in range(count)]
    await until_async(lambda: all(onlooker.together for onlooker in looking))
    return playing, reader, house, looking


@pytest.mark.parametrize("terms", [{}, LATE], ids=["open", "late"])
@pytest.mark.parametrize("seed", range(6))
async def test_who_is_told_to_go_elsewhere_goes_on_there(seed, terms):
    """Whatever an onlooker was doing when the process leaves, the last frame names the last revision that came, or none where more was on
    its way; and another process shows what follows, without a gap or a repeat.
    """
    crowd = Crowd(seed, terms)
    await crowd.playing.open()
    for _ in range(120):
        await crowd.act()
    crowd.looking = [onlooker for onlooker in crowd.looking if not onlooker.ended]
    while len(crowd.looking) < 6:
        await crowd.come()
    for _ in range(crowd.random.randrange(8)):
        crowd.random.choice(crowd.looking).takes.clear()
        await crowd.playing.step()
    await crowd.streams.close()
    for onlooker in crowd.looking:
        onlooker.takes.set()
    await until_async(lambda: all(onlooker.ended for onlooker in crowd.looking))
    elsewhere = reader_of(crowd.playing)
    for onlooker in crowd.looking:
        revisions = [decoded(frame)["revision"] for frame in onlooker.frames]
        assert b"leaving" in onlooker.pieces[-1]
        assert decoded(onlooker.pieces[-1])["revision"] in {None, *revisions[-1:]}
        if revisions:
            after = [frame.id async for frame in await elsewhere.frames(TABLE_ID, onlooker.caller, revisions[-1], follow=False)]
            revisions += after[1:]  # the first is the view at the cursor
            assert revisions == list(range(revisions[0], revisions[0] + len(revisions)))
        await onlooker.close()
        assert onlooker.matches()
    assert crowd.streams.count == 0
    assert any(decoded(onlooker.pieces[-1])["revision"] is not None for onlooker in crowd.looking)


def decoded(frame):
    return msgspec.json.decode(frame[frame.index(b"{") :])


async def everybody_goes(reader, looking):
    for onlooker in looking:
        await onlooker.settled()
        await onlooker.close()
        assert onlooker.matches()
    assert not len(reader.feeds)


async def test_a_frame_is_made_once_for_all_who_see_the_same():
    """Twenty spectators in two forms: each commit is made once, and no onlooker has a task of their own."""
    codec = Counted(KEYS)
    playing, reader, _, looking = await watched(20, codec=codec)
    tasks, before = len(asyncio.all_tasks()), codec.made
    for _ in range(10):
        await playing.step()
    await until_async(lambda: all(len(onlooker.frames) == 11 for onlooker in looking))
    assert codec.made - before == 10
    assert len(asyncio.all_tasks()) == tasks
    await everybody_goes(reader, looking)


async def test_a_slow_onlooker_delays_nobody():
    """Who takes nothing leaves the round; the others have everything at once, and the slow one all of it in the end, from the log."""
    playing, reader, _, looking = await watched(6, queue=4)
    slow, *others = looking
    slow.takes.clear()
    for _ in range(20):
        await playing.step()
    await until_async(lambda: all(len(onlooker.frames) == 21 for onlooker in others))
    assert len(slow.frames) < 3
    await slow.settled()
    assert len(slow.frames) == 21
    await playing.step()
    await until_async(lambda: all(len(onlooker.frames) == 22 and onlooker.together for onlooker in looking))
    await everybody_goes(reader, looking)


async def test_an_onlooker_who_takes_nothing_is_dropped():
    """After the stall time their connection is cut; it is no other's."""
    playing, reader, house, looking = await watched(3, stall=0.05)
    slow = looking.pop()
    slow.takes.clear()
    await playing.step()
    await until_async(lambda: house.count == 2)
    assert not slow.ended
    await slow.close()
    await everybody_goes(reader, looking)


async def test_heartbeats_are_made_for_all():
    """Onlookers who share a stream get heartbeats too, with the revision that they have been shown; late ones are told no deadline."""
    for terms in ({}, LATE):
        playing, reader, _, looking = await watched(3, terms, heartbeat=0.02)
        await playing.step()
        await until_async(lambda looking=looking: all(onlooker.sent.count(BEAT) > 2 for onlooker in looking))
        *_, last = [line for line in looking[1].sent.splitlines() if BEAT in line]
        told = msgspec.json.decode(last)
        assert told["revision"] == looking[1].last
        assert ("deadline" in told) is not bool(terms)
        await everybody_goes(reader, looking)


async def test_a_stop_ends_all_in_order():
    """When the process stops, every stream ends after a whole frame, whether its client is slow or not, and nobody joins any more."""
    playing, reader, house, looking = await watched(5)
    looking[0].takes.clear()
    await playing.step()
    await until_async(lambda: all(len(onlooker.frames) == 2 for onlooker in looking[1:]))
    await house.close()
    assert all(onlooker.ended for onlooker in looking[1:])
    looking[0].takes.set()
    await until_async(lambda: looking[0].ended and house.count == 0)
    assert not len(reader.feeds)
    for onlooker in looking:
        await onlooker.close()
        assert onlooker.matches()


async def test_the_end_of_a_pulka_is_told_to_all():
    """F28: whoever watches together is shown everything, late ones too, is told the end, and the stream ends."""
    for delay in (0, 1):
        playing, reader, _, looking = await watched(4, {"spectators": {"allowed": True, "delay_deals": delay}}, target=1)
        while (await playing.table()).pulka.status != "over":
            await playing.step()
        await until_async(lambda looking=looking: all(onlooker.ended for onlooker in looking))
        for onlooker in looking:
            await onlooker.settled()
            await onlooker.close()
            assert onlooker.matches()
            assert onlooker.alone[-1].event == "over"
        assert not len(reader.feeds)
