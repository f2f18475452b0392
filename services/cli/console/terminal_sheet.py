"""The sheet in a terminal: a box a player, placed as at the table, each field with as many of its running totals as there is room for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import click
from rich.cells import cell_len, set_cell_size

from services.ledger.sheet.drawn_sheet import names_shown, number, signed, state
from services.ledger.sheet.paper import SIDES
from services.ledger.sheet.running_totals import MOUNTAIN, POOL, WHISTS, Field, clockwise, running_totals
from services.ledger.sheet.sheet_words import whists_field, word
from shared.rules.language.amount import Amount
from shared.rules.score_files.scorer_words import Lang, deals_counted

NARROW: Final = 80  # columns, where nobody tells how many there are
LEAST, MOST = 22, 44  # characters inside a player's box: three fit side by side into 80 columns; more than that only tears a line apart
FRAME: Final = 4  # and what its edges take


def sheet_text(
    score: Mapping[str, Any], target: int | None = None, names: Sequence[str] | None = None, lang: Lang = "en", width: int = NARROW
) -> str:
    """The sheet as text for a terminal of `width` columns, two to five players; takes what `drawn_sheet` does.

    Earlier totals are struck through by the terminal's own means, which `click.echo` leaves out where there is none.
    """
    players = len(score["sheet"]["pool"])
    shown = [printable(name) for name in names_shown(names, players, lang)]
    room = min(MOST, max(LEAST, width // 3 - FRAME))
    placed = dict(zip(SIDES[players], (_box(score, seat, shown, lang, room) for seat in range(players)), strict=True))
    gap = " " * (room + FRAME)
    height = len(placed["below"])
    said = [
        deals_counted(lang, len(score["deals"])),
        word(lang, "to", target=target).strip(", ") if target is not None else "",
        state(score, lang),
    ]
    middle = [_in_the_middle(line, room + FRAME) for line in said if line]
    above = (height - len(middle)) // 2
    middle = [gap] * above + middle + [gap] * (height - above - len(middle))
    rows = [gap + line for line in placed.get("above", [])]
    rows += [left + gap + right for left, right in zip(placed.get("above left", []), placed.get("above right", []), strict=True)]
    if "left" in placed:
        rows += [left + centre + right for left, centre, right in zip(placed["left"], middle, placed["right"], strict=True)]
    else:  # two sit opposite each other
        rows += [gap + line for line in middle if line.strip()]
    rows += [gap + line for line in placed["below"]]
    return "\n".join(row.rstrip() for row in rows) + "\n"


def _box(score: Mapping[str, Any], seat: int, names: Sequence[str], lang: Lang, room: int) -> list[str]:
    totals = running_totals(score)
    fields: list[tuple[str, Field]] = [(word(lang, "pool"), (seat, POOL, None)), (word(lang, "mountain"), (seat, MOUNTAIN, None))]
    fields += [(whists_field(lang, names[on]), (seat, WHISTS, on)) for on in clockwise(seat, len(names))]
    body = [_line(label, totals[field], room) for label, field in fields]
    result = signed(score["settlement"]["rounded"][seat])
    body.append(_spread(word(lang, "result"), room - len(result)) + click.style(result, bold=True))
    title = f" {_cut(names[seat], room - 2)} "
    dashes = room + 2 - cell_len(title)
    return [f"┌{'─' * (dashes // 2)}{title}{'─' * (dashes - dashes // 2)}┐", *(f"│ {line} │" for line in body), f"└{'─' * (room + 2)}┘"]


def _line(label: str, totals: Sequence[Amount], room: int) -> str:
    """The label at the left, the latest totals at the right, the last of them standing; a long label gives way to that one alone."""
    texts = [number(total) for total in totals] or ["0"]
    free = room - min(cell_len(label), room - len(texts[-1]) - 1) - 1
    kept = len(texts)
    while kept > 1 and len(_joined(texts, kept)) > free:
        kept -= 1
    shown = _joined(texts, kept)
    left = _spread(label, room - len(shown))
    struck = [click.style(text, dim=True, strikethrough=True) for text in texts[len(texts) - kept : -1]]
    more = ["…"] if kept < len(texts) else []
    return left + " ".join([*more, *struck, click.style(texts[-1], bold=True)])


def _joined(texts: Sequence[str], kept: int) -> str:
    """How the last `kept` of the totals look without the terminal's means."""
    return " ".join([*(["…"] if kept < len(texts) else []), *texts[len(texts) - kept :]])


def _spread(label: str, room: int) -> str:
    """`label` in exactly `room` columns, with one of them free."""
    return set_cell_size(_cut(label, room - 1), room)


def _cut(text: str, room: int) -> str:
    return text if cell_len(text) <= room else set_cell_size(text, max(0, room - 1)).rstrip() + "…"


def _in_the_middle(text: str, room: int) -> str:
    free = room - cell_len(text)
    return " " * (free // 2) + text + " " * (free - free // 2)


def printable(text: str) -> str:
    """What somebody has written, a name or a reason, without signs that a terminal would obey."""
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in text)
