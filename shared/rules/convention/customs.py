"""What tables play: by option the values that are known to be played, and by whom; so every preset can say where it comes from and what is
played elsewhere.

`WHO` names the sources. A value that is only ours stands here where a preset has it; one that no source names and no preset has does not.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from shared.rules.convention.options import PRESETS, Convention, resolve
from shared.rules.convention.sources import OPTION_SOURCES, option_lines
from shared.rules.language.refusal import Malformed

CODE, FEDERATION, LENINGRAD, SHEET = "code", "federation", "leningrad_table", "tournament_sheet"
BOOK, PROGRAMS, CLUBS, OURS, AGREED = "book", "programs", "clubs", "ours", "agreed"

#: Who plays a value; what they are called stands in `score_files/convention_words.py`.
WHO: Final = (CODE, FEDERATION, LENINGRAD, SHEET, BOOK, PROGRAMS, CLUBS, OURS, AGREED)


class Custom(msgspec.Struct, frozen=True):
    """A value of an option, who plays it, and `needs`: what else has to be said with it where it would contradict.

    `where`: only tables with these values of other options play it at all.
    """

    value: Any
    who: tuple[str, ...]
    needs: dict[str, Any] = {}
    where: dict[str, Any] = {}


class Elsewhere(msgspec.Struct, frozen=True):
    """What other tables play: `say` is what to lay over the preset to play it (`pulka conventions NAME --diff SAY`)."""

    value: Any
    played_by: tuple[str, ...]
    say: dict[str, Any]


class Origin(msgspec.Struct, frozen=True, rename={"came_from": "from"}):
    """Of one option of a convention: who plays its value, and the values that others play."""

    came_from: tuple[str, ...]
    elsewhere: tuple[Elsewhere, ...]


_IN_MOUNTAIN: Final = {"all_pass.scoring": "mountain"}
_NO_HELP: Final = {"help": "none"}

CUSTOMS: Final[dict[str, tuple[Custom, ...]]] = {
    "remise_factor": (Custom(1, (CODE,)), Custom(2, (LENINGRAD, FEDERATION, PROGRAMS))),
    "whist_factor": (Custom(1, (CODE,)), Custom(2, (LENINGRAD, FEDERATION, PROGRAMS))),
    "whister_remise": (Custom("full", (CODE,)), Custom("half", (CODE, LENINGRAD, FEDERATION)), Custom("half_until_closed", (CODE,))),
    "declarer_remise": (Custom("mountain", (CODE,)), Custom("direct", (CLUBS,))),
    "consolation": (
        Custom("price", (CODE, BOOK, FEDERATION, PROGRAMS)),
        Custom({"fixed": 10}, (CODE, PROGRAMS)),
        Custom({"fixed": 15}, (CODE,)),
    ),
    "single_whister": (
        Custom("greedy", (CODE, BOOK, PROGRAMS)),
        Custom("gentleman_remise", (CODE, LENINGRAD, BOOK, PROGRAMS)),
        Custom("gentleman_always", (FEDERATION,)),
        Custom("own", (CLUBS,)),
    ),
    "pair_6_7": (Custom("below_half", (CODE,)), Custom("own_half", (FEDERATION,)), Custom("capped", (CLUBS,))),
    "pair_8_9": (
        Custom("second", (CODE,)),
        Custom("both", (FEDERATION, SHEET)),
        Custom("second_own", (CLUBS,)),
        Custom("each_own", (CLUBS,)),
    ),
    "pair_10": (Custom("second", (CODE,)), Custom("both", (FEDERATION,)), Custom("second_own", (CLUBS,)), Custom("each_own", (CLUBS,))),
    # A ten without whist is a checked one: the defence lies open and takes what it can, and nobody answers for a trick. No source lets
    # it count as made unseen, so there is no third value.
    "ten": (Custom("whisted", (CODE, FEDERATION)), Custom("checked", (SHEET,))),
    "half_whist": (Custom([6, 7], (CODE, SHEET)),),
    "pass_return": (Custom([6, 7], (CODE,)), Custom([6, 7, 8], (SHEET,))),
    "first_hand_half": (Custom(value=False, who=(CODE,)), Custom(value=True, who=(CODE, SHEET), needs={"half_whist": [6, 7]})),
    "dealer_whist": (Custom("responsible", (CODE,)), Custom("free", (FEDERATION,))),
    "stalingrad": (Custom(value=False, who=(CODE, SHEET)), Custom(value=True, who=(CLUBS,))),
    "without_three": (Custom([], (CODE, FEDERATION)), Custom([6, 7, 8, 9, 10], (SHEET,))),
    "shared_misere": (Custom(value=False, who=(SHEET,)), Custom(value=True, who=(CODE,))),
    "misere_no_talon": (Custom(value=False, who=(CODE, SHEET)), Custom(value=True, who=(CODE,))),
    "dark": (Custom(value=False, who=(CODE,)), Custom({"limit": 3, "opening_rounds": 1}, (CODE, CLUBS))),
    "here": (Custom("senior", (OURS,)), Custom("first_hand", (CODE,))),
    "step_by_step": (Custom(value=False, who=(CODE,)), Custom(value=True, who=(CLUBS,))),
    "silent_take": (Custom(value=False, who=(CODE,)), Custom(value=True, who=(CODE,))),
    "talon_bonus": (Custom("off", (CODE,)), Custom("on", (CODE, FEDERATION))),
    "refused_talon": (Custom(0, (CODE,)),),
    "all_pass.scoring": (
        Custom("mountain", (CODE,), {"all_pass": {"prices": [1]}}),
        Custom("whists", (CODE,), {"all_pass": {"prices": [5], "amnesty": False}}),
    ),
    "all_pass.prices": (
        Custom([1], (CODE,), where=_IN_MOUNTAIN),
        Custom([1, 2, 3], (CODE, BOOK), where=_IN_MOUNTAIN),
        Custom([1, 2, 4], (CODE,), where=_IN_MOUNTAIN),
        Custom([2], (CODE,), where=_IN_MOUNTAIN),
        Custom([2, 4, 6], (FEDERATION, SHEET, CLUBS), where=_IN_MOUNTAIN),
        Custom([5], (CODE,), where={"all_pass.scoring": "whists"}),
    ),
    "all_pass.amnesty": (Custom(value=True, who=(CODE,), where=_IN_MOUNTAIN), Custom(value=False, who=(CODE, FEDERATION))),
    "all_pass.zero_bonus": (
        Custom("price", (CODE, FEDERATION)),
        Custom("off_mountain_2", (FEDERATION,), where=_IN_MOUNTAIN),
        Custom({"fixed": 1}, (CODE,)),
    ),
    "all_pass.zero_bonus_dealer": (Custom(value=False, who=(CODE, FEDERATION)), Custom(value=True, who=(CODE,))),
    "all_pass.talon": (Custom("leads", (CODE,)), Custom("aside", (CODE,))),
    "all_pass.exit_levels": (
        Custom([6], (CODE, SHEET)),
        Custom([6, 7, 7], (FEDERATION, PROGRAMS)),
        Custom([6, 7, 8], (PROGRAMS,)),
        Custom([7, 8, 9, 10], (CODE,)),
    ),
    "all_pass.series_ends": (Custom("any_game", (CODE,)), Custom("whisted_made_game", (FEDERATION, SHEET, CLUBS))),
    "all_pass.dealer": (Custom("passes", (CODE,)), Custom("repeats", (CODE,))),
    "help": (
        Custom("largest", (CODE,), {"ends_when": "all_closed", "pool_weight": 1}),
        Custom("none", (CODE, LENINGRAD)),
        Custom("clockwise", (PROGRAMS,), {"ends_when": "all_closed", "pool_weight": 1}),
        Custom("lowest", (PROGRAMS,), {"ends_when": "all_closed", "pool_weight": 1}),
    ),
    "help_surplus": (Custom("below_zero", (CODE,)), Custom("clamp_at_zero", (PROGRAMS,))),
    "ends_when": (
        Custom("all_closed", (CODE,)),
        Custom("pool_sum", (CODE,), _NO_HELP),
        Custom("time:120", (FEDERATION,), _NO_HELP),
    ),
    "settlement_divisor": (Custom("n", (CODE,)), Custom("n-1", (CODE,))),
    "pool_weight": (Custom(1, (CODE,)), Custom(2, (CODE,), _NO_HELP)),
}

#: Where a preset has a value for another reason than the table above gives it.
OF_PRESET: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    ("leningrad", "all_pass.prices"): (FEDERATION, CLUBS),
    ("rostov", "all_pass.amnesty"): (CODE,),  # FN46: what is written in whists is not forgiven
    ("rostov", "whister_remise"): (CODE,),
    ("rostov", "single_whister"): (PROGRAMS,),  # the Code does not say; programs differ
    ("classic", "consolation"): (OURS,),  # not stated: the price
    ("classic", "single_whister"): (OURS,),  # not stated
    ("classic", "help"): (OURS,),  # not stated: as in Sochi
    ("federation", "whister_remise"): (FEDERATION,),
    ("federation", "consolation"): (FEDERATION,),
    ("federation", "remise_factor"): (FEDERATION,),
    ("federation", "whist_factor"): (FEDERATION,),
    ("federation", "ten"): (FEDERATION,),
    ("federation", "without_three"): (FEDERATION,),
    ("federation", "talon_bonus"): (FEDERATION,),
    ("federation", "all_pass.prices"): (FEDERATION,),
    ("federation", "all_pass.amnesty"): (FEDERATION,),
    ("federation", "all_pass.exit_levels"): (FEDERATION,),
    ("federation", "all_pass.zero_bonus_dealer"): (FEDERATION,),
    ("federation", "all_pass.series_ends"): (FEDERATION,),
    ("federation", "ends_when"): (FEDERATION, OURS),  # to a time; that it is two hours is ours
    **{(preset, "shared_misere"): (OURS,) for preset in PRESETS},  # the Code allows it, and no preset asks for it
    **{(preset, "here"): (OURS,) for preset in PRESETS if preset != "code"},
}


def origin(convention: Convention, option: str) -> Origin:
    """Where the option's value in this convention comes from, and what is played elsewhere."""
    values = {line.option: line.value for line in option_lines(convention)}
    known = [custom for custom in CUSTOMS[option] if all(values[other] == value for other, value in custom.where.items())]
    own = next((custom.who for custom in CUSTOMS[option] if custom.value == values[option]), (AGREED,))
    preset = convention.preset
    if (preset, option) in OF_PRESET and values[option] == _PRESET_VALUES[preset][option]:
        own = OF_PRESET[preset, option]
    others = tuple(
        Elsewhere(custom.value, custom.who, _saying(convention, option, custom)) for custom in known if custom.value != values[option]
    )
    return Origin(own, others)


def _saying(convention: Convention, option: str, custom: Custom) -> dict[str, Any]:
    """The value as an option is said, alone where it goes with the rest of the convention, else with what it needs."""
    outer, _, inner = option.rpartition(".")
    alone = {outer: {inner: custom.value}} if outer else {option: custom.value}
    if not custom.needs or (not outer and _goes(convention, alone)):
        return alone
    return {**custom.needs, **alone, **({outer: custom.needs.get(outer, {}) | alone[outer]} if outer else {})}


def _goes(convention: Convention, said: dict[str, Any]) -> bool:
    """Whether these options can be laid over the convention; a target is played to, so that nothing gives way in silence."""
    full: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(convention))
    try:
        resolve(full | said, target=1)
    except Malformed:
        return False
    return True


_PRESET_VALUES: Final = {name: {line.option: line.value for line in option_lines(convention)} for name, convention in PRESETS.items()}
assert CUSTOMS.keys() == OPTION_SOURCES.keys()  # noqa: S101 - an option without its customs would have nothing to tell
