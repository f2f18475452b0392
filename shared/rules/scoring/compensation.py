"""Whole whists without rounding: the compensation of 4.2.12, an alternative to the rounded settlement (Decision 16)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from shared.rules.convention.options import Convention
from shared.rules.language.amount import exact
from shared.rules.scoring.prices import mountain, whists
from shared.rules.scoring.settlement import WHISTS_A_POINT, divisor, net_by_average, settled_mountain
from shared.rules.scoring.sheet import BySeat, Entry, Sheet, write

RULE: Final = "4.2.12"


class Compensation(msgspec.Struct, frozen=True):
    """What is written so that the settlement comes out in whole whists, and the whists that each seat then has."""

    entries: tuple[Entry, ...]
    net: BySeat


def compensation(convention: Convention, target: int | None, sheet: Sheet) -> Compensation | None:
    """One point off as few mountains as will do, the highest first [conv]; for each the others write on its owner what a point is worth to
    them, rounded down (3 whists with three players, 2 with four).

    None where that does not lead to whole whists: fractions on the sheet itself. No entries where it is whole already.
    """
    share = divisor(convention, sheet.players)
    settled = settled_mountain(convention, target, sheet)
    highest = sorted(range(sheet.players), key=lambda seat: (-settled[seat], seat))
    for points in range(sheet.players):
        entries = tuple(entry for seat in highest[:points] for entry in _one_point(seat, sheet.players, share))
        after = write(sheet, entries)
        net = net_by_average(settled_mountain(convention, target, after), after, share)
        if all(isinstance(exact(won), int) for won in net):
            return Compensation(entries, net)
    return None


def _one_point(owner: int, players: int, share: int) -> Iterator[Entry]:
    """A point off `owner`'s mountain, and the others' whists on `owner` for it."""
    yield mountain(owner, -1, RULE, "a point off, so that the mountains divide")
    for other in range(players):
        if other != owner:
            yield whists(other, owner, WHISTS_A_POINT // share, RULE, "compensation of the point")
