"""Glicko-2 by the paper's own example, and what holds for every result."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from services.ledger.players.glicko import (
    LARGEST_DEVIATION,
    Game,
    Strength,
    after_absence,
    after_period,
    expected_score,
    interval,
)

strengths = some.builds(Strength, some.floats(400, 3000), some.floats(20, 350), some.floats(0.03, 0.1))
games = some.lists(some.builds(Game, strengths, some.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=4)


def test_the_example_of_the_paper():
    """Glickman's worked example: 1500/200/0.06 wins against 1400/30, loses against 1550/100 and 1700/300."""
    told = after_period(
        Strength(1500, 200, 0.06), [Game(Strength(1400, 30), 1), Game(Strength(1550, 100), 0), Game(Strength(1700, 300), 0)]
    )
    assert told.after.rating == pytest.approx(1464.06, abs=0.011)  # the paper rounds on the way; unrounded it is 1464.0507
    assert told.after.deviation == pytest.approx(151.52, abs=0.005)
    assert told.after.volatility == pytest.approx(0.05999, abs=0.000006)
    assert told.expected == pytest.approx((0.639, 0.432, 0.303), abs=0.0005)


@given(strengths, games)
def test_a_period_is_within_bounds_and_explained(own, played):
    """A deviation never passes 350, and shrinks unless there is room for doubt; the points of the games sum to the change."""
    told = after_period(own, played)
    assert 0 < told.after.deviation <= LARGEST_DEVIATION
    assert 0 < told.after.volatility < 1
    assert sum(told.contributions) == pytest.approx(told.after.rating - own.rating, abs=0.0002)
    for game, chance, points in zip(played, told.expected, told.contributions, strict=True):
        assert 0 < chance < 1
        assert (points > 0) == (game.score > chance)


@given(strengths, strengths)
def test_two_of_equal_doubt_expect_what_the_other_fears(one, other):
    """With equal deviations the expected scores of both sum to one, and a draw of equals changes nobody's rating."""
    other = Strength(other.rating, one.deviation, other.volatility)
    assert expected_score(one, other) + expected_score(other, one) == pytest.approx(1)
    equal = Strength(one.rating, one.deviation, one.volatility)
    assert after_period(one, [Game(equal, 0.5)]).after.rating == pytest.approx(one.rating, abs=0.0001)


@given(strengths, strengths)
def test_what_one_wins_the_other_loses_when_they_are_alike(one, other):
    """Between two of the same deviation and volatility a result moves both by the same number of points."""
    twin = Strength(other.rating, one.deviation, one.volatility)
    won, lost = after_period(one, [Game(twin, 1)]), after_period(twin, [Game(one, 0)])
    assert won.after.rating - one.rating == pytest.approx(twin.rating - lost.after.rating, abs=0.01)


@given(strengths, some.integers(0, 500), some.integers(0, 500))
def test_absence_makes_less_sure(own, first, more):
    """The deviation grows with every missed period up to 350, the rating stays; absence in two parts is absence in one."""
    away = after_absence(own, first)
    assert away.rating == pytest.approx(own.rating, abs=0.0001)
    assert own.deviation - 0.0001 <= away.deviation <= LARGEST_DEVIATION
    assert after_absence(away, more).deviation == pytest.approx(after_absence(own, first + more).deviation, abs=0.001)


def test_the_interval_is_two_deviations():
    """The true rating lies within 1.96 deviations 95 times out of 100."""
    assert interval(Strength(1500, 50, 0.06)) == (1402.0, 1598.0)
