"""A table as the service keeps it: turns, repeats, time-outs, the reveal, and what each viewer may know."""

from __future__ import annotations

import asyncio
import itertools

import msgspec
import pytest
from structlog.testing import capture_logs

from services.table.next_deals import NextDeals
from services.table.table import Table, Turn, deadline, fold, initial
from services.table.tables import Tables
from services.table.view import view
from shared.eventlog.aggregates.aggregates import BrokenChain, Committed, Mismatch, Nothing, RefusedAt, Request
from shared.eventlog.memory import MemoryLog
from shared.events import address
from shared.events.commit import SCHEMA, decode, encode
from shared.events.redaction import PublicCodec
from shared.events.sealing import TableCodec
from shared.events.upcast import NewerSchema
from shared.rules.deal.exposed import lying
from shared.rules.deal.incidents import OpenClaim as Claimed
from shared.rules.deck.cards import hand_text
from shared.rules.language.game_events import BidMade, CardsDealt, DealRevealed, DealScored, DealStarted, DeckCut, TurnTimedOut
from shared.rules.language.moves import Bid, Cut, Play, Seed
from shared.rules.pulka import decider as match
from shared.web.problems import problem_of
from tests.services.table.playing import KEYS, PLAYERS, TABLE_ID, Playing

FEDERATION = {"preset": "federation", "ends_when": "deals:12"}


@pytest.mark.parametrize(
    ("convention", "players"),
    [
        *(("sochi", players) for players in (2, 3, 4, 5)),
        *(("leningrad", players) for players in (2, 3, 4)),
        *(("rostov", players) for players in (3, 4, 5)),
        *((preset, players) for preset in ("code", "classic") for players in (3, 4)),
        *((FEDERATION, players) for players in (3, 4)),
        *(("classic", players) for players in (2, 5)),
    ],
)
async def test_a_pulka_runs_to_its_end_and_folds_the_same_from_the_log(convention, players):
    """What the log folds to is what was played live, to the settlement, and the settlement sums to zero (4.2.14)."""
    playing = await Playing(convention, players, target=2).open()
    for _ in range(10_000):
        if (await playing.table()).pulka.status == "over":
            break
        await playing.step()
    live = await playing.table()
    assert live.pulka.status == "over"
    assert sum(live.pulka.settlement["rounded"]) == 0
    codec, table = TableCodec(KEYS), initial(address.table(TABLE_ID))
    for recorded in await playing.log.read(address.table(TABLE_ID)):
        commit = decode(recorded.data)
        table = fold(table, commit, codec.open(commit))
    assert table == live


async def test_the_deal_follows_commitment_seeds_and_cut_and_is_revealed():
    """The cut deals at once; with the score everything that was hidden is revealed (3.2.5, 3.2.8)."""
    playing = await Playing().open()
    pulka = (await playing.table()).pulka
    await playing.send(PLAYERS[0], Seed("c0ffee"))
    cut = await playing.send(pulka.seats[match.cutter(pulka)], Cut(7))
    assert [type(event) for event in cut.events] == [DeckCut, CardsDealt]
    dealt = cut.events[1]
    await playing.until("between_deals")
    events = [
        event for recorded in await playing.log.read(address.table(TABLE_ID)) for event in playing.tables.codec.open(decode(recorded.data))
    ]
    revealed = next(event for event in events if isinstance(event, DealRevealed))
    started = next(event for event in events if isinstance(event, DealStarted))
    assert (revealed.server_seed, revealed.hands, revealed.talon) == (started.server_seed, dealt.hands, dealt.talon)
    assert isinstance(events[events.index(revealed) - 1], DealScored)


async def test_a_repeat_gives_the_first_answer_also_much_later():
    """The same key with the same move is one event and one answer; with another move it is refused."""
    playing = await Playing().open()
    pulka = (await playing.table()).pulka
    cutter = pulka.seats[match.cutter(pulka)]
    first = await playing.send(cutter, Cut(9), key="mine")
    await playing.until("play")
    again = await playing.send(cutter, Cut(9), key="mine")
    assert (again.repeated, again.stored, again.events) == (True, first.stored, first.events)
    with pytest.raises(Mismatch):
        await playing.send(cutter, Cut(10), key="mine")


async def test_a_late_move_does_not_land_in_the_next_turn():
    """With `If-Match` a move holds for the turn that its sender saw, and for no later one."""
    playing = await Playing().open()
    before = await playing.until("auction")
    await playing.step()
    seat = match.to_act((await playing.table()).pulka)
    late = await playing.send(PLAYERS[seat], Bid("pass"), if_match=before.revision)
    assert isinstance(late, RefusedAt)
    assert late.refused.code == "stale_revision"
    assert isinstance(await playing.send(PLAYERS[seat], Bid("pass"), if_match=late.revision), Committed)


async def test_5_5_a_foreign_player_has_no_say():
    """A seat follows from the pulka's first event and from nothing that a client says (5.5)."""
    playing = await Playing().open()
    outcome = await playing.send("eve", Cut(9))
    assert outcome.refused.code == "not_seated"


async def test_a_time_out_makes_the_default_move_once():
    """At his time-out the cutter cuts at 16; two sweeps of one turn decide to one event."""
    playing = await Playing(terms={"clock": {"move_s": 30, "cut_s": 5}}).open()
    table = await playing.table()
    assert deadline(table) == table.turn_began + 5_000
    turn = Turn(table.turn_revision, deadline(table))
    done = await playing.tables.time_out(TABLE_ID, turn, deadline(table) + 1)
    assert done.events[0] == TurnTimedOut(match.cutter(table.pulka), deadline(table))
    assert done.events[1] == DeckCut(match.cutter(table.pulka), 16)
    again = await playing.tables.time_out(TABLE_ID, turn, deadline(table) + 2)
    assert again.repeated


async def test_of_a_late_move_and_a_time_out_exactly_one_wins():
    """A time-out of a turn that a move has ended decides to nothing."""
    playing = await Playing().open()
    table = await playing.until("auction")
    await playing.step()
    late = await playing.tables.time_out(TABLE_ID, Turn(table.turn_revision, deadline(table)), playing.now)
    assert isinstance(late, Nothing)


async def test_a_late_move_and_a_time_out_at_once():
    """Sent at the same moment, in either order, one of the two makes the turn's only commit, and the log says which."""
    for order in (1, -1):
        playing = await Playing().open()
        table = await playing.until("auction")
        player = table.pulka.seats[match.to_act(table.pulka)]
        late = playing.send(player, Bid("6S"), if_match=table.revision)
        flag = playing.tables.time_out(TABLE_ID, Turn(table.turn_revision, deadline(table)), deadline(table))
        outcomes = await asyncio.gather(*(late, flag)[::order])
        made = [outcome for outcome in outcomes if isinstance(outcome, Committed)]
        assert len(made) == 1
        timed_out = isinstance(made[0].events[0], TurnTimedOut)
        assert isinstance(outcomes[::order][0], RefusedAt) == timed_out
        assert (await playing.table()).pulka.deal.auction.calls == (BidMade(match.to_act(table.pulka), "pass" if timed_out else "6S"),)


async def test_whoever_timed_out_plays_on():
    """A turn that passed costs the turn and nothing else: in the same deal and in the next he moves as before."""
    playing = await Playing().open()
    table = await playing.until("auction")
    slow = table.pulka.seats[match.to_act(table.pulka)]
    done = await playing.tables.time_out(TABLE_ID, Turn(table.turn_revision, deadline(table)), deadline(table))
    assert (done.events[0].seat, done.events[1]) == (table.pulka.seats.index(slow), BidMade(table.pulka.seats.index(slow), "pass"))
    moved = set()
    while len(moved) < 2:
        table = await playing.table()
        seat = match.to_act(table.pulka)
        await playing.step()
        if seat is not None and table.pulka.seats[seat] == slow:
            moved.add(table.pulka.number)
    assert moved == {1, 2}


@pytest.mark.slow
async def test_a_restart_finds_every_phase_as_it_was():
    """Whenever an instance comes anew to the log it has the same table: seats, dealer, turn and its clock; and somebody is waited for."""
    playing, phases = await Playing("leningrad", players=4, target=2, seed=5).open(), set()
    while (table := await playing.table()).pulka.status != "over":
        anew = Tables(MemoryLog(playing.store), TableCodec(KEYS), capacity=1)
        assert (await anew.load(TABLE_ID)).state == table
        assert deadline(table) is not None
        assert (match.to_act(table.pulka) is None) == (match.phase(table.pulka) == "between_deals")
        phases.add(match.phase(table.pulka))
        await playing.step()
    assert phases >= {"cut", "auction", "discard", "contract", "whist", "play", "between_deals"}
    assert deadline(await playing.table()) is None


async def test_every_phase_ends_by_time_outs_alone():
    """With nobody moving at all, default moves bring deal after deal to its end, so that no table hangs."""
    playing = await Playing("rostov", target=1).open()
    for _ in range(400):
        table = await playing.table()
        if table.pulka.number == 3:
            break
        if match.phase(table.pulka) == "between_deals":
            await playing.step()
        else:
            await playing.tables.time_out(TABLE_ID, Turn(table.turn_revision, deadline(table)), deadline(table))
    assert table.pulka.number == 3


#: Everything that hides cards: one's own in the dark, a talon taken dark or left, a hand that an invited dealer saw.
CLUB = {"preset": "classic", "shared_misere": True, "misere_no_talon": True, "dark": {"limit": 3, "opening_rounds": 0}}


@pytest.mark.slow
@pytest.mark.parametrize("claims", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("convention", "players", "target"),
    [("sochi", 2, 20), *(("sochi", players, 2) for players in (3, 4, 5)), *((CLUB, players, 40) for players in (2, 3, 4, 5))],
)  # of two many a deal is not played
async def test_no_viewer_is_shown_a_card_that_he_may_not_know(convention, players, target, seed, claims):
    """A search through every byte of every view and frame, for every seat and a spectator, finds hidden cards nowhere."""
    playing = await Playing(convention, players=players, seed=seed, target=target, claims=claims).open()
    redaction = PublicCodec(KEYS)
    shown = 0
    for _ in range(300):
        table = await playing.table()
        if table.pulka.status == "over":
            break
        outcome = await playing.step()
        after = outcome.loaded.state
        for seat in (None, *range(players)):
            hidden = _hidden_cards(after, seat)
            frame = msgspec.json.encode([_without_contracts(event) for event in redaction.redacted(outcome.commit, seat)]).decode()
            body = msgspec.json.encode(_without_offers(view(after, seat, "", 0, []))).decode()
            for card, text in itertools.product(hidden, (frame, body)):
                shown += 1
                assert card not in text, (card, seat, match.phase(after.pulka))
            assert after.pulka.secrets.server_seed == "" or after.pulka.secrets.server_seed not in frame + body
    assert shown > 1_000  # the search looked at something, however short the deals were


def _hidden_cards(table: Table, seat: int | None) -> set[str]:
    """The cards that `seat` has no way to know: not his, never shown, never played."""
    deal = table.pulka.deal
    if deal is None:
        return set()
    unknown = " ".join((*table.pulka.secrets.hands, table.pulka.secrets.talon)).split()
    known = set() if seat is None or deal.auction.unseen >> seat & 1 else set(table.pulka.secrets.hands[seat].split())
    if deal.declarer is not None and not deal.game.no_talon and (not deal.game.dark or seat == deal.declarer):
        known |= set(table.pulka.secrets.talon.split())
    for owner in range(len(table.pulka.secrets.hands)):
        if deal.game.laid >> owner & 1 or (deal.setup.resting == seat and deal.game.looked == owner):
            known |= set(table.pulka.secrets.hands[owner].split())
    for owner in range(table.pulka.players):
        shown = (deal.pending.hand & deal.held(owner) if isinstance(deal.pending, Claimed) else 0) | lying(deal, owner)
        known |= set(hand_text(shown).split())
    played = deal.play.played if deal.play else 0
    known |= {card for card in unknown if played >> match.deals.CARD_NUMBER[card] & 1}
    if deal.play:
        known |= {opened.card for opened in (*deal.play.trick, *deal.play.previous)}
        known |= set(table.pulka.secrets.talon.split()[: min(deal.play.number, deal.play.course.talon_tricks)])
    return set(unknown) - known


def _without_offers(body: dict) -> dict:
    """The view without what names contracts, whose text ("7S") looks like cards and depends on the auction alone."""
    kept = dict(_without_contracts(body), auction=[])
    kept["legal"] = [move for move in body["legal"] if move["type"] not in {"bid", "contract"}]
    return kept


def _without_contracts(record: dict) -> dict:
    """The record without bid and contract: "7S" is both a contract and a card, and the auction is public."""
    return {name: value for name, value in record.items() if name not in {"bid", "contract"}}


async def test_the_same_revision_cannot_be_decided_twice():
    """Two moves on one revision: one stands, the other is decided anew on what the first left, and refused."""
    playing = await Playing().open()
    table = await playing.until("auction")
    seat = match.to_act(table.pulka)
    one = await playing.send(PLAYERS[seat], Bid("pass"))
    other = await playing.send(PLAYERS[seat], Bid("pass"))
    assert isinstance(one, Committed)
    assert isinstance(other, RefusedAt)
    assert other.revision == one.commit.revision


async def test_moves_of_a_table_that_never_began_are_refused_without_an_event():
    """Nothing is written for a table that the lobby has not filled."""
    playing = Playing()
    outcome = await playing.tables.move(TABLE_ID, "ann", Play("AS"), None, Request(command_id="k", actor="ann", digest="", now=1))
    assert (outcome.refused.code, outcome.revision) == ("not_seated", 0)
    assert await playing.log.head(address.table(TABLE_ID)) is None


async def test_what_a_newer_program_wrote_is_not_to_be_had_here():
    """A table with a commit of a later schema is no fault of its reader, nor unforeseen: 503, and who has to do what."""
    playing = await Playing().open()
    loaded = await playing.tables.load(TABLE_ID)
    newest = decode((await playing.log.read(loaded.address))[-1].data)
    later = msgspec.structs.replace(newest, schema=SCHEMA + 1, revision=loaded.revision + 1, prev_hash=loaded.head_hash)
    await playing.log.append(loaded.address, encode(later), loaded.sequence)
    with pytest.raises(NewerSchema) as newer:
        await Tables(playing.log, TableCodec(KEYS)).load(TABLE_ID)
    problem = problem_of(newer.value)
    assert (problem.status_code, problem.code) == (503, "unavailable")
    assert "newer program" in problem.detail


async def test_f20_a_sealed_box_that_was_changed_is_damage():
    """F20: two dealt hands exchanged in the log open for nobody: the table's answers say that its log is damaged, at that revision."""
    playing = await Playing().open()
    await playing.until("auction")
    stored = await playing.log.read(address.table(TABLE_ID))
    before = list(itertools.takewhile(lambda one: b'"CardsDealt"' not in one.data, stored))
    commit = msgspec.json.decode(stored[len(before)].data)
    (dealt,) = (event for event in commit["events"] if event["type"] == "CardsDealt")
    dealt["hands"][0], dealt["hands"][1] = dealt["hands"][1], dealt["hands"][0]
    log = MemoryLog()
    for data in (*(one.data for one in before), msgspec.json.encode(commit)):
        head = await log.head(address.table(TABLE_ID))
        await log.append(address.table(TABLE_ID), data, head.sequence if head else 0)
    with pytest.raises(BrokenChain) as broken:
        await Tables(log, TableCodec(KEYS)).load(TABLE_ID)
    assert broken.value.revision == len(before) + 1
    assert problem_of(broken.value).code == "log_damaged"


async def test_f20_a_next_deal_that_meets_damage_is_told():
    """F20: whoever starts the next deal by themselves says in the log that the table's log is damaged; nobody else would hear of it."""
    playing = Playing()
    opened = await playing.tables.open(TABLE_ID, playing.opening, playing.now, None)
    playing.log.store.store(address.table(TABLE_ID), b"{", 0)
    next_deals = NextDeals(playing.tables, lambda: playing.now)
    with capture_logs() as told:
        next_deals.after(opened)
        await next_deals.drain()
    assert [(line["event"], line["table"], line["revision"]) for line in told] == [("log_damaged", TABLE_ID, 2)]
