"""The sheet as a document has it, `{"pool": […], "mountain": […], "whists": [[i, j, n], …]}`, read strictly (deploy/docs/score-file.md)."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

from shared.rules.language import amount as amounts
from shared.rules.language.amount import Amount
from shared.rules.language.refusal import Malformed
from shared.rules.scoring.sheet import BySeat, Sheet, empty_sheet

Number: TypeAlias = int | str
Triple: TypeAlias = tuple[int, int, Number]

MOST_WHISTS = 20  # triples: five players have no more pairs


class SheetDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Columns left out are empty."""

    pool: tuple[Number, ...] | None = None
    mountain: tuple[Number, ...] | None = None
    whists: Annotated[tuple[Triple, ...], msgspec.Meta(max_length=MOST_WHISTS)] = ()


def read_sheet(document: SheetDocument, players: int, path: str) -> Sheet:
    """The sheet that `document`, found at `path`, shows. Raises `Malformed` with the place of what does not fit `players`."""
    whists = [list(row) for row in empty_sheet(players).whists]
    for writer, on, number in read_whists(document.whists, players, f"{path}.whists"):
        whists[writer][on] = number
    return Sheet(
        by_seat(document.pool, players, f"{path}.pool"),
        by_seat(document.mountain, players, f"{path}.mountain"),
        tuple(map(tuple, whists)),
    )


def read_whists(triples: tuple[Triple, ...], players: int, path: str) -> tuple[tuple[int, int, Amount], ...]:
    """Triples `[i, j, n]`, i writes n on j, one a pair. Raises `Malformed`."""
    read: dict[tuple[int, int], Amount] = {}
    for index, (writer, on, number) in enumerate(triples):
        place = f"{path}[{index}]"
        for position, seat in enumerate((writer, on)):
            if not 0 <= seat < players:
                raise Malformed(f"{place}[{position}]", f"must be a seat, 0 to {players - 1}")
        if writer == on:
            raise Malformed(place, "nobody writes whists on themselves")
        if (writer, on) in read:
            raise Malformed(place, f"seat {writer} on seat {on} stands there twice")
        read[writer, on] = amounts.read(number, f"{place}[2]")
    return tuple((writer, on, number) for (writer, on), number in read.items())


def by_seat(numbers: tuple[Number, ...] | None, players: int, path: str) -> BySeat:
    """One number a seat, zeros where the document has none. Raises `Malformed`."""
    if numbers is None:
        return (0,) * players
    if len(numbers) != players:
        raise Malformed(path, f"has {len(numbers)} values, must have {players}")
    return tuple(amounts.read(number, f"{path}[{seat}]") for seat, number in enumerate(numbers))
