"""Turns that begin between two looks of the clocks, and tables whose instance is gone: none waits for the end of a longer turn."""

from __future__ import annotations

import pytest

from services.table.clocks.memory import MemoryRows
from services.table.table import deadline, shortest_turn
from services.table.tables import Tables
from shared.eventlog.aggregates.aggregates import Committed
from shared.eventlog.memory import MemoryLog
from shared.events import address
from shared.events.sealing import TableCodec
from shared.rules.pulka import decider as match
from tests.partitions import TABLE_STREAMS
from tests.services.table.clock_sweeper import APART, Sweeper
from tests.services.table.playing import KEYS, TABLE_ID, Playing

STREAM = address.table(TABLE_ID).stream
STEP = 250  # milliseconds between two rounds
LATE = 3_000  # milliseconds that a turn may last longer than agreed


async def made_by(sweeper, at):
    """The time of the first round from `at` on in which something is made."""
    while not any([isinstance(done, Committed) for done in await sweeper.sweep(at)]):  # noqa: C419 - `any` takes no asynchronous generator
        at += STEP
    return at


async def begun(rows, move_s, cut_s, **options):
    playing = await Playing(terms={"clock": {"move_s": move_s, "cut_s": cut_s}}, **options).open()
    rows.runs(TABLE_ID, shortest_turn((await playing.table()).terms))
    return playing


@pytest.mark.parametrize("steps", [4, 41, 52])
async def test_after_a_turn_ran_out_a_shorter_one_ends_in_time(rows, steps):
    """The next player is there and ends the deal; the cut of the next one has five seconds, not what the turn before would have had."""
    playing = await begun(rows, 30, 5, target=20, seed=3)
    for _ in range(steps):
        await playing.step()
    sweeper = Sweeper(playing.tables, rows, [STREAM])
    at = playing.now = await made_by(sweeper, (await playing.table()).turn_began)
    while match.phase((await playing.table()).pulka) != "between_deals":
        await playing.step()
        at = playing.now
        assert await sweeper.sweep(at) == []
    await playing.step()
    due = deadline(await playing.table())
    assert await made_by(sweeper, at + STEP) - due <= LATE


async def test_a_cut_of_a_second_ends_in_time_though_a_long_turn_was_waited_for(rows):
    """The turn before was looked at and has half a minute; a second's cut begins right behind that look."""
    before, last = await begun(MemoryRows(), 30, 1, target=20), 0
    while match.phase((await before.table()).pulka) != "between_deals":
        await before.step()
        last += 1
    playing = await begun(rows, 30, 1, target=20)
    for _ in range(last - 1):
        await playing.step()
    sweeper = Sweeper(playing.tables, rows, [STREAM])
    playing.now += 2_000
    assert await sweeper.sweep(playing.now) == []
    playing.now -= 900  # the last card comes a tenth of a second later
    await playing.step()
    await playing.step()
    due = deadline(await playing.table())
    assert await made_by(sweeper, playing.now + STEP) - due <= LATE


async def test_after_a_turn_ran_out_a_deal_that_nobody_starts_is_started_soon(rows):
    """The instance that saw the end could not; the turn before had five minutes."""
    playing = await begun(rows, 300, 300, target=20)
    sweeper = Sweeper(playing.tables, rows, [STREAM])
    for _ in range(7):
        await playing.step()
    playing.now = await made_by(sweeper, (await playing.table()).turn_began)
    while match.phase((await playing.table()).pulka) != "between_deals":
        await playing.step()
    assert await made_by(sweeper, playing.now) - playing.now <= 5_000


async def test_who_does_not_hear_a_stream_gives_it_to_who_does(playing, rows):
    """An instance that is cut off from the log, and not from Postgres, keeps no lease; and takes its share again afterwards."""
    cut_log = MemoryLog(playing.log.store)
    cut = Sweeper(Tables(cut_log, TableCodec(KEYS)), rows, [STREAM])
    well = Sweeper(playing.tables, rows, [STREAM])
    table = await playing.table()
    await cut.sweep(table.turn_began)
    assert list(cut.clocks._held) == [STREAM]
    cut_log.disconnect()
    made = []
    for at in range(table.turn_began + APART, deadline(table) + LATE, APART):
        assert await cut.sweep(at) == []
        made += await well.sweep(at)
    assert any(isinstance(done, Committed) for done in made)
    assert await well.store.outages() == []
    assert (list(cut.clocks._held), list(well.clocks._held)) == ([], [STREAM])
    cut_log.reconnect()
    await cut.sweep(at + APART)
    assert cut.clocks._heard() == [STREAM]


@pytest.mark.parametrize("third", [False, True])
async def test_all_who_are_left_look_for_what_a_dead_instance_owed(third):
    """Whoever finds it dead strikes it out; to the others its row is gone, and they look as well."""
    rows = MemoryRows()
    playing = await begun(rows, 30, 30)
    ours, dies = Sweeper(playing.tables, rows, [STREAM]), Sweeper(playing.tables, rows, [STREAM])
    others = [Sweeper(playing.tables, rows, [stream for stream in TABLE_STREAMS if stream != STREAM])] if third else []
    await playing.until("play")
    while match.phase((await playing.table()).pulka) != "between_deals":
        for one in (ours, dies, *others):
            await one.sweep(playing.now)
        await playing.step()
    (entry,) = ours.clocks._schedule.entries()
    ours.clocks._schedule.put(entry, playing.now + 4_900)  # as after a look just before the last move
    for ended in range(STEP, 2 * LATE, STEP):
        for one in others:
            await one.sweep(playing.now + ended)
        if await ours.sweep(playing.now + ended + 50):
            break
    assert ended <= LATE


async def test_what_a_dead_instance_owed_is_found_though_the_last_commit_was_looked_at(rows):
    """The deal's last commit was seen while the instance that should deal next still lived."""
    playing = await begun(rows, 30, 30)
    ours, dies = Sweeper(playing.tables, rows, [STREAM]), Sweeper(playing.tables, rows)
    await playing.until("play")
    while match.phase((await playing.table()).pulka) != "between_deals":
        await ours.sweep(playing.now)
        await dies.sweep(playing.now)
        await playing.step()
    (entry,) = ours.clocks._schedule.entries()
    ours.clocks._schedule.put(entry, 0)
    for one in (ours, dies):
        assert await one.sweep(playing.now) == []
    for ended in range(STEP, 2 * LATE, STEP):
        if await ours.sweep(playing.now + ended):
            break
    assert ended <= LATE
