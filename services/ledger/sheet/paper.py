"""The paper of a pulka as players draw it: lines from the middle part the players, lines along the edge their whists, pool and mountain.

Seat 0 sits below, the others follow clockwise. Three sit at 120°, the third line goes straight up; four are parted by the diagonals; of
five two share the upper edge; two sit opposite each other. Units are the picture's, x to the right and y downwards from the upper left
corner of the paper.
"""

from __future__ import annotations

from math import radians, tan
from typing import Final, NamedTuple

from services.ledger.sheet.polygons import Point, Polygon, cut, span
from services.ledger.sheet.running_totals import MOUNTAIN, POOL, WHISTS, Field, clockwise

WHISTS_TO: Final = 0.27  # of the way from the edge to the middle: the strip of whists, the widest that is often written in
POOL_TO: Final = 0.49  # and the pool's, which has a number a game; the rest is the mountain's
MIDDLE: Final = 36.0  # radius of the circle with the target
SIDES: Final = {
    2: ("below", "above"),
    3: ("below", "left", "right"),
    4: ("below", "left", "above", "right"),
    5: ("below", "left", "above left", "above right", "right"),
}


class Paper(NamedTuple):
    """A sheet for so many players: its size, the middle, who sits on which side, every field, and the lines to draw (from, to)."""

    width: float
    height: float
    middle: Point
    sides: tuple[str, ...]
    fields: dict[Field, Polygon]
    parting: tuple[tuple[Point, Point], ...]
    strips: tuple[tuple[Point, Point], ...]


class _Sector(NamedTuple):
    """What is one player's. `upright`: their edge runs down the picture. `outwards`: -1 where the edge is at a 0 coordinate, else 1."""

    polygon: Polygon
    upright: bool
    outwards: int
    edge: float
    middle: float

    def strip(self, begin: float, end: float) -> Polygon:
        """The part between two shares of the way from the edge to the middle."""
        a, b = (self.outwards, 0) if self.upright else (0, self.outwards)
        near, far = (self.edge + share * (self.middle - self.edge) for share in (begin, end))
        return cut(cut(self.polygon, a, b, self.outwards * near), -a, -b, -self.outwards * far)

    def along(self, share: float) -> tuple[float, float]:
        """From where to where the sector goes along its edge, at a share of the way to the middle."""
        at = self.edge + share * (self.middle - self.edge)
        found = span(tuple((y, x) for x, y in self.polygon) if self.upright else self.polygon, at, at)
        assert found is not None  # noqa: S101 - every sector reaches from the edge to the middle
        return found

    def line(self, share: float) -> tuple[Point, Point]:
        """The line across the sector at a share of the way."""
        at = self.edge + share * (self.middle - self.edge)
        begin, end = self.along(share)
        return ((at, begin), (at, end)) if self.upright else ((begin, at), (end, at))


def paper(players: int) -> Paper:
    """The sheet for two to five players. Raises `KeyError` for another number."""
    sides = SIDES[players]
    width, height = {2: (880.0, 640.0), 3: (940.0, 700.0), 4: (880.0, 880.0), 5: (1120.0, 900.0)}[players]
    middle = (width / 2, height - width / 2 * tan(radians(30)) if players == 3 else height / 2)
    sectors = [_sector(side, width, height, middle, players) for side in sides]
    fields: dict[Field, Polygon] = {}
    strips: list[tuple[Point, Point]] = []
    for seat, (side, sector) in enumerate(zip(sides, sectors, strict=True)):
        others = clockwise(seat, players)
        if side.startswith(("above", "right")):  # so that the whists on a neighbour stand on that neighbour's side
            others.reverse()
        fields[seat, POOL, None] = sector.strip(WHISTS_TO, POOL_TO)
        fields[seat, MOUNTAIN, None] = sector.strip(POOL_TO, 1 - MIDDLE / abs(sector.middle - sector.edge))
        whists = _parts(sector, len(others))
        fields |= {(seat, WHISTS, on): part for on, part in zip(others, whists, strict=True)}
        strips += [sector.line(WHISTS_TO), sector.line(POOL_TO), *_between(sector, len(others))]
    return Paper(width, height, middle, sides, fields, _parting(players, width, height, middle), tuple(strips))


def _parts(sector: _Sector, count: int) -> list[Polygon]:
    """The strip of whists in `count` parts, one for each opponent."""
    found: list[Polygon] = []
    rest = sector.strip(0, WHISTS_TO)
    a, b = (0, 1) if sector.upright else (1, 0)
    for begin, _ in _between(sector, count):
        at = begin[1] if sector.upright else begin[0]
        found.append(cut(rest, a, b, at))
        rest = cut(rest, -a, -b, -at)
    return [*found, rest]


def _between(sector: _Sector, count: int) -> list[tuple[Point, Point]]:
    """The short lines that part the whists, at equal distances in the middle of the strip."""
    begin, end = sector.along(WHISTS_TO / 2)
    inner = sector.edge + WHISTS_TO * (sector.middle - sector.edge)
    places = [begin + place * (end - begin) / count for place in range(1, count)]
    return [((sector.edge, at), (inner, at)) if sector.upright else ((at, sector.edge), (at, inner)) for at in places]


def _sector(side: str, width: float, height: float, middle: Point, players: int) -> _Sector:
    left, right, top, bottom = 0.0, width, 0.0, height
    x, y = middle
    if players == 2:
        begin, end = (y, bottom) if side == "below" else (top, y)
        polygon: Polygon = ((left, begin), (right, begin), (right, end), (left, end))
        return _Sector(polygon, upright=False, outwards=1 if side == "below" else -1, edge=bottom if side == "below" else top, middle=y)
    upper_left = (x, top) if players == 3 else (left, top)
    upper_right = (x, top) if players == 3 else (right, top)
    match side:
        case "below":
            return _Sector(((left, bottom), middle, (right, bottom)), upright=False, outwards=1, edge=bottom, middle=y)
        case "left":
            corners = ((left, top), (x, top)) if players == 3 else (upper_left,)
            return _Sector((*corners, middle, (left, bottom)), upright=True, outwards=-1, edge=left, middle=x)
        case "right":
            corners = ((right, top), (x, top)) if players == 3 else (upper_right,)
            return _Sector((*corners, middle, (right, bottom)), upright=True, outwards=1, edge=right, middle=x)
    begin, end = {"above": (left, right), "above left": (left, x), "above right": (x, right)}[side]
    return _Sector(((begin, top), (end, top), middle), upright=False, outwards=-1, edge=top, middle=y)


def _parting(players: int, width: float, height: float, middle: Point) -> tuple[tuple[Point, Point], ...]:
    """What parts the players: lines from the middle."""
    below: list[Point] = [(0.0, height), (width, height)]
    above: list[Point] = [(0.0, 0.0), (width, 0.0)]
    half: Point = (middle[0], 0.0)
    ends: dict[int, list[Point]] = {
        2: [(0.0, middle[1]), (width, middle[1])],
        3: [*below, half],
        4: [*below, *above],
        5: [*below, *above, half],
    }
    return tuple((middle, end) for end in ends[players])
