"""The settlement as a table for the terminal, and what came after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.console import Group
from rich.table import Table
from rich.text import Text

from services.cli.console.terminal_sheet import printable
from services.ledger.sheet.drawn_sheet import signed
from services.ledger.sheet.page import with_minus
from services.ledger.sheet.sheet_words import word
from services.ledger.sheet.since_settled import since_settled, standing, when
from shared.rules.score_files.scorer_words import Lang
from shared.rules.score_files.scorer_words import signed as signed_exact

COLUMNS: Final = ("settled", "net", "rounded")


def drawn_settlement(settlement: Mapping[str, Any], names: Sequence[str], lang: Lang = "en", *, changed: bool = False) -> Table:
    """The result in whists: exact, and rounded so that it sums to zero (`settlement` as in `pulka score`); what is paid, at a stake.

    `changed`: corrections or an annulment came since, and what is paid is told after them (`drawn_since`).
    """
    paid = None if changed else settlement.get("payments")
    heads = [word(lang, key) for key in (*COLUMNS, *(["payments"] if paid else []))]
    table = Table("", *heads, title=word(lang, "settlement"), title_justify="left")
    for seat, name in enumerate(names):
        row = (with_minus(settlement["mountain"][seat]), with_minus(settlement["net"][seat]), signed(settlement["rounded"][seat]))
        table.add_row(plain(name), *row, *([with_minus(paid[seat])] if paid else []))
    for column in table.columns[1:]:
        column.justify = "right"  # numbers stand under one another
    return table


def drawn_since(score: Mapping[str, Any], names: Sequence[str], lang: Lang = "en", *, first: int) -> Group | None:
    """That the result is another now; corrections and an annulment, each with author and reason, and what stands (4.2.16).

    None where there are none. `first` of equals is rounded up or down before the others (Decision 16).
    """
    since = since_settled(score, lang, first)
    if since is None:
        return None
    table = Table(title=word(lang, "corrections"), title_justify="left")
    for head in (word(lang, "author"), word(lang, "reason")):
        table.add_column(head, overflow="fold")
    for name in names:
        table.add_column(plain(name), justify="right")
    for one in since.decided:
        decided = Text("\n").join((Text(when(one.at)), plain(one.author)))  # side by side they would leave a reason no room
        table.add_row(decided, plain(one.reason), *map(signed_exact, one.amounts))
    if stands := standing(since, lang):
        table.add_section()
        for told, numbers in stands:
            table.add_row("", told, *numbers)
    return Group(word(lang, "as_played"), table)


def plain(text: str) -> Text:
    """What somebody has written, as it is: no brackets in it are markup, no signs an order to the terminal."""
    return Text(printable(text))
