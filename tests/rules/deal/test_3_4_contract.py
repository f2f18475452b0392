"""The order, rule by rule: what must be named, what cannot be changed any more, and words that the Code does not have (3.4)."""

from __future__ import annotations

import pytest

from shared.rules.deal.decider import legal_moves
from shared.rules.language.game_events import CardsDiscarded, ContractDeclared, TalonTaken
from shared.rules.language.moves import Bid, Concede, Declare, Discard
from tests.rules.scoring.scored import one, rules_cited, score
from tests.rules.words import TALON, after, as_word, table
from tests.spec import given

WON = "6D pass pass"


def test_3_4_1_the_talon_is_shown_to_all():
    """The event of the take names both cards, for all to see (3.4.1)."""
    assert given(table(), "pass pass").when(2, "6S").outcome[-1] == TalonTaken(2, TALON)


def test_3_4_2_the_discard_is_the_declarers_secret():
    """Two of his twelve cards are put away, whichever he likes, the talon's too (3.4.2)."""
    discards = [move for move in legal_moves(after(table(), WON), 0) if isinstance(move, Discard)]
    assert len(discards) == 66
    given(table(), WON).when(0, "7C/8C").then(CardsDiscarded(0, "7C 8C"))


def test_3_4_3_a_contract_below_the_bid_is_refused():
    """The contract is the bid or higher, and one must be named (3.4.3)."""
    given(table(), f"{WON} 7C/8C").when(0, "6C").then_refused("contract_below_bid", "3.4.3")
    given(table(), f"{WON} 7C/8C").when(0, "6D").then(ContractDeclared(0, "6D"))
    moves = legal_moves(after(table(), f"{WON} 7C/8C"), 0)
    assert all(isinstance(move, Declare | Concede) for move in moves)
    given(table(), WON).when(0, Declare("6D")).then_refused("wrong_phase", "3.4.3")


def test_3_4_4_a_misere_cannot_be_ordered_after_a_bid():
    """An order that is none is refused until it is right; refusing to order is without all (3.4.4, 3.3.9)."""
    given(table(), f"{WON} 7C/8C").when(0, "misere").then_refused("misere_not_first_bid", "3.3.9")
    gave_up = after(table(), f"{WON} 7C/8C concede")
    assert gave_up.contract == "6D"
    assert gave_up.score.entries[0]["amount"] == 12


def test_3_4_5_the_talon_is_not_given_back():
    """After the take there is no way back to the auction, and no second talon (3.4.5)."""
    given(table(), WON).when(0, Bid("7S")).then_refused("wrong_phase", "3.3.11")
    given(table(), WON).when(0, Bid("pass")).then_refused("wrong_phase", "3.3.11")
    given(table(), f"{WON} 7C/8C").when(0, "9S/AS").then_refused("wrong_phase", "3.4.2")


@pytest.mark.parametrize("whisted", ["", "whist", "whist whist"])
def test_3_4_7_an_order_stands(whisted):
    """A right order is not changed any more, whatever the trumps are (3.4.7, FN32)."""
    given(table(), f"{WON} 7C/8C 6D {whisted}").when(0, Declare("7D")).then_refused("wrong_phase", "3.4.3")


def test_3_4_9_the_discard_stands_after_the_order():
    """After the order no other cards are put away (3.4.9)."""
    given(table(), f"{WON} 7C/8C 6D").when(0, "AS/KS").then_refused("wrong_phase", "3.4.2")


def test_3_4_13_overtricks_cost_nothing():
    """Who ordered less than he took is not fined: a six made with ten tricks is a six (3.4.13, FN37)."""
    exactly = {"declarer": 0, "contract": "6S", "calls": [None, "whist", "whist"], "tricks": [6, 2, 2]}
    found = one("sochi", 3, exactly | {"tricks": [8, 1, 1]})
    assert (found["pool"], found["mountain"][0]) == (one("sochi", 3, exactly)["pool"], 0)


def test_fn37_there_is_no_underbidding():
    """A declarer with ten sure tricks may order six (FN37)."""
    assert after(table(), "6S pass pass 7C/8C 6S whist whist").contract == "6S"


@pytest.mark.parametrize("word", ["preferans", "10", "11S"])
def test_3_4_14_there_is_no_contract_preferans(word):
    """No contract goes beyond ten no trump (3.4.14, FN38)."""
    given(table(), f"{WON} 7C/8C").when(0, Declare(word)).then_refused("malformed", "3.3.7")
    given(table()).when(0, Bid(word)).then_refused("malformed", "3.3.7")


def test_fn38_the_ladder_ends_at_ten_no_trump():
    """Over ten no trump only a pass is left (FN38)."""
    assert [as_word(move) for move in legal_moves(after(table(), "10NT"), 1)] == ["pass"]


@pytest.mark.parametrize(
    ("players", "deal", "found"),
    [
        (4, {"calls": [None, "pass", "pass", None]}, [(3, 6)]),
        (3, {"calls": [None, "pass", "pass"]}, [(1, 3), (2, 3)]),
        (3, {"calls": [None, "whist", "whist"], "tricks": [6, 2, 2]}, [(1, 3), (2, 3)]),
    ],
)
def test_3_4_11_who_writes_the_talons_gift(players, deal, found):
    """The gift is written as whist tricks on the declarer, by a resting dealer, else by both opponents half each (3.4.11)."""
    document = {"declarer": 0, "contract": "6S", "talon_tricks": 3} | deal
    entries = score({"preset": "sochi", "talon_bonus": "on"}, players, document)["deals"][0]["entries"]
    assert [(entry["seat"], entry["amount"]) for entry in entries if entry["rule"] == "3.4.11"] == found
    assert "3.4.11" not in rules_cited("sochi", players, document), "by agreement only"


@pytest.mark.parametrize(("dealer", "declarer", "writers"), [(0, 1, {0, 2}), (1, 2, {0, 1}), (2, 0, {1, 2})])
def test_3_4_11_with_three_both_opponents_write_the_gift(dealer, declarer, writers):
    """With three nobody rests: whoever dealt, both opponents of whoever declared share the gift, and the entry says so (3.4.11)."""
    calls = [None if seat == declarer else "pass" for seat in range(3)]
    document = {"dealer": dealer, "declarer": declarer, "contract": "6S", "talon_tricks": 1, "calls": calls}
    entries = score({"preset": "sochi", "talon_bonus": "on"}, 3, document)["deals"][0]["entries"]
    gifts = [entry for entry in entries if entry["rule"] == "3.4.11"]
    assert {entry["seat"]: (entry["on"], entry["amount"]) for entry in gifts} == dict.fromkeys(writers, (declarer, 1))
    assert {entry["why"] for entry in gifts} == {"talon gift: 1 trick at 2, shared by 2"}
    alone = {"dealer": 3, "declarer": 0, "contract": "6S", "talon_tricks": 2, "calls": [None, "pass", "pass", None]}
    (gift,) = [
        entry for entry in score({"preset": "sochi", "talon_bonus": "on"}, 4, alone)["deals"][0]["entries"] if entry["rule"] == "3.4.11"
    ]
    assert gift["why"] == "talon gift: 2 tricks at 2"
