"""The settlement as a table for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from rich.table import Table

from shared.rules.scorer_words import Lang

HEADS: Final[dict[Lang, tuple[str, ...]]] = {
    "en": ("Settlement", "mountain", "whists, exact", "whists", "paid"),
    "ru": ("Расчёт", "гора", "висты, точно", "висты", "к уплате"),
}


def drawn_settlement(settlement: dict[str, Any], names: Sequence[str], lang: Lang = "en") -> Table:
    """The result in whists: exact, and rounded so that it sums to zero (`settlement` as in `pulka score`); what is paid, at a stake."""
    paid = settlement.get("payments")
    title, *heads, last = HEADS[lang]
    table = Table("", *heads, *([last] if paid else []), title=title, title_justify="left")
    for seat, name in enumerate(names):
        row = (str(settlement["mountain"][seat]), str(settlement["net"][seat]), f"{settlement['rounded'][seat]:+d}")
        table.add_row(name, *row, *([str(paid[seat])] if paid else []))
    for column in table.columns[1:]:
        column.justify = "right"  # numbers stand under one another
    return table
