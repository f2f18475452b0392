"""The sheet as a page to print: the drawn pulka, the deals with the tournament's column (4.2.11) and every entry, the settlement.

One HTML document without scripts or anything to load. It is XML too, so that whoever wants can read it by machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from services.ledger.sheet.drawn_sheet import drawn_sheet, names_shown, signed, state
from services.ledger.sheet.page import STYLE, contract_told, signed_text, table, text, with_minus
from services.ledger.sheet.printed_comparison import comparison
from services.ledger.sheet.sheet_words import whists_on, word
from services.ledger.sheet.since_settled import SinceSettled, since_settled, standing, when
from shared.rules.convention.options import PRESETS, Convention
from shared.rules.convention.sources import differences
from shared.rules.language.amount import Amount, written
from shared.rules.score_files import scorer_words
from shared.rules.score_files.convention_words import convention_name, option_name, option_value, pulka_title
from shared.rules.score_files.entry_reasons import offence, reason
from shared.rules.score_files.players_called import called
from shared.rules.score_files.scorer_words import Lang, deals_counted, rule_cited
from shared.rules.score_files.what_if import Compared
from shared.rules.scoring.outcome import DealOutcome
from shared.rules.scoring.settlement import first_of_equals


class PrintedTerms(NamedTuple):
    """What the pulka was agreed on; `stake` is what a whist is worth; `at`, milliseconds since 1970, when it stood so, None if unknown."""

    convention: Convention
    target: int | None = None
    stake: Amount | None = None
    at: int | None = None


class PrintedDeal(NamedTuple):
    """A deal of the page, with its number and its outcome."""

    number: int
    outcome: DealOutcome


def printed_sheet(
    score: Mapping[str, Any],
    deals: Sequence[PrintedDeal],
    terms: PrintedTerms,
    names: Sequence[str] | None = None,
    lang: Lang = "en",
    compared: Compared | None = None,
) -> bytes:
    """The page of `score`, the object of `pulka score`, whose `deals` are told by `deals` in the same order; `names` by seat.

    `compared`: `score` is what another convention makes of the deals, that of `terms`; each entry is told beside the one that was written.
    """
    shown = names_shown(names, len(score["sheet"]["pool"]), lang)
    heading = pulka_title(lang, terms.convention, len(shown))
    heading += word(lang, "to", target=terms.target) if terms.target is not None else ""
    heading = heading if compared is None else word(lang, "as", heading=heading)
    first = first_of_equals(terms.convention, len(shown), deals[-1].outcome.dealer if deals else None)
    since = since_settled(score, lang, first) if compared is None else None  # corrections are of the result as it was played
    parts = [
        "<!DOCTYPE html>",
        f'<html xmlns="http://www.w3.org/1999/xhtml" lang="{lang}">',
        f'<head><meta charset="utf-8"/><meta name="viewport" content="width=device-width, initial-scale=1"/><title>{text(heading)}</title>',
        f"<style>{STYLE}</style></head>",
        f"<body><header><h1>{text(heading)}</h1>",
        *(f'<p class="quiet">{text(line)}</p>' for line in _told(score, terms, lang)),
        f"</header><main><figure>{drawn_sheet(score, terms.target, names, lang).decode()}</figure>",
        *_settlement(score, shown, lang, changed=since is not None),
        *([] if since is None else _corrections(since, shown, lang)),
        *(_deals(score, deals, shown, lang) if compared is None else comparison(compared, shown, lang)),
        *_infractions(deals, shown, lang),
        *_kept(score, shown, lang),
        f'<p class="quiet">{text(word(lang, "printed"))}</p></main></body></html>',
    ]
    return ("\n".join(parts) + "\n").encode()


def said(lang: Lang, entry: Mapping[str, Any], names: Sequence[str]) -> str:
    """An entry in words, as HTML: whose column, how much, the rule and why."""
    column = whists_on(lang, names[entry["on"]]) if "on" in entry else word(lang, entry["column"])
    why = reason(lang, entry["why"], called(lang, len(names), names))
    why = f'<span class="rule">{text(why)} ({text(rule_cited(lang, entry["rule"]))})</span>'
    return f"{text(names[entry['seat']])}, {text(column)}: <b>{text(signed_text(entry['amount']))}</b>: {why}"


def _told(score: Mapping[str, Any], terms: PrintedTerms, lang: Lang) -> Iterator[str]:
    """What stands under the heading."""
    parts = [deals_counted(lang, len(score["deals"])), state(score, lang)]
    if terms.stake is not None:
        parts.append(word(lang, "stake", stake=written(terms.stake)))
    if "section" in score:
        number = score["section"]
        parts.append(word(lang, "section", number=number, count=len(score["sections"]), first=score["sections"][number - 1]["first_deal"]))
    if terms.at:
        parts.append(word(lang, "as_of", at=when(terms.at)))
    yield " · ".join(parts)
    preset = terms.convention.preset
    if found := differences(PRESETS[preset], terms.convention):
        options = "; ".join(f"{option_name(lang, line.option)}: {option_value(lang, line.option, line.value)}" for _, line in found)
        yield word(lang, "differs", preset=convention_name(lang, preset), options=options)
    if "kept" in score:
        yield word(lang, "kept_why")


def _settlement(score: Mapping[str, Any], names: Sequence[str], lang: Lang, *, changed: bool) -> Iterator[str]:
    """The settlement as it was played; of one that was `changed` since, what is paid is told after the corrections."""
    sheet, settled = score["sheet"], score["settlement"]
    paid = ["payments"] if "payments" in settled and not changed else []
    head = [word(lang, key) for key in ("player", "pool", "mountain", "settled", "net", "rounded", *paid)]
    rows = [
        [
            text(name),
            *(text(with_minus(column[seat])) for column in (sheet["pool"], sheet["mountain"], settled["mountain"], settled["net"])),
            f"<b>{text(signed(settled['rounded'][seat]))}</b>",
            *(text(with_minus(settled[key][seat])) for key in paid),
        ]
        for seat, name in enumerate(names)
    ]
    now = "" if score["closed"] else f' <span class="quiet">{text(word(lang, "if_now"))}</span>'
    yield f"<section><h2>{text(word(lang, 'settlement'))}{now}</h2>"
    yield from table(map(text, head), rows, {0: "name"} | dict.fromkeys(range(1, len(head)), "number"))
    yield "</section>"


def _deals(score: Mapping[str, Any], deals: Sequence[PrintedDeal], names: Sequence[str], lang: Lang) -> Iterator[str]:
    yield f"<section><h2>{text(word(lang, 'deals'))}</h2>"
    if not deals:
        yield f"<p>{text(word(lang, 'no_deals'))}</p>"
    else:
        head = [word(lang, key) for key in ("deal", "contract", "dealer", "declarer", "calls", "tricks", "entries")]
        rows = [_deal(wrote, deal, names, lang) for wrote, deal in zip(score["deals"], deals, strict=True)]
        yield from table(
            map(text, head), rows, {0: "number", 1: "contract", 2: "name", 3: "name", 5: "tricks", 6: "entries"}, labelled=(0, 2, 3, 4, 5)
        )
    yield "</section>"


def _deal(wrote: Mapping[str, Any], deal: PrintedDeal, names: Sequence[str], lang: Lang) -> list[str]:
    outcome = deal.outcome
    calls = [f"{names[seat]} {word(lang, call)}" for seat, call in enumerate(outcome.calls) if call is not None]
    entries = "".join(f"<li>{said(lang, entry, names)}</li>" for entry in wrote["entries"])
    return [
        str(deal.number),
        text(contract_told(lang, outcome)),
        text(names[outcome.dealer]),
        "" if outcome.declarer is None else text(names[outcome.declarer]),
        text(", ".join(calls)),
        text(" ".join(map(str, outcome.tricks))),
        f"<ul>{entries}</ul>" if entries else text(word(lang, "nothing")),
    ]


def _infractions(deals: Sequence[PrintedDeal], names: Sequence[str], lang: Lang) -> Iterator[str]:
    """What went wrong at the table, deal by deal: the rule, who, and the words of a ruling."""
    rows = [
        [
            str(deal.number),
            text(word(lang, "of", rule=rule_cited(lang, one.rule), name=names[one.seat])),
            text(reason(lang, one.reason, called(lang, len(names), names)) if one.reason else offence(lang, one.rule)),
        ]
        for deal in deals
        for one in deal.outcome.infractions
    ]
    if rows:
        yield f"<section><h2>{text(word(lang, 'infractions'))}</h2>"
        yield from table((text(word(lang, "deal")), "", ""), rows, {0: "number", 2: "entries"}, labelled=(0,))
        yield "</section>"


def _corrections(since: SinceSettled, names: Sequence[str], lang: Lang) -> Iterator[str]:
    """What came after the settlement: each correction with author and reason, an annulment, and what stands now (4.2.16)."""
    nothing = [""] * len(names)
    rows = [
        [when(one.at), text(one.author), text(one.reason), *(map(text, map(scorer_words.signed, one.amounts)) if one.amounts else nothing)]
        for one in since.decided
    ]
    rows += [["", "", *(f"<b>{text(cell)}</b>" for cell in (told, *numbers))] for told, numbers in standing(since, lang)]
    head = ["", word(lang, "author"), word(lang, "reason"), *names]
    yield f"<section><h2>{text(word(lang, 'corrections'))}</h2><p>{text(word(lang, 'as_played'))}</p>"
    yield from table(map(text, head), rows, {2: "entries"} | dict.fromkeys(range(3, len(head)), "number"), labelled=range(3, len(head)))
    yield "</section>"


def _kept(score: Mapping[str, Any], names: Sequence[str], lang: Lang) -> Iterator[str]:
    """Where the players keep the sheet themselves: every entry, correction and fine, as they wrote them."""
    rows = [
        [
            str(one["deal"]),
            text(names[one["seat"]]),
            text(whists_on(lang, names[one["on"]]) if "on" in one else word(lang, one["column"])),
            text(signed_text(one["amount"])),
        ]
        for one in score.get("kept", ())
    ]
    if rows:
        yield f"<section><h2>{text(word(lang, 'kept'))}</h2>"
        yield from table((text(word(lang, "deal")), "", "", ""), rows, {0: "number", 3: "number"})
        yield "</section>"
