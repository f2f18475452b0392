"""Every value of every option, played at a table: what it brings there, and that no two values of an option bring the same."""

from __future__ import annotations

import json
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from shared.rules.convention.options import AllPass, Convention, Dark, Fixed
from shared.rules.convention.sources import OPTION_SOURCES
from shared.rules.scoring.help import CHOICES
from tests.rules.convention.option_scenes import SCENES, convention

#: By option and value, as JSON: what the scene shows.
SHOWN: dict[str, dict[str, Any]] = {
    "remise_factor": {
        "1": ("A m2",),
        "2": ("A m4",),
    },
    "whist_factor": {
        "1": ("BA w8",),
        "2": ("BA w16",),
    },
    "whister_remise": {
        '"full"': ("B m4", "B m4"),
        '"half"': ("B m2", "B m2"),
        '"none"': ("", ""),
        '"half_until_closed"': ("B m2", "B m4"),
    },
    "declarer_remise": {
        '"mountain"': ("A m2",),
        '"direct"': ("",),
    },
    "consolation": {
        '"price"': ("BA w10 BA w2 CA w2",),
        '"none"': ("BA w10",),
        '{"fixed": 10}': ("BA w10 BA w10 CA w10",),
    },
    "single_whister": {
        '"greedy"': ("BA w8", "BA w10 BA w2 CA w2"),
        '"gentleman_remise"': ("BA w8", "BA w2 BA w5 CA w2 CA w5"),
        '"gentleman_always"': ("BA w4 CA w4", "BA w2 BA w5 CA w2 CA w5"),
        '"own"': ("BA w2", "BA w2 BA w4 CA w2"),
    },
    "pair_6_7": {
        '"below_half"': ("C m4", "A m2"),
        '"own_half"': ("C m4", "A m2 C m2"),
        '"capped"': ("C m2", "A m2"),
    },
    "pair_8_9": {
        '"second"': ("C m6", "", ""),
        '"both"': ("B m6 C m6", "", ""),
        '"second_own"': ("C m6", "C m6", ""),
        '"each_own"': ("B m6 C m6", "C m6", "B m6"),
    },
    "pair_10": {
        '"second"': ("C m10", "A m10", "A m10"),
        '"both"': ("B m10 C m10", "A m10", "A m10"),
        '"second_own"': ("C m10", "A m10 C m10", "A m10"),
        '"each_own"': ("B m10 C m10", "A m10 C m10", "A m10 B m10"),
    },
    "ten": {
        '"whisted"': "whist 1",
        '"checked"': "play 0",
    },
    "half_whist": {
        "[]": (False, False, False),
        "[6]": (True, False, False),
        "[6, 7]": (True, True, False),
    },
    "pass_return": {
        "[]": ("scored None", "scored None"),
        "[6]": ("whist 1", "scored None"),
        "[6, 7]": ("whist 1", "whist 1"),
    },
    "first_hand_half": {
        "false": ("open closed",),
        "true": ("half open closed",),
    },
    "dealer_whist": {
        '"off"': "A p2",
        '"responsible"': "A p2 D m4 DA w4",
        '"free"': "A p2 DA w4",
    },
    "stalingrad": {
        "false": ("whist pass",),
        "true": ("whist",),
    },
    "without_three": {
        "[]": (False, False),
        "[6]": (True, False),
        "[6, 7]": (True, True),
    },
    "shared_misere": {
        "false": False,
        "true": True,
    },
    "misere_no_talon": {
        "false": "pass 10S 10C 10D 10H 10NT",
        "true": "pass 10S 10C 10D 10H 10NT bare:misere bare:9S bare:9C bare:9D bare:9H bare:9NT",
    },
    "dark": {
        "false": (0, 0, 0),
        '{"limit": 3, "opening_rounds": 1}': (27, 8, 1),
        '{"limit": 1, "opening_rounds": 0}': (27, 2, 0),
    },
    "here": {
        '"senior"': (False, True, True),
        '"first_hand"': (True, False, True),
        '"off"': (False, False, False),
    },
    "step_by_step": {
        "false": ["pass", "6C", "6D"],
        "true": ["pass", "6C", "misere"],
    },
    "silent_take": {
        "false": False,
        "true": True,
    },
    "talon_bonus": {
        '"off"': "",
        '"on"': "BA w3 CA w3",
    },
    "refused_talon": {
        "0": "",
        "3": "D m3",
    },
    "all_pass.scoring": {
        '"mountain"': ("B m1 C m3",),
        '"whists"': ("AB w3 AC w5",),
    },
    "all_pass.prices": {
        "[1]": ("B m1 C m3", "B m1 C m3", "B m1 C m3"),
        "[1, 2, 3]": ("B m1 C m3", "B m2 C m6", "B m3 C m9"),
        "[5, 10]": ("B m5 C m15", "B m10 C m30", "B m10 C m30"),
    },
    "all_pass.amnesty": {
        "true": ("B m1 C m3",),
        "false": ("A m2 B m3 C m5",),
    },
    "all_pass.zero_bonus": {
        '"price"': ("A p2 B m8 C m12",),
        '"none"': ("B m8 C m12",),
        '"off_mountain_2"': ("A m-4 B m8 C m12",),
        '{"fixed": 1}': ("A p1 B m8 C m12",),
    },
    "all_pass.zero_bonus_dealer": {
        "false": ("A p1 B m4 C m6",),
        "true": ("A p1 B m4 C m6 D p1",),
    },
    "all_pass.talon": {
        '"leads"': ("B m4 C m5 D m1",),
        '"aside"': ("B m5 C m2",),
    },
    "all_pass.exit_levels": {
        "[6]": ("6S", "6S", "6S"),
        "[6, 7]": ("6S", "7S", "7S"),
        "[6, 7, 8]": ("6S", "7S", "8S"),
    },
    "all_pass.series_ends": {
        '"any_game"': (0, 0, 0, 0),
        '"made_game"': (2, 0, 0, 0),
        '"whisted_made_game"': (2, 2, 0, 2),
    },
    "all_pass.dealer": {
        '"passes"': 1,
        '"repeats"': 0,
    },
    "help": {
        '"largest"': "AC w40 C p4",
        '"clockwise"': "AB w40 B p4",
        '"lowest"': "AD w40 D p4",
        '"none"': "A p4",
    },
    "help_surplus": {
        '"below_zero"': "A m-4",
        '"clamp_at_zero"': "A m-1",
    },
    "ends_when": {
        '"all_closed"': "over after 29, pools (6, 22, 14)",
        '"pool_sum"': "over after 9, pools (0, 8, 6)",
        '"deals:7"': "over after 7, pools (0, 8, 0)",
        '"time:30"': "over after 8, pools (0, 8, 0)",
    },
    "settlement_divisor": {
        '"n"': ["30", "30", "-60"],
        '"n-1"': ["45", "45", "-90"],
    },
    "pool_weight": {
        "1": ["30", "30", "-60"],
        "2": ["90", "30", "-120"],
    },
}


NEEDS = {"ends_when": {"help": "none"}, "pool_weight": {"help": "none"}}  # what contradicts the option otherwise


@pytest.mark.parametrize(("option", "value"), [(option, value) for option, values in SHOWN.items() for value in values])
def test_what_a_value_brings(option: str, value: str) -> None:
    """Each value of each option shows at a table as it is meant (deploy/docs/convention.md)."""
    rules = convention(option, json.loads(value), **NEEDS.get(option, {}))
    assert SCENES[option](rules) == SHOWN[option][value]


@pytest.mark.parametrize("option", SHOWN)
def test_no_two_values_bring_the_same(option: str) -> None:
    """An option whose values could not be told apart would decide nothing."""
    shown = [repr(one) for one in SHOWN[option].values()]
    assert len(set(shown)) == len(shown) >= 2


def values_of(option: str) -> set[str]:
    """The fixed values that the record takes for an option, as JSON; empty where it takes lists, numbers or texts of a pattern."""
    owner, name = (AllPass, option.removeprefix("all_pass.")) if option.startswith("all_pass.") else (Convention, option)
    hint = get_type_hints(owner)[name]
    kinds = (hint, *get_args(hint))
    fixed = [word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]
    fixed += [False, True] if hint is bool else []
    fixed += [{"fixed": 1}] if name == "zero_bonus" and Fixed in kinds else [{"fixed": 10}] if Fixed in kinds else []
    return {json.dumps(word) for word in fixed}


@pytest.mark.parametrize("option", OPTION_SOURCES)
def test_every_value_has_its_scene(option: str) -> None:
    """No option of the record, and no value that it names, is without a scene."""
    assert values_of(option) <= SHOWN[option].keys()
    if option == "help":
        assert SHOWN[option].keys() == {json.dumps(choice) for choice in (*CHOICES, "none")}
    if option == "dark":
        assert isinstance(convention(option, json.loads(list(SHOWN[option])[1])).dark, Dark)
    if option == "ends_when":
        assert [json.loads(value).partition(":")[0] for value in SHOWN[option]] == ["all_closed", "pool_sum", "deals", "time"]
