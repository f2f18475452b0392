"""The same deals under another convention in words, in English and in Russian, line by line (`pulka whatif`). Pure text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from shared.rules.convention.sources import differences
from shared.rules.language.amount import Amount, written
from shared.rules.score_files.scorer_words import Lang, contract, reason_named, signed
from shared.rules.score_files.tournament_column import contract_and_result
from shared.rules.score_files.what_if import Compared, ComparedDeal, Pair, Remark
from shared.rules.scoring.outcome import DealOutcome
from shared.rules.scoring.sheet import Sheet

INDENT: Final = "  "

SENTENCES: Final[dict[Lang, dict[str, str]]] = {
    "en": {
        # remarks
        "talon_aside": "cannot be scored there: talon cards took {tricks} for the dealer, and there the talon lies aside (3.7.6.2)",
        "ten_checked": "cannot be scored there: a ten is laid open and not whisted there, and how it would have gone nobody knows (FN39)",
        "ten_whisted": "cannot be scored there: a ten is whisted there, and who would have whisted nobody knows (3.5.3)",
        "without_three": "cannot be scored there: {contract} cannot be given up without three there (FN40)",
        "half_whist": "cannot be scored there: nobody can go for half on {contract} there (3.8.7)",
        "dealer_whist": "cannot be scored there: a resting dealer does not whist there (3.8.8)",
        "stalingrad": "cannot be scored there: six spades must be whisted by both defenders there (FN61)",
        "impossible": "cannot be scored there: {why}",
        "no_dark": "there are no dark calls there: counted as if it had been said openly (3.3.19)",
        "no_shared_misere": "a misere is not shared there: counted as halved all the same (3.6.9)",
        "exit_level": "{contract} could not have been bid there: after {in_row} all-pass in a row bidding begins at {level} (3.7.8)",
        "first_hand_half": "the first hand could not have gone down to half there (3.8.14)",
        "pass_return": "who had passed could not have taken the whist back on {contract} there (3.8.8.1)",
        "ruling": "what was ruled in figures stays as it was ruled",
        "start": "What stood on the paper before the first deal is the same.",
        "talon_leads": "On all-pass the talon leads there: those deals would have been played otherwise (3.7.6.1).",
        "talon_lies": "On all-pass the talon lies aside there: those deals would have been played otherwise (3.7.6.2).",
        "opening_rounds": "There a pulka begins with forced all-pass ({rounds}), which was not played here (3.7.9).",
        "no_talon_worth": "There talon cards are worth whists, and no deal tells what its talon was worth: none are written (3.4.11).",
        "time": "There a pulka is played to a time, {minutes} minutes: when it would have ended its deals do not tell.",
        # sentences
        "title": "Pulka of {players}, {was}{target}: the same deals as {would}",
        "to": ", to {target}",
        "taken": "Deals are taken as they were played; under other rules they might have been bid and played otherwise.",
        "options": "What differs: {options}.",
        "no_options": "The two do not differ in any option.",
        "deal": "Deal {number}: {played}",
        "plays": "{name}, {column}",
        "over": "the pulka would have been over before it",
        "nothing": "nothing is written",
        "pool": "{name}, pool",
        "mountain": "{name}, mountain",
        "whists": "{name} on {on}",
        "same": "{column}: {was}, the same",
        "changes": "{column}: {was} → {would} ({difference})",
        "none": "–",
        "sheet": "Sheet there:",
        "columns": "{name}: pool {pool}, mountain {mountain}{whists}",
        "on": ", on {name} {whists}",
        "settlement": "Settlement, as it is → there:",
        "result": "{name}: {was} → {would} ({difference})",
        "both_closed": "The pulka ends with deal {number} here and there.",
        "earlier": "There it would have ended with deal {would}, not {was}; the deals after that count for nothing there.",
        "ends_there": "There it would have ended with deal {would}; the deals after that count for nothing there.",
        "goes_on": "There it would not be over: settled as if it were stopped now (4.2.3, 5.4.18).",
        "misere": "misere",
        "all_pass": "all pass",
        "no_contract": "no contract",
        "seat": "seat {seat}",
    },
    "ru": {
        "talon_aside": "там не посчитать: карты прикупа взяли сдающему взяток: {tricks}, а прикуп там лежит в стороне (3.7.6.2)",
        "ten_checked": "там не посчитать: десятерная там проверяется, а не вистуется, и как бы она сыграла, неизвестно (FN39)",
        "ten_whisted": "там не посчитать: десятерная там вистуется, и кто бы вистовал, неизвестно (3.5.3)",
        "without_three": "там не посчитать: с {contract} там нельзя уйти без трёх (FN40)",
        "half_whist": "там не посчитать: на {contract} там нет полвиста (3.8.7)",
        "dealer_whist": "там не посчитать: сдающий там не вистует (3.8.8)",
        "stalingrad": "там не посчитать: шесть пик там вистуют оба (FN61)",
        "impossible": "там не посчитать: {why}",
        "no_dark": "там не играют втёмную: посчитано, как если бы это было сказано в открытую (3.3.19)",
        "no_shared_misere": "мизер там не делят: посчитано всё же пополам (3.6.9)",
        "exit_level": "{contract} там нельзя было заявить: после распасовок подряд ({in_row}) торговля начинается с {level} (3.7.8)",
        "first_hand_half": "первая рука там не могла уйти за полвиста (3.8.14)",
        "pass_return": "спасовавший там не мог вернуть вист на {contract} (3.8.8.1)",
        "ruling": "что присуждено в числах, остаётся как присуждено",
        "start": "Что стояло на бумаге до первой сдачи, то же самое.",
        "talon_leads": "На распасовке там ходят с прикупа: эти сдачи сыграли бы иначе (3.7.6.1).",
        "talon_lies": "На распасовке прикуп там лежит в стороне: эти сдачи сыграли бы иначе (3.7.6.2).",
        "opening_rounds": "Там пулька начинается с вынужденных распасовок ({rounds}), здесь их не играли (3.7.9).",
        "no_talon_worth": "Там карты прикупа стоят вистов, а сколько стоил прикуп, ни одна сдача не говорит: не пишутся (3.4.11).",
        "time": "Там играют на время, {minutes} мин: когда пулька кончилась бы, по сдачам не сказать.",
        "title": "Пулька на {players}, {was}{target}: те же сдачи, как {would}",
        "to": ", до {target}",
        "taken": "Сдачи взяты, как они сыграны; по другим правилам их могли бы заказать и сыграть иначе.",
        "options": "Чем отличается: {options}.",
        "no_options": "Условия не отличаются ничем.",
        "deal": "Сдача {number}: {played}",
        "plays": "{name}, {column}",
        "over": "пулька кончилась бы до неё",
        "nothing": "ничего не пишется",
        "pool": "{name}, пуля",
        "mountain": "{name}, гора",
        "whists": "{name}, на: {on}",
        "same": "{column}: {was}, так же",
        "changes": "{column}: {was} → {would} ({difference})",
        "none": "–",
        "sheet": "Роспись там:",
        "columns": "{name}: пуля {pool}, гора {mountain}{whists}",
        "on": ", на {name} {whists}",
        "settlement": "Расчёт, как есть → там:",
        "result": "{name}: {was} → {would} ({difference})",
        "both_closed": "Пулька кончается сдачей {number} и здесь, и там.",
        "earlier": "Там она кончилась бы сдачей {would}, а не {was}; сдачи после неё там не считаются.",
        "ends_there": "Там она кончилась бы сдачей {would}; сдачи после неё там не считаются.",
        "goes_on": "Там она была бы не окончена: расчёт, как если бы её прекратили сейчас (4.2.3, 5.4.18).",
        "misere": "мизер",
        "all_pass": "распасовка",
        "no_contract": "без контракта",
        "seat": "место {seat}",
    },
}


def remarked(remark: Remark, lang: Lang = "en") -> str:
    """A remark as a sentence."""
    parts = {name: contract(part, lang) if name == "contract" else part for name, part in remark.parts.items()}
    return _said(lang, remark.code, **parts)


def compared_lines(compared: Compared, name: str, lang: Lang, names: Sequence[str] | None = None) -> Iterator[str]:
    """The comparison from the first deal to the settlement; `name` is what the other convention is called, `names` are by seat."""
    shown = [_said(lang, "seat", seat=seat) for seat in range(compared.pulka.players)] if names is None else list(names)
    yield from head_lines(compared, name, lang)
    for deal in compared.deals:
        yield _said(lang, "deal", number=deal.number, played=_played(deal.outcome, shown, lang))
        yield from (INDENT + line for line in deal_lines(deal, shown, lang))
    yield _said(lang, "sheet")
    yield from (INDENT + line for line in _columns(compared.end.sheet, shown, lang))
    yield ending_line(compared, lang)
    yield _said(lang, "settlement")
    for who, was, would in zip(shown, compared.was.rounded, compared.would_be.rounded, strict=True):
        yield INDENT + _said(lang, "result", name=who, was=signed(was), would=signed(would), difference=signed(would - was))


def head_lines(compared: Compared, name: str, lang: Lang) -> Iterator[str]:
    """What is compared with what, in which options they differ, and what is to be said of the whole."""
    pulka = compared.pulka
    target = "" if pulka.target is None else _said(lang, "to", target=pulka.target)
    yield _said(lang, "title", players=pulka.players, was=pulka.convention.preset, target=target, would=name)
    yield _said(lang, "taken")
    found = differences(pulka.convention, compared.convention)
    options = "; ".join(f"{one.option} {_value(one.value)} → {_value(other.value)}" for one, other in found)
    yield _said(lang, "options", options=options) if options else _said(lang, "no_options")
    yield from (remarked(remark, lang) for remark in compared.remarks)


def deal_lines(deal: ComparedDeal, names: Sequence[str], lang: Lang) -> Iterator[str]:
    """What there is to say of one deal, then entry by entry what was written and what would have been."""
    if deal.over:
        yield _said(lang, "over")
    if deal.problem is not None:
        yield remarked(deal.problem, lang)
    yield from (remarked(remark, lang) for remark in deal.remarks)
    yield from (_pair(pair, names, lang) for pair in deal.pairs)
    if not deal.pairs:
        yield _said(lang, "nothing")


def ending_line(compared: Compared, lang: Lang) -> str:
    """When the pulka would have ended, against when it did (4.2.3, 4.2.3.3)."""
    was, would = compared.ended_with, compared.closed_after
    if would is None:
        return _said(lang, "goes_on")
    if was is None:
        return _said(lang, "ends_there", would=would)
    return _said(lang, "both_closed", number=would) if was == would else _said(lang, "earlier", was=was, would=would)


def _played(outcome: DealOutcome, names: Sequence[str], lang: Lang) -> str:
    if outcome.contract is None:
        return _said(lang, "no_contract")
    column = contract(contract_and_result(outcome), lang)
    for kind in ("misere", "all_pass"):
        column = column.replace(kind, _said(lang, kind))
    return column if outcome.declarer is None else _said(lang, "plays", name=names[outcome.declarer], column=column)


def _pair(pair: Pair, names: Sequence[str], lang: Lang) -> str:
    entry = pair.entry
    column = _said(lang, entry.column, name=names[entry.seat], on="" if entry.on is None else names[entry.on])
    was, would = (_said(lang, "none") if one is None else signed(one.amount) for one in (pair.written, pair.would))
    if pair.written and pair.would and not pair.difference:
        told = _said(lang, "same", column=column, was=was)
    else:
        told = _said(lang, "changes", column=column, was=was, would=would, difference=signed(pair.difference))
    return f"{told} [{_why(pair, names, lang)}]"


def _why(pair: Pair, names: Sequence[str], lang: Lang) -> str:
    """The rule and the reason there; where another rule wrote it here, that one's first."""
    sides = (
        [pair.written, pair.would] if pair.written and pair.would and pair.written.rule != pair.would.rule else [pair.would or pair.written]
    )
    return " → ".join(f"{entry.rule}: {reason_named(lang, entry.why, names)}" for entry in sides if entry is not None)


def _columns(sheet: Sheet, names: Sequence[str], lang: Lang) -> Iterator[str]:
    for seat, name in enumerate(names):
        whists = "".join(_said(lang, "on", name=names[on], whists=_number(n)) for on, n in enumerate(sheet.whists[seat]) if n)
        yield _said(lang, "columns", name=name, pool=_number(sheet.pool[seat]), mountain=_number(sheet.mountain[seat]), whists=whists)


def _said(lang: Lang, key: str, **parts: object) -> str:
    return SENTENCES[lang][key].format_map(parts)


def _number(amount: Amount) -> str:
    return str(written(amount)).replace("-", "−")


def _value(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
