"""Faults of the dealing, where a live table is recorded (3.2.9-3.2.23)."""

from __future__ import annotations

import msgspec
import pytest

from shared.rules.language.irregular_events import AttentionCalled, Redealt
from shared.rules.language.refusal import Malformed
from shared.rules.score_files import deal_record
from tests.rules.adjudicated.seated import Seated
from tests.rules.words import FIRST, SECOND, TALON, THIRD, table

HANDS = {"convention": "sochi", "players": 3, "dealer": 2, "hands": [FIRST, SECOND, THIRD], "talon": TALON}


def dealt(record):
    return deal_record.dealt(msgspec.convert(record, deal_record.DealRecord))


@pytest.mark.parametrize("rule", ["3.2.9", "3.2.12", "3.2.15"])
def test_3_2_15_the_same_dealer_deals_again(rule):
    """A broken order, a card turned up, no cut and the like, pointed out before the auction: redeal by the same dealer."""
    sat = Seated(recorded=True).calls(1, rule)
    assert sat.last == (AttentionCalled(rule, 2, 1), Redealt(rule, 2, 2))
    assert (sat.court.phase, sat.court.to_act, sat.court.score) == ("between_deals", None, None)
    sat.cannot_call(1, "3.9.16", "3.9.17", code="wrong_phase")


def test_3_2_18_not_once_the_auction_has_begun():
    """Claims about the dealing are heard until the first call (3.2.18, FN14)."""
    Seated("6S", recorded=True).cannot_call(1, "3.2.9", "3.2.18")


def test_3_2_14_the_wrong_dealer():
    """Before anybody looked the deal is void, and another deals; later it stands."""
    sat = Seated(recorded=True).calls(1, "3.2.14")
    assert sat.last[1] == Redealt("3.2.14", 2, 0)
    Seated("pass", recorded=True).cannot_call(1, "3.2.14", "3.2.18")


def test_3_2_13_a_wrong_count_before_ones_own_first_call():
    """Who has called has accepted the number of his cards (3.2.23)."""
    short = dealt(dict(HANDS, hands=[FIRST, SECOND, THIRD.removesuffix(" 7H")], mode="adjudicated"))
    assert Seated("6S", deal=short, recorded=True).calls(1, "3.2.13").last == (AttentionCalled("3.2.13", 2, 1), Redealt("3.2.13", 2, 2))
    Seated("6S pass pass", deal=short, recorded=True).cannot_call(0, "3.2.23", "3.2.18", seat=2)


@pytest.mark.parametrize("rule", ["3.2.13", "3.2.16", "3.2.23", "FN15"])
def test_3_2_13_who_was_dealt_ten_cards_is_not_blamed(rule):
    """F5: attention to the number of cards is heard of a hand that has not ten; one that was dealt ten and took the talon is right."""
    Seated(recorded=True).cannot_call(1, rule, rule, seat=0)
    Seated(recorded=True).cannot_call(1, rule, rule)
    Seated(recorded=True).takes(0).cannot_call(1, rule, rule)
    short = dealt(dict(HANDS, hands=[FIRST, SECOND, THIRD.removesuffix(" 7H")], mode="adjudicated"))
    Seated(deal=short, recorded=True).cannot_call(1, rule, rule, seat=0)
    assert Seated(deal=short, recorded=True).calls(1, rule, 2).last[1] == Redealt(rule, 2, 2)


@pytest.mark.parametrize("rule", ["3.2.14", "3.2.17", "FN13"])
def test_3_2_17_what_only_the_dealer_can_do_is_nobody_elses_fault(rule):
    """F5: the wrong dealer and the dealer's faults are the dealer's, whoever is named."""
    Seated(recorded=True).cannot_call(1, rule, rule, seat=0)


LONG = {"hands": [f"{FIRST} 7C", SECOND, THIRD], "talon": "8C", "mode": "adjudicated"}


@pytest.mark.parametrize("words", ["", "6S", "6S 6C"])
def test_fn15_a_card_of_the_talon_in_a_hand(words):
    """F6: a hand of eleven and a talon of one can be recorded, and are dealt anew, also after the long hand has called (3.2.12, 3.2.15)."""
    sat = Seated(words, deal=dealt(HANDS | LONG), recorded=True).calls(1, "FN15")
    assert sat.last == (AttentionCalled("FN15", 0, 1), Redealt("FN15", 0, 2))
    record = HANDS | LONG | {"moves": [{"type": "call_attention", "by": 1, "rule": "3.2.12"}]}
    assert deal_record.replay_document(record)["phase"] == "between_deals"


def test_fn15_a_card_of_a_hand_in_the_talon():
    """A talon of three and a hand of nine likewise; a talon of four is no deal, and at an enforced table neither is one of three."""
    wrong = {"hands": [FIRST.removesuffix(" KD"), SECOND, THIRD], "talon": f"{TALON} KD", "mode": "adjudicated"}
    assert Seated("6S", deal=dealt(HANDS | wrong), recorded=True).calls(2, "3.2.23").last[1] == Redealt("3.2.23", 0, 2)
    four = {"hands": [FIRST.removesuffix(" AD KD"), SECOND, THIRD], "talon": f"{TALON} KD AD", "mode": "adjudicated"}
    for record in (HANDS | four, HANDS | LONG | {"mode": "enforced"}):
        with pytest.raises(Malformed) as refused:
            dealt(record)
        assert refused.value.path in {"talon", "hands[0]"}


def test_3_2_16_where_a_card_of_the_talon_is_lost_it_is_the_dealers_fault():
    """Every hand has ten cards and the talon one: nobody but the dealer is blamed, and deals again."""
    lost = {"talon": "8C", "mode": "adjudicated"}
    assert Seated(deal=dealt(HANDS | lost), recorded=True).calls(0, "FN15").last == (AttentionCalled("FN15", 2, 0), Redealt("FN15", 2, 2))
    Seated(deal=dealt(HANDS | lost), recorded=True).cannot_call(0, "FN15", "FN15", seat=1)


@pytest.mark.parametrize("words", ["6S pass pass", "misere pass pass", "pass pass pass"])
@pytest.mark.parametrize("wrong", [LONG, LONG | {"hands": [FIRST, SECOND, f"{THIRD} 7C"]}, {"talon": "8C", "mode": "adjudicated"}])
def test_fn69_a_wrong_talon_that_nobody_speaks_of_is_played(wrong, words):
    """Once the auction is over the deal counts as right, and goes on to its score (FN69)."""
    sat = Seated(words, deal=dealt(HANDS | wrong), recorded=True).plays_on().confirmed()
    assert sat.court.score is not None


def test_3_2_16_a_card_that_nobody_has_too_many():
    """Found before the first call of who lacks it: redeal, whoever speaks; after it he answers for it himself, by a ruling."""
    short = dealt(dict(HANDS, hands=[FIRST.removesuffix(" KD"), SECOND, THIRD], mode="adjudicated"))
    assert Seated(deal=short, recorded=True).calls(2, "3.2.23").last == (AttentionCalled("3.2.23", 0, 2), Redealt("3.2.23", 0, 2))
    Seated("6S", deal=short, recorded=True).cannot_call(1, "3.2.16", "3.2.18")


def test_3_2_16_one_hand_long_another_short():
    """They are dealt anew although the long hand has called."""
    wrong = dealt(dict(HANDS, hands=[f"{FIRST} 7C", SECOND, THIRD.removesuffix(" 7H")], talon="7H 8C", mode="adjudicated"))
    assert Seated("6S", deal=wrong, recorded=True).calls(0, "FN15").last[1] == Redealt("FN15", 0, 2)


def test_3_2_17_the_second_fault_of_a_dealer():
    """The first is a remark, and the deal goes on; the second costs five in the mountain, and the deal passes on."""
    sat = Seated(recorded=True).calls(1, "3.2.17")
    assert (sat.last, sat.court.phase) == ((AttentionCalled("3.2.17", 2, 1),), "auction")
    assert sat.calls(0, "3.2.17").confirmed().entries() == [(2, "mountain", None, 5, "3.2.17")]
    sat = Seated(recorded=True, dealer_warned=True).calls(1, "3.2.17").confirmed()
    assert sat.entries() == [(2, "mountain", None, 5, "3.2.17")]
    exposed = Seated(recorded=True, dealer_warned=True).calls(1, "FN13").confirmed()
    assert exposed.entries() == [(2, "mountain", None, 2, "3.2.17")]


def test_3_2_9_a_server_deals_rightly():
    """Where the server deals nobody can say that it dealt wrongly."""
    Seated(deal=table(players=4)).cannot_call(1, "3.2.9", "3.2.9")
