"""The named conventions, as data: Sochi in full, the others as what differs from an earlier one (deploy/docs/rules.md: Presets)."""

from __future__ import annotations

from typing import Any

#: Sochi (сочинка): responsible, greedy, all-pass 1-2-3. Every option stands here once.
SOCHI: dict[str, Any] = {
    "remise_factor": 1,
    "whist_factor": 1,
    "whister_remise": "full",
    "declarer_remise": "mountain",
    "consolation": "price",
    "single_whister": "greedy",
    "pair_6_7": "below_half",
    "pair_8_9": "second",
    "pair_10": "second",
    "ten": "whisted",
    "half_whist": [6, 7],
    "pass_return": [6, 7],
    "first_hand_half": False,
    "dealer_whist": "responsible",
    "stalingrad": False,
    "without_three": [],
    "shared_misere": False,
    "misere_no_talon": False,
    "dark": False,
    "here": "senior",
    "step_by_step": False,
    "silent_take": False,
    "talon_bonus": "off",
    "refused_talon": 0,
    "all_pass": {
        "scoring": "mountain",
        "prices": [1, 2, 3],
        "amnesty": True,
        "zero_bonus": "price",
        "zero_bonus_dealer": False,
        "talon": "leads",
        "exit_levels": [6],
        "series_ends": "any_game",
        "dealer": "passes",
    },
    "help": "largest",
    "help_surplus": "below_zero",
    "ends_when": "all_closed",
    "settlement_divisor": "n",
    "pool_weight": 1,
}

#: What the others change: (the preset they start from, the differences; `all_pass` merges too).
DIFFERENCES: dict[str, tuple[str, dict[str, Any]]] = {
    # Everything but the pool is written double, half-responsible, gentleman; no help, the sum of the pools ends it (4.2.3.3).
    "leningrad": (
        "sochi",
        {
            "remise_factor": 2,
            "whist_factor": 2,
            "whister_remise": "half",
            "single_whister": "gentleman_remise",
            "first_hand_half": True,
            "all_pass": {"prices": [2, 4, 6]},
            "help": "none",
            "ends_when": "pool_sum",
            "pool_weight": 2,
        },
    ),
    # All-pass in whists without the talon (3.7.2.2, 3.7.6.2), consolation 10 at any level (FN36).
    "rostov": (
        "sochi",
        {
            "whister_remise": "half",
            "consolation": {"fixed": 10},
            "single_whister": "gentleman_remise",
            "all_pass": {
                "scoring": "whists",
                "prices": [5],
                "amnesty": False,
                "zero_bonus": {"fixed": 1},
                "zero_bonus_dealer": True,
                "talon": "aside",
            },
        },
    ),
    # The Code's own tournament profile (0.3): no progression, "here" for the first hand alone (3.3.8).
    "code": ("sochi", {"here": "first_hand", "all_pass": {"prices": [1]}}),
    # Dark calls and bombs (3.3.19), the same dealer repeats (3.7.7), forced opening rounds (3.7.9).
    "classic": (
        "sochi",
        {
            "whister_remise": "half_until_closed",
            "dark": {"limit": 3, "opening_rounds": 1},
            "all_pass": {"prices": [1], "exit_levels": [7, 8, 9, 10], "dealer": "repeats"},
        },
    ),
    # The sports code of the Russian federation (deploy/docs/rules.md: Presets). It plays to a time limit, which the organiser sets.
    "federation": (
        "leningrad",
        {
            "pair_6_7": "own_half",
            "pair_8_9": "both",
            "pair_10": "both",
            "single_whister": "gentleman_always",
            "dealer_whist": "free",
            "talon_bonus": "on",
            "all_pass": {
                "amnesty": False,
                "zero_bonus": "off_mountain_2",
                "zero_bonus_dealer": False,
                "exit_levels": [6, 7, 7],
                "series_ends": "whisted_made_game",
            },
            "ends_when": "time:120",  # two hours: our default for an event that names no length [conv]
        },
    ),
}


def merged(base: dict[str, Any], differences: dict[str, Any]) -> dict[str, Any]:
    """`base` with `differences` laid over it; of the nested records only `all_pass` merges, every other value is replaced whole."""
    result = base | differences
    inner = differences.get("all_pass")
    if isinstance(inner, dict):
        result["all_pass"] = base.get("all_pass", {}) | inner
    return result


def named(name: str) -> dict[str, Any]:
    """All options of the preset `name`, fresh. Raises `KeyError` for an unknown name."""
    if name == "sochi":
        return merged(SOCHI, {})
    base, differences = DIFFERENCES[name]
    return merged(named(base), differences)


NAMES: tuple[str, ...] = ("sochi", "leningrad", "rostov", "classic", "code", "federation")
