"""Commits that somebody left out of the rows for good. The log says so, hence every rebuild leaves them out too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from shared.eventlog.port import Stored
from shared.events.commit import hash_of
from shared.projections.core.history import OutOfPlace
from shared.projections.core.projection import Connection

_COLUMNS: Final = "aggregate, revision, hash, author, why, at"


class Skip(msgspec.Struct, frozen=True):
    """One commit that is left out: which (`hash` is that of its bytes), who said so, why, and when (milliseconds since 1970)."""

    aggregate: str
    revision: int
    hash: str
    author: str
    why: str
    at: int


class Skips:
    """What is left out, by aggregate and revision."""

    def __init__(self, skips: Iterable[Skip] = ()) -> None:
        self._by_place = {(skip.aggregate, skip.revision): skip for skip in skips}
        self._aggregates = {skip.aggregate for skip in self._by_place.values()}

    def touch(self, batch: Sequence[Stored]) -> bool:
        """Whether an aggregate of `batch` has a commit that is left out; cheap while there is none."""
        return bool(self._aggregates) and any(stored.address.subject in self._aggregates for stored in batch)

    def names(self, aggregate: str, revision: int) -> bool:
        """Whether the commit at this place is left out."""
        return (aggregate, revision) in self._by_place

    def of(self, stored: Stored) -> Skip | None:
        """By what word `stored` is left out, if it is. Raises `OutOfPlace` when another commit was meant."""
        skip = self._by_place.get((stored.address.subject, stored.revision))
        if skip is not None and skip.hash != hash_of(stored.data):
            raise OutOfPlace(stored, f"is not the revision {skip.revision} that was left out", skip.revision)
        return skip


async def write(connection: Connection, skip: Skip) -> None:
    """Remember in the rows what was left out of them, within the batch's transaction."""
    await connection.execute(
        f"INSERT INTO skipped ({_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6)",  # noqa: S608 - a constant of ours
        *msgspec.structs.astuple(skip),
    )


async def skipped(connection: Connection, aggregate: str | None = None) -> list[Skip]:
    """What was left out of the rows, of one aggregate or of all, in order."""
    rows = await connection.fetch(
        f"SELECT {_COLUMNS} FROM skipped WHERE $1::text IS NULL OR aggregate = $1 ORDER BY aggregate, revision",  # noqa: S608 - see above
        aggregate,
    )
    return [Skip(*row) for row in rows]
