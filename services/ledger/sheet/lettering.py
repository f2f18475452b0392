"""How numbers and words are set into a field of the drawn sheet: row by row, smaller where there are many, the oldest left out at last.

Nothing is measured: a picture is looked at with whatever font is there. Widths are those of the widest usual one and a little more.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from typing import Final, NamedTuple

from services.ledger.sheet.polygons import Polygon, drawn_in, heights, span

SIZES: Final = (19, 17, 16, 15, 14, 13, 12, 11)  # of numbers, the largest that fits; 11 of 1000 units are 2 mm on a page of A4
LEAST: Final = SIZES[-1]
TINY: Final = 4  # only for a single number too long for its field: hundreds of digits' worth, which no pulka has
LABEL: Final = 12  # size of what says whose or which field it is
AIR: Final = 5.0  # between a field's edge and what stands in it
ROW: Final = 1.28  # height of a row, in its size
GAP: Final = 0.62  # between two totals, likewise
STEP: Final = 2.0  # by how much a row moves down where the field is too narrow for it
MORE: Final = "…"  # in place of the oldest totals

_DIGIT: Final = 0.7  # a bold digit of DejaVu Sans, the widest of the fonts named; Arial has 0.56
_NARROW: Final = dict.fromkeys("/.,:;'!|()[]ijlI -", 0.46)
_WIDE: Final = frozenset("MWmw@%ЖМФШЩЫЮжмфшщыюЪъДд…−+=")


class Placed(NamedTuple):
    """A text in the picture: its left end, its baseline, its size; `kind` is "label", "more", "struck" or "stands"; `width` it may take."""

    text: str
    x: float
    y: float
    size: float
    kind: str
    width: float


def width_of(text: str, size: float) -> float:
    """More than `text` will take at `size`, whatever the font."""
    return size * sum(map(_width, text))


def _width(sign: str) -> float:
    if sign.isascii() and sign.isdigit():
        return _DIGIT
    if unicodedata.east_asian_width(sign) in "WF":  # Chinese and Japanese signs, and pictures
        return 1.4
    return _NARROW.get(sign, 1.06 if sign in _WIDE else 0.92 if sign.isupper() or sign not in _USUAL else 0.74)


_USUAL: Final = frozenset("abcdefghknopqrstuvxyzабвгезийклнопрстуфхцчьэяё")


def shortened(text: str, room: float, size: float) -> str:
    """`text`, cut to `room` with a sign that it was."""
    if width_of(text, size) <= room:
        return text
    while text and width_of(text + MORE, size) > room:
        text = text[:-1]
    return text.rstrip() + MORE


def set_in(field: Polygon, label: str, totals: Sequence[str]) -> list[Placed]:
    """`label` and `totals` as they stand within `field`, the last of them standing and the others struck through.

    All totals where they can stand at a size of `LEAST` or more; else the latest ones after `MORE`.
    """
    room = drawn_in(field, AIR)
    if not room:
        return []
    for size in SIZES:
        if (found := _in_the_middle(room, label, totals, size)) is not None:
            return found
    # `bisect_left` over how many of the latest are kept: from some count on they do not fit
    kept = bisect_left(range(1, len(totals)), x=True, key=lambda count: _all_rows(room, label, [MORE, *totals[-count:]], LEAST) is None)
    if kept:
        return _in_the_middle(room, label, [MORE, *totals[-kept:]], LEAST) or []
    for size in range(LEAST - 1, TINY - 1, -1):
        if (found := _in_the_middle(room, label, totals[-1:], size)) is not None:
            return found
    return []


def _in_the_middle(room: Polygon, label: str, totals: Sequence[str], size: float) -> list[Placed] | None:
    """As `_all_rows`, in the middle of the field's height where the rows have room to spare and fit there too."""
    at_top = _all_rows(room, label, totals, size)
    if at_top is None:
        return None
    spare = heights(room)[1] - max(placed.y + 0.3 * placed.size for placed in at_top)
    top, text = heights(room)[0], at_top[0].text
    lower = (_rows(room, text, totals, size, top + spare / part) for part in (2, 3, 5))  # less far down where a field narrows downwards
    return next(filter(None, lower), at_top)


def _all_rows(room: Polygon, label: str, totals: Sequence[str], size: float) -> list[Placed] | None:
    """`_rows` from the top of the field: under the whole label, or as much of it as leaves room for the totals."""
    top, bottom = heights(room)
    widest = max(
        right - left
        for left, right in filter(None, (span(room, y, y + LABEL * ROW) for y in (top, (top + bottom) / 2, bottom - LABEL * ROW)))
    )
    whole = shortened(label, widest, LABEL)
    return _rows(room, whole, totals, size, top) or _rows(room, shortened(label, widest / 2, LABEL), totals, size, top)


def _rows(room: Polygon, label: str, totals: Sequence[str], size: float, top: float) -> list[Placed] | None:
    """Label and totals from the height `top` on, each row where the field is wide enough; None when they do not fit."""
    _, bottom = heights(room)
    kinds = ["more" if text == MORE else "struck" for text in totals[:-1]] + ["stands"]
    waiting = deque([(label, "label", float(LABEL)), *((text, kind, size) for text, kind in zip(totals, kinds, strict=bool(totals)))])
    found: list[Placed] = []
    y = top
    while waiting:
        high = waiting[0][2] * ROW
        if y + high > bottom:
            return None
        left, right = span(room, y, y + high) or (0.0, 0.0)
        row: list[tuple[str, str, float]] = []
        used = 0.0
        while waiting and (not row or row[0][1] != "label"):  # the label has a row of its own
            wide = width_of(waiting[0][0], waiting[0][2])
            if used + wide > right - left:
                break
            row.append(waiting.popleft())
            used += wide + GAP * size
        if row:
            found += _in_a_row(row, left, right, y + 0.98 * row[0][2])
        y += high if row else STEP
    return found


def _in_a_row(row: Sequence[tuple[str, str, float]], left: float, right: float, baseline: float) -> list[Placed]:
    """The texts of one row, side by side, in the middle between both ends."""
    widths = [width_of(text, size) for text, _, size in row]
    gap = GAP * row[0][2]
    x = left + (right - left - sum(widths) - gap * (len(row) - 1)) / 2
    found: list[Placed] = []
    for (text, kind, size), wide in zip(row, widths, strict=True):
        found.append(Placed(text, x, baseline, size, kind, wide))
        x += wide + gap
    return found
