"""Proposals: what everybody's consent can do in a deal (3.8.5.1, 3.9.11.1, 3.9.22, 5.4.18, 5.4.22)."""

from __future__ import annotations

import random
from functools import reduce

import msgspec
import pytest
from hypothesis import given as examples
from hypothesis import settings
from hypothesis import strategies as st

from shared.rules.deal.decider import decide, evolve, legal_moves
from shared.rules.deal.ending import outcome_of
from shared.rules.deal.proposing import MOST, PAUSE
from shared.rules.deal.taking_back import before
from shared.rules.language.game_events import BargainStruck, PauseAgreed, ProposalAnswered, ProposalMade, StopAgreed, TrickShown
from shared.rules.language.moves import Answer, Bid, Claim, Concede, Declare, Discard, Lay, Look, Play, Propose, Whist
from shared.rules.language.refusal import Refused
from shared.rules.score_files.deal_document import deal_document
from shared.rules.score_files.deal_record import replay_document, replayed
from shared.rules.score_files.score_file import score_document
from tests.rules.words import FIRST, SECOND, THIRD, after, shuffled, table
from tests.spec import given

YES, NO = Answer(accept=True), Answer(accept=False)
GAME = "6S pass pass 7C/8C 6S"
OPEN, CLOSED, PAIR = f"{GAME} whist pass open", f"{GAME} whist pass closed", f"{GAME} whist whist"
TRICK = "AS 8S 9D"
PAUSING, STOPPING, BACK = Propose("pause"), Propose("stop_pulka"), Propose("takeback")


def done(deal, *moves, by=None):
    """The deal after moves, each made by the seat on turn, the first by `by` where that is given."""
    for place, move in enumerate(moves):
        events = decide(deal, deal.to_act if place or by is None else by, move)
        assert not isinstance(events, Refused), (move, events)
        deal = reduce(evolve, events, deal)
    return deal


def agreed(deal, seat, move):
    """The deal after a proposal to which all others agreed."""
    deal = done(deal, move, by=seat)
    while deal.pending is not None:
        deal = done(deal, YES)
    return deal


# ---- who is asked --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", ["", "6S", "6S pass pass", "6S pass pass 7C/8C", GAME, f"{GAME} whist pass", CLOSED, "pass pass pass"])
@pytest.mark.parametrize("seat", [0, 1, 2, 3])
def test_5_4_18_anyone_seated_may_propose_and_all_others_are_asked(words, seat):
    """In any phase of a deal every player, a resting one too, may propose; the others answer clockwise, and then the turn is as before."""
    deal = after(table(players=4), words)
    others = tuple((seat + step) % 4 for step in (1, 2, 3))
    given(deal).when(seat, PAUSING).then(ProposalMade(seat, "pause"))
    asked = done(deal, PAUSING, by=seat)
    assert (asked.phase, asked.pending.waiting, asked.to_act, legal_moves(asked, asked.to_act)) == ("claim", others, others[0], (YES, NO))
    given(done(asked, YES, YES)).when(others[2], YES).then(ProposalAnswered(others[2], accept=True), PauseAgreed(PAUSE))
    again = done(asked, YES, YES, YES)
    assert (again.phase, again.to_act, again.play, again.pending) == (deal.phase, deal.to_act, deal.play, None)


@pytest.mark.parametrize("agreeing", [0, 1])
def test_one_refusal_ends_a_proposal(agreeing):
    """The first who refuses ends it, and the game goes on where it was (3.9.22 asks for everybody's consent)."""
    deal = after(table(), f"{OPEN} {TRICK}")
    asked = done(deal, STOPPING, *[YES] * agreeing, by=0)
    given(asked).when(asked.to_act, NO).then(ProposalAnswered(asked.to_act, accept=False))
    refused = done(asked, NO)
    assert (refused.phase, refused.to_act, refused.play, refused.pending) == (deal.phase, deal.to_act, deal.play, None)


def test_3_9_14_4_one_proposal_at_a_time_and_nothing_else_meanwhile():
    """While an answer is awaited no other proposal, claim, call or card is taken, and only the seat that is asked answers."""
    deal = done(after(table(), OPEN), PAUSING, by=2)
    for seat in range(3):
        for move in (STOPPING, Claim(1), Play("AS"), Bid("pass"), Concede()):
            given(deal).when(seat, move).then_refused("claim_pending", "3.9.14.4")
    given(deal).when(1, YES).then_refused("not_your_turn", "3.9.14.4")
    given(deal).when(0, Propose("settle_contract")).then_refused("malformed", "3.9.22")


def test_5_4_11_nobody_proposes_for_ever():
    """A player makes so many proposals in a deal and no more (5.4.11) [conv]."""
    deal = after(table(), OPEN)
    assert (MOST, PAUSE) == (5, 300)
    for _ in range(MOST):
        deal = done(deal, PAUSING, NO, by=2)
    given(deal).when(2, PAUSING).then_refused("call_not_allowed", "5.4.11")
    given(deal).when(1, PAUSING).then(ProposalMade(1, "pause"))


@pytest.mark.parametrize(
    ("move", "rule"),
    [
        (Propose("settle_contract"), "3.9.22"),
        (Propose("bargain"), "3.8.5.1"),
        (Propose("older_trick"), "3.9.11.1"),
        (Propose("pause", trick=1), "5.4.11"),
        (Propose("takeback", tricks=1), "5.4.22"),
        (Propose("stop_pulka", tricks=(6, 4, 0)), "5.4.18"),
    ],
)
def test_a_proposal_has_the_figures_that_it_needs_and_no_others(move, rule):
    """`tricks` stands with a settlement and a bargain, `trick` with an older trick."""
    given(table(), OPEN).when(0, move).then_refused("malformed", rule)


def test_nothing_is_proposed_when_the_deal_is_over():
    """A scored deal is over."""
    deal = done(after(table(), OPEN), Concede())
    given(deal).when(1, STOPPING).then_refused("wrong_phase", "5.4.18")
    given(deal).when(1, PAUSING).then_refused("wrong_phase", "5.4.11")


# ---- a contract made or failed by consent ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "proposed", "tricks"),
    [
        (OPEN, 6, [6, 4, 0]),
        (OPEN, (6, 1, 3), [6, 1, 3]),
        (f"{PAIR} {TRICK}", 5, [5, 3, 2]),
        (f"{PAIR} {TRICK}", (10, 0, 0), [10, 0, 0]),
        ("misere pass pass 7C/8C", 1, [1, 5, 4]),
    ],
)
def test_3_9_22_a_contract_is_called_made_or_failed_by_consent(words, proposed, tricks):
    """With everybody's consent the deal is scored with these tricks, without being played out (3.9.22)."""
    deal = agreed(after(table(), words), 1, Propose("settle_contract", tricks=proposed))
    assert (deal.phase, deal.to_act, deal.score.outcome["tricks"]) == ("scored", None, tricks)


@pytest.mark.parametrize("tricks", [(6, 2, 1), (6, 3, 2), (0, 5, 5), 0, 11, (-1, 6, 5)])
def test_3_9_22_the_tricks_must_be_possible(tricks):
    """Ten in all, and nobody loses one that he has (3.9.22)."""
    given(table(), f"{OPEN} {TRICK}").when(0, Propose("settle_contract", tricks=tricks)).then_refused("claim_out_of_range", "3.9.22")


def test_3_9_22_only_a_contract_in_play_is_settled():
    """Before the play, and on all-pass, there is none (3.9.22); a seat that rests takes no trick; each seat has a number."""
    for words in ("", GAME, f"{GAME} whist pass", "pass pass pass"):
        given(table(), words).when(0, Propose("settle_contract", tricks=6)).then_refused("wrong_phase", "3.9.22")
    given(table(players=4), OPEN).when(0, Propose("settle_contract", tricks=(6, 3, 0, 1))).then_refused("claim_out_of_range", "3.9.22")
    given(table(players=4), OPEN).when(0, Propose("settle_contract", tricks=(6, 4, 0))).then_refused("malformed", "3.9.22")


# ---- an older trick ----------------------------------------------------------------------------------------------------------


def test_3_9_11_1_an_older_trick_is_shown_when_nobody_objects():
    """Its cards are told to all, in order and with their owners (3.9.11.1, 5.4.10)."""
    deal = after(table(), f"{CLOSED} {TRICK} KS 7S 8D AH")
    asked = done(deal, Propose("older_trick", trick=1), YES, by=2)
    given(asked).when(1, YES).then(ProposalAnswered(1, accept=True), TrickShown(1, "AS 8S 9D", (0, 1, 2)))


def test_3_9_11_1_a_talon_card_is_shown_as_nobodys():
    """On all-pass the talon's card lies first in its trick (3.7.6.3)."""
    deal = done(after(table(), "pass pass pass KD AC TD"), Propose("older_trick", trick=1), YES)
    given(deal).when(deal.to_act, YES).then(ProposalAnswered(deal.to_act, accept=True), TrickShown(1, "7C KD AC TD", (None, 0, 1, 2)))


@pytest.mark.parametrize("trick", [0, 3, 10, -1])
def test_3_9_11_1_only_a_closed_trick_is_shown(trick):
    """What is not closed yet cannot be looked at (3.9.11.1)."""
    third = f"{CLOSED} {TRICK} KS 7S 8D AH"
    given(table(), third).when(1, Propose("older_trick", trick=trick)).then_refused("call_not_allowed", "3.9.11.1")
    given(table(), "6S").when(1, Propose("older_trick", trick=1)).then_refused("call_not_allowed", "3.9.11.1")


# ---- taking back -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "last", "seat"),
    [
        ("", "6S", 0),
        ("6S", "pass", 1),
        ("6S 7C", "pass", 2),
        ("6S pass pass 7C/8C", "6S", 0),
        (GAME, "pass", 1),
        (GAME, "whist", 1),
        (f"{GAME} pass", "half", 2),
        (f"{GAME} whist", "pass", 2),
        (f"{GAME} pass half", "pass", 1),
        (CLOSED, "AS", 0),
        (f"{CLOSED} AS", "8S", 1),
        (f"{OPEN} {TRICK} KS 7S 8D", "AH", 0),
        (f"{OPEN} {TRICK} AD", "JD", 1),
        ("pass pass pass", "AD", 0),
        ("pass pass pass AD", "AC", 1),
    ],
)
def test_5_4_22_the_last_act_is_taken_back_by_consent(words, last, seat):
    """Nothing is taken back (5.4.22), but by everybody's consent one's own last act, and the deal is as it was before it [conv]."""
    earlier = after(table(players=4), words)
    deal = agreed(after(earlier, last), seat, BACK)
    assert msgspec.structs.replace(deal, incidents=None) == earlier


@pytest.mark.parametrize(
    ("words", "seat"),
    [
        ("", 0),  # nothing was done
        ("6S", 1),  # another's call
        ("6S pass pass", 0),  # the talon was shown
        ("6S pass pass 7C/8C", 0),  # a discard stays where it is
        (GAME, 1),  # another's order
        ("pass pass pass", 2),  # a talon card was opened
        (OPEN, 1),  # hands were laid
        (f"{OPEN} {TRICK}", 1),  # the trick is complete
        (f"{OPEN} AS", 1),
        ("misere pass pass 7C/8C 9S", 0),  # the defenders laid their hands on it
    ],
)
def test_5_4_22_nothing_else_can_be_taken_back(words, seat):
    """Not another's act, nor what has shown something since, nor a discard (5.4.22)."""
    given(table(), words).when(seat, BACK).then_refused("call_not_allowed", "5.4.22")


def test_5_4_22_no_word_is_taken_back_when_a_hand_was_seen_on_it():
    """The resting dealer has looked at a hand since (3.8.8)."""
    deal = after(table(players=4), f"{GAME} pass pass")
    given(deal).when(2, BACK).then(ProposalMade(2, "takeback"))
    given(done(deal, Look(1))).when(2, BACK).then_refused("call_not_allowed", "5.4.22")


def test_5_4_22_a_word_in_place_of_laying_is_taken_back_too():
    """A first hand that went down to half instead of laying is asked again (3.8.14)."""
    earlier = after(table({"preset": "sochi", "first_hand_half": True}), f"{GAME} whist pass")
    deal = agreed(after(earlier, "half"), 1, BACK)
    assert (deal.phase, deal.to_act) == ("lay", 1)
    assert msgspec.structs.replace(deal, incidents=None) == earlier


@settings(max_examples=60, deadline=None)  # each example is a whole deal
@examples(st.integers(0, 2**32 - 1), st.sampled_from((3, 4)))
def test_5_4_22_whatever_may_be_taken_back_gives_the_deal_before(seed, players):
    """In any deal the state before the last act is the one that was there (5.4.22)."""
    rng = random.Random(seed)
    deal, found = shuffled(rng, rng.choice(("sochi", "leningrad")), players), 0
    while deal.phase != "scored":
        seat, earlier = deal.to_act, deal
        moves = [move for move in legal_moves(deal, seat) if not isinstance(move, Concede)]
        move = rng.choice(moves[: 3 if deal.phase == "auction" else None])
        deal = reduce(evolve, decide(deal, seat, move), deal)
        again = before(deal, seat)
        if again is not None and not isinstance(move, (Discard, Lay)):
            assert again == earlier, move
            found += isinstance(move, (Bid, Declare, Whist, Play))
    assert found


# ---- the bargain -------------------------------------------------------------------------------------------------------------

LOW = "7S 8S 9S 7C 8C 9C 7D 8D 7H 8H"
HIGH = ("AS KS QS JS AC KC QC AD KD QD", "TS TC JC 9D TD JD AH KH QH JH")
MISERE = "misere pass pass 9H/TH 9S"


def test_3_8_5_1_a_missed_guarantee_is_owed_to_each_who_agreed():
    """Four players, a misere that was to be caught once goes through: 50 whists to the other defender and the dealer (E9)."""
    deal = after(table(players=4, hands=(LOW, *HIGH), talon="9H TH"), MISERE)
    asked = done(deal, Propose("bargain", tricks=1), by=1)
    assert asked.pending.waiting == (2, 3)  # nothing is bargained with the declarer
    given(done(asked, YES)).when(3, YES).then(ProposalAnswered(3, accept=True), BargainStruck(1, (1, 5, 4, 0), (2, 3)))
    deal = done(asked, YES, YES)
    assert (deal.phase, deal.to_act, deal.play.course.player_of[:3]) == ("play", 1, (0, 1, 1))
    deal = done(deal, Play("JS"), Play("TS", 2), Play("AC"), Play("TC", 2), Claim(0), YES)
    assert [entry for entry in deal.score.entries if entry["rule"] == "3.8.5.1"] == [
        {"seat": 2, "column": "whists", "on": 1, "amount": 50, "rule": "3.8.5.1", "why": "the guaranteed result was missed by 100 whists"},
        {"seat": 3, "column": "whists", "on": 1, "amount": 50, "rule": "3.8.5.1", "why": "the guaranteed result was missed by 100 whists"},
    ]
    file = {"convention": "sochi", "players": 4, "target": 20, "deals": [deal_document(outcome_of(deal.score.outcome))]}
    assert score_document(file)["deals"][0] == replayed(deal, ())["score"]


def test_3_8_5_1_a_kept_guarantee_costs_nothing():
    """Where the result is as good as guaranteed nobody owes anything (3.8.5.1)."""
    deal = agreed(after(table(players=4, hands=(LOW, *HIGH), talon="9H TH"), MISERE), 3, Propose("bargain", tricks=(0, 5, 5, 0)))
    assert deal.to_act == 3  # a resting dealer plays his plan, both hands
    deal = done(deal, Play("JS", 1), Play("TS", 2), Play("AC", 1), Play("TC", 2), Claim(0), YES)
    assert not [entry for entry in deal.score.entries if entry["rule"] == "3.8.5.1"]
    assert "infractions" not in deal.score.outcome


@pytest.mark.parametrize(
    ("words", "seat", "code"),
    [
        (f"{GAME} whist pass", 2, "wrong_phase"),
        (CLOSED, 2, "wrong_phase"),
        (PAIR, 2, "wrong_phase"),
        (f"{OPEN} AS 8S", 2, "wrong_phase"),
        (OPEN, 0, "call_not_allowed"),
        ("pass pass pass", 2, "wrong_phase"),
    ],
)
def test_3_8_5_1_a_plan_is_disputed_over_open_hands_before_the_defence_plays(words, seat, code):
    """Passer, other defender, resting dealer or the whister himself; not the declarer, not in closed play, not later (3.8.5.1)."""
    given(table(), words).when(seat, Propose("bargain", tricks=6)).then_refused(code, "3.8.5.1")
    given(table(), OPEN).when(2, Propose("bargain", tricks=(6, 4, 1))).then_refused("claim_out_of_range", "3.8.5.1")
    checked = after(table({"preset": "sochi", "ten": "checked"}), "10S pass pass 7C/8C 10S")  # laid, but each for himself
    given(checked).when(1, Propose("bargain", tricks=10)).then_refused("wrong_phase", "3.8.5.1")


def test_3_8_5_1_a_passers_plan_in_open_play():
    """The passer takes both hands over and guarantees the whister his result (3.8.5.1)."""
    deal = agreed(after(table(), f"{OPEN} AS"), 2, Propose("bargain", tricks=6))
    assert (deal.to_act, deal.play.course.player_of) == (2, (0, 2, 2))
    deal = done(deal, Play("8S", 1), Play("9D"), Claim(9), YES)
    owed = [entry for entry in deal.score.entries if entry["rule"] == "3.8.5.1"]
    assert [(entry["seat"], entry["on"]) for entry in owed] == [(1, 2)]


# ---- the end of the pulka, records, any deal -----------------------------------------------------------------------------------


def test_5_4_18_the_pulka_is_stopped_by_consent():
    """When all agree it is said once; the deal goes on (5.4.18)."""
    deal = done(after(table(), OPEN), STOPPING, YES, by=1)
    given(deal).when(0, YES).then(ProposalAnswered(0, accept=True), StopAgreed())


def test_a_record_with_proposals_replays_to_its_score():
    """A deal that was settled by consent is scored by its record."""
    moves = [
        {"seat": 0, "type": "bid", "bid": "6S"},
        {"seat": 2, "type": "propose", "what": "pause"},
        {"seat": 0, "type": "answer", "accept": True},
        {"seat": 1, "type": "answer", "accept": True},
        {"seat": 1, "type": "bid", "bid": "pass"},
        {"seat": 2, "type": "bid", "bid": "pass"},
        {"seat": 0, "type": "discard", "cards": ["7C", "8C"]},
        {"seat": 0, "type": "contract", "contract": "6S"},
        {"seat": 1, "type": "whist", "call": "whist"},
        {"seat": 2, "type": "whist", "call": "pass"},
        {"seat": 1, "type": "lay", "open": False},
        {"seat": 1, "type": "propose", "what": "settle_contract", "tricks": [10, 0, 0]},
        {"seat": 2, "type": "answer", "accept": True},
        {"seat": 0, "type": "answer", "accept": True},
    ]
    cards = {"hands": [FIRST, SECOND, THIRD], "talon": "7C 8C"}
    answer = replay_document({"convention": "sochi", "players": 3, "dealer": 2, "moves": moves, **cards})
    assert (answer["phase"], answer["tricks"], answer["score"]["pool"]) == ("scored", [10, 0, 0], [2, 0, 0])
    assert [event["type"] for event in answer["events"]][-3:] == ["ProposalAnswered", "ProposalAnswered", "DealScored"]
