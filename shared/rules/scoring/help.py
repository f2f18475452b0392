"""Where a deal's pool points go: the owner's pool to its target, then help, then off the owner's mountain (4.2.2, 4.2.3, 4.1.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from shared.rules.convention.options import Convention
from shared.rules.deck.seats import clockwise_from
from shared.rules.language.amount import Amount, divided, exact
from shared.rules.scoring.prices import mountain, pool, whists
from shared.rules.scoring.settlement import divisor
from shared.rules.scoring.sheet import Entry, Sheet

#: Whists on the helped player for each point given (4.2.2).
WHISTS_A_POINT = 10

#: Picks whom to help, from the pools and the seats still open, nearest clockwise first.
Choice = Callable[[list[Amount], list[int]], int]


def _largest(pools: list[Amount], still_open: list[int]) -> int:
    return max(still_open, key=lambda seat: pools[seat])  # the first of equals is the nearest clockwise (4.2.2)


def _lowest(pools: list[Amount], still_open: list[int]) -> int:
    return min(still_open, key=lambda seat: pools[seat])  # likewise


def _clockwise(_: list[Amount], still_open: list[int]) -> int:
    return still_open[0]


CHOICES: dict[str, Choice] = {"largest": _largest, "clockwise": _clockwise, "lowest": _lowest}


def pool_entries(convention: Convention, target: int | None, sheet: Sheet, won: Iterable[Entry]) -> Iterator[Entry]:
    """Entries for pool points `won` in one deal, in seat order, each with all its help; `sheet` has the deal's other entries."""
    pools, mountains = list(sheet.pool), list(sheet.mountain)
    for gain in sorted(won, key=lambda entry: entry.seat):
        if target is None or convention.help == "none" or gain.amount < 0:
            pools[gain.seat] = exact(pools[gain.seat] + gain.amount)
            yield gain
            continue
        rest = gain.amount
        own = min(rest, max(0, target - pools[gain.seat]))
        if own:
            pools[gain.seat] = exact(pools[gain.seat] + own)
            rest = exact(rest - own)
            yield pool(gain.seat, own, gain.rule, gain.why if not rest else f"{gain.why}, {own} of {gain.amount}: the pool is closed")
        for entry in _help(convention, target, pools, gain.seat, rest):
            if entry.column == "pool":
                rest = exact(rest - entry.amount)
            yield entry
        if rest:
            yield from _surplus(convention, mountains, gain.seat, rest)


def _help(convention: Convention, target: int, pools: list[Amount], helper: int, points: Amount) -> Iterator[Entry]:
    """Gives `points` to open pools one after another (Decision 13); changes `pools`."""
    while points:
        still_open = [seat for seat in clockwise_from(len(pools), helper) if pools[seat] < target]
        if not still_open:
            return
        helped = CHOICES[convention.help](pools, still_open)
        given = exact(min(points, target - pools[helped]))
        pools[helped] = exact(pools[helped] + given)
        points = exact(points - given)
        yield pool(helped, given, "4.2.3", f"help from seat {helper}")
        yield whists(helper, helped, given * WHISTS_A_POINT, "4.2.3", f"help: {given} points at {WHISTS_A_POINT}")


def _surplus(convention: Convention, mountains: list[Amount], seat: int, points: Amount) -> Iterator[Entry]:
    """Points that fit no pool come off the owner's mountain, even below zero (4.1.1); at half where two do not divide it."""
    if len(mountains) == 2 and divisor(convention, 2) == 1:
        points = divided(points, 2)
    off = points if convention.help_surplus == "below_zero" else min(points, max(0, mountains[seat]))
    mountains[seat] = exact(mountains[seat] - off)
    if off:
        yield mountain(seat, exact(-off), "4.1.1", "all pools are closed: off the mountain")
