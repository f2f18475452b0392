"""Misere: no contract is named, the defenders' hands are laid by themselves, and each of them plays his own cards."""

from __future__ import annotations

import pytest

from shared.rules.deal import legal_moves
from shared.rules.game_events import CardPlayed, CardsDiscarded, HandsLaid
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


def test_a_caught_misere_is_played_to_the_end_and_writes_ten_a_trick():
    """A misere is played to its tenth trick; each trick taken is ten in the mountain (4.2.1)."""
    spades = "AS 7S 7D KS 8S 8D QS 9C 9D JS TC TD TS JC 7H 9S QC 8H"
    caught = after(table(), f"{FIRST_HAND} 7C/8C {spades} AH KC 9H KH AC TH AD JD JH KD QD QH")
    assert caught.tricks == (10, 0, 0)
    assert [(entry["seat"], entry["column"], entry["amount"]) for entry in caught.score.entries] == [(0, "mountain", 100)]
