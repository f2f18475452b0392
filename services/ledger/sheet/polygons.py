"""Convex polygons of the drawn sheet: cut by a line, drawn in from their edges, and how wide they are at a height. Pure geometry.

A polygon is its corners in order, x to the right and y downwards; an empty tuple is none at all.
"""

from __future__ import annotations

from itertools import pairwise
from math import hypot
from typing import TypeAlias

Point: TypeAlias = tuple[float, float]
Polygon: TypeAlias = tuple[Point, ...]


def cut(polygon: Polygon, a: float, b: float, most: float) -> Polygon:
    """The part of `polygon` where a·x + b·y is at most `most`."""
    kept: list[Point] = []
    for start, end in pairwise((*polygon, *polygon[:1])):
        before, after = (a * x + b * y - most for x, y in (start, end))
        if before <= 0:
            kept.append(start)
        if (before < 0 < after) or (after < 0 < before):
            share = before / (before - after)
            kept.append((start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])))
    return tuple(kept) if len(kept) > 2 else ()


def drawn_in(polygon: Polygon, by: float) -> Polygon:
    """What remains of `polygon` when every edge moves inwards `by` units."""
    middle = (sum(x for x, _ in polygon) / len(polygon), sum(y for _, y in polygon) / len(polygon))
    inner = polygon
    for (x, y), (to_x, to_y) in pairwise((*polygon, polygon[0])):
        length = hypot(to_x - x, to_y - y)
        if not length:  # a cut through a corner leaves it twice
            continue
        a, b = (to_y - y) / length, (x - to_x) / length
        if a * middle[0] + b * middle[1] > a * x + b * y:  # outwards is away from the middle, whichever way round the corners go
            a, b = -a, -b
        inner = cut(inner, a, b, a * x + b * y - by)
    return inner


def heights(polygon: Polygon) -> tuple[float, float]:
    """Its upper and its lower end."""
    return min(y for _, y in polygon), max(y for _, y in polygon)


def span(polygon: Polygon, upper: float, lower: float) -> tuple[float, float] | None:
    """From where to where a row between two heights lies wholly within; None where it cannot."""
    ends = [_across(polygon, y) for y in (upper, lower)]
    if any(end is None for end in ends):
        return None
    left, right = max(end[0] for end in ends if end), min(end[1] for end in ends if end)
    return (left, right) if left < right else None


def _across(polygon: Polygon, y: float) -> tuple[float, float] | None:
    found: list[float] = []
    for (x0, y0), (x1, y1) in pairwise((*polygon, polygon[0])):
        if min(y0, y1) <= y <= max(y0, y1):
            found += [x0, x1] if y0 == y1 else [x0 + (y - y0) / (y1 - y0) * (x1 - x0)]
    return (min(found), max(found)) if found else None
