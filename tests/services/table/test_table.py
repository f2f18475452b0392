"""A table as the service keeps it: turns, repeats, time-outs, the reveal, and what each viewer may know."""

from __future__ import annotations

import asyncio
import itertools

import msgspec
import pytest

from services.table.table import Table, Tables, Turn, begins_a_turn, deadline, fold, initial
from services.table.view import view
from shared.eventlog.aggregates import Committed, Mismatch, Nothing, RefusedAt, Request
from shared.eventlog.memory import MemoryLog
from shared.events import address
from shared.events.commit import decode
from shared.events.redaction import PublicCodec
from shared.events.sealing import TableCodec
from shared.rules import pulka as match
from shared.rules.cards import hand_text
from shared.rules.claiming import may_claim
from shared.rules.exposed import lying
from shared.rules.game_events import (
    BidMade,
    CardExposed,
    CardPlayed,
    CardsDealt,
    ClaimAnswered,
    DealRevealed,
    DealScored,
    DealStarted,
    DeckCut,
    PauseAgreed,
    ProposalAnswered,
    PulkaClosed,
    TurnTimedOut,
)
from shared.rules.incidents import Claim as Claimed
from shared.rules.moves import Answer, Bid, Claim, Cut, Play, Propose, Remedy, Seed
from shared.rules.proposing import PAUSE
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
    assert (again.repeated, again.recorded, again.events) == (True, first.recorded, first.events)
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


async def claimed(terms=None):
    """A table whose declarer claims ten seconds into his turn, his turn before, and the claim's answer."""
    playing = await Playing(terms=terms, seed=3).open()
    while True:
        table = await playing.until("play")
        deal = table.pulka.deal
        if deal.declarer == deal.to_act and may_claim(deal, deal.to_act):
            break
        await playing.step()
    playing.now = table.turn_began + 9_000
    made = await playing.send(PLAYERS[deal.declarer], Claim(0))
    return playing, table, made


async def answered(playing, move):
    table = await playing.table()
    return await playing.send(PLAYERS[match.to_act(table.pulka)], move)


async def test_c_03_a_rejected_claim_gives_back_the_turn_and_its_clock():
    """While a claim waits the claimer's clock stands; refused, the same turn goes on with the time that it had left (C-03, Decision 24)."""
    playing, before, made = await claimed()
    asked = await playing.table()
    assert (asked.turn_revision, asked.turn_began) == (made.commit.revision, playing.now)
    playing.now += 4_000
    refused = await answered(playing, Answer(accept=False))
    while match.phase((await playing.table()).pulka) == "remedy":
        refused = await answered(playing, Remedy("pass"))
    table = await playing.table()
    assert (match.phase(table.pulka), match.to_act(table.pulka), table.turn_revision) == (
        "play",
        before.pulka.deal.to_act,
        before.turn_revision,
    )
    assert deadline(table) == playing.now + 20_000
    assert table.pulka.deal.play == before.pulka.deal.play
    late = Turn(before.turn_revision, deadline(before))  # what a sweep had read before the claim
    assert isinstance(await playing.tables.time_out(TABLE_ID, late, playing.now), Nothing)
    own = await playing.send(
        PLAYERS[before.pulka.deal.to_act], match.legal_moves(table.pulka, match.to_act(table.pulka))[0], if_match=before.revision
    )
    assert isinstance(own, Committed), refused


async def test_a_claim_that_nobody_answers_is_refused_by_the_clock():
    """Who is asked has a turn of his own; when it runs out the claim counts as refused (3.9.22) [conv]."""
    playing, before, _ = await claimed()
    asked = await playing.table()
    done = await playing.tables.time_out(TABLE_ID, Turn(asked.turn_revision, deadline(asked)), deadline(asked))
    assert [type(event) for event in done.events[:3]] == [TurnTimedOut, ClaimAnswered, CardExposed]
    for _ in range(3):
        table = await playing.table()
        if match.phase(table.pulka) == "play":
            break
        await playing.tables.time_out(TABLE_ID, Turn(table.turn_revision, deadline(table)), deadline(table))
    assert (table.turn_revision, match.to_act(table.pulka)) == (before.turn_revision, before.pulka.deal.to_act)
    done = await playing.tables.time_out(TABLE_ID, Turn(table.turn_revision, deadline(table)), deadline(table))
    assert [type(event) for event in done.events[:2]] == [TurnTimedOut, CardPlayed]


async def agreed(playing, seat, move):
    """Everybody agrees to a proposal of `seat`; the last answer."""
    answer = await playing.send(PLAYERS[seat], move)
    while match.waits_for_answer((await playing.table()).pulka):
        answer = await answered(playing, Answer(accept=True))
    return answer


async def test_an_agreed_pause_stops_the_clock_for_so_long():
    """The turn goes on as it was, with the time of the pause on top (5.4.11) [conv]."""
    playing = await Playing().open()
    before = await playing.until("auction")
    playing.now = before.turn_began + 9_000
    asker = (match.to_act(before.pulka) + 1) % 3
    done = await agreed(playing, asker, Propose("pause"))
    assert isinstance(done.events[-1], PauseAgreed)
    table = await playing.table()
    assert (table.turn_revision, match.to_act(table.pulka)) == (before.turn_revision, match.to_act(before.pulka))
    assert deadline(table) == playing.now + 20_000 + 1_000 * PAUSE
    assert not begins_a_turn(done.commit)  # whoever looks at the clocks folds the table
    await playing.step()
    assert deadline(await playing.table()) == playing.now + 30_000


async def test_a_proposal_dies_with_a_refusal_by_the_clock():
    """Who does not answer has not agreed; the clock of the turn has stood meanwhile (3.9.22) [conv]."""
    playing = await Playing().open()
    before = await playing.until("auction")
    await playing.send(PLAYERS[0], Propose("stop_pulka"))
    asked = await playing.table()
    done = await playing.tables.time_out(TABLE_ID, Turn(asked.turn_revision, deadline(asked)), deadline(asked))
    assert [type(event) for event in done.events] == [TurnTimedOut, ProposalAnswered]
    table = await playing.table()
    assert (match.phase(table.pulka), table.turn_revision, table.pulka.stopping) == ("auction", before.turn_revision, False)


@pytest.mark.parametrize(("convention", "players"), [("sochi", 3), ("leningrad", 4)])
async def test_5_4_18_a_pulka_that_all_agree_to_stop_ends_with_its_deal(convention, players):
    """The deal is played to its end, then each one's shortage counts and the pulka is closed (5.4.18)."""
    playing = await Playing(convention, players, target=50).open()
    await playing.until("auction")
    await agreed(playing, players - 1, Propose("stop_pulka"))
    assert (await playing.table()).pulka.stopping
    outcome = None
    while (await playing.table()).pulka.status != "over":
        outcome = await playing.step()
    assert [type(event) for event in outcome.events[-3:]] == [DealScored, DealRevealed, PulkaClosed]
    closed, pulka = outcome.events[-1], (await playing.table()).pulka
    assert (closed.reason, pulka.number) == ("by_consent", 1)
    weight = pulka.convention.pool_weight
    shortage = [high + weight * (50 - pool) for high, pool in zip(pulka.sheet.mountain, pulka.sheet.pool, strict=True)]
    assert (closed.settlement["mountain"], sum(closed.settlement["rounded"])) == (shortage, 0)


async def test_before_the_cards_are_dealt_nothing_is_proposed():
    """Proposals are made in a deal; there is nothing to interrupt before it (5.4.18) [conv]."""
    playing = await Playing().open()
    outcome = await playing.send(PLAYERS[0], Propose("stop_pulka"))
    assert (outcome.refused.code, outcome.refused.rule) == ("wrong_phase", "3.2.5")


async def test_everybody_sees_what_is_pending_and_exposed():
    """Claim and claimer's cards are shown to every seat and to spectators (3.9.15)."""
    playing, before, _ = await claimed()
    deal = before.pulka.deal
    hand = hand_text(deal.held(deal.declarer))
    table = await playing.table()
    for seat in (None, 0, 1, 2):
        shown = view(table, seat, "", 0, [])
        assert (shown["phase"], shown["to_act"]) == ("claim", shown["pending"]["asked"][0])
        assert (shown["pending"]["what"], shown["pending"]["seat"], shown["pending"]["tricks"]) == ("claim", deal.declarer, 0)
        assert (shown["exposed"][deal.declarer], shown["hands"][deal.declarer]) == (hand, hand)
    await answered(playing, Answer(accept=False))
    shown = view(await playing.table(), None, "", 0, [])
    assert (shown["pending"]["what"], shown["pending"]["of"], shown["exposed"][deal.declarer]) == ("remedy", deal.declarer, hand)


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
