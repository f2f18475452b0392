"""How a scorer says it, in English and in Russian: sentences of `explanation`, and the reasons of entries (`Entry.why`) in Russian.

A reason is written in English, in phrases that the scoring rules put together; a ruling's reason is its arbiter's own and stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, Literal, NamedTuple

from shared.rules.language.amount import Amount, written

Lang = Literal["en", "ru"]

SUITS: Final = {"S": "♠", "C": "♣", "D": "♦", "H": "♥"}
NO_TRUMPS: Final[dict[Lang, str]] = {"en": "NT", "ru": "БК"}

SENTENCES: Final[dict[Lang, dict[str, str]]] = {
    "en": {
        "title": "Pulka of {players}, {convention}{target}{stake}",
        "to": ", to {target}",
        "at": ", {stake} a whist (4.2.13)",
        "start": "On the paper before: {sheet}.",
        "columns": "seat {seat}: pool {pool}, mountain {mountain}{whists}",
        "on": ", on {seat} {whists}",
        "deal": "Deal {number}. Seat {dealer} deals.",
        "plays": "Seat {seat} plays {contract}{how}",
        "misere": "Seat {seat} plays misere{how}",
        "all_pass": "All pass{row}{how}",
        "none": "The deal ended before a contract",
        "row": ", number {number} in a row",
        "dark": ", bid dark",
        "dark_pass": ", passed dark: {seats}",
        "factor": ", everything × {factor} (4.1.2)",
        "shared": ", halved with the dealer (3.6.9)",
        "without_three": ", given up without three (FN40)",
        "conceded": ", without all (3.5.4)",
        "calls": "; calls: {calls}",
        "call": "{seat} {call}",
        "whist": "whist",
        "pass": "pass",
        "half": "half",
        "tricks": "; tricks {tricks}",
        "pool": "seat {seat}: pool {amount}, now {now}: {why} [{rule}]",
        "mountain": "seat {seat}: mountain {amount}, now {now}: {why} [{rule}]",
        "whists": "seat {seat}: writes {amount} on seat {on}, now {now}: {why} [{rule}]",
        "nothing": "nothing is written",
        "sheet": "Sheet: {sheet}.",
        "open": "The pulka goes on; settled as if it were stopped now, by common consent (4.2.3, 5.4.18).",
        "all_closed": "The pulka is over: all pools are closed (4.2.3).",
        "pool_sum": "The pulka is over: the pools' sum has reached {players} × {target} (4.2.3.3).",
        "deals": "The pulka is over: {deals} deals are played.",
        "time": "Played to a time, {minutes} minutes: the table says when it is over.",
        "settlement": "Settlement (4.2.14):",
        "exactly": "seat {seat}: mountain {mountain}, the pool is exact",
        "short": "seat {seat}: mountain {mountain} + {lack} that the pool lacks{weight} = {settled} (4.2.3)",
        "over": "seat {seat}: mountain {mountain} − {lack} that the pool has over{weight} = {settled} (4.2.14)",
        "weight": ", weighing {weight} each (4.2.3.3)",
        "no_target": "Without a target the pools are measured by the largest, {full}.",
        "way_1": "First way, whists on whoever is above the lowest mountain, {lowest}:",
        "above": "on seat {seat}: {points} × 10 : {share} = {whists} from each",
        "way_2": "Second way, everybody against the average mountain, {average}:",
        "against": "seat {seat}: {points} × 10 : {share} × {players} = {whists}, whists {balance}: {net}",
        "agree": "Both ways: {net}.",
        "rounded": "In whole whists (Decision 16): {net}.",
        "whole": "These are whole whists.",
        "compensated": "Or by compensation (4.2.12): {entries}. Then: {net}.",
        "point_off": "a point off the mountain of seat {seat}, the others write {whists} each on him",
        "no_compensation": "A compensation (4.2.12) does not make these whole.",
        "stakes": "At {stake} a whist (4.2.13): {amounts}; by whole whists {payments}.",
        "result": "seat {seat} {amount}",
    },
    "ru": {
        "title": "Пулька на {players}, {convention}{target}{stake}",
        "to": ", до {target}",
        "at": ", вист по {stake} (4.2.13)",
        "start": "На бумаге до этого: {sheet}.",
        "columns": "место {seat}: пуля {pool}, гора {mountain}{whists}",
        "on": ", на {seat} {whists}",
        "deal": "Сдача {number}. Сдаёт место {dealer}.",
        "plays": "Место {seat} играет {contract}{how}",
        "misere": "Место {seat} играет мизер{how}",
        "all_pass": "Распасовка{row}{how}",
        "none": "Сдача кончилась до заказа",
        "row": ", {number}-я подряд",
        "dark": ", заявка втёмную",
        "dark_pass": ", пас втёмную: {seats}",
        "factor": ", всё × {factor} (4.1.2)",
        "shared": ", пополам со сдающим (3.6.9)",
        "without_three": ", уход без трёх (FN40)",
        "conceded": ", отдано без всех (3.5.4)",
        "calls": "; слова: {calls}",
        "call": "{seat} {call}",
        "whist": "вист",
        "pass": "пас",
        "half": "полвиста",
        "tricks": "; взятки {tricks}",
        "pool": "место {seat}: в пулю {amount}, стало {now}: {why} [{rule}]",
        "mountain": "место {seat}: в гору {amount}, стало {now}: {why} [{rule}]",
        "whists": "место {seat}: пишет {amount} на место {on}, стало {now}: {why} [{rule}]",
        "nothing": "ничего не пишется",
        "sheet": "Роспись: {sheet}.",
        "open": "Пулька не окончена; расчёт, как если бы её прекратили сейчас по общему согласию (4.2.3, 5.4.18).",
        "all_closed": "Пулька окончена: все пули закрыты (4.2.3).",
        "pool_sum": "Пулька окончена: сумма пуль достигла {players} × {target} (4.2.3.3).",
        "deals": "Пулька окончена: сыграно сдач {deals}.",
        "time": "Игра на время, {minutes} мин: когда она окончена, знает стол.",
        "settlement": "Расчёт (4.2.14):",
        "exactly": "место {seat}: гора {mountain}, пуля ровно закрыта",
        "short": "место {seat}: гора {mountain} + {lack}, недостающие пуле{weight} = {settled} (4.2.3)",
        "over": "место {seat}: гора {mountain} − {lack}, лишние в пуле{weight} = {settled} (4.2.14)",
        "weight": ", каждое очко за {weight} (4.2.3.3)",
        "no_target": "Без назначенной пули все равняются по наибольшей, {full}.",
        "way_1": "Первый способ, висты на тех, кто выше наименьшей горы, {lowest}:",
        "above": "на место {seat}: {points} × 10 : {share} = {whists} от каждого",
        "way_2": "Второй способ, каждый против средней горы, {average}:",
        "against": "место {seat}: {points} × 10 : {share} × {players} = {whists}, висты {balance}: {net}",
        "agree": "Оба способа: {net}.",
        "rounded": "В целых вистах (решение 16): {net}.",
        "whole": "Висты целые.",
        "compensated": "Или с компенсацией (4.2.12): {entries}. Тогда: {net}.",
        "point_off": "с горы места {seat} списывается очко, остальные пишут на него по {whists}",
        "no_compensation": "Компенсация (4.2.12) целых вистов не даёт.",
        "stakes": "По {stake} за вист (4.2.13): {amounts}; за целые висты {payments}.",
        "result": "место {seat} {amount}",
    },
}


def said(lang: Lang, key: str, **parts: object) -> str:
    """The sentence `key` with its parts; exact numbers as a document has them."""
    return SENTENCES[lang][key].format_map({name: _number(part) for name, part in parts.items()})


def signed(amount: Amount) -> str:
    """A number with its sign: "+8", "−7/2", "0"."""
    return f"+{written(amount)}" if amount > 0 else str(written(amount)).replace("-", "−")


def contract(text: str, lang: Lang = "en") -> str:
    """A contract, or a reason that names some, as players write it: "6♠", and without trumps "6NT", "6БК"."""
    return _CONTRACT.sub(lambda found: found[1] + SUITS.get(found[2], NO_TRUMPS[lang]), text)


def reason(lang: Lang, why: str) -> str:
    """An entry's reason in the language; one that the scoring rules did not word stays as it is."""
    if lang == "en":
        return contract(why)
    text = why
    for pattern, russian in _REASONS:
        text = pattern.sub(russian, text)
    return contract(why) if _ENGLISH.search(text) else contract(text, lang)


def reason_named(lang: Lang, why: str, names: Sequence[str]) -> str:
    """`reason`, with a seat that it names called by its player's name."""
    told = reason(lang, why)
    seats = SEAT[lang]
    return (
        told
        if names[0] == seats.called.format(seat=0)
        else seats.named.sub(lambda found: seats.by_name.format(name=names[int(found[1])]), told)
    )


class _SeatInReason(NamedTuple):
    """How a reason names a seat, how that goes with a name, and what a seat without a name is called."""

    named: re.Pattern[str]
    by_name: str
    called: str


SEAT: Final[dict[Lang, _SeatInReason]] = {
    "en": _SeatInReason(re.compile(r"\bseat ([0-4])\b"), "{name}", "seat {seat}"),
    "ru": _SeatInReason(re.compile(r"\bместа ([0-4])\b"), "игрока {name}", "место {seat}"),
}


def _number(part: object) -> str:
    return str(written(part)).replace("-", "−") if isinstance(part, Amount) and not isinstance(part, bool) else str(part)


def counted_noun(number: str | int, one: str, few: str, many: str) -> str:
    """A number with its Russian noun: 1 взятка, 2 взятки, 5 взяток, 3/2 взятки."""
    if "/" in str(number):
        return f"{number} {few}"
    count = abs(int(number))
    if count % 10 == 1 and count % 100 != 11:
        return f"{number} {one}"
    return f"{number} {few if count % 10 in (2, 3, 4) and count % 100 not in (12, 13, 14) else many}"


def _tricks(found: re.Match[str]) -> str:
    return f"{counted_noun(found[1], 'взятка', 'взятки', 'взяток')} по {found[2]}"


def _points(found: re.Match[str]) -> str:
    return counted_noun(found[1], "очко", "очка", "очков")


_CONTRACT: Final = re.compile(r"\b(10|[6-9])(S|C|D|H|NT)\b")
_ENGLISH: Final = re.compile(r"[a-z]{2}")  # a word that no phrase of ours has replaced
_N: Final = r"(-?[0-9]+(?:/[0-9]+)?)"

#: Phrase by phrase, in this order: a longer one before those that it contains.
_REASONS: Final[tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...]] = tuple(
    (re.compile(pattern), russian)
    for pattern, russian in (
        (rf" given up without three, {_N} a trick", r": уход без трёх, по \1 за взятку"),
        (r", given up without all", ", отдано без всех"),
        (rf"{_N} missing on whist", r"недобор на висте \1"),
        (rf"{_N} tricks? at {_N}", _tricks),
        (rf"without {_N} at {_N}", r"без \1 по \2"),
        (r"half-whist: ", "полвиста: "),
        (r"all of the defence: ", "все взятки вистующих: "),
        (rf"half of {_N}: ", r"половина от \1: "),
        (rf", {_N} forgiven to all", r", амнистия \1"),
        (rf", shared by {_N}", r", поделено на \1"),
        (r"consolation: ", "консоляция: "),
        (r"talon gift: ", "подарок прикупа: "),
        (rf"help from seat {_N}", r"помощь от места \1"),
        (r"help: ", "помощь: "),
        (r"fine: ", "штраф: "),
        (rf"{_N} points", _points),
        (r"all pools are closed: off the mountain", "все пули закрыты, списано с горы"),
        (rf", {_N} of {_N}: the pool is closed", r", \1 из \2: пуля закрыта"),
        (r"no trick on all-pass", "ни одной взятки на распасовке"),
        (r", the price of one: ", ", цена одной: "),
        (r", twice the price of one off the mountain: ", ", с горы две цены взятки: "),
        (r"misere caught: ", "мизер пойман: "),
        (r"misere made", "мизер сыгран"),
        (r" made\b", " сыграно"),
        (r", half of it", ", половина"),
        (r", nobody whisted", ", никто не вистовал"),
        (r", unplayed", ", без розыгрыша"),
        (r" more\b", " сверх того"),
        (rf" at {_N}", r" по \1"),
        (rf"the guaranteed result was missed by {_N} whists", r"до обещанного не хватило вистов: \1"),
        (r"as it stands on the sheet that the players kept", "как стоит в записи, которую вели игроки"),
        (r"the declarer refused the talon", "разыгрывающий отказался от прикупа"),
    )
)
