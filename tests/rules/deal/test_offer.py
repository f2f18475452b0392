"""What a time-out does for a seat, and which cards make a deal at all."""

from __future__ import annotations

import pytest

from shared.rules.deal.decider import default_move, legal_moves
from tests.rules.words import FIRST, SECOND, THIRD, after, as_word, table


@pytest.mark.parametrize(
    ("words", "move"),
    [
        ("6S pass", "pass"),
        ("7D pass pass", "7C/8C"),
        ("misere pass pass", "AD/AH"),
        ("7D pass pass 7C/8C", "7D"),
        ("7D pass pass 7C/8C 7D", "pass"),
        ("7D pass pass 7C/8C 7D whist pass", "closed"),
        ("7D pass pass 7C/8C 7D whist whist", "9S"),
        ("7D pass pass 7C/8C 7D whist whist KH", "JD"),
        ("7D pass pass 7C/8C 7D whist whist KH JD", "7H"),
    ],
)
def test_the_default_move(words, move):
    """At a time-out: pass, the lowest two away (on misere the highest), the bid, closed play, the lowest legal card."""
    assert as_word(default_move(after(table(), words))) == move


def test_the_default_word_where_nobody_may_pass():
    """Six spades that must be whisted are whisted at a time-out too (FN61)."""
    stalingrad = after(table({"preset": "sochi", "stalingrad": True}), "6S pass pass 7C/8C 6S")
    assert as_word(default_move(stalingrad)) == "whist"


def test_nobody_is_on_turn_when_a_deal_is_scored():
    """A deal that waits for nobody has no default move, and offers nothing."""
    done = after(table(), "6S pass pass 7C/8C 6S pass pass")
    with pytest.raises(ValueError, match="nobody is on turn"):
        default_move(done)
    assert [legal_moves(done, seat) for seat in range(3)] == [(), (), ()]


@pytest.mark.parametrize(
    ("hands", "talon", "message"),
    [
        ((FIRST, SECOND, "TD 9D"), "7C 8C", "ten cards"),
        ((FIRST, SECOND, THIRD), "7C", "ten cards"),
        ((FIRST, SECOND, THIRD.replace("TD", "AS")), "7C 8C", "once"),
        ((FIRST, SECOND, THIRD.replace("TD", "1D")), "7C 8C", "'1D' is no card"),
        ((FIRST, SECOND, THIRD.replace("TD", "9D")), "7C 8C", "9D"),
    ],
)
def test_3_2_8_cards_that_are_no_deal(hands, talon, message):
    """Ten cards to each, two to the talon, every card once; anything else is no deal (3.2.8)."""
    with pytest.raises(ValueError, match=message):
        table(hands=hands, talon=talon)
