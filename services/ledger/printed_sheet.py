"""The sheet as a page to print: the drawn pulka, the deals with the tournament's column (4.2.11) and every entry, the settlement.

One HTML document without scripts or anything to load. It is XML too, so that whoever wants can read it by machine.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Any, Final, NamedTuple

import msgspec

from services.ledger.drawn_sheet import NO_XML, drawn_sheet, names_shown, signed, state
from services.ledger.sheet_words import deals_counted, word
from shared.rules import scorer_words
from shared.rules.amount import Amount, written
from shared.rules.convention import PRESETS, Convention
from shared.rules.option_sources import differences
from shared.rules.outcome import DealOutcome
from shared.rules.scorer_words import Lang
from shared.rules.tournament_column import contract_and_result

STYLE: Final = """
@page { size: A4; margin: 12mm }
body { margin: 0 auto; max-width: 62rem; padding: 1rem; color: #1b2430; background: #fff; font: 15px/1.4 "Helvetica Neue", Arial, "Liberation Sans", "DejaVu Sans", sans-serif }
h1 { margin: 0; font-size: 1.6rem } h2 { margin: 1.6rem 0 .4rem; font-size: 1.15rem; break-after: avoid }
p { margin: .2rem 0 } .quiet { color: #5b6572; font-size: .85rem } figure { margin: 1rem 0; break-inside: avoid }
svg { display: block; width: 100%; height: auto; max-height: 92vh }
table { border-collapse: collapse; width: 100%; font-size: .85rem } thead { display: table-header-group } tr { break-inside: avoid }
th, td { border-bottom: 1px solid #c9ced6; padding: .25rem .45rem; text-align: left; vertical-align: top }
th { color: #5b6572; font-weight: normal } td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
td.contract, td.tricks { white-space: nowrap } td.contract { font-weight: bold } ul { margin: 0; padding: 0; list-style: none }
.scroll { overflow-x: auto } .over td { color: #5b6572 } .rule { color: #5b6572 }
@media print { body { max-width: none; padding: 0; font-size: 10pt } svg { max-height: 230mm } .scroll { overflow: visible } }
"""  # noqa: E501 - a rule a line
#: What a browser may do with the page: show it with this style sheet, and nothing else.
CONTENT_POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()}'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


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
) -> bytes:
    """The page of `score`, the object of `pulka score`, whose `deals` are told by `deals` in the same order; `names` by seat."""
    shown = names_shown(names, len(score["sheet"]["pool"]), lang)
    heading = word(lang, "heading", players=len(shown), convention=terms.convention.preset)
    heading += word(lang, "to", target=terms.target) if terms.target is not None else ""
    parts = [
        "<!DOCTYPE html>",
        f'<html xmlns="http://www.w3.org/1999/xhtml" lang="{lang}">',
        f'<head><meta charset="utf-8"/><meta name="viewport" content="width=device-width, initial-scale=1"/><title>{text(heading)}</title>',
        f"<style>{STYLE}</style></head>",
        f"<body><header><h1>{text(heading)}</h1>",
        *(f'<p class="quiet">{text(line)}</p>' for line in _told(score, terms, lang)),
        f"</header><main><figure>{drawn_sheet(score, terms.target, names, lang).decode()}</figure>",
        *_settlement(score, shown, lang),
        *_deals(score, deals, shown, lang),
        *_infractions(deals, shown, lang),
        *_kept(score, shown, lang),
        f'<p class="quiet">{text(word(lang, "printed"))}</p></main></body></html>',
    ]
    return ("\n".join(parts) + "\n").encode()


def text(value: object) -> str:
    """`value` as it may stand anywhere in the page."""
    return escape(NO_XML.sub("\ufffd", str(value)))


def table(head: Iterable[str], rows: Iterable[Sequence[str]], looks: Mapping[int, str]) -> Iterator[str]:
    """A table with cells that are HTML already; `looks` are classes by column."""

    def cell(tag: str, place: int, inside: str) -> str:
        look = f' class="{looks[place]}"' if place in looks else ""
        return f"<{tag}{look}>{inside}</{tag}>"

    yield (
        '<div class="scroll"><table><thead><tr>'
        + "".join(cell("th", place, name) for place, name in enumerate(head))
        + "</tr></thead><tbody>"
    )
    for row in rows:
        yield "<tr>" + "".join(cell("td", place, inside) for place, inside in enumerate(row)) + "</tr>"
    yield "</tbody></table></div>"


def said(lang: Lang, entry: Mapping[str, Any], names: Sequence[str]) -> str:
    """An entry in words, as HTML: whose column, how much, the rule and why."""
    column = word(lang, entry["column"], name=names[entry["on"]] if "on" in entry else "")
    why = f'<span class="rule">{text(scorer_words.reason(lang, entry["why"]))} ({text(entry["rule"])})</span>'
    return f"{text(names[entry['seat']])}, {text(column)}: <b>{text(_signed(entry['amount']))}</b>: {why}"


def contract_told(lang: Lang, outcome: DealOutcome) -> str:
    """Contract and result as a sheet shows them, `6♠ / =`, with what was special about the deal."""
    column = scorer_words.contract(contract_and_result(outcome))
    for kind in ("misere", "all_pass"):
        column = column.replace(kind, word(lang, kind))
    marks = [word(lang, mark) for mark in ("dark", "shared", "conceded", "without_three") if getattr(outcome, mark)]
    return (word(lang, "no_contract") if outcome.contract is None else column) + (f" ({', '.join(marks)})" if marks else "")


def _told(score: Mapping[str, Any], terms: PrintedTerms, lang: Lang) -> Iterator[str]:
    """What stands under the heading."""
    parts = [deals_counted(lang, len(score["deals"])), state(score, lang)]
    if terms.stake is not None:
        parts.append(word(lang, "stake", stake=written(terms.stake)))
    if "section" in score:
        number = score["section"]
        parts.append(word(lang, "section", number=number, count=len(score["sections"]), first=score["sections"][number - 1]["first_deal"]))
    if terms.at:
        parts.append(word(lang, "as_of", at=f"{datetime.fromtimestamp(terms.at // 1000, UTC):%Y-%m-%d %H:%M}"))
    yield " · ".join(parts)
    preset = terms.convention.preset
    if found := differences(PRESETS[preset], terms.convention):
        options = "; ".join(f"{line.option} {_value(line.value)}" for _, line in found)
        yield word(lang, "differs", preset=preset, options=options)
    if "kept" in score:
        yield word(lang, "kept_why")


def _value(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _settlement(score: Mapping[str, Any], names: Sequence[str], lang: Lang) -> Iterator[str]:
    sheet, settled = score["sheet"], score["settlement"]
    paid = ["payments"] if "payments" in settled else []
    head = [word(lang, key) for key in ("player", "pool", "mountain", "settled", "net", "rounded", *paid)]
    rows = [
        [
            text(name),
            *(text(_minus(column[seat])) for column in (sheet["pool"], sheet["mountain"], settled["mountain"], settled["net"])),
            f"<b>{text(signed(settled['rounded'][seat]))}</b>",
            *(text(_minus(settled[key][seat])) for key in paid),
        ]
        for seat, name in enumerate(names)
    ]
    now = "" if score["closed"] else f' <span class="quiet">{text(word(lang, "if_now"))}</span>'
    yield f"<section><h2>{text(word(lang, 'settlement'))}{now}</h2>"
    yield from table(map(text, head), rows, dict.fromkeys(range(1, len(head)), "number"))
    yield "</section>"


def _deals(score: Mapping[str, Any], deals: Sequence[PrintedDeal], names: Sequence[str], lang: Lang) -> Iterator[str]:
    yield f"<section><h2>{text(word(lang, 'deals'))}</h2>"
    if not deals:
        yield f"<p>{text(word(lang, 'no_deals'))}</p>"
    else:
        head = [word(lang, key) for key in ("deal", "contract", "dealer", "declarer", "calls", "tricks", "entries")]
        rows = [_deal(wrote, deal, names, lang) for wrote, deal in zip(score["deals"], deals, strict=True)]
        yield from table(map(text, head), rows, {0: "number", 1: "contract", 5: "tricks"})
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
        [str(deal.number), text(word(lang, "of", rule=one.rule, name=names[one.seat])), text(one.reason)]
        for deal in deals
        for one in deal.outcome.infractions
    ]
    if rows:
        yield f"<section><h2>{text(word(lang, 'infractions'))}</h2>"
        yield from table((text(word(lang, "deal")), "", ""), rows, {0: "number"})
        yield "</section>"


def _kept(score: Mapping[str, Any], names: Sequence[str], lang: Lang) -> Iterator[str]:
    """Where the players keep the sheet themselves: every entry, correction and fine, as they wrote them."""
    rows = [
        [
            str(one["deal"]),
            text(names[one["seat"]]),
            text(word(lang, one["column"], name=names[one["on"]] if "on" in one else "")),
            text(_signed(one["amount"])),
        ]
        for one in score.get("kept", ())
    ]
    if rows:
        yield f"<section><h2>{text(word(lang, 'kept'))}</h2>"
        yield from table((text(word(lang, "deal")), "", "", ""), rows, {0: "number", 3: "number"})
        yield "</section>"


def _minus(number: object) -> str:
    return str(number).replace("-", "−")


def _signed(number: object) -> str:
    shown = _minus(number)
    return shown if shown.startswith("−") else f"+{shown}"
