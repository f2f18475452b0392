"""Trick games: what they are, trumps, whether they are played at all, and giving up (3.5)."""

from __future__ import annotations

import pytest

from shared.rules.deal.decider import legal_moves
from shared.rules.language.game_events import Conceded
from shared.rules.language.moves import Concede
from tests.rules.scoring.scored import one, rules_cited, written
from tests.rules.words import after, as_word, table
from tests.spec import given

WON = "6S pass pass"
NAMED = f"{WON} 7C/8C 6S"


@pytest.mark.parametrize(("taken", "pool", "mountain"), [(5, 0, 2), (6, 2, 0), (7, 2, 0), (10, 2, 0), (0, 0, 12)])
def test_3_5_1_as_many_tricks_as_the_level(taken, pool, mountain):
    """A game is made with the tricks of its level or more, and costs its price for each that is missing (3.5.1)."""
    tricks = [taken, 10 - taken, 0]
    found = one("sochi", 3, {"declarer": 0, "contract": "6S", "calls": [None, "whist", "pass"], "tricks": tricks})
    assert (found["pool"][0], found["mountain"][0]) == (pool, mountain)


def test_3_5_1_the_declarer_names_any_strain():
    """Whatever suit was bid, every contract not below the bid is his to name (3.5.1)."""
    named = {as_word(move) for move in legal_moves(after(table(), f"{WON} 7C/8C"), 0)} - {"concede"}
    assert {contract[1:] for contract in named if contract.startswith("6")} == {"S", "C", "D", "H", "NT"}


@pytest.mark.parametrize(("contract", "winner"), [("6S", 1), ("6NT", 0), ("6H", 0), ("6C", 1)])
def test_3_5_2_one_suit_is_trump(contract, winner):
    """The suit of the contract is trump and beats the plain ace; in no trump the ace holds (3.5.2)."""
    answer = {"6S": "7S", "6C": "9C"}.get(contract, "QC")
    played = after(table(), f"{WON} 7C/8C {contract} whist whist AH {answer} 7H")
    assert played.tricks[winner] == 1


@pytest.mark.parametrize("contract", ["6S", "8NT", "10S"])
def test_3_5_3_a_whisted_game_is_played(contract):
    """Whisted, every game is played, ten like any other; unwhisted, none (3.5.3)."""
    assert after(table(), f"{WON} 7C/8C {contract} whist whist").phase == "play"
    assert after(table(), f"{WON} 7C/8C {contract} pass pass").phase == "scored"


def test_3_5_4_giving_up_is_without_all():
    """Who gives up has none of his tricks: as many undertricks as the level, with consolation to every opponent (3.5.4)."""
    assert given(table(), WON).when(0, "concede").outcome[0] == Conceded(0)
    deal = {"declarer": 0, "contract": "7S", "infractions": [{"rule": "3.5.4", "seat": 0}]}
    assert one("sochi", 3, deal) == written([0] * 3, [28, 0, 0], [[1, 0, 28], [2, 0, 28]])
    assert rules_cited("sochi", 3, deal) == {"3.5.4", "3.8.1.2"}


def test_3_5_4_there_is_no_other_surrender():
    """Among all legal moves of a declarer there is no way to give up a part (3.5.4)."""
    for words in (WON, f"{WON} 7C/8C", f"{NAMED} whist whist"):
        moves = legal_moves(after(table(), words), 0)
        assert [as_word(move) for move in moves if isinstance(move, Concede)] == ["concede"]
        assert "without_three" not in {as_word(move) for move in moves}
    given(table(), WON).when(0, "without_three").then_refused("call_not_allowed", "3.5.4")


def test_3_4_4_a_refused_order_is_without_all():
    """Who will not order rightly has none of the tricks that he bid (3.4.4, 3.5.4)."""
    deal = {"declarer": 0, "contract": "6S", "infractions": [{"rule": "3.4.4", "seat": 0}]}
    assert one("sochi", 3, deal) == written([0] * 3, [12, 0, 0], [[1, 0, 12], [2, 0, 12]])


@pytest.mark.parametrize("style", ["greedy", "own"])
def test_3_5_4_all_ten_are_the_sole_whisters(style):
    """After "without all" a sole whister writes all ten tricks, whosever the passer's are otherwise; two whisters five each (3.5.4)."""
    deal = {"declarer": 0, "contract": "6S", "calls": [None, "whist", "pass"], "infractions": [{"rule": "3.5.4", "seat": 0}]}
    found = one({"preset": "sochi", "single_whister": style, "consolation": "none"}, 3, deal)
    assert found == written([0] * 3, [12, 0, 0], [[1, 0, 20]])
    pair = one({"preset": "sochi", "single_whister": style, "consolation": "none"}, 3, deal | {"calls": [None, "whist", "whist"]})
    assert pair["whists"] == [[1, 0, 10], [2, 0, 10]]


def test_3_5_4_a_checked_ten_given_up():
    """In a checked ten both defenders play for themselves, so each writes half of the ten tricks (3.5.4, FN39)."""
    deal = {"declarer": 0, "contract": "10S", "infractions": [{"rule": "3.5.4", "seat": 0}]}
    assert one({"preset": "sochi", "ten": "checked", "consolation": "none"}, 3, deal)["whists"] == [[1, 0, 50], [2, 0, 50]]
