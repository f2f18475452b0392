"""What players call conventions and their options, in English and in Russian.

English takes an option's own name and value, which are words; Russian has its words here, one entry an option and a value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from shared.rules.convention.options import PRESETS, Convention
from shared.rules.convention.sources import differences
from shared.rules.score_files.scorer_words import Lang, counted_noun, rule_cited

#: What a preset is called, and what it is to play it: "играли ленинградку".
CALLED: Final[dict[str, tuple[str, str]]] = {
    "sochi": ("сочинка", "сочинку"),
    "leningrad": ("ленинградка", "ленинградку"),
    "rostov": ("ростов", "ростов"),
    "classic": ("классика", "классику"),
    "code": ("по Кодексу", "по Кодексу"),
    "federation": ("по правилам федерации", "по правилам федерации"),
}
PLAYERS: Final = {2: "вдвоём", 3: "втроём", 4: "вчетвером", 5: "впятером"}

Told = Callable[[Any], str] | Mapping[Any, str]
_IS: Final = {True: "есть", False: "нет"}
_MAY: Final = {True: "можно", False: "нельзя"}


def _levels(levels: Sequence[int]) -> str:
    return f"на {', '.join(map(str, levels))}" if levels else "нет"


def _steps(steps: Sequence[int]) -> str:
    return "-".join(map(str, steps))


def _consolation(value: Any) -> str:
    return f"{counted_noun(value['fixed'], 'вист', 'виста', 'вистов')} на любой игре" if isinstance(value, dict) else _CONSOLATION[value]


def _zero(value: Any) -> str:
    return f"{counted_noun(value['fixed'], 'очко', 'очка', 'очков')} в пулю" if isinstance(value, dict) else _ZERO[value]


def _dark(value: Any) -> str:
    if not value:
        return "нет"
    doubled = counted_noun(value["limit"], "удвоения", "удвоений", "удвоений")
    forced = counted_noun(value["opening_rounds"], "распасовка", "распасовки", "распасовок")
    return f"есть, не больше {doubled}" + (f", в начале {forced} втёмную" if value["opening_rounds"] else "")


def _ending(value: str) -> str:
    kind, _, number = value.partition(":")
    counted = {"deals": ("сдача", "сдачи", "сдач"), "time": ("минута", "минуты", "минут")}
    return _ENDING[kind] if kind in _ENDING else f"через {counted_noun(number, *_accusative(counted[kind]))}"


def _accusative(nouns: tuple[str, str, str]) -> tuple[str, str, str]:
    return f"{nouns[0].removesuffix('а')}у", nouns[1], nouns[2]


_CONSOLATION: Final = {"price": "по цене виста", "none": "нет"}
_ZERO: Final = {"price": "цена взятки в пулю", "none": "ничего", "off_mountain_2": "с горы две цены взятки"}
_ENDING: Final = {"all_closed": "когда все закрыли пулю", "pool_sum": "по сумме пуль"}
_EIGHT_UP: Final = {
    "second": "отвечает второй",
    "both": "отвечают оба",
    "second_own": "второй отвечает за свою взятку",
    "each_own": "каждый отвечает за свою взятку",
}

#: By option its Russian name and its values'.
OPTIONS: Final[dict[str, tuple[str, Told]]] = {
    "version": ("правила", {1: "первой редакции", 2: "второй редакции"}),
    "remise_factor": ("ремиз в гору", {1: "по цене игры", 2: "по двойной цене"}),
    "whist_factor": ("цена виста", {1: "по цене игры", 2: "по двойной цене"}),
    "whister_remise": (
        "вист",
        {
            "full": "ответственный",
            "half": "полуответственный",
            "none": "безответственный",
            "half_until_closed": "полуответственный, после закрытия пули ответственный",
        },
    ),
    "declarer_remise": ("ремиз разыгрывающего", {"mountain": "в гору и консоляция", "direct": "только консоляция, без горы"}),
    "consolation": ("консоляция", _consolation),
    "single_whister": (
        "взятки пасующего",
        {
            "greedy": "вистующему, жлобский вист",
            "gentleman_remise": "на ремизе пополам, джентльменский вист",
            "gentleman_always": "всегда пополам, джентльменский вист",
            "own": "каждому свои",
        },
    ),
    "pair_6_7": (
        "два виста на 6 и 7",
        {
            "below_half": "при недоборе пары отвечает, кто взял меньше половины",
            "own_half": "каждый отвечает за свою половину",
            "capped": "каждый отвечает за свою половину, вместе не больше недобора пары",
        },
    ),
    "pair_8_9": ("два виста на 8 и 9", _EIGHT_UP),
    "pair_10": ("два виста на 10", _EIGHT_UP),
    "ten": ("десятерная", {"whisted": "вистуется", "checked": "проверяется"}),
    "half_whist": ("полвиста", _levels),
    "pass_return": ("возврат виста", _levels),
    "first_hand_half": ("уход с виста на полвиста", _MAY),
    "dealer_whist": ("вист сдающего", {"off": "нет", "responsible": "ответственный", "free": "безответственный"}),
    "stalingrad": ("Сталинград", _IS),
    "without_three": ("уход без трёх", _levels),
    "shared_misere": ("мизер пополам со сдающим", _MAY),
    "misere_no_talon": ("мизер без прикупа", _IS),
    "dark": ("тёмная и бомбы", _dark),
    "here": ("«здесь» говорит", {"senior": "старшая рука", "first_hand": "только первая рука", "off": "никто"}),
    "step_by_step": ("прыжки в торговле", {True: "нельзя", False: "можно"}),
    "silent_take": ("третья рука берёт прикуп молча", _MAY),
    "talon_bonus": ("премия за прикуп", {"off": "нет", "on": "есть"}),
    "refused_talon": ("отказ от прикупа, сдающему в гору", lambda points: str(points) if points else "ничего"),
    "all_pass.scoring": ("распасовка пишется", {"mountain": "в гору", "whists": "вистами"}),
    "all_pass.prices": ("цена взятки на распасовке", _steps),
    "all_pass.amnesty": ("амнистия", _IS),
    "all_pass.zero_bonus": ("ни одной взятки на распасовке", _zero),
    "all_pass.zero_bonus_dealer": ("то же сдающему на прикупе", _IS),
    "all_pass.talon": ("прикуп на распасовке", {"leads": "открывается", "aside": "не открывается"}),
    "all_pass.exit_levels": ("выход из распасовки", _steps),
    "all_pass.series_ends": (
        "распасовки кончаются",
        {"any_game": "любой игрой", "made_game": "сыгранной игрой", "whisted_made_game": "сыгранной и завистованной игрой"},
    ),
    "all_pass.dealer": ("сдача после распасовки", {"passes": "переходит (скользящая)", "repeats": "повторяется"}),
    "help": (
        "помощь",
        {
            "largest": "тому, у кого пуля больше",
            "clockwise": "по кругу",
            "lowest": "тому, у кого пуля меньше",
            "none": "нет",
        },
    ),
    "help_surplus": (
        "лишние очки, когда все закрыли пулю",
        {"below_zero": "с горы, хоть ниже нуля", "clamp_at_zero": "с горы, не ниже нуля"},
    ),
    "ends_when": ("пулька кончается", _ending),
    "settlement_divisor": ("очко горы при расчёте делится", {"n": "на всех", "n-1": "на остальных"}),
    "pool_weight": ("очко пули стоит", {1: "очко горы", 2: "два очка горы"}),
}


#: Who plays a value of an option, in English and in Russian.
WHO: Final[dict[str, tuple[str, str]]] = {
    "code": ("the Code", "Кодекс"),
    "federation": ("the federation", "правила федерации"),
    "leningrad_table": ("a published Leningrad table", "опубликованная таблица ленинградки"),
    "tournament_sheet": ("a Leningrad tournament's sheet", "положение ленинградского турнира"),
    "book": ("Lesnoy's book", "книга Лесного"),
    "programs": ("scoring programs", "программы подсчёта"),
    "clubs": ("clubs", "клубы"),
    "ours": ("our choice", "наш выбор"),
    "agreed": ("agreed at this table", "так условились за этим столом"),
}


def who_plays(who: Sequence[str], lang: Lang) -> str:
    """Those who play a value of an option, by their names."""
    return ", ".join(WHO[one][lang == "ru"] for one in who)


def convention_name(lang: Lang, preset: str) -> str:
    """What players call a preset: "ленинградка"; in English as documents have it."""
    return CALLED[preset][0] if lang == "ru" and preset in CALLED else preset


def convention_named(lang: Lang, convention: Convention) -> str:
    """What a record is called: its preset's name, with a word where it is not the preset as it stands."""
    return convention_name(lang, convention.preset) + _changed(lang, convention)


def convention_played(lang: Lang, convention: Convention) -> str:
    """The convention as what is played: "leningrad", "ленинградку"; with a word where it is not the preset as it stands."""
    preset = convention.preset
    played = CALLED[preset][1] if lang == "ru" else preset
    return played + _changed(lang, convention)


def pulka_title(lang: Lang, convention: Convention, players: int) -> str:
    """What is played, and by how many: "Pulka of 3, sochi", "Сочинка втроём", "Гусарик, сочинка"."""
    preset = convention.preset
    if lang == "en":
        return f"Pulka of {players}, {preset}{_changed(lang, convention)}"
    told = f"гусарик, {CALLED[preset][0]}" if players == 2 else f"{CALLED[preset][0]} {PLAYERS[players]}"
    return told[0].upper() + told[1:] + _changed(lang, convention)


def _changed(lang: Lang, convention: Convention) -> str:
    if not differences(replace(PRESETS[convention.preset], version=convention.version), convention):
        return ""
    return " with options of its own" if lang == "en" else " со своими условиями"


def option_name(lang: Lang, option: str) -> str:
    """What an option is called."""
    return OPTIONS[option][0] if lang == "ru" else option.replace("_", " ").replace("all pass.", "all-pass ")


def option_value(lang: Lang, option: str, value: Any) -> str:
    """What a value of it, as JSON has it, is called."""
    if lang == "ru":
        told = OPTIONS[option][1]
        return told[value] if isinstance(told, Mapping) else told(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "-".join(map(str, value)) or "none"
    if isinstance(value, dict):
        named = (f"{name.replace('_', ' ')} {number}" for name, number in value.items())
        return str(value["fixed"]) if "fixed" in value else ", ".join(named)
    return str(value).replace("_", " ").replace(":", " ")


def source_cited(lang: Lang, source: str) -> str:
    """Rules that an option turns on, as they are cited; decisions of ours have no Russian page and are left out there."""
    if lang == "en":
        return source
    return ", ".join(rule_cited(lang, part) for part in source.split(", ") if not part.startswith("Decision"))
