"""The sheet between and after deals: help that changes nothing, games that nobody whisted, totals (4.2.2-4.2.6)."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest

from tests.rules.scoring.scored import net, one, rules_cited, score, written

FREE = {"declarer": 0, "contract": "6S", "calls": [None, "pass", "pass"]}
NINE = {"dealer": 3, "declarer": 0, "contract": "9S", "calls": [None, "pass", "pass", None]}


def test_4_2_1_the_three_columns() -> None:
    """A deal writes pool, mountain and whists, and a misere's caught trick is ten in the mountain (4.2.1)."""
    answer = score("sochi", 3, {"declarer": 0, "contract": "misere", "tricks": [2, 4, 4]})
    assert set(answer["sheet"]) == {"pool", "mountain", "whists"}
    assert answer["sheet"]["mountain"] == [20, 0, 0]


def test_4_2_2_played_to_an_agreed_pool() -> None:
    """A pool takes points up to the agreed target and no further (4.2.2)."""
    answer = score("sochi", 3, FREE, target=3, start={"pool": [2, 0, 0]})
    assert answer["sheet"]["pool"] == [3, 1, 0]
    assert not answer["closed"]


def test_4_2_3_2_a_game_that_nobody_whisted_is_written_like_any() -> None:
    """An unwhisted game goes into the pool and, beyond the target, to others; nothing comes off the mountain by choice (4.2.3.2, FN76)."""
    assert one("sochi", 3, FREE, start={"mountain": [40, 0, 0]}) == written([2, 0, 0], [0, 0, 0])
    full = score("sochi", 3, FREE, target=2, start={"pool": [2, 0, 0], "mountain": [40, 0, 0]})["sheet"]
    assert (full["pool"], full["mountain"], full["whists"]) == ([2, 2, 0], [40, 0, 0], [[0, 1, 20]])


def test_fn76_off_the_mountain_only_when_all_pools_are_full() -> None:
    """Points come off the owner's mountain when no pool is open, and then under 4.1.1 (FN76)."""
    last = {"pool": [1, 2, 2], "mountain": [40, 0, 0]}
    answer = score("sochi", 3, FREE, target=2, start=last)
    assert answer["sheet"]["mountain"] == [39, 0, 0]
    assert rules_cited("sochi", 3, FREE, target=2, start=last) == {"3.5.3", "4.1.1"}


def test_4_2_3_help_is_cited() -> None:
    """Both entries of help, the point and the whists, stand under 4.2.3."""
    entries = score("sochi", 3, FREE, target=2, start={"pool": [1, 0, 0]})["deals"][0]["entries"]
    assert [(entry["seat"], entry["column"], entry["amount"], entry["rule"]) for entry in entries] == [
        (0, "pool", 1, "3.5.3"),
        (1, "pool", 1, "4.2.3"),
        (0, "whists", 10, "4.2.3"),
    ]


def test_4_2_6_totals_run_on() -> None:
    """After every deal the sheet is the one before it and what the deal wrote (4.2.6)."""
    failed = {"declarer": 1, "contract": "6S", "calls": ["whist", None, "pass"], "tricks": [5, 4, 1]}
    deals = [FREE, failed, {"contract": "all_pass", "tricks": [1, 4, 5]}, FREE]
    answers = [score("sochi", 3, *deals[:count]) for count in range(len(deals) + 1)]
    for before, after in pairwise(answers):
        for column in ("pool", "mountain"):
            wrote = after["deals"][-1][column]
            assert after["sheet"][column] == [old + new for old, new in zip(before["sheet"][column], wrote, strict=True)]


@pytest.mark.parametrize("players", [3, 4])
def test_fn74_whom_one_helps_changes_nobodys_result(players: int) -> None:
    """Whichever way help goes, the settlement is the same for everybody (FN74)."""
    deal = NINE if players == 4 else {"declarer": 0, "contract": "9S", "calls": [None, "pass", "pass"]}
    pools = [18, 10, 16, 12][:players]
    settled = {
        choice: net(score({"preset": "sochi", "help": choice}, players, deal, target=20, start={"pool": pools}))
        for choice in ("largest", "lowest", "clockwise")
    }
    assert settled["largest"] == settled["lowest"] == settled["clockwise"]
    assert sum(settled["largest"], Fraction(0)) == 0


def test_fn75_help_to_who_has_just_failed() -> None:
    """A whister who failed in this very deal is helped like anybody (FN75)."""
    failed: dict[str, Any] = {"declarer": 0, "contract": "9S", "calls": [None, "whist", "pass"], "tricks": [10, 0, 0]}
    sheet = score("sochi", 3, failed, target=20, start={"pool": [20, 12, 5]})["sheet"]
    assert (sheet["pool"], sheet["mountain"][1]) == ([20, 20, 5], 8)


def test_4_2_3_a_ruling_takes_points_out_of_a_full_pool() -> None:
    """Points that a ruling strikes from a full pool make room in it: what is won beside is the owner's, and nobody is helped (4.2.3)."""
    ruled = [{"rule": "3.9.19", "seat": 0, "pool": [points, 0, 0], "reason": "ruled"} for points in (-3, 3)]
    deal = {"declarer": 1, "contract": "6S", "calls": ["pass", None, "pass"], "infractions": ruled}
    sheet = score("sochi", 3, deal, target=20, start={"pool": [20, 4, 4]})["sheet"]
    assert (sheet["pool"], sheet["whists"]) == ([20, 6, 4], [])
