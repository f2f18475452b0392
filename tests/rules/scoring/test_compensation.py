"""The compensation of 4.2.12: whole whists without rounding, the loss of a fraction shared by who compensates."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.rules.convention.options import PRESETS, resolve
from shared.rules.scoring.compensation import compensation
from shared.rules.scoring.settlement import settle
from shared.rules.scoring.sheet import Sheet, write

NOTHING = ((0, 0, 0),) * 3


def test_4_2_12_a_point_off_and_three_whists_each() -> None:
    """E17: three players, one mountain reduced by a point; the two others write 3 whists each on him and lose a third of one each."""
    sheet = Sheet((0, 0, 0), (7, 0, 0), NOTHING)
    found = compensation(PRESETS["sochi"], None, sheet)
    assert found is not None
    assert [(entry.seat, entry.column, entry.on, entry.amount, entry.rule) for entry in found.entries] == [
        (0, "mountain", None, -1, "4.2.12"),
        (1, "whists", 0, 3, "4.2.12"),
        (2, "whists", 0, 3, "4.2.12"),
    ]
    exact = settle(PRESETS["sochi"], None, sheet).net
    assert [whole - fair for whole, fair in zip(found.net, exact, strict=True)] == [Fraction(2, 3), Fraction(-1, 3), Fraction(-1, 3)]


def test_4_2_12_four_players_write_two() -> None:
    """With four players a point is two and a half whists, compensated by two [conv]."""
    sheet = Sheet((0,) * 4, (0, 9, 0, 0), ((0,) * 4,) * 4)
    found = compensation(PRESETS["sochi"], None, sheet)
    assert found is not None
    assert [(entry.seat, entry.on, entry.amount) for entry in found.entries] == [(1, None, -1), (0, 1, 2), (2, 1, 2), (3, 1, 2)]
    assert found.net == (22, -66, 22, 22)


def test_4_2_12_two_points_come_off_two_mountains() -> None:
    """Where one point does not do, the next highest mountain gives one too [conv]."""
    found = compensation(PRESETS["sochi"], None, Sheet((0, 0, 0), (1, 4, 0), NOTHING))
    assert found is not None
    assert [entry.seat for entry in found.entries if entry.column == "mountain"] == [1, 0]


@pytest.mark.parametrize("mountain", [(3, 0, 0), (0, 0, 0), (1, 1, 1)])
def test_4_2_12_nothing_is_compensated_where_nothing_is_broken(mountain: tuple[int, ...]) -> None:
    """Mountains that divide need no point (4.2.12)."""
    found = compensation(PRESETS["sochi"], None, Sheet((0, 0, 0), mountain, NOTHING))
    assert found is not None
    assert found.entries == ()


def test_4_2_12_fractions_on_the_sheet_are_not_compensated() -> None:
    """Half a whist written in a deal stays one (4.2.12 speaks of the mountain's fractions)."""
    sheet = Sheet((0, 0, 0), (0, 0, 0), ((0, Fraction(1, 2), 0), (0, 0, 0), (0, 0, 0)))
    assert compensation(PRESETS["sochi"], None, sheet) is None


@given(st.integers(2, 5).flatmap(lambda n: st.tuples(*[st.integers(-30, 120)] * n)), st.sampled_from(["sochi", "leningrad"]))
def test_4_2_12_is_whole_sums_to_zero_and_is_near(mountain: tuple[int, ...], name: str) -> None:
    """Whole mountains always come out whole; nobody wins or loses more than two whists by it, and nothing is lost on the way (4.2.12)."""
    players = len(mountain)
    sheet = Sheet((0,) * players, mountain, ((0,) * players,) * players)
    convention = PRESETS[name]
    found = compensation(convention, None, sheet)
    assert found is not None
    assert all(isinstance(won, int) for won in found.net)
    assert sum(found.net) == 0
    assert found.net == settle(convention, None, write(sheet, found.entries)).net
    assert all(abs(whole - fair) <= 2 for whole, fair in zip(found.net, settle(convention, None, sheet).net, strict=True))


def test_4_2_12_divided_among_the_others_alone() -> None:
    """With `n-1` three players' points are five whists each: there is nothing to compensate (4.2.12)."""
    found = compensation(resolve({"preset": "sochi", "settlement_divisor": "n-1"}), None, Sheet((0, 0, 0), (7, 1, 0), NOTHING))
    assert found is not None
    assert found.entries == ()
