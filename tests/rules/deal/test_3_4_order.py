"""The talon in the hand: the discard, the contract, giving up, and what a talon or discard leaves on the sheet."""

from __future__ import annotations

import pytest

from shared.rules.deal.ending import outcome_of, talon_gift
from shared.rules.deck.cards import mask_of
from shared.rules.language.game_events import CardsDiscarded, Conceded, ContractDeclared, GaveUpWithoutThree, HandsLaid
from shared.rules.language.moves import Discard
from tests.rules.words import SECOND, THIRD, after, table
from tests.spec import given

WON = "6S pass pass"


def test_3_4_2_two_cards_of_twelve_are_put_away():
    """The declarer puts any two of his twelve cards away and holds ten (3.4.2)."""
    given(table(), WON).when(0, "KD/7C").then(CardsDiscarded(0, "KD 7C"))
    kept = after(table(), f"{WON} KD/7C")
    assert (kept.phase, kept.to_act, kept.held(0).bit_count()) == ("contract", 0, 10)
    assert kept.game.discarded == mask_of("KD 7C")


@pytest.mark.parametrize(
    ("cards", "code"),
    [
        ((), "wrong_discard_count"),
        (("AS",), "wrong_discard_count"),
        (("AS", "KS", "QS"), "wrong_discard_count"),
        (("AS", "AS"), "duplicate_card"),
        (("AS", "TD"), "card_not_held"),
    ],
)
def test_3_4_2_a_wrong_discard(cards, code):
    """None, one, three, twice the same, or a card not held cannot be put away (3.4.2)."""
    given(table(), WON).when(0, Discard(cards)).then_refused(code, "3.4.2")


def test_3_4_2_only_the_declarer_and_only_once():
    """Nobody else puts cards away, and a discard is not done again (3.4.2, 3.4.9)."""
    given(table(), WON).when(1, "8S/7S").then_refused("not_your_turn", "3.4.2")
    given(table(), f"{WON} KD/7C").when(0, "AS/KS").then_refused("wrong_phase", "3.4.2")


def test_3_4_3_the_declarer_alone_names_the_contract():
    """The contract is the declarer's to name, once (3.4.3, 3.4.7)."""
    given(table(), f"{WON} 7C/8C").when(1, "6S").then_refused("not_your_turn", "3.4.3")
    given(table(), f"{WON} 7C/8C").when(0, "7H").then(ContractDeclared(0, "7H"))
    named = after(table(), f"{WON} 7C/8C 7H")
    assert (named.phase, named.to_act, named.contract) == ("whist", 1, "7H")


def test_fn39_a_checked_ten_is_played_without_calls():
    """A checked ten has no whist calls: both hands are laid before the first lead and each defender plays his own (FN39)."""
    checked = table({"preset": "sochi", "ten": "checked"})
    by_suit = HandsLaid((None, "8S 7S AC KC QC JC TC 9C QD JD", "TD 9D 8D 7D QH JH TH 9H 8H 7H"))
    assert (by_suit.hands[1], by_suit.hands[2]) == (SECOND, THIRD)
    given(checked, f"{WON} 7C/8C").when(0, "10S").then(ContractDeclared(0, "10S"), by_suit)
    assert after(checked, f"{WON} 7C/8C 10S AS").to_act == 1
    assert after(checked, f"{WON} 7C/8C 10S AS 7S").to_act == 2
    assert after(checked, f"{WON} 7C/8C 9S").phase == "whist"


# ---- giving up ---------------------------------------------------------------------------------------------------------


def test_fn40_without_three():
    """Where it is agreed for the level, the declarer may write three undertricks before the discard, and nobody writes whists (FN40)."""
    agreed = table({"preset": "leningrad", "without_three": [6, 7]})
    events = given(agreed, "7S pass pass").when(0, "without_three").outcome
    assert events[0] == GaveUpWithoutThree(0)
    assert events[1].outcome == {"dealer": 2, "declarer": 0, "contract": "7S", "without_three": True, "all_pass_in_row": 0}
    assert [(entry["column"], entry["amount"]) for entry in events[1].entries] == [("mountain", 24)]
    given(agreed, "8S pass pass").when(0, "without_three").then_refused("call_not_allowed", "3.5.4")
    given(agreed, "7S pass pass AS/KS").when(0, "without_three").then_refused("wrong_phase", "3.4.2")
    given(agreed, "misere pass pass").when(0, "without_three").then_refused("call_not_allowed", "3.5.4")


def written(deal):
    return [(entry["seat"], entry["column"], entry["amount"]) for entry in deal.score.entries]


def test_3_5_4_giving_up_before_the_contract():
    """Without all before anybody whisted: as many undertricks as the bid's level, consolation to all, no whists (3.4.4, Decision 23)."""
    assert given(table(), WON).when(0, "concede").outcome[0] == Conceded(0)
    assert written(after(table(), f"{WON} concede")) == [(0, "mountain", 12), (1, "whists", 12), (2, "whists", 12)]
    assert after(table(), f"{WON} 7C/8C concede").contract == "6S"
    assert "tricks" not in after(table(), f"{WON} 7C/8C concede").score.outcome


def test_3_5_4_giving_up_in_play():
    """Without all in play: the sole whister writes all ten tricks, two whisters half each, beside everybody's consolation (3.5.4)."""
    alone = after(table(), f"{WON} 7C/8C 6S whist pass closed concede")
    assert written(alone) == [(0, "mountain", 12), (1, "whists", 20), (1, "whists", 12), (2, "whists", 12)]
    assert alone.score.outcome["tricks"] == [0, 10, 0]
    pair = after(table(), f"{WON} 7C/8C 6S whist whist concede")
    assert written(pair) == [(0, "mountain", 12), (1, "whists", 10), (2, "whists", 10), (1, "whists", 12), (2, "whists", 12)]
    dealer = after(table(players=4), f"{WON} 7C/8C 6S pass pass whist concede")
    assert written(dealer) == [(0, "mountain", 12), (3, "whists", 20), (1, "whists", 12), (2, "whists", 12), (3, "whists", 12)]


def test_3_5_4_who_may_give_up():
    """Only the declarer gives up, on his turn, and never a misere (3.5.4)."""
    given(table(), "misere pass pass").when(0, "concede").then_refused("call_not_allowed", "3.5.4")
    given(table(), "6S pass").when(2, "concede").then_refused("wrong_phase", "3.5.4")
    given(table(), f"{WON} 7C/8C 6S whist pass closed").when(1, "concede").then_refused("not_your_turn", "3.5.4")
    given(table(), f"{WON} 7C/8C 6S whist pass closed AS").when(1, "concede").then_refused("call_not_allowed", "3.5.4")


# ---- gifts and refusals of the talon -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("talon", "tricks"),
    [("AS 7C", 1), ("AS KS", 2), ("KS AS", 2), ("AS KC", 1), ("AS AC", 3), ("QS KS", 1), ("QS KC", 0), ("AS QS", 1), ("7S 8S", 0)],
)
def test_3_4_11_the_talons_gift(talon, tricks):
    """An ace gives one trick, ace and king of a suit two, two aces three, king and queen of a suit one (3.4.11)."""
    one, other = (mask_of(card).bit_length() - 1 for card in talon.split())
    assert talon_gift((one, other)) == tricks


def test_3_4_10_a_refused_talon_is_told():
    """The outcome says that both talon cards were discarded (3.4.10)."""
    refused = after(table(), f"{WON} 8C/7C 6S pass pass").score.outcome
    kept = after(table(), f"{WON} 8C/KD 6S pass pass").score.outcome
    assert outcome_of(refused).talon_refused
    assert not outcome_of(kept).talon_refused


def test_3_4_11_the_gift_is_told_with_every_game_and_no_misere():
    """The outcome has the gift's worth in every trick game, whatever the convention makes of it (3.4.11)."""
    hands = (THIRD, "8S 7S 9S KC QC JC TC 9C QD JD", "KS QS JS TS AH KH AD KD 7C 8C")
    given_talon = table(hands=hands, talon="AS AC")
    assert outcome_of(after(given_talon, f"{WON} TD/9D 6S pass pass").score.outcome).talon_tricks == 3
