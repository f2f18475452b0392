"""Claims: who may make one, who answers it, what an agreed one scores, and how a refused one binds the claimer (3.9.14.4, Decision 24)."""

from __future__ import annotations

from functools import reduce

import pytest

from shared.rules.deal.decider import decide, default_move, evolve, legal_moves, offer
from shared.rules.deal.exposed import lying
from shared.rules.deck.cards import mask_of
from shared.rules.language.game_events import CardExposed, ClaimAnswered, ClaimMade, HeldToLine, RemedyAsked, RemedyChosen
from shared.rules.language.moves import Answer, Bid, Claim, Concede, Play, Remedy
from shared.rules.language.refusal import Refused
from shared.rules.score_files.deal_record import replay_document
from tests.rules.words import FIRST, SECOND, THIRD, after, table
from tests.spec import given

YES, NO = Answer(accept=True), Answer(accept=False)
GAME = "6S pass pass 7C/8C 6S"  # of the first hand: six spades from the ace, aces and kings of both red suits
OPEN, CLOSED, PAIR = f"{GAME} whist pass open", f"{GAME} whist pass closed", f"{GAME} whist whist"
TWO = "6S pass 7C/8C 6S whist"  # of two players
ALL_TEN = "AS KS QS JS TS 9S AD KD AH KH"


def done(deal, *moves):
    """The deal after moves that are made by the seat on turn."""
    for move in moves:
        events = decide(deal, deal.to_act, move)
        assert not isinstance(events, Refused), (move, events)
        deal = reduce(evolve, events, deal)
    return deal


def tricks(deal):
    return deal.score.outcome["tricks"]


# ---- who may claim, and what ----------------------------------------------------------------------------------------------


def test_c_01_a_claim_by_somebody_not_on_turn_is_refused():
    """A claim is made on one's own turn (3.9.14.4)."""
    given(table(), OPEN).when(1, Claim(1)).then_refused("not_your_turn", "3.9.14.4")
    given(table(), f"{OPEN} AS").when(0, Claim(9)).then_refused("not_your_turn", "3.9.14.4")


@pytest.mark.parametrize("claimed", [11, -1])
def test_c_01_a_claim_for_more_than_the_tricks_left_is_refused(claimed):
    """Of the ten tricks no more than are left can be claimed (3.9.14.4)."""
    given(table(), OPEN).when(0, Claim(claimed)).then_refused("claim_out_of_range", "3.9.14.4")
    given(table(), f"{OPEN} AS 8S 9D").when(0, Claim(10)).then_refused("claim_out_of_range", "3.9.14.4")


@pytest.mark.parametrize("words", ["", "6S pass pass", "6S pass pass 7C/8C", GAME, f"{GAME} whist pass"])
def test_3_9_14_4_tricks_are_claimed_only_in_the_play(words):
    """Before the play nobody claims (3.9.14.4)."""
    deal = after(table(), words)
    given(deal).when(deal.to_act, Claim(1)).then_refused("wrong_phase", "3.9.14.4")


def test_3_9_14_4_a_passer_and_an_all_passer_claim_nothing():
    """Only declarer and whisters claim (3.9.14.4)."""
    given(table(), f"{CLOSED} AS 8S").when(2, Claim(1)).then_refused("call_not_allowed", "3.9.14.4")
    given(table(), "pass pass pass").when(0, Claim(1)).then_refused("call_not_allowed", "3.9.14.4")


def test_3_9_14_4_on_misere_the_declarer_claims_none():
    """A misere is claimed with no trick, and its defenders claim nothing (3.9.14.4)."""
    deal = after(table(), "misere pass pass AH/AD 9S 8S")
    given(deal).when(2, Claim(0)).then_refused("call_not_allowed", "3.9.14.4")
    deal = after(table(), "misere pass pass AH/AD")
    given(deal).when(0, Claim(1)).then_refused("claim_out_of_range", "3.9.14.4")
    given(deal).when(0, Claim(0)).then(ClaimMade(0, 0, "", "AS KS QS JS TS 9S 8C 7C KD KH"))


def test_a_line_holds_cards_that_the_claimer_plays_each_once():
    """A stated plan is made of the claimer's own cards (3.9.14.4)."""
    given(table(), OPEN).when(0, Claim(6, ("AS", "8S"))).then_refused("card_not_held", "3.9.2")
    given(table(), OPEN).when(0, Claim(6, ("AS", "AS"))).then_refused("duplicate_card", "3.9.14.4")


def test_a_claim_is_offered_without_figures_and_once_refused_no_more():
    """`legal` names the claim without its free fields, to declarer and whister on turn, until one was refused (3.9.14.4)."""
    deal = after(table(), OPEN)
    assert {"type": "claim"} in offer(deal, 0)
    assert {"type": "claim"} in offer(after(deal, "AS"), 1)
    assert {"type": "claim"} not in offer(after(table(), f"{CLOSED} AS 8S"), 2)
    refused = done(deal, Claim(10, ("AS", "KS")), NO)
    assert {"type": "claim"} not in offer(refused, 0)
    given(refused).when(0, Claim(10)).then_refused("call_not_allowed", "3.9.14.4")


# ---- who answers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "players", "claimer", "asked"),
    [
        (OPEN, 3, 0, (1,)),  # the whister has both hands
        (CLOSED, 3, 0, (1, 2)),  # the passer plays his own cards
        (PAIR, 3, 0, (1, 2)),
        ("misere pass pass 7C/8C", 3, 0, (1, 2)),
        (f"{OPEN} AS", 3, 1, (0,)),
        (f"{CLOSED} AS", 3, 1, (0,)),  # a passer answers no whister's claim
        (f"{PAIR} AS", 3, 1, (0, 2)),
        (f"{PAIR} AS 8S", 3, 2, (0, 1)),
        (f"{GAME} pass pass whist", 4, 0, (3,)),  # the resting dealer plays both
        (f"{GAME} pass pass whist AS", 4, 3, (0,)),
        (f"{TWO} AS", 2, 1, (0,)),  # of two players the one defender has the dummy's hand too
        (TWO, 2, 0, (1,)),
    ],
)
def test_3_9_14_4_who_answers_a_claim(words, players, claimer, asked):
    """A declarer's claim goes to each who plays a defender's cards, clockwise; a whister's to the declarer, then the other whister."""
    deal = done(after(table(players=players), words), Claim(0))
    assert (deal.phase, deal.pending.seat, deal.pending.waiting, deal.to_act) == ("claim", claimer, asked, asked[0])
    for place, seat in enumerate(asked[:-1], 1):
        given(deal).when(seat, YES).then(ClaimAnswered(seat, accept=True))
        deal = done(deal, YES)
        assert deal.pending.waiting == asked[place:]
    assert deal.to_act == asked[-1]
    assert done(deal, YES).phase == "scored"


def test_3_9_15_a_claim_shows_the_hand():
    """The claimer's cards are told to all with the claim, both hands of a whister who plays both (3.9.15)."""
    given(table(), f"{OPEN} AS 8S 9D").when(0, Claim(9, ("KS", "QS"))).then(ClaimMade(0, 9, "KS QS", "KS QS JS TS 9S AD KD AH KH"))
    given(table(), f"{OPEN} AS 8S 9D KS").when(1, Claim(0)).then(
        ClaimMade(1, 0, "", "7S AC KC QC JC TC 9C QD JD TD 8D 7D QH JH TH 9H 8H 7H")
    )


def test_c_02_a_move_while_a_claim_is_open_is_refused():
    """Nothing but the answer is taken, from any seat (C-02); the answer only of who is asked."""
    deal = done(after(table(), CLOSED), Claim(10))
    for seat in range(3):
        for move in (Play("AS"), Bid("pass"), Concede(), Claim(10), Remedy("pass")):
            given(deal).when(seat, move).then_refused("claim_pending", "3.9.14.4")
    given(deal).when(2, YES).then_refused("not_your_turn", "3.9.14.4")
    given(deal).when(0, YES).then_refused("not_your_turn", "3.9.14.4")
    assert (legal_moves(deal, 1), legal_moves(deal, 0)) == ((YES, NO), ())


def test_an_answer_without_a_question_is_refused():
    """Where nothing was asked there is nothing to answer, and no remedy to choose (3.9.14.4)."""
    given(table(), OPEN).when(1, YES).then_refused("wrong_phase", "3.9.14.4")
    given(table(), OPEN).when(1, Remedy("pass")).then_refused("wrong_phase", "3.9.14")


# ---- agreed --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "claimed", "expected"),
    [
        (OPEN, 10, [10, 0, 0]),
        (OPEN, 6, [6, 4, 0]),  # the sole whister's side
        (CLOSED, 6, [6, 4, 0]),
        (PAIR, 5, [5, 3, 2]),  # shared out, the left of the declarer first
        (f"{PAIR} AS 8S 9D KS 7S 8D", 5, [7, 2, 1]),
        (f"{OPEN} AS", 2, [8, 2, 0]),  # a whister's claim leaves the rest to the declarer
        (f"{PAIR} AS 8S", 3, [7, 0, 3]),
        (f"{GAME} pass whist open AS", 2, [8, 0, 2]),  # the whister's own seat, whichever hand is on turn
        ("misere pass pass 7C/8C", 0, [0, 5, 5]),
    ],
)
def test_3_9_14_4_an_agreed_claim_ends_the_deal(words, claimed, expected):
    """When all agree the deal is scored with the claimed tricks as if they had been played (3.9.14.4)."""
    deal = done(after(table(), words), Claim(claimed))
    while deal.phase == "claim":
        deal = done(deal, YES)
    assert (deal.phase, deal.to_act, deal.pending, tricks(deal)) == ("scored", None, None, expected)


def test_of_two_players_the_defender_has_the_dummys_tricks_too():
    """A claim leaves the rest to the one defender, and a claim of his is for both hands (Decision 19)."""
    assert tricks(done(after(table(players=2), TWO), Claim(7), YES)) == [7, 3]
    assert tricks(done(after(table(players=2), f"{TWO} AS"), Claim(2), YES)) == [8, 2]
    refused = done(after(table(players=2), f"{TWO} AS"), Claim(2), NO)
    assert [one.seat for one in refused.incidents.exposures] == [1, 2]


def test_3_8_8_a_dealer_who_whists_has_the_rest_at_a_defender():
    """The resting dealer takes no trick himself; what the declarer does not claim lies left of him (3.8.8)."""
    deal = done(after(table(players=4), f"{GAME} pass pass whist"), Claim(6), YES)
    assert tricks(deal) == [6, 4, 0, 0]
    assert tricks(done(after(table(players=4), f"{GAME} pass pass whist AS"), Claim(2), YES)) == [8, 2, 0, 0]  # his own claim too
    assert [entry for entry in deal.score.entries if entry["seat"] == 3] == [
        {"seat": 3, "column": "whists", "on": 0, "amount": 8, "rule": "3.8.8", "why": "all of the defence: 4 tricks at 2"}
    ]


# ---- refused -------------------------------------------------------------------------------------------------------------


def test_c_03_a_rejected_claim_gives_the_turn_back_with_the_cards_exposed():
    """A refusal by anybody asked returns to the same turn; the claimer's cards lie exposed (C-03, Decision 24)."""
    deal = done(after(table(), CLOSED), Claim(10), YES)
    exposed = CardExposed(0, ALL_TEN, "name", (1,), "3.9.14.4")
    asked = RemedyAsked("exposed", (1,), 0, ("card", "pass"), "AS KS QS JS TS 9S AD KD AH KH", "3.9.14.4")
    given(deal).when(2, NO).then(ClaimAnswered(2, accept=False), exposed, asked)
    deal = done(deal, NO)
    assert lying(deal, 0) == mask_of(ALL_TEN)
    assert deal.play == after(table(), CLOSED).play
    given(deal).when(0, "AS").then_refused("wrong_phase", "3.9.14")
    given(deal).when(1, Remedy("pass")).then(RemedyChosen(1, "pass"))
    assert (done(deal, Remedy("pass")).phase, done(deal, Remedy("pass")).to_act) == ("play", 0)


def test_3_9_14_4_the_opponents_name_each_card():
    """A card that was named must be played; the next one is named anew (3.9.14.4)."""
    deal = done(after(table(), OPEN), Claim(10), NO, Remedy("card", card="KD"))
    assert legal_moves(deal, 0) == (Play("KD"), Concede())
    given(deal).when(0, "AS").then_refused("must_play_exposed", "3.9.14")
    deal = after(deal, "KD QD 7D")
    assert (deal.phase, deal.to_act, deal.pending.of) == ("remedy", 1, 0)
    given(deal).when(1, Remedy("card", card="KD")).then_refused("card_not_held", "3.9.2")


def test_3_9_14_4_two_defenders_are_asked_in_turn():
    """Who passes leaves the choice to the other defender, and at last to the claimer (3.9.14.4)."""
    deal = done(after(table(), PAIR), Claim(10), NO)
    assert (deal.to_act, deal.pending.waiting) == (1, (1, 2))
    deal = done(deal, Remedy("pass"))
    assert (deal.phase, deal.to_act, deal.pending.waiting) == ("remedy", 2, (2,))
    given(deal).when(1, Remedy("pass")).then_refused("not_your_turn", "3.9.14")
    assert legal_moves(done(deal, Remedy("card", card="9S")), 0) == (Play("9S"), Concede())
    assert len(legal_moves(done(deal, Remedy("pass")), 0)) == 11


def test_3_9_14_4_a_refused_whister_is_commanded_by_the_declarer():
    """The declarer names a whister's cards, of both hands where he plays both (3.9.14.4)."""
    deal = done(after(table(), OPEN + " AS"), Claim(4), NO)
    assert (deal.phase, deal.to_act, deal.pending.of, deal.pending.waiting) == ("remedy", 0, 1, (0,))
    deal = done(deal, Remedy("card", card="7S"))
    given(deal).when(1, "8S").then_refused("must_play_exposed", "3.9.14")
    deal = done(deal, Play("7S"))
    assert (deal.phase, deal.to_act, deal.pending.of) == ("remedy", 0, 2)  # the other hand throws or trumps as the declarer says


def test_3_9_14_4_with_a_stated_line_the_claimer_is_held_to_it():
    """A claimer who stated a plan must follow it, card by card (3.9.14.4)."""
    deal = done(after(table(), OPEN), Claim(10, ("AS", "KS", "AH")))
    given(deal).when(1, NO).then(
        ClaimAnswered(1, accept=False), CardExposed(0, ALL_TEN, "name", (1,), "3.9.14.4"), HeldToLine(0, "AS KS AH")
    )
    deal = done(deal, NO)
    given(deal).when(0, "KS").then_refused("must_play_exposed", "3.9.14.4")
    assert legal_moves(deal, 0) == (Play("AS"), Concede())
    deal = after(deal, "AS 8S 9D")
    assert (deal.to_act, legal_moves(deal, 0)) == (0, (Play("KS"), Concede()))
    deal = after(deal, "KS 7S 8D AH QD 7H")
    assert (deal.phase, deal.pending.of) == ("remedy", 0)  # the plan has said all it says: now the opponents name


def test_a_line_gives_way_to_following_suit():
    """Where the next card of the plan cannot be played, the first that can is; the rules of following come first (3.9.3)."""
    deal = done(after(table(), f"{PAIR} AS"), Claim(2, ("AC", "8S", "7S")), NO)
    assert (deal.to_act, legal_moves(deal, 1)) == (1, (Play("8S"),))
    given(deal).when(1, "7S").then_refused("must_play_exposed", "3.9.14.4")
    given(deal).when(1, "AC").then_refused("must_follow_suit", "3.9.3")


# ---- not absurdly --------------------------------------------------------------------------------------------------------


def nameable(deal):
    return {move.card for move in legal_moves(deal, deal.to_act) if isinstance(move, Remedy) and move.choice == "card"}


ACE_OF_CLUBS = "AS KS QS JS TS AC 9C 8C AH KH"


def test_3_9_14_4_no_lead_from_under_the_highest_card():
    """A lead from under the ace is absurd, one of a card that is as good as the ace is not (3.9.14.4) [conv]."""
    hands = (ACE_OF_CLUBS, "9S 8S KC QC JC TC QD JD TD 9D", "7S 7C 8D QH JH TH 9H 8H 7H AD")
    deal = done(after(table(hands=hands, talon="KD 7D"), "6S pass pass KD/7D 6S whist pass open"), Claim(10), NO)
    assert nameable(deal) == {"AS", "KS", "QS", "JS", "TS", "AC", "AH", "KH"}
    given(deal).when(1, Remedy("card", card="9C")).then_refused("call_not_allowed", "3.9.14.4")


def test_3_9_14_4_when_the_ace_is_gone_the_king_is_the_highest():
    """What was played counts no more: under the ace a king is led from freely, after it nothing is led from under the king [conv]."""
    hands = ("AS KS QS JS TS KC 9C AD AH KH", "9S 8S AC QC JC TC QD JD TD 9D", "7S 7C 8D QH JH TH 9H 8H 7H KD")
    before = after(table(hands=hands, talon="8C 7D"), "6S pass pass 8C/7D 6S whist pass closed")
    assert {"KC", "9C"} <= nameable(done(before, Claim(10), NO))  # a low card, while another holds the highest
    gone = after(before, "AS 9S 7S KS 8S 7C AH AC 7H")  # the ace was thrown
    assert nameable(done(gone, Claim(7), NO)) == {"QS", "JS", "TS", "KC", "AD", "KH"}


def test_3_9_14_4_one_card_above_is_enough():
    """A nine is led from under the ace when only the ten is out, and the cards between are as good as the ace [conv]."""
    hands = ("AS KS QS JS TS AC KC QC JC 9C", "9S 8S TC 8C AH KH QD JD TD 9D", "7S 7C 8D QH JH TH 9H 8H 7H AD")
    deal = done(after(table(hands=hands, talon="KD 7D"), "6S pass pass KD/7D 6S whist pass open"), Claim(10), NO)
    assert nameable(deal) == {"AS", "KS", "QS", "JS", "TS", "AC", "KC", "QC", "JC"}


def test_3_9_14_4_following_suit_any_card_may_be_named():
    """Only leads and throws can be absurd in a trick game; who follows may be told to play the ace [conv]."""
    hands = (ACE_OF_CLUBS, "9S 8S KC QC JC TC QD JD TD 9D", "7S 7C 8D QH JH TH 9H 8H 7H AD")
    before = after(table(hands=hands, talon="KD 7D"), "6S pass pass KD/7D 6S whist pass closed AH 8S")
    deal = done(before, Play("QH"), Play("KC"), Play("7C"), Claim(8), NO)
    assert nameable(deal) == {"AC", "9C", "8C"}


def test_3_9_14_4_no_throwing_the_highest_card():
    """Who can neither follow nor trump is not made to throw the highest card of a suit while he has another (3.9.14.4) [conv]."""
    deal = done(after(table(), f"{PAIR} AS 8S 9D KS 7S 8D QS"), Claim(0), NO)
    assert (deal.pending.of, deal.to_act) == (1, 0)
    assert nameable(deal) == {"KC", "QC", "JC", "TC", "9C", "QD", "JD"}


def test_3_9_14_4_on_misere_no_card_that_takes():
    """On misere a card that takes is not named while another does not (3.9.14.4) [conv]."""
    hands = ("9S TS 7C 8C 9C TC 7D 8D 9D TD", "7S 8S JS AS JC QC JD QD 7H 8H", "KS QS KC AC KD AD 9H TH JH QH")
    deal = after(table(hands=hands, talon="KH AH"), "pass misere pass KH/AH")
    led = done(deal, Play("9S"), Claim(0), YES, NO)
    assert (led.to_act, nameable(led)) == (2, {"7S", "8S"})
    high = done(deal, Play("7C"), Claim(0), YES, NO)
    assert nameable(high) == {"JC", "QC"}  # both take: then any


# ---- time, records, any deal -----------------------------------------------------------------------------------------------


def test_silence_is_no_consent_and_names_nothing():
    """When time runs out a claim counts as refused, and no card is named (3.9.22 asks everybody's consent) [conv]."""
    deal = done(after(table(), PAIR), Claim(10))
    assert default_move(deal) == NO
    deal = done(deal, NO)
    assert default_move(deal) == Remedy("pass")
    deal = done(deal, Remedy("pass"), default_move(done(deal, Remedy("pass"))))
    assert (deal.phase, default_move(deal)) == ("play", Play("9S"))


BEFORE_THE_PLAY = [
    {"seat": 0, "type": "bid", "bid": "6S"},
    {"seat": 1, "type": "bid", "bid": "pass"},
    {"seat": 2, "type": "bid", "bid": "pass"},
    {"seat": 0, "type": "discard", "cards": ["7C", "8C"]},
    {"seat": 0, "type": "contract", "contract": "6S"},
    {"seat": 1, "type": "whist", "call": "whist"},
    {"seat": 2, "type": "whist", "call": "pass"},
    {"seat": 1, "type": "lay", "open": False},
]


def record(*moves):
    cards = {"hands": [FIRST, SECOND, THIRD], "talon": "7C 8C"}
    return {"convention": "sochi", "players": 3, "dealer": 2, "moves": [*BEFORE_THE_PLAY, *moves], **cards}


def test_a_record_with_an_agreed_claim_replays_to_its_score():
    """A deal that a claim ended is scored by its record."""
    claim = {"seat": 0, "type": "claim", "tricks": 10}
    answer = replay_document(record(claim))
    assert (answer["phase"], answer["to_act"]) == ("claim", 1)
    assert answer["legal"] == [{"type": "answer", "accept": True}, {"type": "answer", "accept": False}]
    answer = replay_document(record(claim, {"seat": 1, "type": "answer", "accept": True}, {"seat": 2, "type": "answer", "accept": True}))
    assert (answer["phase"], answer["tricks"]) == ("scored", [10, 0, 0])
    assert (answer["score"]["pool"], answer["score"]["mountain"]) == ([2, 0, 0], [0, 8, 0])


def test_a_record_with_a_refused_claim_says_which_cards_may_be_named():
    """After a refusal the record goes on with the opponent's choice."""
    refused = [{"seat": 0, "type": "claim", "tricks": 10}, {"seat": 1, "type": "answer", "accept": False}]
    answer = replay_document(record(*refused))
    assert (answer["phase"], answer["to_act"]) == ("remedy", 1)
    assert {"type": "remedy", "choice": "pass"} in answer["legal"]
    named = [{"seat": 1, "type": "remedy", "choice": "card", "card": "AH"}, {"seat": 0, "type": "play", "card": "AH"}]
    answer = replay_document(record(*refused, *named))
    assert (answer["phase"], answer["to_act"]) == ("play", 1)
    assert answer["events"][-1] == {"type": "CardPlayed", "seat": 0, "card": "AH", "by": 0}


def test_3_9_14_a_named_card_is_told():
    """Who names a card says which one (3.9.14)."""
    deal = done(after(table(), OPEN), Claim(10), NO)
    given(deal).when(1, Remedy("card")).then_refused("malformed", "3.9.14")
