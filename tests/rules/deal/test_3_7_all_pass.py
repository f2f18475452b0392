"""All-pass: the talon leads or stays aside, there are no trumps, and the series counts on."""

from __future__ import annotations

import pytest

from shared.rules.deal.decider import legal_moves
from shared.rules.language.game_events import AllPassed, BidMade, CardPlayed, DealScored, TalonCardOpened, TrickWon
from tests.rules.words import after, as_word, table
from tests.spec import given

PASSES = "pass pass pass"
#: Every hand holds every suit; the talon AS QS is the spades' best.
HANDS = ("KS TS 9S 7S AC 7C KD 8D AH 7H", "JS KC TC 8C QD TD 7D KH JH 8H", "8S QC JC 9C AD JD 9D QH TH 9H")


def spread(**options):
    return table(options.pop("convention", "sochi"), hands=HANDS, talon="AS QS", **options)


def offered(deal):
    return {as_word(move) for move in legal_moves(deal, deal.to_act)}


@pytest.mark.parametrize("players", [3, 4])
def test_3_7_6_the_talon_names_the_suit(players):
    """The talon card's suit is followed by all, from the first hand on (3.7.6.1, 3.7.6.3)."""
    deal = spread(players=players)
    assert after(deal, PASSES).to_act == 0
    assert offered(after(deal, PASSES)) == {"KS", "TS", "9S", "7S"}
    given(deal, PASSES).when(0, "AC").then_refused("must_follow_suit", "3.7.5")
    assert after(deal, PASSES).contract == "all_pass"


def test_3_7_5_no_trumps():
    """A hand without the suit plays anything (3.7.5)."""
    deal = after(spread(), f"{PASSES} 9S JS 8S  7S")
    assert len(offered(deal)) == 9, "the second hand's only spade is gone"


def test_3_7_6_1_a_dealer_with_four_takes_what_the_talon_wins():
    """With four players a lower talon card loses to a higher card of its suit (3.7.6.1)."""
    deal = table(players=4, hands=HANDS, talon="QS AS")
    given(deal, f"{PASSES} KS JS").when(2, "8S").then(CardPlayed(2, "8S", 2), TrickWon(0, 1), TalonCardOpened("AS"))
    assert after(deal, f"{PASSES} TS JS 8S").tricks == (0, 0, 0, 1)


def test_3_7_6_2_a_talon_aside():
    """Where the talon stays aside the first hand leads to the first trick and no talon card is opened (3.7.6.2)."""
    rostov = spread(convention="rostov", players=4)
    given(rostov, "pass pass").when(2, "pass").then(BidMade(2, "pass"), AllPassed())
    assert len(offered(after(rostov, PASSES))) == 10
    given(rostov, f"{PASSES} 7H 8H").when(2, "9H").then(CardPlayed(2, "9H", 2), TrickWon(2, 1))
    assert after(rostov, f"{PASSES} 7H 8H 9H").to_act == 2


def test_3_7_4_the_series_counts_on():
    """An all-pass deal is the next in its series, and its tricks cost what the place in the series says (3.7.4)."""
    deal = spread(in_row=1)
    played = f"{PASSES} 9S JS 8S  7S KC QC  7C TC 9C  8C JC AC  KD QD AD  9D 8D TD  7D JD AH  TH 7H JH  8H 9H TS  QH KS KH"
    done = after(deal, played)
    assert sum(done.tricks) == 10
    assert done.score.outcome == {
        "dealer": 2,
        "declarer": None,
        "contract": "all_pass",
        "tricks": list(done.tricks),
        "all_pass_in_row": 2,
    }
    assert done.tricks == (2, 5, 3)
    assert [(entry["seat"], entry["amount"]) for entry in done.score.entries] == [(1, 6), (2, 2)], "two a trick, two tricks forgiven"
    assert isinstance(given(after(deal, played.removesuffix(" KH"))).when(1, "KH").outcome[-1], DealScored)


def test_3_7_6_3_with_three_the_talon_takes_no_trick():
    """With three players the talon's ace only names the suit: the highest of the three played wins (3.7.6.3)."""
    deal = after(spread(), f"{PASSES} 9S JS")
    given(deal).when(2, "8S").then(CardPlayed(2, "8S", 2), TrickWon(1, 1), TalonCardOpened("QS"))
    assert after(deal, "8S").to_act == 0, "the first hand plays first to the second talon card too"


@pytest.mark.parametrize("convention", ["sochi", "leningrad", "code", "rostov"])
def test_fn48_with_two_the_talon_stays_closed(convention):
    """With two players no talon card is opened on all-pass, in any convention (FN48, 3.7.6.4)."""
    passed = given(table(convention, players=2), "pass").when(1, "pass").outcome
    assert not [event for event in passed if isinstance(event, TalonCardOpened)]
