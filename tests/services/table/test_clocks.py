"""The clocks of all tables, one round at a time on the in-memory store: whose time is up, and whose time an outage gives back."""

from __future__ import annotations

import asyncio

import pytest

from services.table.clocks.clocks import TOGETHER, WAITS, Clocks
from services.table.clocks.outages import Outages
from services.table.clocks.postgres import PostgresClockStore
from services.table.clocks.schedule import Schedule
from services.table.clocks.skew import Skew
from services.table.clocks.store import Outage, Running
from services.table.table import deadline, shortest_turn
from services.table.tables import Tables
from services.table.viewer_stream import Reader
from shared.eventlog.memory import MemoryLog
from shared.events import address
from shared.events.address import new_id
from shared.events.keys import MasterKeys
from shared.events.redaction import PublicCodec
from shared.events.sealing import TableCodec
from shared.rules.deal.proposing import PAUSE
from shared.rules.language.game_events import DealScored, PulkaClosed, TurnTimedOut
from shared.rules.language.moves import Propose, Seed
from shared.rules.pulka import decider as match
from tests.partitions import TABLE_STREAMS
from tests.services.table.clock_sweeper import APART, Sweeper
from tests.services.table.misplaying import Misplaying
from tests.services.table.playing import KEYS, PLAYERS, TABLE_ID, Playing
from tests.services.table.test_interrupted_turns import agreed

STREAM = address.table(TABLE_ID).stream


async def test_a_turn_ends_at_its_deadline_and_not_before(playing, rows):
    """Until the deadline nothing happens; then the default move is made, once, and the log says when it was due."""
    table, sweeper = await playing.table(), Sweeper(playing.tables, rows)
    (done,) = await sweeper.sweep_on(table.turn_began, deadline(table))
    assert done.events[0] == TurnTimedOut(match.to_act(table.pulka), deadline(table))
    assert done.commit.at == deadline(table)
    assert await sweeper.sweep(deadline(table) + APART) == []
    assert (await playing.table()).revision == table.revision + 1


async def test_one_instance_sweeps_a_stream(playing, rows):
    """While one holds the lease another does nothing there, however late a turn is; when it falls silent the other takes over."""
    table = await playing.table()
    first, second = Sweeper(playing.tables, rows, [STREAM]), Sweeper(playing.tables, rows, [STREAM])
    await first.sweep(deadline(table) - 1)
    assert await second.sweep(deadline(table)) == []
    assert second.clocks.state == "standby"
    (done,) = await second.sweep_on(deadline(table) + APART, deadline(table) + 2 * APART)
    assert second.clocks.state == "sweeping"
    assert done.events[0] == TurnTimedOut(match.to_act(table.pulka), deadline(table))  # a holder's death is no outage


@pytest.mark.parametrize("same", [True, False], ids=["it comes back", "another takes over"])
async def test_an_outage_is_given_back(playing, rows, same):
    """A turn that a silence fell into ends later by just that silence, whoever sweeps then; the flag event says by how much."""
    table, sweeper = await playing.table(), Sweeper(playing.tables, rows)
    fell_silent, away = table.turn_began + 10_000, 60_000
    await sweeper.sweep_on(table.turn_began, fell_silent)
    back = sweeper if same else Sweeper(playing.tables, rows)
    assert await back.sweep(fell_silent + away) == []  # by the wall clock the turn was over long ago
    (done,) = await back.sweep_on(fell_silent + away + APART, deadline(table) + away)
    assert done.events[0] == TurnTimedOut(match.to_act(table.pulka), deadline(table), away)


async def test_f19_the_view_knows_of_an_outage_as_soon_as_it_is_known(playing, rows):
    """F19: once an instance has swept again, its view gives the turn as much time back as the time-out that may follow."""
    table, sweeper = await playing.table(), Sweeper(playing.tables, rows)
    fell_silent, away = table.turn_began + 2_000, 25_000
    await sweeper.sweep_on(table.turn_began, fell_silent)
    back, beside = Sweeper(playing.tables, rows), Sweeper(playing.tables, rows)
    await back.sweep(fell_silent + away)
    await beside.sweep(fell_silent + away)
    for one in (back, beside):
        reader = Reader(playing.tables, PublicCodec(KEYS), lambda: fell_silent + away, one.outages.credit)
        assert (await reader.now(TABLE_ID, None))["clock"]["deadline"] == deadline(table) + away
    (done,) = await back.sweep_on(fell_silent + away + APART, deadline(table) + away)
    assert done.events[0] == TurnTimedOut(match.to_act(table.pulka), deadline(table), away)


def test_f19_only_what_fell_into_the_turn_is_given_back():
    """F19: of several outages a turn gets those after its beginning, and of the one that it began in the rest."""
    outages = Outages()
    outages.learn([Outage(1_000, 1_005), Outage(100, 150), Outage(0, 10)])
    assert [outages.credit(TABLE_ID, since) for since in (-5, 0, 10, 120, 150, 1_002, 1_005, 9_999)] == [65, 65, 55, 35, 5, 3, 0, 0]


async def test_a_log_that_is_away_is_an_outage(playing, rows):
    """While nobody can move, sweeps leave no beat, however often they come; the turn gets that time back."""
    table, sweeper = await playing.table(), Sweeper(playing.tables, rows)
    fell_silent, away = table.turn_began + 10_000, 60_000
    await sweeper.sweep_on(table.turn_began, fell_silent)
    playing.log.disconnect()
    assert await sweeper.sweep_on(fell_silent + APART, fell_silent + away - APART) == []
    assert sweeper.clocks.state == WAITS
    playing.log.reconnect()
    assert await sweeper.sweep(fell_silent + away) == []
    (done,) = await sweeper.sweep_on(fell_silent + away + APART, deadline(table) + away)
    assert done.events[0] == TurnTimedOut(match.to_act(table.pulka), deadline(table), away)


async def test_a_turn_of_a_clock_that_was_ahead_ends_in_its_own_time(playing, rows):
    """F24: what the log has an hour in the future is measured from the first look on; its own times go on from where they are."""
    table, sweeper = await playing.table(), Sweeper(playing.tables, rows)
    back = table.turn_began - 3_600_000
    (done,) = await sweeper.sweep_on(back, back + 30_000)
    assert done.events[0] == TurnTimedOut(match.to_act(table.pulka), deadline(table))
    assert done.commit.at == deadline(table)
    assert sweeper.clocks.skew()["behind_the_log_s"] == pytest.approx(3_570)
    table = await playing.table()
    (done,) = await sweeper.sweep_on(back + 30_000 + APART, back + 60_000)
    assert (done.events[0].seat, done.commit.at) == (match.to_act(table.pulka), deadline(table))


async def test_f24_a_turn_that_a_move_begins_is_measured_within_a_second(playing, rows):
    """F24: while the log's times lie in the future a table is looked at every second: the turn after a move is not lengthened by a look."""
    table, sweeper = await playing.table(), Sweeper(playing.tables, rows)
    back = table.turn_began - 3_600_000
    await sweeper.sweep_on(back, back + 2_000)
    await playing.step()
    table = await playing.table()
    (done,) = await sweeper.sweep_on(back + 2_000 + APART, back + 33_000)
    assert done.events[0] == TurnTimedOut(match.to_act(table.pulka), deadline(table))


async def test_f24_the_view_has_the_time_of_the_log(playing):
    """F24: for a clock that went back the turn has begun, and as much of it is left as was agreed, not an hour more."""
    table = await playing.table()
    reader = Reader(playing.tables, PublicCodec(KEYS), lambda: table.turn_began - 3_600_000)
    clock = (await reader.now(TABLE_ID, None))["clock"]
    assert (clock["now"], clock["deadline"]) == (table.turn_began, deadline(table))


async def test_a_clock_that_was_ahead_leaves_no_outage_behind(playing, rows):
    """F24: a turn that began before the clock went ahead and back again ends when it would have; nothing is credited for the jump."""
    table, sweeper = await playing.table(), Sweeper(playing.tables, rows)
    began = table.turn_began
    await sweeper.sweep_on(began, began + 2_000)
    sweeper.set(began + 3_600_000)
    await sweeper.sweep_on(began + 3_600_000, began + 3_603_000)
    sweeper.set(began + 4_000)
    (done,) = await sweeper.sweep_on(began + 4_000, deadline(table))
    assert done.events[0] == TurnTimedOut(match.to_act(table.pulka), deadline(table))


async def test_a_lease_in_the_future_dies_with_its_holder(playing, rows):
    """F24: an instance whose clock was ahead has ended; the next one waits only for a lease's time, and measures the turn anew."""
    table = await playing.table()
    gone, next_one = Sweeper(playing.tables, rows), Sweeper(playing.tables, rows)
    (done,) = await gone.sweep(table.turn_began + 3_600_000)
    assert await next_one.sweep(table.turn_began) == []
    assert next_one.clocks.state == "standby"
    assert await next_one.sweep_on(table.turn_began + APART, table.turn_began + 2 * APART) == []
    assert next_one.clocks.state == "sweeping"
    (late,) = await next_one.sweep_on(table.turn_began + 3 * APART, table.turn_began + 2 * APART + 30_000)
    assert late.events[0] == TurnTimedOut(match.to_act(done.loaded.state.pulka), deadline(done.loaded.state))


async def test_an_agreed_pause_is_no_clock_that_was_ahead(playing, rows):
    """F24: a turn that a pause moves into the future keeps the pause, in the sweep, in the log and in the view (5.4.11)."""
    before, sweeper = await playing.table(), Sweeper(playing.tables, rows)
    playing.now = before.turn_began + 9_000
    await agreed(playing, (match.to_act(before.pulka) + 1) % 3, Propose("pause"))
    table = await playing.table()
    assert deadline(table) == playing.now + 20_000 + 1_000 * PAUSE
    shown = await Reader(playing.tables, PublicCodec(KEYS), lambda: playing.now).now(TABLE_ID, None)
    assert (shown["clock"]["now"], shown["clock"]["deadline"]) == (playing.now, deadline(table))
    (done,) = await sweeper.sweep_on(playing.now, deadline(table))
    assert done.events[0] == TurnTimedOut(match.to_act(table.pulka), deadline(table))
    assert done.commit.at == deadline(table)


def test_a_time_that_the_clock_has_caught_up_with_is_no_skew():
    """F24: a table on which nobody has moved since its log was ahead is not told as one whose log is behind."""
    skew = Skew()
    skew.note(TABLE_ID, 60_000, 0)
    assert skew.told(20_000) == {"behind_the_log_s": 40.0}
    assert skew.told(3_600_000) == {}


async def test_a_clock_that_differs_from_the_servers_is_told(playing, rows):
    """F24: `/health` says by how much this clock is ahead of that of Postgres."""
    rows.clock = lambda: playing.now
    sweeper = Sweeper(playing.tables, rows)
    await sweeper.sweep(playing.now)
    assert "ahead_of_postgres_s" not in sweeper.clocks.skew()
    await sweeper.sweep(playing.now + 3_600_000)
    assert sweeper.clocks.skew()["ahead_of_postgres_s"] == 3_600


async def test_a_database_that_is_away_is_said_in_our_words():
    """The state that `/health` shows is no name of a class of some library."""
    store = PostgresClockStore("postgresql://nobody@127.0.0.1:1/none", "")
    clocks = Clocks(Tables(MemoryLog(), TableCodec(KEYS)), store, TABLE_STREAMS, lambda: 0, None)
    clocks.start()
    async with asyncio.timeout(10):
        while clocks.state == "stopped":  # noqa: ASYNC110 - a state, told to nobody
            await asyncio.sleep(0)  # lets it be refused
    assert clocks.state == "down: postgres_unreachable"
    await clocks.stop()


async def test_a_turn_that_began_after_an_outage_gets_nothing_of_it(playing, rows):
    """Only the silence since its own beginning counts for a turn."""
    table, sweeper = await playing.table(), Sweeper(playing.tables, rows)
    await sweeper.sweep(table.turn_began - 90_000)
    (done,) = [*await sweeper.sweep(table.turn_began), *await sweeper.sweep_on(table.turn_began + 1, deadline(table))]
    assert done.events[0].credit == 0


async def test_a_table_that_cannot_be_read_stops_no_other_clock(playing, rows):
    """A log sealed under a key that is not here is told by kind; the tables after it in the sweep end their turns."""
    foreign = Tables(playing.log, TableCodec(MasterKeys((("foreign", bytes(32)),))))
    broken = "0-" + "b" * 26
    await foreign.open(broken, playing.opening, playing.now, None)
    await foreign.start_deal(broken, 1, playing.now)
    rows.runs(broken, 5_000)
    table, sweeper = await playing.table(), Sweeper(playing.tables, rows)
    (done,) = await sweeper.sweep_on(table.turn_began, deadline(table))
    assert done.loaded.address == address.table(TABLE_ID)


async def test_what_nobody_foresaw_at_one_table_stops_no_other_clock(playing, rows, monkeypatch):
    """It is told by its kind, and looked at again; the others end their turns."""
    other = TABLE_ID[:-1] + "q"
    rows.runs(other, 5_000)
    table, sweeper = await playing.table(), Sweeper(playing.tables, rows)
    load = playing.tables.load

    async def failing(table_id, **options):
        if table_id == other:
            raise RuntimeError("a defect")
        return await load(table_id, **options)

    monkeypatch.setattr(playing.tables, "load", failing)
    (done,) = await sweeper.sweep_on(table.turn_began, deadline(table))
    assert done.loaded.address == address.table(TABLE_ID)
    assert sweeper.clocks.state == "sweeping"


def test_who_takes_over_looks_first_at_what_is_due():
    """Of many tables at once those whose turn ended first, and all of them at once."""
    schedule = Schedule()
    schedule.hold(STREAM)
    ids = [f"0-{letter * 26}" for letter in "abcd"]
    schedule.add([Running(table_id, 5_000, 7, ends) for table_id, ends in zip(ids, (40, 0, 20, 30), strict=True)])
    assert [entry.table_id[2] for entry in schedule.due(STREAM, 0, 3)] == ["b", "c", "d"]
    assert [entry.table_id[2] for entry in schedule.due(STREAM, 0, 3)] == ["a"]


@pytest.mark.parametrize("garbage", [b"{", b'{"x":' + b"[" * 100_000], ids=["cut off", "brackets without end"])
async def test_a_damaged_head_stops_no_other_clock(playing, rows, garbage):
    """F20: bytes that are no commit, published on one table's subject, stop its clock alone."""
    damaged = address.table("0-" + "b" * 26)
    playing.log.store.store(damaged, garbage, 0)
    rows.runs(damaged.id, 5_000)
    table, sweeper = await playing.table(), Sweeper(playing.tables, rows)
    (done,) = await sweeper.sweep_on(table.turn_began, deadline(table))
    assert done.loaded.address == address.table(TABLE_ID)


async def test_a_table_on_the_move_is_not_folded(playing, rows):
    """While its last commit is younger than the shortest turn, one question to the log is all that a table costs its clock."""
    table, folded = await playing.table(), []
    sweeper = Sweeper(Folding(playing.tables, folded), rows)
    assert await sweeper.sweep_on(table.turn_began, table.turn_began + 4_000) == []
    assert folded == []
    assert await sweeper.sweep_on(table.turn_began + 5_000, deadline(table) - APART) == []
    assert folded == [TABLE_ID]  # once: then the deadline is known


async def test_a_seed_does_not_hide_that_a_turn_is_over(rows):
    """A commit that keeps the turn, however young, leaves the turn's deadline where it was (3.2.3)."""
    playing = await Playing(terms={"clock": {"move_s": 30, "cut_s": 5}}).open()
    rows.runs(TABLE_ID, 5_000)
    began, sweeper = (await playing.table()).turn_began, Sweeper(playing.tables, rows)
    assert await sweeper.sweep_on(began, began + 3_000) == []
    playing.now = began + 3_000
    await playing.send("ann", Seed("ab"))
    (done,) = await sweeper.sweep_on(began + 4_000, began + 5_000)
    assert isinstance(done.events[0], TurnTimedOut)


async def test_a_pulka_that_is_over_is_looked_at_no_more(rows):
    """The row goes with the pulka's end."""
    playing = await Playing(target=1).open()
    rows.runs(TABLE_ID, 5_000)
    while (await playing.table()).pulka.status == "playing":
        await playing.step()
    sweeper = Sweeper(playing.tables, rows)
    assert await sweeper.sweep(playing.now + 60_000) == []
    await sweeper.sweep(playing.now + 61_000)
    assert rows.tables == {}


class Folding:
    """Tables that note whom the clocks fold."""

    def __init__(self, tables, folded):
        self.log, self.time_out, self.start_deal = tables.log, tables.time_out, tables.start_deal
        self._tables, self._folded = tables, folded

    async def load(self, table_id, *, at_leader=False):
        self._folded.append(table_id)
        return await self._tables.load(table_id, at_leader=at_leader)


@pytest.mark.parametrize("behind", [0, 3_600_000])
async def test_the_pause_after_an_adjudicated_deal_and_before_the_settlement_end_by_the_clock(rows, behind):
    """Nobody confirms: each deal is scored when its pause is over, and the pulka is settled when its players have had the time to write
    what is due (4.2.9), without any of them moving; also where the clock is behind the log's times (F24).
    """
    playing = await Misplaying(wild=0.0, target=1, terms={"entries": "by_hand", "pause_s": 4}).open()
    rows.runs(TABLE_ID, shortest_turn((await playing.table()).terms))
    sweeper, paused = Sweeper(playing.tables, rows), 0
    while (table := await playing.table()).pulka.status != "over":
        if match.awaits_confirmation(table.pulka) or match.settles_next(table.pulka):
            (done,) = await sweeper.sweep_on(table.turn_began - behind, deadline(table) - behind)
            assert {type(event) for event in done.events} & {DealScored, PulkaClosed}
            assert done.commit.at >= deadline(table)
            playing.now, paused = max(playing.now, done.commit.at), paused + 1
            continue
        due = [(seat, entry) for seat in range(3) for entry in match.entries_due(table.pulka, seat)]
        await (playing.send(PLAYERS[due[0][0]], due[0][1]) if due else Playing.step(playing))
    assert paused == table.pulka.number + 1


async def test_looks_come_in_small_parts_of_one_stream_after_another(playing, rows):
    """Of a thousand tables that are due together sixteen are asked for at a time, and no stream waits for all of another."""
    for number in range(1000):
        rows.runs(new_id(bytes([number % 8]) + number.to_bytes(16)), 30_000)
    sweeper = Sweeper(playing.tables, rows)
    parts = []
    heads = playing.log.heads

    async def counted(addresses, after):
        parts.append((addresses[0].stream, len(addresses)))
        return await heads(addresses, after)

    playing.log.heads = counted
    await sweeper.sweep(playing.now)
    assert sum(size for _, size in parts) >= 1000
    assert max(size for _, size in parts) == TOGETHER
    assert len({stream for stream, _ in parts[:8]}) == 8
