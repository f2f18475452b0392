"""The sheet in a terminal: a box a player, running totals as far as there is room, whatever the names."""

from __future__ import annotations

import re

import click
import pytest
from rich.cells import cell_len

from services.cli.console.terminal_sheet import sheet_text
from services.ledger.sheet.running_totals import fields_of, running_totals
from tests.services.ledger.sheet.drawn_pulkas import played

NAMES = ["Anna", "Борис", "x" * 60, "王小明", "\x1b[31mEgor\r\n"]


def plain(text):
    """As `click.echo` writes it where nobody can strike anything through."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize("players", [2, 3, 4, 5])
@pytest.mark.parametrize("width", [80, 120, 200])
def test_every_field_shows_its_latest_totals(players, width):
    """Each box has its player's columns, the latest totals in order and the last one always; no line is wider than the terminal."""
    score, _ = played("sochi", players, 50, players, 20)
    text = plain(sheet_text(score, 50, NAMES[:players], "en", width))
    assert max(map(cell_len, text.splitlines())) <= width
    shown = [re.split(r" +", line.strip("│ "))[::-1] for line in re.findall(r"│[^│]*│", text)]
    totals = running_totals(score)
    for field in fields_of(players):
        wanted = [str(total).replace("-", "−") for total in totals[field]] or ["0"]
        assert any(line[: min(len(wanted), 1)] == wanted[-1:] for line in shown), field
    for result in score["settlement"]["rounded"]:
        assert f"{result:+d}".replace("-", "−") in text


def test_earlier_totals_are_struck_through():
    """A terminal strikes the earlier totals through and sets the last one in bold."""
    score, _ = played("sochi", 3, 50, 7, 10)
    text = sheet_text(score, 50, None, "en", 200)
    totals = running_totals(score)[0, "mountain", None]
    struck = [click.style(str(total), dim=True, strikethrough=True) for total in totals[:-1]]
    assert " ".join([*struck, click.style(str(totals[-1]), bold=True)]) in text


def test_a_name_gives_a_terminal_no_orders():
    """Signs that a terminal would obey are shown as signs."""
    score, _ = played("sochi", 5, 50, 5, 3)
    assert "\x1b[31m" not in sheet_text(score, 50, NAMES)
    assert "\r" not in sheet_text(score, 50, NAMES)


def test_the_terminal_speaks_russian():
    """Labels and state are in the language asked for."""
    score, _ = played("sochi", 3, 50, 7, 10)
    text = sheet_text(score, 50, None, "ru")
    assert all(word in text for word in ("пуля", "гора", "итог", "место 1", "10 сдач", "до 50", "не окончена"))
