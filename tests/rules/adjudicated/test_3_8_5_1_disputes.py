"""Two plans of defence (3.8.5.1)."""

from __future__ import annotations

from fractions import Fraction

import pytest

from shared.rules.adjudicated.court import ARBITER, Dispute
from shared.rules.adjudicated.disputes import written_by_their_plans
from shared.rules.language.moves import CallAttention, Play
from shared.rules.scoring.outcome import DealOutcome
from tests.rules.adjudicated.seated import OPEN, Seated
from tests.rules.words import table

#: A misere that best play catches twice, and the lowest cards once.
CAUGHT = ("AS 7H 8H 9H 7D 8D 9D 7C 8C 9C", "KS QS JS TS 9S TH JH TD JD TC", "8S 7S QH KH AH QD KD AD JC QC")
#: Spades in both hands of the defence: best play makes six, the lowest cards five.
LOOSE = ("AS KS 9S 8S 7S AH KH 7D 8D 9D", "QS JS TS QC KC QH 7H TD JD QD", "AD KD TH 9H 8H JH JC TC 9C 8C")


FIRST_VERSION = {"preset": "sochi", "version": 1}
DECLARERS = (0, "mountain", None, 10, "3.8.5.1")


def misere(entropy, convention="sochi", **options):
    return Seated("misere pass pass KC/AC", deal=table(convention, hands=CAUGHT, talon="KC AC", **options), entropy=entropy)


@pytest.mark.parametrize(
    ("convention", "entropy", "lot", "more"),
    [
        ("sochi", "entropy", "disputed", [DECLARERS]),
        ("sochi", "b", "played", [(2, "whists", 1, "100/3", "3.8.5.1")]),
        (FIRST_VERSION, "entropy", "disputed", [DECLARERS]),
        (FIRST_VERSION, "b", "played", []),
    ],
)
def test_3_8_5_1_whose_result_the_declarer_writes_is_drawn_by_lot(convention, entropy, lot, more):
    """F4: the disputed plan catches two, the whister's one: by the lot the declarer writes the other trick too, or the disputer writes his
    share of it on the other defender, in version 1 on nobody; one dispute a deal (Decision 26).
    """
    sat = misere(entropy, convention).does(0, Play("7H")).does(2, CallAttention("3.8.5.1"))
    assert (sat.last[1].seat, sat.last[1].tricks, sat.last[1].lot) == (2, (2, 0, 8), lot)
    sat.refused(1, CallAttention("3.8.5.1"), "call_not_allowed", "3.8.5.1")
    sat.plays_on().confirmed()
    assert sat.court.score.outcome["tricks"] == [1, 1, 8]
    assert sat.entries() == [(0, "mountain", None, 10, "4.2.1"), *more]


def test_3_8_5_1_of_four_a_misere_caught_four_times_is_125_whists():
    """F4: 25 whists a trick that the disputed plan catches and 25 for the ten not written; of one trick the Code's 50 (Decision 26)."""
    setup = table(players=4, dealer=3).setup
    made = DealOutcome(dealer=3, contract="misere", declarer=0, tricks=(0, 5, 5, 0))
    for caught, whists in ((4, 125), (1, 50)):
        (found,) = written_by_their_plans(setup, Dispute(1, (caught, 5, 5 - caught, 0), lot=False), made)
        assert (found.rule, found.whists, found.mountain, found.pool) == ("3.8.5.1", ((1, 2, whists),), (), ())
        (found,) = written_by_their_plans(setup, Dispute(3, (caught, 5, 5 - caught, 0), lot=False), made)
        assert found.whists == ((3, 1, Fraction(whists, 2)), (3, 2, Fraction(whists, 2)))  # whose plan it was nobody knows: both answer
        (found,) = written_by_their_plans(setup, Dispute(1, (caught, 5, 5 - caught, 0), lot=True), made)
        assert (found.seat, dict(found.mountain), dict(found.pool)) == (0, {0: 10 * caught}, {0: -10})


@pytest.mark.parametrize(
    ("disputed", "whists"),
    [
        ((5, 4, 1, 0), ((2, 1, 12),)),  # consolation of 2, and 5 + 5 of the mountain of 2 in place of the pool of 2
        ((6, 2, 2, 0), ()),
        ((7, 2, 1, 0), ()),  # what the whister is short of is his own
    ],
)
def test_3_8_5_1_of_four_a_trick_game_that_would_have_failed(disputed, whists):
    """A six was made and would have failed by one: the disputer has his consolation and his quarter of pool and mountain (Decision 26)."""
    setup = table(players=4, dealer=3).setup
    made = DealOutcome(dealer=3, contract="6S", declarer=0, calls=(None, "whist", "pass", None), tricks=(6, 3, 1, 0))
    found = written_by_their_plans(setup, Dispute(2, disputed, lot=False), made)
    assert tuple(one for fine in found for one in fine.whists) == whists


@pytest.mark.parametrize(
    ("convention", "written"),
    [("sochi", [(1, "whists", 2, "46/3", "3.8.5.1")]), (FIRST_VERSION, [(2, "whists", 0, -2, "3.8.5.1")])],
)
def test_3_8_5_1_the_whister_is_scored_by_what_he_plays(convention, written):
    """The disputed plan would have let the contract be made; the whister's sets it, and writes on the disputer what that one gained by it;
    in version 1 the disputer's consolation was taken back.
    """
    deal = table(convention, hands=LOOSE, talon="7C AC")
    sat = Seated("6S pass pass 7C/AC 6S whist pass open", deal=deal, entropy="b").does(2, CallAttention("3.8.5.1"))
    assert sat.last[1].tricks == (6, 3, 1)
    sat.plays_on().confirmed()
    assert sat.court.score.outcome["tricks"] == [5, 3, 2]
    assert (1, "whists", 0, 10, "3.8.13") in sat.entries()
    assert (2, "whists", 0, 2, "3.8.1.2") in sat.entries()
    assert [one for one in sat.entries() if one[4] == "3.8.5.1"] == written


def test_3_8_5_1_not_by_the_declarer_nor_later():
    """Only the defence has plans, and only before it plays."""
    Seated(OPEN).refused(0, CallAttention("3.8.5.1"), "call_not_allowed", "3.8.5.1")
    Seated(OPEN).refused(1, CallAttention("3.8.5.1"), "call_not_allowed", "3.8.5.1")  # whose plan it is
    Seated(OPEN).refused(ARBITER, CallAttention("3.8.5.1"), "call_not_allowed", "3.8.5.1")  # whose plan is disputed by nobody
    Seated(f"{OPEN} concede").refused(2, CallAttention("3.8.5.1"), "call_not_allowed", "3.8.5.1")
    Seated(f"{OPEN} AS 7S").refused(2, CallAttention("3.8.5.1"), "wrong_phase", "3.8.5.1")
