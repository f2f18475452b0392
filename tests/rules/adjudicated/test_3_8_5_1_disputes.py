"""Two plans of defence (3.8.5.1)."""

from __future__ import annotations

import pytest

from shared.rules.language.moves import CallAttention, Play
from tests.rules.adjudicated.seated import OPEN, Seated
from tests.rules.words import table

#: A misere that best play catches twice, and the lowest cards once.
CAUGHT = ("AS 7H 8H 9H 7D 8D 9D 7C 8C 9C", "KS QS JS TS 9S TH JH TD JD TC", "8S 7S QH KH AH QD KD AD JC QC")
#: Spades in both hands of the defence: best play makes six, the lowest cards five.
LOOSE = ("AS KS 9S 8S 7S AH KH 7D 8D 9D", "QS JS TS QC KC QH 7H TD JD QD", "AD KD TH 9H 8H JH JC TC 9C 8C")


def misere(entropy):
    return Seated("misere pass pass KC/AC", deal=table(hands=CAUGHT, talon="KC AC"), entropy=entropy)


@pytest.mark.parametrize(("entropy", "lot", "more"), [("entropy", "disputed", [(0, "mountain", None, 10, "3.8.5.1")]), ("b", "played", [])])
def test_3_8_5_1_whose_result_the_declarer_writes_is_drawn_by_lot(entropy, lot, more):
    """The disputed plan catches two, the whister's one: by the lot the declarer writes the other trick too; one dispute a deal."""
    sat = misere(entropy).does(0, Play("7H")).does(2, CallAttention("3.8.5.1"))
    assert (sat.last[1].seat, sat.last[1].tricks, sat.last[1].lot) == (2, (2, 0, 8), lot)
    sat.refused(1, CallAttention("3.8.5.1"), "call_not_allowed", "3.8.5.1")
    sat.plays_on().confirmed()
    assert sat.court.score.outcome["tricks"] == [1, 1, 8]
    assert sat.entries() == [(0, "mountain", None, 10, "4.2.1"), *more]


def test_3_8_5_1_the_whister_is_scored_by_what_he_plays():
    """The disputed plan would have let the contract be made; the whister's sets it, and the disputer's consolation is taken back."""
    deal = table(hands=LOOSE, talon="7C AC")
    sat = Seated("6S pass pass 7C/AC 6S whist pass open", deal=deal, entropy="b").does(2, CallAttention("3.8.5.1"))
    assert sat.last[1].tricks == (6, 3, 1)
    sat.plays_on().confirmed()
    assert sat.court.score.outcome["tricks"] == [5, 3, 2]
    assert (1, "whists", 0, 10, "3.8.13") in sat.entries()
    assert (2, "whists", 0, 2, "3.8.1.2") in sat.entries()
    assert [one for one in sat.entries() if one[4] == "3.8.5.1"] == [(2, "whists", 0, -2, "3.8.5.1")]


def test_3_8_5_1_not_by_the_declarer_nor_later():
    """Only the defence has plans, and only before it plays."""
    Seated(OPEN).refused(0, CallAttention("3.8.5.1"), "call_not_allowed", "3.8.5.1")
    Seated(f"{OPEN} AS 7S").refused(2, CallAttention("3.8.5.1"), "wrong_phase", "3.8.5.1")
