"""The same deals under another convention in words, in English and in Russian, line by line (`pulka whatif`). Pure text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from shared.rules.convention.sources import differences
from shared.rules.language.amount import Amount, written
from shared.rules.score_files.convention_words import convention_played, option_name, option_value, pulka_title
from shared.rules.score_files.entry_reasons import reason
from shared.rules.score_files.players_called import Called, called, called_in_deal
from shared.rules.score_files.scorer_words import Lang, contract, counted_noun, minutes_counted, rule_cited, signed
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
        "time": "There a pulka is played to a time, {minutes}: when it would have ended its deals do not tell.",
        # sentences
        "title": "{was}{target}: the same deals as {would}",
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
        "whists": "{name}, whists on {on}",
        "same": "{column}: {was}, the same",
        "changes": "{column}: {was} → {would} ({difference})",
        "none": "–",
        "sheet": "Sheet there:",
        "columns": "{name}: pool {pool}, mountain {mountain}{whists}",
        "on": ", whists on {name} {whists}",
        "settlement": "Settlement, as it is → there:",
        "result": "{name}: {was} → {would} ({difference})",
        "both_closed": "The pulka ends with deal {number} here and there.",
        "earlier": "There it would have ended with deal {would}, not {was}; the deals after that count for nothing there.",
        "ends_there": "There it would have ended with deal {would}; the deals after that count for nothing there.",
        "goes_on": "There it would not be over: settled as if it were stopped now (4.2.3, 5.4.18).",
        "misere": "misere",
        "all_pass": "all pass",
        "no_contract": "no contract",
    },
    "ru": {
        "talon_aside": "там не посчитать: прикуп взял сдающему {tricks}, а там он на распасовке не открывается (3.7.6.2)",
        "ten_checked": "там не посчитать: десятерная там проверяется, а не вистуется, и как бы она сыграла, неизвестно (сн. 39)",
        "ten_whisted": "там не посчитать: десятерная там вистуется, и кто бы вистовал, неизвестно (3.5.3)",
        "without_three": "там не посчитать: с {contract} там нельзя уйти без трёх (сн. 40)",
        "half_whist": "там не посчитать: на {contract} там нет полвиста (3.8.7)",
        "dealer_whist": "там не посчитать: сдающий там не вистует (3.8.8)",
        "stalingrad": "там не посчитать: шесть пик там вистуют оба, Сталинград (сн. 61)",
        "impossible": "там не посчитать: такого исхода там не бывает{rules}",
        "no_dark": "там не играют втёмную: посчитано, как если бы это было сказано в открытую (3.3.19)",
        "no_shared_misere": "мизер там не делят: посчитано всё же пополам (3.6.9)",
        "exit_level": "{contract} там заявить нельзя: из распасовок ({in_row}) выходят не ниже чем с {level} (3.7.8)",
        "first_hand_half": "с виста на полвиста там не уходят (3.8.14)",
        "pass_return": "вернуть вист на {contract} там нельзя (3.8.8.1)",
        "ruling": "что присудил судья, остаётся как присуждено",
        "start": "Что стояло на бумаге до первой сдачи, то же самое.",
        "talon_leads": "На распасовке там ходят с прикупа: эти сдачи сыграли бы иначе (3.7.6.1).",
        "talon_lies": "На распасовке прикуп там не открывается: эти сдачи сыграли бы иначе (3.7.6.2).",
        "opening_rounds": "Там пулька начинается с распасовок втёмную ({rounds}); здесь их не играли (3.7.9).",
        "no_talon_worth": "Там за прикуп пишут премию, а какой был прикуп, в сдачах не записано: премии нет (3.4.11).",
        "time": "Там играют на время, {minutes}: когда пулька кончилась бы, по сдачам не сказать.",
        "title": "{was}{target}. Те же сдачи, если бы играли {would}.",
        "to": ", до {target}",
        "taken": "Сдачи взяты как сыграны; по другим правилам их могли бы и заказать, и сыграть иначе.",
        "options": "Чем отличается: {options}.",
        "no_options": "Условия те же самые.",
        "deal": "Сдача {number}, сдаёт {dealer}: {played}",
        "plays": "{name}, {column}",
        "over": "пулька кончилась бы до неё",
        "nothing": "ничего не пишется",
        "pool": "{name}, пуля",
        "mountain": "{name}, гора",
        "whists": "{name}, висты на {on}",
        "same": "{column}: {was}, так же",
        "changes": "{column}: {was} → {would} ({difference})",
        "none": "–",
        "sheet": "Роспись была бы:",
        "columns": "{name}: пуля {pool}, гора {mountain}{whists}",
        "on": ", висты на {name} — {whists}",
        "settlement": "Расчёт, как было → как было бы:",
        "result": "{name}: {was} → {would} ({difference})",
        "both_closed": "Пулька кончается сдачей {number} и здесь, и там.",
        "earlier": "Там она кончилась бы сдачей {would}, а не {was}; сдачи после неё там не считаются.",
        "ends_there": "Там она кончилась бы сдачей {would}; сдачи после неё там не считаются.",
        "goes_on": "Там пулька была бы ещё не окончена: расчёт, как если бы её прекратили сейчас (4.2.3, 5.4.18).",
        "misere": "мизер",
        "all_pass": "распасовка",
        "no_contract": "до заказа не дошло",
    },
}


def remarked(remark: Remark, lang: Lang = "en") -> str:
    """A remark as a sentence."""
    parts = {name: _PARTS[lang].get(name, str)(part) for name, part in remark.parts.items()}
    if remark.code == "impossible":  # the words are those of a refusal, which are English; its rules are everybody's
        rules = ", ".join(dict.fromkeys(_RULE.findall(remark.parts["why"])))
        parts["rules"] = f" ({rule_cited(lang, rules)})" if rules else ""
    return _said(lang, remark.code, **parts)


def compared_lines(compared: Compared, lang: Lang, names: Sequence[str | None] | None = None) -> Iterator[str]:
    """The comparison from the first deal to the settlement; `names` are by seat, those of the file where none are given."""
    pulka = compared.pulka
    known = pulka.names if names is None else names
    players = called(lang, pulka.players, known)
    yield from head_lines(compared, lang)
    for deal in compared.deals:
        in_deal = called_in_deal(lang, pulka.players, deal.outcome.dealer, known)
        yield _said(lang, "deal", number=deal.number, dealer=players[deal.outcome.dealer].who, played=_played(deal.outcome, in_deal, lang))
        yield from (INDENT + line for line in deal_lines(deal, in_deal, lang))
    yield _said(lang, "sheet")
    yield from (INDENT + line for line in _columns(compared.end.sheet, players, lang))
    yield ending_line(compared, lang)
    yield _said(lang, "settlement")
    for who, was, would in zip(players, compared.was.rounded, compared.would_be.rounded, strict=True):
        yield INDENT + _said(lang, "result", name=who.who, was=signed(was), would=signed(would), difference=signed(would - was))


def head_lines(compared: Compared, lang: Lang) -> Iterator[str]:
    """What is compared with what, in which options they differ, and what is to be said of the whole."""
    pulka, would = compared.pulka, convention_played(lang, compared.convention)
    target = "" if pulka.target is None else _said(lang, "to", target=pulka.target)
    yield _said(lang, "title", was=pulka_title(lang, pulka.convention, pulka.players), target=target, would=would)
    yield _said(lang, "taken")
    options = "; ".join(
        f"{option_name(lang, one.option)}: {option_value(lang, one.option, one.value)} → {option_value(lang, one.option, other.value)}"
        for one, other in differences(pulka.convention, compared.convention)
    )
    yield _said(lang, "options", options=options) if options else _said(lang, "no_options")
    yield from (remarked(remark, lang) for remark in compared.remarks)


def deal_lines(deal: ComparedDeal, players: Sequence[Called], lang: Lang) -> Iterator[str]:
    """What there is to say of one deal, then entry by entry what was written and what would have been."""
    if deal.over:
        yield _said(lang, "over")
    if deal.problem is not None:
        yield remarked(deal.problem, lang)
    yield from (remarked(remark, lang) for remark in deal.remarks)
    yield from (_pair(pair, players, lang) for pair in deal.pairs)
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


def _played(outcome: DealOutcome, players: Sequence[Called], lang: Lang) -> str:
    if outcome.contract is None:
        return _said(lang, "no_contract")
    column = contract(contract_and_result(outcome), lang)
    for kind in ("misere", "all_pass"):
        column = column.replace(kind, _said(lang, kind))
    return column if outcome.declarer is None else _said(lang, "plays", name=players[outcome.declarer].who, column=column)


def _pair(pair: Pair, players: Sequence[Called], lang: Lang) -> str:
    entry = pair.entry
    column = _said(lang, entry.column, name=players[entry.seat].who, on="" if entry.on is None else players[entry.on].on)
    was, would = (_said(lang, "none") if one is None else signed(one.amount) for one in (pair.written, pair.would))
    if pair.written and pair.would and not pair.difference:
        told = _said(lang, "same", column=column, was=was)
    else:
        told = _said(lang, "changes", column=column, was=was, would=would, difference=signed(pair.difference))
    return f"{told} [{_why(pair, players, lang)}]"


def _why(pair: Pair, players: Sequence[Called], lang: Lang) -> str:
    """The rule and the reason there; where another rule wrote it here, that one's first."""
    sides = (
        [pair.written, pair.would] if pair.written and pair.would and pair.written.rule != pair.would.rule else [pair.would or pair.written]
    )
    return " → ".join(f"{rule_cited(lang, entry.rule)}: {reason(lang, entry.why, players)}" for entry in sides if entry is not None)


def _columns(sheet: Sheet, players: Sequence[Called], lang: Lang) -> Iterator[str]:
    for seat, who in enumerate(players):
        whists = "".join(_said(lang, "on", name=players[on].on, whists=_number(n)) for on, n in enumerate(sheet.whists[seat]) if n)
        yield _said(lang, "columns", name=who.who, pool=_number(sheet.pool[seat]), mountain=_number(sheet.mountain[seat]), whists=whists)


def _said(lang: Lang, key: str, **parts: object) -> str:
    return SENTENCES[lang][key].format_map(parts)


def _number(amount: Amount) -> str:
    return str(written(amount)).replace("-", "−")


#: Parts of a remark that are not said as they are.
_PARTS: Final[dict[Lang, dict[str, Callable[[Any], str]]]] = {
    "en": {"contract": contract, "minutes": lambda count: minutes_counted("en", int(count))},
    "ru": {
        "contract": lambda text: contract(text, "ru"),
        "tricks": lambda count: counted_noun(count, "взятку", "взятки", "взяток"),
        "in_row": lambda count: f"{count} подряд",
        "minutes": lambda count: minutes_counted("ru", int(count)),
        "rounds": lambda count: counted_noun(count, "сдача", "сдачи", "сдач"),
    },
}
_RULE: Final = re.compile(r"\b(?:[0-9]+(?:\.[0-9]+)+|FN[0-9]+)")
