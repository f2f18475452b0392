"""Beside every option of every preset: where its value comes from, and what other tables play instead (RULES 0.2, 0.3)."""

from __future__ import annotations

from typing import Any

import pytest

from shared.rules.convention.customs import AGREED, BOOK, CODE, CUSTOMS, FEDERATION, OF_PRESET, PROGRAMS, SHEET, WHO, origin
from shared.rules.convention.options import PRESETS, Convention, resolve
from shared.rules.convention.presets import merged
from shared.rules.convention.sources import OPTION_SOURCES, differences, option_lines
from shared.rules.score_files.convention_words import WHO as WORDS

EVERY = [(preset, option) for preset in PRESETS for option in OPTION_SOURCES]


def value_of(convention: Convention, option: str) -> Any:
    return next(line.value for line in option_lines(convention) if line.option == option)


@pytest.mark.parametrize(("preset", "option"), EVERY)
def test_every_value_of_a_preset_says_where_it_comes_from(preset: str, option: str) -> None:
    """No preset has a value that nobody is named for, and all who are named have words in both languages."""
    told = origin(PRESETS[preset], option)
    assert told.came_from
    assert AGREED not in told.came_from
    assert {*told.came_from, *(who for one in told.elsewhere for who in one.played_by)} <= set(WHO) == WORDS.keys()


@pytest.mark.parametrize(("preset", "option"), EVERY)
def test_what_is_played_elsewhere_is_one_option_away(preset: str, option: str) -> None:
    """What is told to be said, laid over the preset, is a convention with that value, and it differs from the preset in what was said."""
    for one in origin(PRESETS[preset], option).elsewhere:
        other = resolve(merged({"preset": preset}, one.say), 20)
        assert value_of(other, option) == one.value
        assert value_of(PRESETS[preset], option) != one.value
        said = {name for name in one.say if name != "all_pass"} | {f"all_pass.{name}" for name in one.say.get("all_pass", {})}
        assert {line.option for line, _ in differences(PRESETS[preset], other)} <= said


def test_no_value_stands_twice() -> None:
    """A value of an option has one line; so has what a preset says apart, and it is another than the line's."""
    for option, customs in CUSTOMS.items():
        assert len({repr(custom.value) for custom in customs}) == len(customs), option
    for preset, option in OF_PRESET:
        assert preset in PRESETS
        assert option in CUSTOMS


@pytest.mark.parametrize(("levels", "who"), [([6, 7, 7], (FEDERATION, PROGRAMS)), ([6, 7, 8], (PROGRAMS,))])
def test_3_7_8_hard_exits_are_one_option_away(levels: list[int], who: tuple[str, ...]) -> None:
    """Exits 6-7-7 and 6-7-8 are said as one option, in Sochi and in Leningrad (3.7.8, Decision 11)."""
    for preset in ("sochi", "leningrad"):
        told = {repr(one.value): one for one in origin(PRESETS[preset], "all_pass.exit_levels").elsewhere}[repr(levels)]
        assert told.played_by == who
        assert told.say == {"all_pass": {"exit_levels": levels}}


def test_fn39_leningrads_ten_without_whist_is_one_option_away() -> None:
    """A ten that is not whisted is checked: nobody answers for a trick, and whoever fails pays (FN39, Decision 4)."""
    assert [(one.say, one.played_by) for one in origin(PRESETS["leningrad"], "ten").elsewhere] == [({"ten": "checked"}, (SHEET,))]


@pytest.mark.parametrize(
    ("preset", "option", "who"),
    [
        ("rostov", "all_pass.amnesty", (CODE,)),  # FN46
        ("sochi", "all_pass.prices", (CODE, BOOK)),  # 3.7.4.1
        ("leningrad", "all_pass.exit_levels", (CODE, SHEET)),  # 3.7.8; the sheet's exits are 6-6-6
        ("federation", "all_pass.amnesty", (FEDERATION,)),
        ("federation", "talon_bonus", (FEDERATION,)),
    ],
)
def test_a_value_names_the_sources_that_have_it(preset: str, option: str, who: tuple[str, ...]) -> None:
    """RULES 0.2: in whists nothing is forgiven by the Code itself, and it names the progression 1-2-3."""
    assert origin(PRESETS[preset], option).came_from == who


@pytest.mark.parametrize(
    ("preset", "option", "value", "who"),
    [
        ("sochi", "misere_no_talon", True, (CODE,)),  # FN41
        ("sochi", "silent_take", True, (CODE,)),  # 3.3.15, FN23
        ("sochi", "talon_bonus", "on", (CODE, FEDERATION)),  # 3.4.11 has the tricks
        ("rostov", "single_whister", "greedy", (CODE, BOOK, PROGRAMS)),  # for Rostov one program has it so, another not
    ],
)
def test_what_is_played_elsewhere_names_the_code_where_it_describes_it(preset: str, option: str, value: Any, who: tuple[str, ...]) -> None:
    """RULES 0.2, 0.3: what the Code leaves to agreement and describes is the Code's, not only a club's."""
    assert [one.played_by for one in origin(PRESETS[preset], option).elsewhere if one.value == value] == [who]


def test_a_value_of_ones_own_is_agreed_at_the_table() -> None:
    """What no source names is the table's own, and what its preset has is then played elsewhere."""
    own = resolve({"preset": "sochi", "refused_talon": 4}, 20)
    told = origin(own, "refused_talon")
    assert told.came_from == (AGREED,)
    assert [one.value for one in told.elsewhere] == [0]
