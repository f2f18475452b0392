"""The settlement of 4.2.14: exact, in both ways, for all conventions; and rounded for show."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.rules.convention.options import PRESETS, Convention, resolve
from shared.rules.scoring.settlement import divisor, net_by_average, net_by_whists, rounded, settle, settled_mountain
from shared.rules.scoring.sheet import Sheet

AMOUNTS = st.one_of(st.integers(-60, 200), st.fractions(-60, 200, max_denominator=6))
CONVENTIONS = st.builds(
    lambda name, share: resolve({"preset": name, "settlement_divisor": share}),
    st.sampled_from(sorted(PRESETS)),
    st.sampled_from(["n", "n-1"]),
)


@st.composite
def sheets(draw: st.DrawFn) -> Sheet:
    """Any sheet of two to five players."""
    players = draw(st.integers(2, 5))
    column = st.tuples(*[AMOUNTS] * players)
    whists = tuple(tuple(0 if i == j else draw(AMOUNTS) for j in range(players)) for i in range(players))
    return Sheet(draw(column), draw(column), whists)


@pytest.mark.slow
@given(CONVENTIONS, st.none() | st.integers(1, 100), sheets())
def test_4_2_14_both_ways_agree_and_sum_to_zero(convention: Convention, target: int | None, sheet: Sheet) -> None:
    """Whists for what is above the lowest mountain and comparison with the average give the same, and sum to zero (4.2.14)."""
    mountain, share = settled_mountain(convention, target, sheet), divisor(convention, sheet.players)
    by_average = net_by_average(mountain, sheet, share)
    assert by_average == net_by_whists(mountain, sheet, share)
    assert sum(by_average) == 0
    assert sum(settle(convention, target, sheet).rounded) == 0


@pytest.mark.slow
@given(sheets(), st.integers(1, 50), st.data())
def test_4_2_1_i_writes_on_j_means_i_gains(sheet: Sheet, whists: int, data: st.DataObject) -> None:
    """More whists of i on j win i exactly as many and lose j as many; a mountain point costs its owner; a pool point wins (4.2.1)."""
    i, j = data.draw(st.permutations(range(sheet.players)))[:2]
    convention = PRESETS["sochi"]
    before = settle(convention, 20, sheet).net
    rows = tuple(tuple(n + whists * ((a, b) == (i, j)) for b, n in enumerate(row)) for a, row in enumerate(sheet.whists))
    after = settle(convention, 20, Sheet(sheet.pool, sheet.mountain, rows)).net
    assert [now - then for now, then in zip(after, before, strict=True)] == [
        whists if seat == i else -whists if seat == j else 0 for seat in range(sheet.players)
    ]
    n = sheet.players
    higher = tuple(points + (seat == i) for seat, points in enumerate(sheet.mountain))
    assert settle(convention, 20, Sheet(sheet.pool, higher, sheet.whists)).net[i] - before[i] == Fraction(-10 * (n - 1), n)
    fuller = tuple(points + (seat == i) for seat, points in enumerate(sheet.pool))
    assert settle(convention, 20, Sheet(fuller, sheet.mountain, sheet.whists)).net[i] - before[i] == Fraction(10 * (n - 1), n)


@pytest.mark.slow
@given(sheets())
def test_decision_16_rounding_stays_near(sheet: Sheet) -> None:
    """Rounded results sum to zero and none is a whole whist off (Decision 16)."""
    net = settle(PRESETS["rostov"], None, sheet).net
    shown = rounded(net)
    assert sum(shown) == 0
    assert all(-1 <= whole - exact <= 1 for whole, exact in zip(shown, net, strict=True))
    assert shown == net or any(isinstance(exact, Fraction) for exact in net)


@pytest.mark.parametrize(
    ("net", "shown"),
    [
        ((Fraction(112, 3), Fraction(118, 3), Fraction(-230, 3)), (38, 39, -77)),
        ((Fraction(1, 2), Fraction(1, 2), -1), (0, 1, -1)),
        ((Fraction(-1, 2), Fraction(-1, 2), 1), (0, -1, 1)),
        ((Fraction(5, 2), Fraction(-5, 2), 0), (3, -3, 0)),
        ((Fraction(1, 3), Fraction(1, 3), Fraction(-2, 3)), (1, 0, -1)),
    ],
)
def test_decision_16_rounding(net: tuple[Fraction, ...], shown: tuple[int, ...]) -> None:
    """Halves go away from zero; what is left over goes to the worst rounded, the lowest seat of equals (Decision 16)."""
    assert rounded(net) == shown


THIRDS = (Fraction(1, 3), Fraction(1, 3), Fraction(-2, 3))


@pytest.mark.parametrize(("first", "shown"), [(0, (1, 0, -1)), (1, (0, 1, -1)), (2, (0, 0, 0))])
def test_decision_16_of_equals_the_first_clockwise(first: int, shown: tuple[int, ...]) -> None:
    """F10: among equally rounded seats the one is corrected that comes first clockwise from a seat (Decision 16)."""
    assert rounded(THIRDS, first) == shown


def test_decision_16_no_seat_gains_by_its_number() -> None:
    """F10: over a round of dealers each seat gains and loses by rounding equally; the last deal's dealer comes last (Decision 16)."""
    sheet = Sheet((0,) * 3, (0,) * 3, ((0, Fraction(1, 3), 0), (0, 0, Fraction(1, 3)), (Fraction(1, 3), 0, 0)))
    assert settle(PRESETS["sochi"], None, sheet).net == (0, 0, 0)
    high = Sheet((0,) * 4, (0, 0, 0, 1), ((0,) * 4,) * 4)  # each of three wins 2.5 and is shown 3, the fourth loses 7.5 and is shown -8
    exact = settle(PRESETS["sochi"], None, high).net
    shown = [settle(PRESETS["sochi"], None, high, dealer).rounded for dealer in range(4)]
    assert shown == [(3, 2, 3, -8), (3, 3, 2, -8), (2, 3, 3, -8), (2, 3, 3, -8)]
    assert exact == (Fraction(5, 2), Fraction(5, 2), Fraction(5, 2), Fraction(-15, 2))
    assert settle(PRESETS["sochi"], None, high).rounded == (2, 3, 3, -8)  # where nobody has dealt, the lowest seat


def test_decision_28_in_version_1_the_lowest_seat_is_corrected() -> None:
    """Whoever dealt, a pulka of version 1 is rounded as it always was (Decision 28)."""
    high = Sheet((0,) * 4, (0, 0, 0, 1), ((0,) * 4,) * 4)
    first = resolve({"preset": "sochi", "version": 1})
    assert {settle(first, None, high, dealer).rounded for dealer in (None, 0, 1, 2, 3)} == {(2, 3, 3, -8)}


def test_4_2_14_without_a_target_the_largest_pool_counts() -> None:
    """Only the differences of the pools matter when there is no target (4.2.14)."""
    sheet = Sheet((3, 0, 1), (0, 0, 0), ((0,) * 3,) * 3)
    assert settle(PRESETS["leningrad"], None, sheet).mountain == (0, 6, 4)
    assert settle(PRESETS["leningrad"], 3, sheet).net == settle(PRESETS["leningrad"], 50, sheet).net


def test_4_2_14_the_owner_shares_his_own_mountain_point() -> None:
    """Three players: a mountain point costs 6.67, each of the others wins 3.33; divided among the others alone 10 and 5 (4.2.14)."""
    sheet = Sheet((0,) * 3, (1, 0, 0), ((0,) * 3,) * 3)
    assert settle(PRESETS["sochi"], None, sheet).net == (Fraction(-20, 3), Fraction(10, 3), Fraction(10, 3))
    assert settle(resolve({"preset": "sochi", "settlement_divisor": "n-1"}), None, sheet).net == (-10, 5, 5)
