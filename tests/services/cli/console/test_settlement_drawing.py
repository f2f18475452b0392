"""The settlement in the terminal: its columns are called and its numbers written as on the drawn sheet and on the page."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from services.cli.console.settlement_drawing import drawn_settlement, drawn_since
from services.cli.player.sheet_source import SheetSource
from tests.services.ledger.sheet.drawn_pulkas import played
from tests.services.ledger.sheet.test_printed_sheet import CORRECTED, STAKED

NAMES = ["Anna", "[/b]Boris", "Clara\x1b[31m"]


def lines(drawn):
    out = io.StringIO()
    Console(file=out, width=100).print(drawn)
    return [
        [cell.strip() for cell in line.split("│")[1:-1]] for line in out.getvalue().splitlines() if line.startswith("│")
    ], out.getvalue()


@pytest.mark.parametrize(("lang", "head"), [("en", "mountain, settled"), ("ru", "гора к расчёту")])
def test_4_2_14_the_column_is_the_mountain_as_it_is_settled(lang, head):
    """Not the one that stands on the sheet: what the pool lacks is on it (4.2.3)."""
    assert head in lines(drawn_settlement({"mountain": [20], "net": ["0"], "rounded": [0]}, ["Anna"], lang))[1]


def test_numbers_are_written_as_on_the_drawn_sheet():
    """A minus is one, and nothing won has no sign."""
    settlement = {"mountain": [20, "7/2", 0], "net": ["-7/2", "7/2", "0"], "rounded": [-4, 4, 0], "payments": ["-8", "8", "0"]}
    assert lines(drawn_settlement(settlement, NAMES))[0] == [
        ["Anna", "20", "−7/2", "−4", "−8"],
        ["[/b]Boris", "7/2", "7/2", "+4", "8"],
        ["Clara\ufffd[31m", "0", "0", "0", "0"],
    ]


def test_what_a_reason_holds_is_text():
    """Brackets are no markup and signs no orders to the terminal, whoever wrote them."""
    score, _ = played("sochi", 3, 50, 7, 3)
    assert drawn_since(score, NAMES, first=0) is None
    annulled = {"revision": 9, "at": 1_700_000_060_000, "author": "operator:desk", "reason": "[/red]\x1b]0;"}
    told, text = lines(drawn_since(score | {"closed": True, "annulled": annulled}, NAMES, first=0))
    assert told[0][:2] == ["2023-11-14 22:14", "annulled: [/red]\ufffd]0;"]
    assert told[1][:2] == ["operator:desk", ""]
    assert "\x1b" not in text


def test_who_has_no_name_any_more_is_called_by_his_seat():
    """After an erasure the lobby knows the others' names: his seat is named in the language asked for."""
    score, _ = played("sochi", 3, 50, 7, 1)
    source = SheetSource(score, None, [None, "Борис", "Вера"])
    assert source.named("ru") == ["место 0", "Борис", "Вера"]
    assert source.named("en") == ["seat 0", "Борис", "Вера"]
    assert source._replace(names=None).named("ru") is None


def test_4_2_13_what_is_owed_stands_after_the_corrections():
    """F33: in the terminal too a corrected pulka's payments are those of the result that stands, and those of before are not told."""
    score, _ = played("sochi", 3, 50, 7, 3)
    score["settlement"] |= STAKED
    told, _ = lines(drawn_since(score | CORRECTED, NAMES, "ru", first=0))
    assert [row[1:] for row in told if row[1] in {"итог теперь", "теперь целыми вистами"}] == [
        ["итог теперь", "+1156/7", "+804/7", "−280"],
        ["теперь целыми вистами", "+165", "+115", "−280"],
    ]
    assert next(row for row in told if "к уплате" in row[1])[2:] == ["+231/20", "+161/20", "−98/5"]
    assert "56/5" not in lines(drawn_settlement(score["settlement"], NAMES, "ru", changed=True))[1]
    assert "56/5" in lines(drawn_settlement(score["settlement"], NAMES, "ru"))[1]


@pytest.mark.parametrize(("first", "whole"), [(0, ["+161", "+120", "−281"]), (1, ["+160", "+121", "−281"]), (2, ["+160", "+120", "−280"])])
def test_f10_of_equals_a_corrected_result_is_rounded_as_the_statement_rounds_it(first, whole):
    """F10, Decision 16: three that are rounded as far: whoever sits left of the last deal's dealer has what is missing from zero."""
    score, _ = played("sochi", 3, 50, 7, 3)
    score["settlement"] |= STAKED
    thirds = {"closed": True, "corrections": [CORRECTED["corrections"][0] | {"amounts": ["1/3", "1/3", "-2/3"]}]}
    told, _ = lines(drawn_since(score | thirds, NAMES, "ru", first=first))
    assert next(row for row in told if row[1] == "теперь целыми вистами")[2:] == whole
