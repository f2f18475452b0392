"""Misere: no contract is named, the defenders' hands are laid by themselves, and each of them plays his own cards."""

from __future__ import annotations

import pytest

from shared.rules.deal.decider import legal_moves
from shared.rules.language.game_events import CardPlayed, CardsDiscarded, HandsLaid
from tests.rules.scoring.scored import one, rules_cited, written
from tests.rules.words import SECOND, THIRD, after, as_word, table
from tests.spec import given

FIRST_HAND = "misere pass pass"


def laid(*hands):
    return HandsLaid(hands)


def test_3_6_6_a_declarer_on_lead_leads_before_the_hands_are_laid():
    """A declarer who leads does so before the opponents lay down (3.6.6)."""
    given(table(), FIRST_HAND).when(0, "AS/KS").then(CardsDiscarded(0, "AS KS"))
    led = after(table(), f"{FIRST_HAND} AS/KS")
    assert (led.phase, led.to_act, led.laid, led.contract) == ("play", 0, (), "misere")
    given(led).when(0, "9S").then(CardPlayed(0, "9S", 0), laid(None, SECOND, THIRD))
    given(led, "9S").when(1, "8S").then(CardPlayed(1, "8S", 1))


@pytest.mark.parametrize(
    ("words", "declarer", "hands"),
    [
        ("pass misere pass", 1, ("AS KS QS JS TS 9S AD KD AH KH", None, THIRD)),
        ("pass pass misere", 2, ("AS KS QS JS TS 9S AD KD AH KH", SECOND, None)),
    ],
)
def test_3_6_6_defenders_on_lead_lay_first(words, declarer, hands):
    """Where a defender leads, both hands are laid before the first lead (3.6.6)."""
    given(table(), words).when(declarer, "7C/8C").then(CardsDiscarded(declarer, "7C 8C"), laid(*hands))
    assert after(table(), f"{words} 7C/8C").to_act == 0


def test_3_6_6_with_four_players_the_resting_dealer_lays_nothing():
    """The resting dealer has no hand to lay (3.6.6)."""
    given(table(players=4), "pass misere pass").when(1, "7C/8C").then(
        CardsDiscarded(1, "7C 8C"), laid("AS KS QS JS TS 9S AD KD AH KH", None, THIRD, None)
    )


def test_3_6_7_no_trump_and_every_defender_plays_his_own():
    """There are no trumps, the suit is followed, and each defender plays his own laid cards (3.6.7)."""
    deal = after(table(), f"{FIRST_HAND} 7C/8C AH")
    assert deal.to_act == 1
    assert len(legal_moves(deal, 1)) == 10, "void in hearts: any card"
    assert {as_word(move) for move in legal_moves(after(deal, "AC"), 2)} == {"7H", "8H", "9H", "TH", "JH", "QH"}
    given(deal, "AC").when(2, "7D").then_refused("must_follow_suit", "3.6.7")


def test_4_2_1_a_caught_misere_is_played_to_the_end_and_writes_ten_a_trick():
    """A misere is played to its tenth trick; each trick taken is ten in the mountain (4.2.1)."""
    spades = "AS 7S 7D KS 8S 8D QS 9C 9D JS TC TD TS JC 7H 9S QC 8H"
    caught = after(table(), f"{FIRST_HAND} 7C/8C {spades} AH KC 9H KH AC TH AD JD JH KD QD QH")
    assert caught.tricks == (10, 0, 0)
    assert [(entry["seat"], entry["column"], entry["amount"]) for entry in caught.score.entries] == [(0, "mountain", 100)]


@pytest.mark.parametrize(("taken", "pool", "mountain"), [(0, 10, 0), (1, 0, 10), (3, 0, 30)])
def test_3_6_1_to_take_no_trick(taken, pool, mountain):
    """A misere is made with no trick, and costs ten for each; nobody writes whists or consolation (3.6.1, 4.2.1)."""
    found = one("sochi", 3, {"declarer": 0, "contract": "misere", "tricks": [taken, 10 - taken, 0]})
    assert found == written([pool, 0, 0], [mountain, 0, 0])
    assert rules_cited("sochi", 3, {"declarer": 0, "contract": "misere", "tricks": [0, 10, 0]}) == {"3.6.1"}
    assert rules_cited("sochi", 3, {"declarer": 0, "contract": "misere", "tricks": [1, 9, 0]}) == {"4.2.1"}


def test_3_6_3_misere_is_called_at_once_or_never():
    """Who has bid a game, or passed, calls no misere, nor can he order one (3.6.3)."""
    given(table(), "6S 6C 6D").when(0, "misere").then_refused("misere_not_first_bid", "3.3.9")
    given(table(), "6S pass pass 7C/8C").when(0, "misere").then_refused("misere_not_first_bid", "3.3.9")


def test_3_6_6_the_discard_is_secret_and_the_talon_is_not():
    """Both talon cards are shown with the take, the discard names no card to others (3.6.6)."""
    taken = given(table(), "misere pass").when(2, "pass").outcome[-1]
    assert (taken.seat, taken.cards) == (0, "7C 8C")
    assert after(table(), f"{FIRST_HAND} AS/KS").phase == "play", "no contract is named after it"
    given(table(), FIRST_HAND).when(0, "concede").then_refused("call_not_allowed", "3.5.4")


@pytest.mark.parametrize(("tricks", "pool", "mountain"), [([0, 5, 5, 0], 5, 0), ([1, 5, 4, 0], 0, 5), ([3, 5, 2, 0], 0, 15)])
def test_3_6_9_a_shared_misere_is_halved(tricks, pool, mountain):
    """Win and loss of a misere shared with the resting dealer are half of each (3.6.9, FN43)."""
    deal = {"declarer": 0, "contract": "misere", "tricks": tricks, "shared": True}
    shared = {"preset": "sochi", "shared_misere": True}
    assert one(shared, 4, deal) == written([pool, 0, 0, pool], [mountain, 0, 0, mountain])
    assert rules_cited(shared, 4, deal) == {"3.6.9"}


def test_3_6_4_over_a_misere_that_was_outbid_nobody_holds():
    """Once a nine stands over a misere, "here" is no call any more (3.6.4, FN41)."""
    given(table(), "misere 9S").when(2, "here").then_refused("here_not_allowed", "3.6.4")
    given(table(), "misere").when(1, "here").then_refused("here_not_allowed", "3.3.8")
