"""The score sheet: three columns, and the entries that are written into them. Every entry cites a rule and says why (4.2.1).

"i writes n whists on j" means that i gains them: `whists[i][j]` grows by n.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

import msgspec

from shared.rules.language import amount as amounts
from shared.rules.language.amount import Amount, exact, written

#: One number a seat, in seat order.
BySeat: TypeAlias = tuple[Amount, ...]
Column = Literal["pool", "mountain", "whists"]


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One writing of `seat` into a column of theirs; whists are written `on` another. `amount` may be negative (points off a mountain)."""

    seat: int
    column: Column
    on: int | None
    amount: Amount
    rule: str
    why: str

    def document(self) -> dict[str, Any]:
        """The entry as `pulka score` prints it; `on` only for whists."""
        on = {} if self.on is None else {"on": self.on}
        return {"seat": self.seat, "column": self.column, **on, "amount": written(self.amount), "rule": self.rule, "why": self.why}


def entry(document: dict[str, Any]) -> Entry:
    """The entry that `Entry.document` wrote. Raises `KeyError` or `Malformed` for anything else."""
    number = amounts.read(document["amount"], "amount")
    return Entry(document["seat"], document["column"], document.get("on"), number, document["rule"], document["why"])


class Sheet(msgspec.Struct, frozen=True):
    """The paper: what stands in each seat's pool and mountain, and `whists[i][j]`, what i has written on j."""

    pool: BySeat
    mountain: BySeat
    whists: tuple[BySeat, ...]

    @property
    def players(self) -> int:
        """How many seats the sheet has."""
        return len(self.pool)

    def whist_balance(self, seat: int) -> Amount:
        """Whists that `seat` wrote on the others less those that the others wrote on `seat`."""
        return exact(sum(self.whists[seat]) - sum(row[seat] for row in self.whists))

    def document(self) -> dict[str, Any]:
        """`pool` and `mountain` by seat, `whists` as sorted triples `[i, j, n]`: i writes n on j, zeros left out."""
        return {
            "pool": [written(points) for points in self.pool],
            "mountain": [written(points) for points in self.mountain],
            "whists": [[i, j, written(n)] for i, row in enumerate(self.whists) for j, n in enumerate(row) if n],
        }


def empty_sheet(players: int) -> Sheet:
    """The sheet of a pulka's first deal."""
    nothing: BySeat = (0,) * players
    return Sheet(nothing, nothing, (nothing,) * players)


def write(sheet: Sheet, entries: Iterable[Entry | dict[str, Any]]) -> Sheet:
    """The sheet after `entries`, which may be records or their documents."""
    pool, mountain, whists = list(sheet.pool), list(sheet.mountain), [list(row) for row in sheet.whists]
    for item in entries:
        one = item if isinstance(item, Entry) else entry(item)
        if one.column == "whists":
            row = whists[one.seat]
            assert one.on is not None  # noqa: S101 - whists are always written on somebody; made so by every caller and by `entry`
            row[one.on] = exact(row[one.on] + one.amount)
        else:
            column = pool if one.column == "pool" else mountain
            column[one.seat] = exact(column[one.seat] + one.amount)
    return Sheet(tuple(pool), tuple(mountain), tuple(map(tuple, whists)))


def written_by(players: int, entries: Iterable[Entry]) -> Sheet:
    """What one deal's entries wrote, as a sheet of its own."""
    return write(empty_sheet(players), entries)
