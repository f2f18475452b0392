"""What the printed pages are made of: their look, what a browser may do with them, tables, text that stays text."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Final

from services.ledger.sheet.drawn_sheet import NO_XML
from services.ledger.sheet.sheet_words import word
from shared.rules.score_files import scorer_words
from shared.rules.score_files.scorer_words import Lang
from shared.rules.score_files.tournament_column import contract_and_result
from shared.rules.scoring.outcome import DealOutcome

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
td.name { min-width: 4.5em } .scroll { overflow-x: auto } .over td { color: #5b6572 } .rule { color: #5b6572 }
@media screen and (max-width: 40rem) {
body { padding: .6rem; font-size: 14px } h1 { font-size: 1.25rem } h2 { margin-top: 1.1rem }
table { font-size: .78rem } th, td { padding: .15rem } th { hyphens: auto; line-height: 1.15; vertical-align: bottom } th.number { white-space: normal } td.name { min-width: 5em }
td { overflow-wrap: anywhere } td.number { overflow-wrap: normal } figure { margin: .6rem 0 }
.rows, .rows tbody { display: block } .rows thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
.rows tr { display: flex; flex-wrap: wrap; column-gap: .7rem; padding: .25rem 0; border-bottom: 1px solid #c9ced6 }
.rows td { display: block; padding: 0; border: 0; text-align: left; white-space: normal } .rows td:empty { display: none }
.rows td[data-label]::before { content: attr(data-label) " "; color: #5b6572; font-weight: normal }
.rows td.entries { flex: 1 0 100%; font-size: .75rem; line-height: 1.25 } }
@media print { body { max-width: none; padding: 0; font-size: 10pt } svg { max-height: 230mm } .scroll { overflow: visible } }
"""  # noqa: E501 - rules that belong together stand on a line
#: What a browser may do with the page: show it with this style sheet, and nothing else.
CONTENT_POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()}'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


ROWS: Final = ' class="rows"'


def text(value: object) -> str:
    """`value` as it may stand anywhere in the page."""
    return escape(NO_XML.sub("\ufffd", str(value)))


def table(
    head: Iterable[str], rows: Iterable[Sequence[str]], looks: Mapping[int, str], labelled: Collection[int] | None = None
) -> Iterator[str]:
    """A table with cells that are HTML already; `looks` are classes by column.

    `labelled`: on a narrow screen each row of it is a short paragraph, where the cells of these columns begin with their column's name.
    """

    def look(place: int) -> str:
        return f' class="{looks[place]}"' if place in looks else ""

    def label(place: int) -> str:
        return f' data-label="{names[place]}"' if labelled is not None and place in labelled and names[place] else ""

    names = list(head)
    heads = "".join(f'<th scope="col"{look(place)}>{name}</th>' for place, name in enumerate(names))
    yield f'<div class="scroll"><table{"" if labelled is None else ROWS}><thead><tr>{heads}</tr></thead><tbody>'
    for row in rows:
        yield "<tr>" + "".join(f"<td{look(place)}{label(place)}>{inside}</td>" for place, inside in enumerate(row)) + "</tr>"
    yield "</tbody></table></div>"


def contract_told(lang: Lang, outcome: DealOutcome) -> str:
    """Contract and result as a sheet shows them, `6♠ / =`, with what was special about the deal."""
    column = scorer_words.contract(contract_and_result(outcome), lang)
    for kind in ("misere", "all_pass"):
        column = column.replace(kind, word(lang, kind))
    marks = [word(lang, mark) for mark in ("dark", "shared", "conceded", "without_three") if getattr(outcome, mark)]
    return (word(lang, "no_contract") if outcome.contract is None else column) + (f" ({', '.join(marks)})" if marks else "")


def with_minus(number: object) -> str:
    """A number as it is set: with a minus that is one."""
    return str(number).replace("-", "−")


def signed_text(number: object) -> str:
    """A number with its sign."""
    shown = with_minus(number)
    return shown if shown.startswith("−") else f"+{shown}"
