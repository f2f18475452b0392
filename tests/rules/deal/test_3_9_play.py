"""The play of the cards in trick games: whose card it is, what must be followed, who takes the trick, and the end of the deal."""

from __future__ import annotations

import pytest

from shared.rules.deal.decider import legal_moves
from shared.rules.language.game_events import CardPlayed, DealScored, TrickWon
from shared.rules.language.moves import Play
from tests.rules.scoring.scored import one, rules_cited, written
from tests.rules.words import SECOND, THIRD, after, as_word, table
from tests.spec import given

CLOSED = "6S pass pass 7C/8C 6S whist whist"
OPEN = "6S pass pass 7C/8C 6S whist pass open"


def offered(deal):
    return {as_word(move) for move in legal_moves(deal, deal.to_act)}


@pytest.mark.parametrize(("dealer", "leader"), [(0, 1), (1, 2), (2, 0)])
def test_3_9_1_the_first_lead_is_left_of_the_dealer(dealer, leader):
    """Whoever declares, the first lead is the left neighbour's of the dealer (3.9.1)."""
    hands = {0: ("AS KS QS JS TS 9S AH KH AD KD"), 1: SECOND, 2: THIRD}
    order = [(dealer + step) % 3 for step in (1, 2, 3)]
    bids = " ".join("6S" if seat == 0 else "pass" for seat in order)
    deal = after(table(dealer=dealer, hands=[hands[seat] for seat in order]), f"{bids} 7C/8C 6S whist whist")
    assert (deal.phase, deal.to_act) == ("play", leader)


def test_3_9_4_the_winner_leads():
    """The third card completes the trick; who took it leads (3.9.1, 3.9.5)."""
    given(table(), f"{CLOSED} AD JD").when(2, "7D").then(CardPlayed(2, "7D", 2), TrickWon(0, 1))
    ruffed = after(table(), f"{CLOSED} KD JD 7D AH 7S 9H")
    assert ruffed.tricks == (1, 1, 0)
    assert ruffed.to_act == 1


def test_3_9_8_the_last_closed_trick_stays_known():
    """The last closed trick can be asked for, the one before it no more (3.9.8, 5.4.9)."""
    deal = after(table(), f"{CLOSED} KD JD 7D AD QD 8D")
    assert [card.card for card in deal.play.previous] == ["AD", "QD", "8D"]


def test_3_9_3_following():
    """A card that does not follow, or no trump where one is due, is refused by the Code's number (3.9.3)."""
    given(table(), f"{CLOSED} AD").when(1, "AC").then_refused("must_follow_suit", "3.9.3")
    given(table(), f"{CLOSED} AH").when(1, "AC").then_refused("must_trump", "3.9.3")
    assert offered(after(table(), f"{CLOSED} AD")) == {"QD", "JD"}
    assert offered(after(table(), f"{CLOSED} AH")) == {"8S", "7S"}
    assert len(offered(after(table(), f"{CLOSED} AS 7S"))) == 10, "neither the suit nor a trump: any card"


def test_3_9_2_turn_and_cards():
    """Only the seat on turn plays, only cards that are held (3.9.2)."""
    given(table(), CLOSED).when(1, "AC").then_refused("not_your_turn", "3.9.1")
    given(table(), CLOSED).when(0, "AC").then_refused("card_not_held", "3.9.2")
    given(table(), f"{CLOSED} AS 7S 7D").when(0, "AS").then_refused("card_not_held", "3.9.2")
    given(table(), CLOSED).when(0, Play("1S")).then_refused("malformed", "1.3.5")
    given(table(), CLOSED).when(0, Play("AS", 3)).then_refused("malformed", "3.9.2")


def test_3_4_2_a_discarded_card_cannot_be_played():
    """What was put away is no more in the hand (3.4.2)."""
    given(table(), CLOSED).when(0, "7C").then_refused("card_not_held", "3.9.2")


def test_3_9_2_another_seats_hand():
    """`hand` names the hand whose card it is; it must be the hand that is on turn, and one that he plays (3.9.2, 3.8.5)."""
    given(table(), f"{OPEN} AS").when(1, Play("7S")).then(CardPlayed(1, "7S", 1))
    given(table(), f"{OPEN} AS 7S").when(1, Play("7D", 2)).then(CardPlayed(2, "7D", 1), TrickWon(0, 1))
    given(table(), f"{OPEN} AS 7S").when(1, Play("7D")).then_refused("not_your_hand", "3.9.2")
    given(table(), f"{OPEN} AS").when(1, Play("7D", 2)).then_refused("not_your_hand", "3.9.2")
    given(table(), f"{OPEN} AS 7S").when(2, Play("7D")).then_refused("not_your_turn", "3.9.1")
    given(table(), f"{CLOSED}").when(0, Play("7S", 1)).then_refused("not_your_hand", "3.9.2")
    given(table(), f"{CLOSED}").when(0, Play("AS", 0)).then(CardPlayed(0, "AS", 0))


def test_3_8_5_the_offer_for_the_other_hand_names_it():
    """What the whister is offered for the passer's hand says whose hand it is; his own cards do not (3.8.5)."""
    assert Play("7S") in legal_moves(after(table(), f"{OPEN} AS"), 1)
    assert Play("7D", 2) in legal_moves(after(table(), f"{OPEN} AS 7S"), 1)


def test_3_8_1_1_the_tenth_trick_ends_the_deal():
    """With the tenth trick the deal is scored, in the same decision (3.8.1.1)."""
    nine = after(table(), f"{CLOSED} AS 7S 7D KS 8S 8D QS 9C 9D JS TC TD TS JC 7H 9S QC 8H AH KC 9H KH AC TH AD JD JH")
    ending = after(nine, "KD QD")
    events = given(ending).when(2, "QH").outcome
    assert events[:2] == (CardPlayed(2, "QH", 2), TrickWon(0, 10))
    assert isinstance(events[2], DealScored)
    assert events[2].outcome == {
        "dealer": 2,
        "declarer": 0,
        "contract": "6S",
        "calls": [None, "whist", "whist"],
        "tricks": [10, 0, 0],
        "talon_refused": True,
        "all_pass_in_row": 0,
    }
    done = after(ending, "QH")
    assert (done.phase, done.to_act, legal_moves(done, 0)) == ("scored", None, ())
    given(done).when(0, Play("AS")).then_refused("wrong_phase", "3.9.2")


def test_3_9_5_a_trick_is_complete_with_its_third_card():
    """Two cards are no trick, the third closes it (3.9.5)."""
    assert after(table(), f"{CLOSED} AS 7S").tricks == (0, 0, 0)
    assert after(table(), f"{CLOSED} AS 7S 7D").tricks == (1, 0, 0)
    assert after(table(), f"{CLOSED} AS 7S 7D").play.number == 2


def test_3_9_6_everybody_collects_his_own_tricks():
    """A trick stands to the hand that took it, in open play of one whister too (3.9.6)."""
    assert after(table(), f"{CLOSED} KD JD 7D AH 7S 9H").tricks == (1, 1, 0)
    passers = "6H pass pass AS/KS 6H whist pass open"
    assert after(table(), f"{passers} 9S 8S QH").tricks == (0, 0, 1)


def test_3_9_12_a_lost_trick_goes_to_nobody():
    """What a fine takes from the declarer is not added to the defenders' whists (3.9.12)."""
    deal = {"declarer": 0, "contract": "6S", "calls": [None, "whist", "whist"], "tricks": [6, 3, 1]}
    fined = deal | {"infractions": [{"rule": "3.9.11.2", "seat": 0}]}
    assert one("sochi", 3, fined) == written([0] * 3, [2, 0, 0], [[1, 0, 6], [2, 0, 2]])
    assert "3.9.11.2" in rules_cited("sochi", 3, fined)


def test_5_4_9_whose_card_was_which():
    """Of the last trick everybody may know each card and whose it was, until the next is closed (5.4.9)."""
    deal = after(table(), f"{CLOSED} KD JD 7D AD")
    assert [(card.seat, card.card) for card in deal.play.previous] == [(0, "KD"), (1, "JD"), (2, "7D")]
    assert [(card.seat, card.card) for card in deal.play.trick] == [(0, "AD")]
