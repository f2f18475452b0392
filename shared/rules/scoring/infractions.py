"""Fines in fixed points (3.2.17, 3.2.21), and rulings as they were given. What fines take from tricks is `game_result`'s."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shared.rules.scoring.outcome import Infraction
from shared.rules.scoring.prices import mountain, pool, whists
from shared.rules.scoring.sheet import Entry

#: Dealing faults and a look at the talon: points into the offender's mountain.
IN_POINTS = ("3.2.17", "3.2.21")
USUAL_POINTS = 5  # what the Code names for both, unless the table agreed on another number


def score_infractions(infractions: Iterable[Infraction]) -> Iterator[Entry]:
    """The entries of fines in points and of rulings; pool points as won, before help."""
    for one in infractions:
        if one.ruled:
            yield from (whists(i, j, n, one.rule, one.reason) for i, j, n in one.whists)
            yield from (mountain(seat, n, one.rule, one.reason) for seat, n in one.mountain)
            yield from (pool(seat, n, one.rule, one.reason) for seat, n in one.pool)
        elif one.rule in IN_POINTS:
            points = USUAL_POINTS if one.points is None else one.points
            yield mountain(one.seat, points, one.rule, f"fine: {points} points")
