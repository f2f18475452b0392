"""The drawing of a sheet: every number before its player, names that cannot break the picture, a terminal's width kept."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from services.ledger.drawn_sheet import SIDE, drawn_sheet, sheet_text

THREE = {
    "sheet": {"pool": [18, 10, 7], "mountain": [5, 61, 12], "whists": [[0, 2, 124], [1, 0, 16], [2, 1, -33]]},
    "closed": False,
    "settlement": {"rounded": [38, 39, -77]},
}
FOUR = {
    "sheet": {"pool": [18, 10, 7, 20], "mountain": [5, 61, "184/3", 1], "whists": [[0, 2, 124], [1, 0, 16], [3, 1, "-184/3"]]},
    "closed": True,
    "settlement": {"rounded": [38, 39, -77, 0]},
}
TWO = {
    "sheet": {"pool": [18, 10], "mountain": [5, 61], "whists": [[0, 1, 124], [1, 0, 16]]},
    "closed": False,
    "settlement": {"rounded": [38, -38]},
}
FIVE = {
    "sheet": {
        "pool": [18, 10, 7, 20, 9],
        "mountain": [5, 61, "184/3", 1, 88],
        "whists": [[0, 2, 124], [1, 0, 16], [2, 4, 71], [3, 1, "-184/3"], [4, 0, 55]],
    },
    "closed": True,
    "settlement": {"rounded": [38, 39, -77, 0, 0]},
}


def side_of(x, y, sides):
    """Before whom a point of the square lies: below, left, above or right of the diagonals, of two in which half."""
    x, y = x - SIDE / 2, y - SIDE / 2
    if abs(y) > abs(x) or len(sides) == 2:
        upper = ("above left" if x < 0 else "above right") if len(sides) == 5 else "above"
        return "below" if y > 0 else upper
    return "right" if x > 0 else "left"


SEATED = [
    (TWO, ("below", "above")),
    (THREE, ("below", "left", "right")),
    (FOUR, ("below", "left", "above", "right")),
    (FIVE, ("below", "left", "above left", "above right", "right")),
]


@pytest.mark.parametrize(("score", "sides"), SEATED)
def test_every_number_stands_before_its_player(score, sides):
    """Pool, mountain and whists of each seat are drawn on his side, pool further in than whists, the mountain in the middle."""
    root = ET.fromstring(drawn_sheet(score, 20))  # noqa: S314 - our own drawing
    texts = [(text.text, float(text.get("x")), float(text.get("y"))) for text in root.iter("{http://www.w3.org/2000/svg}text")]
    sheet = score["sheet"]
    for seat, side in enumerate(sides):
        own = [(text, min(x, SIDE - x, y, SIDE - y)) for text, x, y in texts if side_of(x, y, sides) == side]
        depth = dict(own)
        assert depth[str(sheet["pool"][seat])] < depth[str(sheet["mountain"][seat])]
        for writer, on, amount in sheet["whists"]:
            if writer == seat:
                place = own.index((f"on {on}", next(deep for text, deep in own if text == f"on {on}")))
                assert own[place + 1][0] == str(amount)
                assert own[place + 1][1] < depth[str(sheet["pool"][seat])]


def test_names_cannot_break_the_picture():
    """A name is text, whatever it holds, and one that is too long is cut."""
    root = ET.fromstring(drawn_sheet(THREE, None, ["<b>&\"'", "x" * 500, "Анна"]))  # noqa: S314 - our own drawing
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "0 <b>&\"'  +38" in texts
    assert "2 Анна  -77" in texts
    assert max(map(len, texts)) < 60


@pytest.mark.parametrize("score", [TWO, THREE, FOUR, FIVE])
def test_the_terminal_shows_every_number(score):
    """The plain text has a box a player with his columns and result, and fits 80 columns."""
    text = sheet_text(score, 20, ["Anna", "Борис", "x" * 60, "Dora", "Egor"][: len(score["sheet"]["pool"])])
    assert max(map(len, text.splitlines())) <= 80
    shown = re.findall(r"-?\d+(?:/\d+)?(?= │)|[+-]\d+(?= │)", text)
    for number in [*score["sheet"]["pool"], *score["sheet"]["mountain"], *(amount for _, _, amount in score["sheet"]["whists"])]:
        assert str(number) in shown
    for result in score["settlement"]["rounded"]:
        assert f"{result:+d}" in shown
