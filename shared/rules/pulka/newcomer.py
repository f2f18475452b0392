"""A newcomer's seat and sheet (3.1.2): where they sit, what stands on their paper, and how the others' columns move with their seats."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import Any, TypeVar

import msgspec

from shared.rules.convention.options import Convention
from shared.rules.scoring.series import Series, plays_dark
from shared.rules.scoring.sheet import BySeat, Sheet

Value = TypeVar("Value")


def newcomers_seat(last_dealer: int) -> int:
    """Left of the one who has just dealt; who sat there and above it sits one further on."""
    return last_dealer + 1


def moved_seats(players: int, seat: int) -> tuple[int, ...]:
    """The new seat of each old one, when a newcomer has sat down at `seat`."""
    return tuple(old + (old >= seat) for old in range(players))


def sheet_with(sheet: Sheet, seat: int) -> Sheet:
    """The sheet with a column for the newcomer at `seat`: the mean of the others' pools rounded down, of their mountains rounded up (both
    against them), and no whists, theirs or on them.
    """
    players = sheet.players
    pool, mountain = floor(Fraction(sum(sheet.pool), players)), ceil(Fraction(sum(sheet.mountain), players))
    rows = [_inserted(row, seat, 0) for row in sheet.whists]
    nothing: BySeat = (0,) * (players + 1)
    return Sheet(_inserted(sheet.pool, seat, pool), _inserted(sheet.mountain, seat, mountain), (*rows[:seat], nothing, *rows[seat:]))


def series_with(series: Series, seat: int) -> Series:
    """The running series of all-pass goes on, and each bomb with its owner; the newcomer has none."""
    return msgspec.structs.replace(series, bombs=_inserted(series.bombs, seat, ())) if series.bombs else series


def start_document(convention: Convention, sheet: Sheet, series: Series, deals: int) -> dict[str, Any]:
    """Sheet and series as `start` of a score file; `deals` were played before."""
    start = sheet.document() | {"all_pass_in_row": series.all_pass_in_row, "deals": deals}
    if plays_dark(convention):
        start["dark_in_row"] = series.dark_in_row
    if any(series.bombs):
        start["bombs"] = [list(own) for own in series.bombs]
    return start


def _inserted(values: tuple[Value, ...], seat: int, value: Value) -> tuple[Value, ...]:
    return (*values[:seat], value, *values[seat:])
