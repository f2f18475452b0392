"""The sheet as people know it: whists along the edge, the pool next, the mountain in the middle, each player's side before him.

Takes the object of `pulka score`. Seat 0 sits below, the others follow clockwise: left, above (with four; two with five), right; of two
the other sits above.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final

SIDE: Final = 640  # of the square, in SVG units
MARGIN: Final = 60  # around it, for names and results
STRIP: Final = 84  # width of the whist and the pool strip: seven digits, or "-184/3"
CENTRE: Final = SIDE / 2
SIDES: Final = {
    2: ("below", "above"),
    3: ("below", "left", "right"),
    4: ("below", "left", "above", "right"),
    5: ("below", "left", "above left", "above right", "right"),
}
#: What parts the players, by the sides they sit at: ends of lines from the middle.
CORNERS: Final = {"below": ((0.0, SIDE), (SIDE, SIDE)), "above": ((0.0, 0.0), (SIDE, 0.0)), "half": ((CENTRE, 0.0),)}
ACROSS: Final = ((0.0, CENTRE), (SIDE, CENTRE))  # of two
LARGEST: Final = 40  # characters of a name that are drawn: more would leave the picture
INK, PENCIL, PAPER = "#1d2733", "#8a94a0", "#fffdf6"

Point = tuple[float, float]


def drawn_sheet(score: Mapping[str, Any], target: int | None = None, names: Sequence[str] | None = None) -> bytes:
    """An SVG picture of `score` (`sheet`, `settlement`, `closed`) for two to five players; `names` by seat, else the seats' numbers.

    Raises `KeyError` for another number of players.
    """
    sheet = score["sheet"]
    players = len(sheet["pool"])
    sides = SIDES[players]
    shown = _names(names, players)
    size = SIDE + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{-MARGIN} {-MARGIN} {size} {size}" width="{size}" height="{size}">',
        f'<g font-family="Georgia, serif" fill="{INK}" text-anchor="middle">',
        f"<title>Score sheet of {players} players, {'closed' if score['closed'] else 'open'}</title>",
        f'<rect x="{-MARGIN}" y="{-MARGIN}" width="{size}" height="{size}" fill="{PAPER}"/>',
        *_lines(sides),
        *_middle(target),
    ]
    for seat, side in enumerate(sides):
        others = _clockwise(seat, players)
        if side.startswith(("above", "right")):  # so that the whists on a neighbour stand on his side
            others.reverse()
        parts += _seat(sheet, score["settlement"], seat, side, others, shown)
    return ("\n".join([*parts, "</g>", "</svg>"]) + "\n").encode()


def _lines(sides: Sequence[str]) -> list[str]:
    """The frame, its two inner lines, and what parts the players."""
    found = [_rectangle(inset) for inset in (0, STRIP, 2 * STRIP)]
    ends = {
        2: ACROSS,
        3: (*CORNERS["below"], *CORNERS["half"]),
        4: (*CORNERS["below"], *CORNERS["above"]),
        5: (*CORNERS["below"], *CORNERS["above"], *CORNERS["half"]),
    }[len(sides)]
    found += [_line((CENTRE, CENTRE), end, INK) for end in ends]
    for side in sides:
        count = len(sides) - 1
        begin, end = _span(side, STRIP)
        for place in range(1, count):
            along = begin + place * (end - begin) / count
            found.append(_line(_at(side, along, 0), _at(side, along, STRIP), PENCIL))
    return found


def _middle(target: int | None) -> list[str]:
    circle = f'<circle cx="{CENTRE:g}" cy="{CENTRE:g}" r="34" fill="{PAPER}" stroke="{INK}" stroke-width="1.5"/>'
    return [circle, _text((CENTRE, CENTRE), "–" if target is None else str(target), 26)]


def _seat(
    sheet: Mapping[str, Any], settlement: Mapping[str, Any], seat: int, side: str, others: Sequence[int], names: Sequence[str]
) -> list[str]:
    whists = {on: amount for writer, on, amount in sheet["whists"] if writer == seat}
    found = []
    begin, end = _span(side, STRIP)
    for place, other in enumerate(others):
        along = begin + (place + 0.5) * (end - begin) / len(others)
        found.append(_text(_at(side, along, STRIP / 2, -10), f"on {other}", 13, PENCIL))
        found.append(_text(_at(side, along, STRIP / 2, 10), str(whists.get(other, 0)), 20))
    for depth, column in ((1.5 * STRIP, "pool"), (2 * STRIP + 46, "mountain")):
        middle = sum(_span(side, depth)) / 2
        found.append(_text(_at(side, middle, depth, -17), column, 13, PENCIL))
        found.append(_text(_at(side, middle, depth, 6), str(sheet[column][seat]), 28))
    result = f"{settlement['rounded'][seat]:+d}"
    turn = {"left": -90, "right": 90}.get(side, 0)
    found.append(_text(_at(side, sum(_span(side, 0)) / 2, -MARGIN / 2), f"{names[seat]}  {result}", 20, INK, turn))
    return found


def _span(side: str, depth: float) -> Point:
    """From where to where along its edge the part of `side` goes, `depth` inside: a whole edge, or a half of the upper one."""
    return (CENTRE if side == "above right" else depth), (CENTRE if side == "above left" else SIDE - depth)


def _at(side: str, along: float, depth: float, lower: float = 0) -> Point:
    """A place `depth` inside the edge of `side`, `along` it from its left or upper end, `lower` units further down the picture."""
    match side:
        case "below":
            return along, SIDE - depth + lower
        case "above" | "above left" | "above right":
            return along, depth + lower
        case "left":
            return depth, along + lower
    return SIDE - depth, along + lower


def _text(at: Point, text: str, size: int, colour: str = INK, turn: int = 0) -> str:
    x, y = at
    turned = f' transform="rotate({turn} {x:g} {y:g})"' if turn else ""
    return f'<text x="{x:g}" y="{y:g}" dy="0.35em" font-size="{size}" fill="{colour}"{turned}>{escape(text)}</text>'


def _line(start: Point, end: Point, colour: str) -> str:
    return f'<path d="M{start[0]:g} {start[1]:g}L{end[0]:g} {end[1]:g}" stroke="{colour}" stroke-width="1.5" fill="none"/>'


def _rectangle(inset: float) -> str:
    side = SIDE - 2 * inset
    return f'<rect x="{inset:g}" y="{inset:g}" width="{side:g}" height="{side:g}" fill="none" stroke="{INK}" stroke-width="1.5"/>'


def _clockwise(seat: int, players: int) -> list[int]:
    return [(seat + step) % players for step in range(1, players)]


def _names(names: Sequence[str] | None, players: int) -> list[str]:
    given = [f"seat {seat}" for seat in range(players)] if names is None else [f"{seat} {name}" for seat, name in enumerate(names)]
    return [name if len(name) <= LARGEST else name[: LARGEST - 1] + "…" for name in given]


# ---- In the terminal ---------------------------------------------------------------------------------------------------

CELL: Final = 24  # characters inside a player's box: three boxes side by side fit a terminal of 80 columns


def sheet_text(score: Mapping[str, Any], target: int | None = None, names: Sequence[str] | None = None) -> str:
    """The sheet as plain text for a terminal, a box a player, placed as at the table; two to five players."""
    sheet, rounded = score["sheet"], score["settlement"]["rounded"]
    players = len(sheet["pool"])
    shown = _names(names, players)
    boxes = [_box(sheet, seat, shown, rounded[seat]) for seat in range(players)]
    placed = dict(zip(SIDES[players], boxes, strict=True))
    height = len(boxes[0])
    gap = " " * (CELL + 2)
    middle = [gap] * (height // 2) + [f"to {target}".center(CELL + 2) if target is not None else gap] + [gap] * (height - height // 2 - 1)
    rows = [gap + line for line in placed.get("above", [])]
    rows += [left + gap + right for left, right in zip(placed.get("above left", []), placed.get("above right", []), strict=True)]
    if "left" in placed:
        rows += [left + centre + right for left, centre, right in zip(placed["left"], middle, placed["right"], strict=True)]
    else:  # two sit opposite each other
        rows += [gap + line for line in middle if line.strip()]
    rows += [gap + line for line in placed["below"]]
    return "\n".join(row.rstrip() for row in rows) + "\n"


def _box(sheet: Mapping[str, Any], seat: int, names: Sequence[str], result: int) -> list[str]:
    whists = {on: amount for writer, on, amount in sheet["whists"] if writer == seat}
    lines = [("pool", sheet["pool"][seat]), ("mountain", sheet["mountain"][seat])]
    lines += [(f"whists on {names[other]}", whists.get(other, 0)) for other in _clockwise(seat, len(names))]
    lines.append(("result", f"{result:+d}"))
    title = f" {names[seat][: CELL - 4]} "
    body = [f"│ {_spread(label, str(value), CELL - 2)} │" for label, value in lines]
    return [f"┌{title:─^{CELL}}┐", *body, f"└{'─' * CELL}┘"]


def _spread(label: str, value: str, width: int) -> str:
    """`label` at the left and `value` at the right of `width` characters; a long label gives way."""
    room = width - len(value)
    return f"{label[: room - 1]:<{room}}{value}"
