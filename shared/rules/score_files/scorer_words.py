"""How a scorer says it, in English and in Russian: the sentences of `explanation`, contracts, numbers with their nouns.

`{who}`, `{on}` and `{of}` are players as `players_called` has them. Why an entry was written is `entry_reasons`'s.
"""

from __future__ import annotations

import re
from typing import Final

from shared.rules.language.amount import Amount, written
from shared.rules.score_files.players_called import Lang

__all__ = ["Lang"]  # who words something needs this file anyway

SUITS: Final = {"S": "♠", "C": "♣", "D": "♦", "H": "♥"}
NO_TRUMPS: Final[dict[Lang, str]] = {"en": "NT", "ru": "БК"}

SENTENCES: Final[dict[Lang, dict[str, str]]] = {
    "en": {
        "title": "{convention}{target}{stake}",
        "to": ", to {target}",
        "at": ", {stake} a whist (4.2.13)",
        "blank": "Nothing was on the paper before.",
        "start": "On the paper before: {sheet}.",
        "columns": "{who}: pool {pool}, mountain {mountain}{whists}",
        "on": ", whists on {on} {whists}",
        "deal": "Deal {number}. {opening} deals.",
        "deal_by_hand": "Deal {number}. {opening} deals.",
        "plays": "{opening} plays {contract}{how}",
        "misere": "{opening} plays misere{how}",
        "all_pass": "All pass{row}{how}",
        "none": "The deal ended before a contract",
        "row": ", number {number} in a row",
        "dark": ", bid dark",
        "dark_pass": ", passed dark: {players}",
        "factor": ", everything × {factor} (4.1.2)",
        "shared": ", halved with the dealer (3.6.9)",
        "without_three": ", given up without three (FN40)",
        "conceded": ", without all (3.5.4)",
        "calls": "; {calls}",
        "call": "{who} {call}",
        "whist": "whists",
        "pass": "passes",
        "half": "goes for half",
        "tricks": "; tricks: {tricks}",
        "took": "{who} {tricks}",
        "pool": "{who}: pool {amount}, now {now}: {why} [{rule}]",
        "mountain": "{who}: mountain {amount}, now {now}: {why} [{rule}]",
        "whists": "{who}: writes {amount} on {on}, now {now}: {why} [{rule}]",
        "nothing": "nothing is written",
        "sheet": "Sheet: {sheet}.",
        "open": "The pulka goes on; settled as if it were stopped now, by common consent (4.2.3, 5.4.18).",
        "all_closed": "The pulka is over: all pools are closed (4.2.3).",
        "pool_sum": "The pulka is over: the pools' sum has reached {players} × {target} (4.2.3.3).",
        "deals": "The pulka is over: {deals} played.",
        "time": "Played to a time, {minutes}: the table says when it is over.",
        "settlement": "Settlement (4.2.14):",
        "no_target": "Without a target the pools are measured by the largest, {full}.",
        "level": "Without a target, and all pools are level.",
        "only_mountain": "{who}: mountain {mountain}",
        "largest": "{who}: mountain {mountain}, the pool is the largest",
        "exactly": "{who}: mountain {mountain}, the pool is exact",
        "short": "{who}: mountain {mountain} + {lack} that the pool lacks{weight} = {settled} (4.2.3)",
        "over": "{who}: mountain {mountain} − {lack} that the pool has over{weight} = {settled} (4.2.14)",
        "weight": ", weighing {weight} each (4.2.3.3)",
        "way_1": "First way, whists on whoever is above the lowest mountain, {lowest}:",
        "above": "on {on}: {points} × 10 : {share} = {whists} from each",
        "level_mountains": "nobody is above it",
        "way_2": "Second way, everybody against the average mountain, {average}:",
        "against": "{who}: {points} × 10{share} = {whists}, whists {balance}: {net}",
        "share": " × {players} : {share}",
        "agree": "Both ways: {net}.",
        "rounded": "Rounded to whole whists that sum to zero: {net}.",
        "whole": "These are whole whists.",
        "compensated": "Or by compensation (4.2.12): {entries}. Then: {net}.",
        "point_off": "{who} takes a point off the mountain, the others write {whists} each on {on}",
        "no_compensation": "A compensation (4.2.12) does not make these whole.",
        "stakes": "At {stake} a whist (4.2.13): {amounts}; by whole whists {payments}.",
        "stakes_whole": "At {stake} a whist (4.2.13): {amounts}.",
        "result": "{who} {amount}",
    },
    "ru": {
        "title": "{convention}{target}{stake}",
        "to": ", до {target}",
        "at": ", вист по {stake} (4.2.13)",
        "blank": "Начали с чистого листа.",
        "start": "На бумаге до этого: {sheet}.",
        "columns": "{who}: пуля {pool}, гора {mountain}{whists}",
        "on": ", висты на {on} — {whists}",
        "deal": "Сдача {number}. Сдаёт {who}.",
        "deal_by_hand": "Сдача {number}. Сдаёт {who}, на первой руке {first}.",
        "plays": "{opening} играет {contract}{how}",
        "misere": "{opening} играет мизер{how}",
        "all_pass": "Распасовка{row}{how}",
        "none": "До заказа не дошло",
        "row": ", {number}-я подряд",
        "dark": ", заявка втёмную",
        "dark_pass": ", пас втёмную: {players}",
        "factor": ", всё × {factor} (4.1.2)",
        "shared": ", пополам со сдающим (3.6.9)",
        "without_three": ", уход без трёх (сн. 40)",
        "conceded": ", разыгрывающий сдался без всех (3.5.4)",
        "calls": "; {calls}",
        "call": "{who} {call}",
        "whist": "вист",
        "pass": "пас",
        "half": "полвиста",
        "tricks": "; взятки: {tricks}",
        "took": "{who} {tricks}",
        "pool": "{who}: в пулю {amount}, стало {now}: {why} [{rule}]",
        "mountain": "{who}: в гору {amount}, стало {now}: {why} [{rule}]",
        "whists": "{who} пишет на {on} {amount}, стало {now}: {why} [{rule}]",
        "nothing": "ничего не пишется",
        "sheet": "Роспись: {sheet}.",
        "open": "Пулька не окончена; расчёт, как если бы её прекратили сейчас по общему согласию (4.2.3, 5.4.18).",
        "all_closed": "Пулька окончена: все пули закрыты (4.2.3).",
        "pool_sum": "Пулька окончена: сумма пуль достигла {players} × {target} (4.2.3.3).",
        "deals": "Пулька окончена: {deals}, сколько и договаривались.",
        "time": "Играли на время, {minutes}: когда пулька окончена, знают за столом.",
        "settlement": "Расчёт (4.2.14):",
        "no_target": "Пуля не назначена: все равняются по наибольшей, {full}.",
        "level": "Пуля не назначена, и пули у всех равны.",
        "only_mountain": "{who}: гора {mountain}",
        "largest": "{who}: гора {mountain}, пуля наибольшая",
        "exactly": "{who}: гора {mountain}, пуля ровно закрыта",
        "short": "{who}: гора {mountain} + {lack}, недостающие до пули{weight} = {settled} (4.2.3)",
        "over": "{who}: гора {mountain} − {lack}, лишние в пуле{weight} = {settled} (4.2.14)",
        "weight": ", каждое очко за {weight} (4.2.3.3)",
        "way_1": "Первый способ: наименьшая гора {lowest}, за всё сверх неё пишут висты:",
        "above": "на {on} каждый: {points} × 10 : {share} = {whists}",
        "level_mountains": "выше никого нет",
        "way_2": "Второй способ: средняя гора {average}, каждого сравнивают с ней:",
        "against": "{who}: {points} × 10{share} = {whists}, висты {balance}: {net}",
        "share": " × {players} : {share}",
        "agree": "Оба способа дают: {net}.",
        "rounded": "Округлено до целых вистов, в сумме ноль: {net}.",
        "whole": "Висты целые.",
        "compensated": "Или с компенсацией (4.2.12): {entries}. Тогда: {net}.",
        "point_off": "{who} списывает с горы очко, остальные пишут на {on} по {whists}",
        "no_compensation": "Компенсация (4.2.12) целых вистов не даёт.",
        "stakes": "Вист по {stake} (4.2.13): {amounts}; за целые висты {payments}.",
        "stakes_whole": "Вист по {stake} (4.2.13): {amounts}.",
        "result": "{who} {amount}",
    },
}

#: How far somebody failed: "без одной". More than ten come of fines.
_WITHOUT: Final = (
    "", "одной", "двух", "трёх", "четырёх", "пяти", "шести", "семи", "восьми", "девяти", "десяти", "одиннадцати", "двенадцати",
)  # fmt: skip


def said(lang: Lang, key: str, **parts: object) -> str:
    """The sentence `key` with its parts; exact numbers as a document has them."""
    return SENTENCES[lang][key].format_map({name: _number(part) for name, part in parts.items()})


def signed(amount: Amount) -> str:
    """A number with its sign: "+8", "−7/2", "0"."""
    return f"+{written(amount)}" if amount > 0 else str(written(amount)).replace("-", "−")


def contract(text: str, lang: Lang = "en") -> str:
    """A contract, or a text that names some, as players write it: "6♠", and without trumps "6NT", "6БК"."""
    return _CONTRACT.sub(lambda found: found[1] + SUITS.get(found[2], NO_TRUMPS[lang]), text)


def rule_cited(lang: Lang, rule: str) -> str:
    """A rule as it is cited: "3.8.6", a footnote "FN59", in Russian "сн. 59"."""
    return rule if lang == "en" else _FOOTNOTE.sub(r"сн. \1", rule)


def without(lang: Lang, tricks: str | int) -> str:
    """How far somebody failed: "without 2", "без двух"."""
    if lang == "en":
        return f"without {tricks}"
    number = str(tricks)
    return f"без {_WITHOUT[int(number)] if number.isdecimal() and 0 < int(number) < len(_WITHOUT) else number}"


def _number(part: object) -> str:
    return str(written(part)).replace("-", "−") if isinstance(part, Amount) and not isinstance(part, bool) else str(part)


def counted_noun(number: str | int, one: str, few: str, many: str, part: str = "") -> str:
    """A number with its Russian noun: 1 взятка, 2 взятки, 5 взяток, 3/2 взятки; `part` where a fraction's is not `few`."""
    shown = str(number).replace("-", "−")
    if "/" in shown:
        return f"{shown} {part or few}"
    count = abs(int(number))
    if count % 10 == 1 and count % 100 != 11:
        return f"{shown} {one}"
    return f"{shown} {few if count % 10 in (2, 3, 4) and count % 100 not in (12, 13, 14) else many}"


def deals_counted(lang: Lang, count: int) -> str:
    """How many deals: "1 deal", "5 deals"; "1 сдача", "2 сдачи", "5 сдач"."""
    return f"{count} deal{'' if count == 1 else 's'}" if lang == "en" else counted_noun(count, "сдача", "сдачи", "сдач")


def minutes_counted(lang: Lang, count: int) -> str:
    """How many minutes: "120 minutes", "121 минута"."""
    return f"{count} minute{'' if count == 1 else 's'}" if lang == "en" else counted_noun(count, "минута", "минуты", "минут")


_CONTRACT: Final = re.compile(r"\b(10|[6-9])(S|C|D|H|NT)\b")
_FOOTNOTE: Final = re.compile(r"\bFN([0-9]+)")
