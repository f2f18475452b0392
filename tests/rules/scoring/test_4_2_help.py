"""Pool points beyond the target: help, surplus, and when the pulka is closed (4.2.2, 4.2.3, 4.1.1)."""

from __future__ import annotations

from typing import Any

import pytest

from shared.rules.language.refusal import Malformed
from tests.rules.scoring.scored import score

NINE = {"dealer": 3, "declarer": 0, "contract": "9S", "calls": [None, "pass", "pass", None]}


def sheet(convention: Any, pools: list[int], deal: dict[str, Any] = NINE, **rest: Any) -> dict[str, Any]:
    """The sheet after `deal` on these pools, played to 20."""
    start = {"pool": pools} | rest
    return dict(score(convention, len(pools), deal, target=20, start=start)["sheet"])


@pytest.mark.parametrize(
    ("choice", "before", "after", "whists"),
    [
        ("largest", [18, 10, 16, 20], [20, 12, 20, 20], [[0, 1, 20], [0, 2, 40]]),
        ("largest", [18, 12, 10, 12], [20, 18, 10, 12], [[0, 1, 60]]),
        ("largest", [18, 10, 12, 12], [20, 10, 18, 12], [[0, 2, 60]]),
        ("clockwise", [18, 15, 3, 19], [20, 20, 4, 19], [[0, 1, 50], [0, 2, 10]]),
        ("clockwise", [18, 20, 3, 19], [20, 20, 9, 19], [[0, 2, 60]]),
        ("lowest", [18, 15, 13, 19], [20, 15, 19, 19], [[0, 2, 60]]),
        ("lowest", [18, 17, 19, 17], [20, 20, 19, 20], [[0, 1, 30], [0, 3, 30]]),
    ],
)
def test_4_2_3_whom_to_help(choice: str, before: list[int], after: list[int], whists: list[list[int]]) -> None:
    """Two points close the helper, six go on by the agreed order, the nearest clockwise of equals first (4.2.2; Decision 13)."""
    found = sheet({"preset": "sochi", "help": choice}, before)
    assert (found["pool"], found["whists"], found["mountain"]) == (after, whists, [0] * 4)


@pytest.mark.parametrize(
    ("option", "mountain", "left"), [("below_zero", 4, 0), ("below_zero", 1, -3), ("clamp_at_zero", 9, 5), ("clamp_at_zero", 1, 0)]
)
def test_4_1_1_surplus(option: str, mountain: int, left: int) -> None:
    """What no pool can take comes off the owner's mountain, below zero too, or is lost where the table clamps it (4.1.1)."""
    found = sheet({"preset": "sochi", "help_surplus": option}, [18, 20, 19, 19], mountain=[mountain, 0, 0, 0])
    assert (found["pool"], found["mountain"], found["whists"]) == ([20] * 4, [left, 0, 0, 0], [[0, 2, 10], [0, 3, 10]])


def test_4_1_1_hussar_with_an_undivided_mountain() -> None:
    """Two players who do not divide the mountain write surplus off it at half (4.1.1)."""
    deal = {"declarer": 0, "contract": "9S", "calls": [None, "pass"]}
    assert sheet({"preset": "sochi", "settlement_divisor": "n-1"}, [19, 20], deal)["mountain"] == ["-7/2", 0]
    assert sheet("sochi", [19, 20], deal)["mountain"] == [-7, 0]


def test_4_2_3_points_of_one_deal_go_in_seat_order() -> None:
    """Two players without a trick: the lower seat writes and helps first, which fills the other's pool (4.2.3)."""
    deal = {"contract": "all_pass", "tricks": [0, 0, 10]}
    found = sheet("sochi", [19, 19, 10], deal, all_pass_in_row=2)
    assert found == {"pool": [20, 20, 14], "mountain": [0, 0, 30], "whists": [[0, 1, 10], [0, 2, 10], [1, 2, 30]]}


def test_4_2_3_1_help_to_a_resting_dealer_and_to_a_failed_whister() -> None:
    """Whoever has the largest open pool is helped, though he rested or went down on whist in this deal (4.2.3.1)."""
    assert sheet("sochi", [20, 10, 10, 12])["whists"] == [[0, 3, 80]]
    failed = {"dealer": 3, "declarer": 0, "contract": "6S", "calls": [None, "whist", "pass", None], "tricks": [10, 0, 0, 0]}
    assert sheet("sochi", [20, 12, 10, 10], failed)["whists"] == [[0, 1, 20]]


def test_4_2_3_3_without_help_pools_run_over() -> None:
    """In Leningrad, and where nobody plays to a target, every point goes into the owner's pool (4.2.3.3)."""
    assert sheet("leningrad", [18, 10, 10, 10])["pool"] == [26, 10, 10, 10]
    assert score("sochi", 4, NINE, start={"pool": [18, 10, 10, 10]})["sheet"]["pool"] == [26, 10, 10, 10]


@pytest.mark.parametrize(
    ("convention", "pools", "closed"),
    [
        ("sochi", [20, 20, 20], True),
        ("sochi", [20, 20, 19], False),
        ("leningrad", [60, 0, 0], True),
        ("leningrad", [59, 0, 0], False),
        ({"preset": "leningrad", "ends_when": "deals:1"}, [90, 90, 90], False),
        ("federation", [90, 90, 90], False),
    ],
)
def test_4_2_3_when_a_pulka_is_closed(convention: Any, pools: list[int], *, closed: bool) -> None:
    """All pools full, their sum full, the agreed number of deals; a time is the table's to watch (4.2.2, 4.2.3.3)."""
    assert score(convention, 3, target=20, start={"pool": pools})["closed"] is closed


def test_4_2_15_a_deal_after_the_end_is_refused() -> None:
    """A closed pulka takes no further deal, wherever it was closed (4.2.15)."""
    free = {"declarer": 0, "contract": "6S", "calls": [None, "pass", "pass"]}
    other = {"declarer": 1, "contract": "6S", "calls": ["pass", None, "pass"]}
    for convention, rest in (
        ("sochi", {"target": 2, "start": {"pool": [0, 2, 2]}}),
        ({"preset": "leningrad", "ends_when": "deals:1"}, {}),
    ):
        with pytest.raises(Malformed) as refusal:
            score(convention, 3, free, other, **rest)
        assert (refusal.value.code, refusal.value.path) == ("pulka_over", "deals[1]")
