"""Tricks, kinds of game, prices (2.1, 2.2)."""

from __future__ import annotations

import pytest

from shared.rules.deal.decider import legal_moves
from shared.rules.deck.contract import CONTRACTS, LADDER, LEVEL, OBLIGATION, PRICE, RANK
from shared.rules.language.game_events import CardPlayed, TrickWon
from tests.rules.scoring.scored import one, written
from tests.rules.words import after, as_word, table
from tests.spec import given

PLAYED = "6S pass pass 7C/8C 6S whist whist"


def offered(deal):
    return {as_word(move) for move in legal_moves(deal, deal.to_act)} - {"concede"}


def test_2_1_1_a_trick_is_one_card_from_each():
    """After one card from each of the three the trick is closed, not before (2.1.1)."""
    given(table(), PLAYED).when(0, "AS").then(CardPlayed(0, "AS", 0))
    given(table(), f"{PLAYED} AS").when(1, "7S").then(CardPlayed(1, "7S", 1))
    given(table(), f"{PLAYED} AS 7S").when(2, "7D").then(CardPlayed(2, "7D", 2), TrickWon(0, 1))


def test_2_1_2_the_suit_led_is_followed():
    """Who holds the suit led plays it (2.1.2)."""
    assert offered(after(table(), f"{PLAYED} AD")) == {"JD", "QD"}


def test_2_1_3_void_of_the_suit():
    """Void of the suit led a trump is due, a low one too; void of both any card goes (2.1.3)."""
    assert offered(after(table(), f"{PLAYED} AH")) == {"7S", "8S"}
    assert len(offered(after(table(), f"{PLAYED} AS 7S"))) == 10


def test_2_1_4_who_takes_a_trick():
    """The highest trump takes it, else the highest card of the suit led (2.1.4)."""
    assert after(table(), f"{PLAYED} KD QD TD").tricks == (1, 0, 0)
    assert after(table(), f"{PLAYED} AH 7S 7H").tricks == (0, 1, 0)
    no_trump = PLAYED.replace(" 6S whist", " 6NT whist")
    assert after(table(), f"{no_trump} 9S 8S AH".replace("AH", "TD")).tricks == (1, 0, 0)


def test_2_2_1_three_kinds_of_deal():
    """A bid leads to a trick game, misere to misere, passes to all-pass, and there is no other contract (2.2.1)."""
    assert after(table(), PLAYED).contract == "6S"
    assert after(table(), "misere pass pass").contract == "misere"
    assert after(table(), "pass pass pass").contract == "all_pass"
    assert set(CONTRACTS) == {*LEVEL, "misere", "all_pass"}


def test_2_2_2_the_table_of_contracts():
    """Prices 2, 4, 6, 8, 10, misere 10; misere stands between the eights and the nines (2.2.2)."""
    assert [PRICE[f"{level}S"] for level in (6, 7, 8, 9, 10)] == [2, 4, 6, 8, 10]
    assert all(PRICE[contract] == PRICE[f"{level}S"] for contract, level in LEVEL.items())
    assert (PRICE["misere"], RANK["8NT"], RANK["misere"], RANK["9S"], len(LADDER)) == (10, 15, 16, 17, 26)
    assert OBLIGATION == {6: 4, 7: 2, 8: 1, 9: 1, 10: 1}


@pytest.mark.parametrize(("contract", "points"), [("6S", 2), ("7NT", 4), ("8D", 6), ("9H", 8), ("10C", 10)])
def test_2_2_4_the_pool_counts_games_made(contract, points):
    """Points of a game made stand in the column that is called pulka too (2.2.4)."""
    deal = {"declarer": 0, "contract": contract, "calls": [None, "pass", "pass"]}
    assert one("sochi", 3, deal) == written([points, 0, 0], [0, 0, 0])
