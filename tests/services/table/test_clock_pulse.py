"""What is an outage and what is not: a stream's silence is, work that is late is none, and a clock that was set is told apart."""

from __future__ import annotations

import asyncio

import pytest

from services.table.clocks import figures
from services.table.clocks.store import Outage
from services.table.table import deadline
from shared.eventlog.port import OutcomeUnknown, Unavailable
from shared.events import address
from shared.rules.language.game_events import TurnTimedOut
from shared.rules.pulka import decider as match
from tests.partitions import TABLE_STREAMS
from tests.services.table.clock_sweeper import APART, Sweeper
from tests.services.table.playing import TABLE_ID

STREAM = address.table(TABLE_ID).stream


class Silent:
    """The log, of which some streams do not answer, and some do not store; everything else is its own."""

    def __init__(self, log):
        self._log, self.silent, self.refusing, self.cut = log, set(), set(), False

    def __getattr__(self, name):
        return getattr(self._log, name)

    async def confirm(self, stream):
        if self.cut or stream in self.silent:
            raise Unavailable("no majority, or no answer")
        await self._log.confirm(stream)

    async def append(self, where, data, expected):
        if where.stream in self.refusing:
            raise OutcomeUnknown("no ack")
        return await self._log.append(where, data, expected)


class Behind:
    """Tables on another log."""

    def __init__(self, tables, log):
        self._tables, self.log = tables, log

    def __getattr__(self, name):
        return getattr(self._tables, name)


async def test_the_silence_of_one_stream_is_no_outage_of_another(playing, rows):
    """Its tables get the time back, and their turns wait; the others go on as if nothing were."""
    other = "TABLE_1"
    assert other != STREAM
    log = Silent(playing.log)
    table, sweeper = await playing.table(), Sweeper(Behind(playing.tables, log), rows)
    await sweeper.sweep_on(table.turn_began, table.turn_began + 5_000)
    log.silent.add(other)
    (done,) = await sweeper.sweep_on(table.turn_began + 6_000, deadline(table))
    assert done.events[0] == TurnTimedOut(match.to_act(table.pulka), deadline(table))
    log.silent.clear()
    back = deadline(table) + APART
    await sweeper.sweep(back)
    assert rows.outages == [Outage(table.turn_began + 5_000, back, (other,))]
    assert [sweeper.outages.credit(f"{partition}-x", 0) for partition in (0, 1)] == [0, back - table.turn_began - 5_000]


async def test_a_store_that_was_away_is_no_outage(playing, rows):
    """With Postgres away moves go on, and so do the clocks of the tables that are known; nobody gets anything back."""
    table, sweeper = await playing.table(), Sweeper(playing.tables, rows)
    await sweeper.sweep_on(table.turn_began, table.turn_began + 5_000)
    sweeper.store.away = True
    for at in range(table.turn_began + 6_000, deadline(table) + APART, APART):
        sweeper.steady += (at - sweeper.now) / 1000
        sweeper.now = at
        await asyncio.gather(*(sweeper.clocks._ask(stream) for stream in TABLE_STREAMS))
        with pytest.raises(ConnectionError):
            await sweeper.clocks._attend()
        await sweeper.clocks._sweep_all()
    (done,) = sweeper.made
    assert (done.events[0].deadline, done.events[0].credit, done.commit.at) == (deadline(table), 0, deadline(table))
    sweeper.store.away = False
    await sweeper.clocks.round()
    assert rows.outages == []


async def test_an_instance_that_watched_says_that_there_was_no_silence(playing, rows):
    """The heartbeat was not written for ten seconds, since something else took long: the log had answered, and nobody gets time back."""
    table, sweeper = await playing.table(), Sweeper(playing.tables, rows)
    await sweeper.sweep_on(table.turn_began, table.turn_began + 5_000)
    for at in range(table.turn_began + 6_000, table.turn_began + 16_000, APART):
        sweeper.steady += (at - sweeper.now) / 1000
        sweeper.now = at
        await asyncio.gather(*(sweeper.clocks._ask(stream) for stream in TABLE_STREAMS))
    (done,) = await sweeper.sweep_on(table.turn_began + 16_000, deadline(table))
    assert done.events[0].credit == 0
    assert rows.outages == []


async def test_a_leader_that_is_cut_off_is_silent(playing, rows):
    """It answers, and no majority confirms it: nobody can move, and the turn gets that time back."""
    log = Silent(playing.log)
    table, sweeper = await playing.table(), Sweeper(Behind(playing.tables, log), rows)
    await sweeper.sweep_on(table.turn_began, table.turn_began + 5_000)
    log.cut = True
    await sweeper.sweep_on(table.turn_began + 6_000, table.turn_began + 14_000)
    log.cut = False
    await sweeper.sweep(table.turn_began + 15_000)
    (done,) = await sweeper.sweep_on(table.turn_began + 16_000, deadline(table) + 10_000)
    assert done.events[0].credit == 10_000


async def test_a_log_that_answers_and_stores_nothing_is_silent(playing, rows):
    """Answers prove nothing while appends are not stored. The turn gets that time back."""
    log = Silent(playing.log)
    table, sweeper = await playing.table(), Sweeper(Behind(playing.tables, log), rows)
    sweeper.clocks._looks._tables = cut = type(playing.tables)(log, playing.tables.codec)
    log.refusing.add(STREAM)
    assert cut.log is log
    await sweeper.sweep_on(table.turn_began, deadline(table) + 6_000)
    log.refusing.clear()
    made, at = [], deadline(table) + 6_000
    while not made:
        at += APART
        made = await sweeper.sweep(at)
    credit = made[0].events[0].credit
    assert credit > 0
    assert at - 2 * APART <= deadline(table) + credit <= at


async def test_a_clock_that_is_set_forward_ends_no_turn(playing, rows):
    """An hour in which nobody lived is given back; the first look after the jump already knows."""
    table, sweeper = await playing.table(), Sweeper(playing.tables, rows)
    await sweeper.sweep_on(table.turn_began, table.turn_began + 5_000)
    sweeper.set(table.turn_began + 5_000 + 3_600_000)
    assert await sweeper.sweep(sweeper.now) == []
    (done,) = await sweeper.sweep_on(sweeper.now + APART, deadline(table) + 3_600_000)
    assert done.events[0].credit == 3_600_000


async def test_metrics_say_how_late_turns_ended_and_what_was_given_back(playing, rows):
    """Turns overdue, how late they end, credit given."""
    late, credit = figures.LATE._sum.get(), figures.CREDIT._value.get()
    table, sweeper = await playing.table(), Sweeper(playing.tables, rows)
    await sweeper.sweep_on(table.turn_began, table.turn_began + 5_000)
    assert (figures.STREAMS._value.get(), figures.TABLES._value.get(), figures.OVERDUE._value.get()) == (8, 1, 0)
    back = table.turn_began + 15_000  # ten seconds without an answer
    await sweeper.sweep_on(back, deadline(table) + 9_000)
    playing.log.disconnect()
    await sweeper.sweep(deadline(table) + 10_000)
    await sweeper.sweep(deadline(table) + 11_000)
    assert figures.OVERDUE._value.get() == 1
    playing.log.reconnect()
    (done,) = await sweeper.sweep(deadline(table) + 12_000)
    assert done.events[0].credit == 10_000
    assert figures.LATE._sum.get() - late == pytest.approx(2)
    assert figures.CREDIT._value.get() - credit == pytest.approx(10)
    await sweeper.sweep(deadline(table) + 13_000)
    assert figures.OVERDUE._value.get() == 0
