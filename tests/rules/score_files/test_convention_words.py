"""Conventions and their options in the words of players: every value that an option can have is called something in Russian."""

from __future__ import annotations

import re
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from shared.rules.convention.options import PRESETS, AllPass, Convention, resolve
from shared.rules.convention.sources import OPTION_SOURCES, option_lines
from shared.rules.score_files.convention_words import (
    OPTIONS,
    convention_name,
    convention_played,
    option_name,
    option_value,
    pulka_title,
    source_cited,
)

LATIN = re.compile("[A-Za-z]")
OTHERS: dict[str, list[Any]] = {
    "half_whist": [[], [6, 7]],
    "dark": [False, {"limit": 1, "opening_rounds": 0}, {"limit": 3, "opening_rounds": 2}],
    "consolation": [{"fixed": 1}, {"fixed": 15}],
    "all_pass.zero_bonus": [{"fixed": 1}, {"fixed": 22}],
    "ends_when": ["all_closed", "pool_sum", "deals:1", "deals:20", "time:90"],
    "refused_talon": [0, 5],
}


def values(option: str) -> list[Any]:
    """What an option can be, as JSON has it: its words and switches, or samples."""
    owner, name = (AllPass, option.removeprefix("all_pass.")) if option.startswith("all_pass.") else (Convention, option)
    hint = get_type_hints(owner)[name]
    kinds = (hint, *get_args(hint))
    words = [word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]
    switches = [False, True] if hint is bool else []
    of_presets = [line.value for preset in PRESETS.values() for line in option_lines(preset) if line.option == option]
    return words + switches + OTHERS.get(option, []) + of_presets


@pytest.mark.parametrize("option", [*OPTION_SOURCES, "version"])
def test_every_value_has_a_russian_word(option: str) -> None:
    """Name, values and the rules that an option turns on have no Latin letter; different values are called differently."""
    found = values(option)
    told = [option_value("ru", option, value) for value in found]
    assert not LATIN.search(option_name("ru", option) + "".join(told))
    distinct = [value for place, value in enumerate(found) if value not in found[:place]]
    assert len(set(told)) == len(distinct)
    if option in OPTION_SOURCES:
        assert not LATIN.search(source_cited("ru", OPTION_SOURCES[option].source))


def test_no_word_is_left_over() -> None:
    """What has a Russian name is an option."""
    assert OPTIONS.keys() == OPTION_SOURCES.keys() | {"version"}


@pytest.mark.parametrize(
    ("convention", "players", "title", "played"),
    [
        ("sochi", 3, "Сочинка втроём", "сочинку"),
        ("leningrad", 4, "Ленинградка вчетвером", "ленинградку"),
        ("rostov", 5, "Ростов впятером", "ростов"),
        ("classic", 2, "Гусарик, классика", "классику"),
        ("code", 3, "По Кодексу втроём", "по Кодексу"),
        ({"preset": "federation", "version": 1}, 3, "По правилам федерации втроём", "по правилам федерации"),
        ({"preset": "sochi", "ten": "checked"}, 3, "Сочинка втроём со своими условиями", "сочинку со своими условиями"),
    ],
)
def test_a_pulka_is_called_as_players_call_it(convention: Any, players: int, title: str, played: str) -> None:
    """By the convention's own name and how many play it."""
    rules = resolve(convention)
    assert pulka_title("ru", rules, players) == title
    assert convention_played("ru", rules) == played
    assert pulka_title("en", rules, players).startswith(f"Pulka of {players}, {convention_name('en', rules.preset)}")


def test_english_takes_the_options_own_words() -> None:
    """Names and values of options are words, told without their underscores."""
    assert option_name("en", "all_pass.zero_bonus") == "all-pass zero bonus"
    assert option_value("en", "ends_when", "time:90") == "time 90"
    assert option_value("en", "dark", {"limit": 3, "opening_rounds": 1}) == "limit 3, opening rounds 1"
    assert option_value("en", "half_whist", []) == "none"
    assert option_value("en", "stalingrad", value=True) == "yes"
    assert option_value("en", "consolation", {"fixed": 10}) == "10"


def test_3_7_9_forced_all_pass_deals_are_counted_as_deals() -> None:
    """`opening_rounds` are single deals (Decision 21), not rounds of the table."""
    assert option_value("ru", "dark", {"limit": 3, "opening_rounds": 1}) == "есть, не больше 3 удвоений, в начале 1 распасовка втёмную"
    assert option_value("ru", "dark", {"limit": 1, "opening_rounds": 0}) == "есть, не больше 1 удвоения"
