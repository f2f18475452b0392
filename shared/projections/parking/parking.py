"""A commit that cannot be applied is parked with the rest of its aggregate's sequence; the others go on.

Only the place is kept, since the log keeps the commit. After the fix what was parked is applied through the same code as the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
import structlog

from shared.eventlog.port import EventLog, Stored
from shared.events.address import from_subject
from shared.events.commit import hash_of
from shared.projections.core.history import Heads, HistoryDiffers, OutOfPlace, link_of
from shared.projections.core.projection import UNAPPLICABLE, Connection, Projection
from shared.projections.parking import skipping
from shared.projections.parking.skipping import Skips

log = structlog.get_logger(__name__)

EARLIER: Final = "follows a parked commit"
COLUMNS: Final = "aggregate, sequence, stream, revision, reason, hash, at"


class Parked(msgspec.Struct, frozen=True):
    """One commit that was not applied, and why. `at`: its own time, milliseconds since 1970; None where it cannot be read."""

    aggregate: str
    sequence: int
    stream: str
    revision: int
    reason: str
    hash: str
    at: int | None

    @property
    def position(self) -> str:
        """Its place in the log."""
        return f"{self.stream}:{self.sequence}"


class StillFails(Exception):
    """A parked commit cannot be applied by this program either; nothing of the aggregate was written."""

    def __init__(self, stored: Stored, error: Exception) -> None:
        super().__init__(f"{stored.position}: {type(error).__name__}")
        self.revision = stored.revision
        self.reason = reason_of(error)


def reason_of(error: Exception) -> str:
    """Why a commit is parked: where it stands, in words, or the kind of the error, whose text may hold what the row holds."""
    return error.reason if isinstance(error, OutOfPlace) else type(error).__name__


async def parked_aggregates(connection: Connection, stream: str) -> set[str]:
    """The aggregates of `stream` that wait for a fix."""
    rows = await connection.fetch("SELECT DISTINCT aggregate FROM parked WHERE stream = $1", stream)
    return {row["aggregate"] for row in rows}


async def list_parked(connection: Connection) -> list[Parked]:
    """Everything parked, in the order of the log."""
    return [Parked(*row) for row in await connection.fetch(f"SELECT {COLUMNS} FROM parked ORDER BY stream, sequence")]  # noqa: S608 - a constant of ours


async def parked_of(connection: Connection, aggregate: str) -> list[Parked]:
    """What waits of one aggregate, in order; the first is the one that could not be applied."""
    rows = await connection.fetch(f"SELECT {COLUMNS} FROM parked WHERE aggregate = $1 ORDER BY sequence", aggregate)  # noqa: S608 - see above
    return [Parked(*row) for row in rows]


async def apply_carefully(
    connection: Connection, projection: Projection, batch: Sequence[Stored], heads: Heads, parked: set[str], skips: Skips
) -> None:
    """Apply `batch` commit by commit within the open transaction, leaving out what `skips` names and parking what cannot be applied.

    A copy of the commit before it is passed over. Adds to `parked`. Raises `HistoryDiffers`, and what is no fault of a commit.
    """
    for stored in batch:
        subject = stored.address.subject
        if subject in parked:
            await park(connection, [stored], EARLIER)
            continue
        if heads.repeats(stored):
            log.warning("copy_passed_over", position=stored.position, aggregate=subject, revision=stored.revision)
            continue
        try:
            skip = skips.of(stored)
            if skip is not None:
                heads.pass_over(stored)
                await skipping.write(connection, skip)
                continue
            heads.check(stored)
            async with connection.transaction():  # a savepoint: what this commit wrote goes, what the others wrote stays
                await projection.apply(connection, [stored])
        except UNAPPLICABLE as error:
            if connection.is_closed():
                raise ConnectionError("the connection was lost in a batch") from error  # it failed, not the commit
            reason = reason_of(error)
            log.error("commit_parked", position=stored.position, aggregate=subject, error=reason)  # noqa: TRY400 - the text may hold what the row holds
            await park(connection, [stored], reason, error.revision if isinstance(error, OutOfPlace) and not stored.revision else None)
            parked.add(subject)
        else:
            heads.follow(stored)


async def apply_all(connection: Connection, projection: Projection, commits: Sequence[Stored], skips: Skips, size: int) -> None:
    """Apply one aggregate's `commits`, `size` at a time, within the open transaction, leaving out what `skips` names.

    Raises `StillFails` with the first of the commits among which one cannot be applied: it is that one when `size` is 1.
    """
    heads = await Heads.read(connection, commits)
    for first in range(0, len(commits), size):
        part, fresh = commits[first : first + size], list[Stored]()
        try:
            for stored in part:
                if heads.repeats(stored):
                    continue
                skip = skips.of(stored)
                if skip is None:
                    heads.follow(stored)
                    fresh.append(stored)
                else:
                    heads.pass_over(stored)
                    await skipping.write(connection, skip)
            if fresh:
                await projection.apply(connection, fresh)
        except UNAPPLICABLE as error:
            if connection.is_closed():
                raise ConnectionError("the connection was lost in a retry") from error
            raise StillFails(part[0], error) from error
    await heads.write(connection)


async def park(connection: Connection, commits: Sequence[Stored], reason: str, revision: int | None = None) -> None:
    """Write down where the parked commits lie. `revision`: of a commit that does not name its own."""
    if not commits:
        return
    rows = [
        (one.address.subject, one.sequence, one.stream, revision or one.revision, reason, hash_of(one.data), time_of(one))
        for one in commits
    ]
    await connection.executemany(f"INSERT INTO parked ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7)", rows)  # noqa: S608 - a constant of ours


def time_of(stored: Stored) -> int | None:
    """When a commit was made; None for bytes that do not say."""
    try:
        return link_of(stored.data).at
    except ValueError:
        return None


async def read_parked(event_log: EventLog, parked: Sequence[Parked]) -> list[Stored]:
    """The commits of one aggregate that are parked, from the log. Raises `LookupError` when one has gone, `HistoryDiffers`, `LogError`."""
    hashes = {one.sequence: one.hash for one in parked}
    there = await event_log.read(from_subject(parked[0].aggregate), after=parked[0].sequence - 1, until=parked[-1].sequence)
    commits = [stored for stored in there if stored.sequence in hashes]
    for stored in commits:
        if hashes[stored.sequence] not in ("", hash_of(stored.data)):  # "": parked by a version that did not keep it
            raise HistoryDiffers(f"{stored.position} is not the commit that was parked")
    if len(commits) != len(hashes):
        raise LookupError(f"{len(hashes) - len(commits)} parked commits of {parked[0].aggregate} are not in the log")
    return commits
