"""The score sheet as a document has it, `{"pool": […], "mountain": […], "whists": [[i, j, n], …]}`, read strictly (FORMATS.md)."""

from __future__ import annotations

from typing import Annotated

import msgspec

from shared.rules import amount as amounts
from shared.rules.recorded_infraction import Number, Triple, read_whists
from shared.rules.refusal import Malformed
from shared.rules.sheet import BySeat, Sheet, empty_sheet


class SheetDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Columns left out are empty."""

    pool: tuple[Number, ...] | None = None
    mountain: tuple[Number, ...] | None = None
    whists: Annotated[tuple[Triple, ...], msgspec.Meta(max_length=20)] = ()  # five players have no more pairs


def read_sheet(document: SheetDocument, players: int, path: str) -> Sheet:
    """The sheet that `document`, found at `path`, shows. Raises `Malformed` with the place of what does not fit `players`."""
    whists = [list(row) for row in empty_sheet(players).whists]
    for writer, on, number in read_whists(document.whists, players, f"{path}.whists"):
        whists[writer][on] = number
    return Sheet(
        _column(document.pool, players, f"{path}.pool"),
        _column(document.mountain, players, f"{path}.mountain"),
        tuple(map(tuple, whists)),
    )


def _column(numbers: tuple[Number, ...] | None, players: int, path: str) -> BySeat:
    if numbers is None:
        return (0,) * players
    if len(numbers) != players:
        raise Malformed(path, f"has {len(numbers)} values, must have {players}")
    return tuple(amounts.read(number, f"{path}[{seat}]") for seat, number in enumerate(numbers))
