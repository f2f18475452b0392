"""A commit that cannot be applied is parked with the rest of its aggregate's sequence; the others go on.

Only the place is kept, since the log keeps the commit. After the fix `retry` applies what was parked, through the same code as the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
import structlog

from shared.eventlog.port import EventLog, Recorded
from shared.events.address import from_subject
from shared.projections.checkpoint import Lease, lock
from shared.projections.history import Heads, Link
from shared.projections.projection import UNAPPLICABLE, Connection, Projection

log = structlog.get_logger(__name__)

EARLIER: Final = "follows a parked commit"


class Parked(msgspec.Struct, frozen=True):
    """One commit that was not applied, and why."""

    aggregate: str
    sequence: int
    stream: str
    revision: int
    reason: str


async def parked_aggregates(connection: Connection, stream: str) -> set[str]:
    """The aggregates of `stream` that wait for a fix."""
    rows = await connection.fetch("SELECT DISTINCT aggregate FROM parked WHERE stream = $1", stream)
    return {row["aggregate"] for row in rows}


async def list_parked(connection: Connection) -> list[Parked]:
    """Everything parked, in the order of the log."""
    rows = await connection.fetch("SELECT aggregate, sequence, stream, revision, reason FROM parked ORDER BY stream, sequence")
    return [Parked(*row) for row in rows]


async def apply_carefully(
    connection: Connection, projection: Projection, batch: Sequence[Recorded], heads: Heads, parked: set[str]
) -> Link | None:
    """Apply `batch` commit by commit within the open transaction, parking what cannot be applied; adds to `parked`.

    Returns the link of the batch's last commit, `None` when that one was parked. Raises `HistoryDiffers`, and what is no fault of a commit.
    """
    link: Link | None = None
    for recorded in batch:
        subject, link = recorded.address.subject, None
        if subject in parked:
            await park(connection, [recorded], EARLIER)
            continue
        try:
            heads.check(recorded)
            async with connection.transaction():  # a savepoint: what this commit wrote goes, what the others wrote stays
                await projection.apply(connection, [recorded])
        except UNAPPLICABLE as error:
            if connection.is_closed():
                raise ConnectionError("the connection was lost in a batch") from error  # it failed, not the commit
            log.error("commit_parked", position=recorded.position, aggregate=subject, error=type(error).__name__)  # noqa: TRY400 - the text may hold what the row holds
            await park(connection, [recorded], type(error).__name__)  # see above
            parked.add(subject)
        else:
            link = heads.follow(recorded)
    return link


async def park(connection: Connection, commits: Sequence[Recorded], reason: str) -> None:
    """Write down where the parked commits lie."""
    if not commits:
        return
    await connection.executemany(
        "INSERT INTO parked (aggregate, sequence, stream, revision, reason) VALUES ($1, $2, $3, $4, $5)",
        [(commit.address.subject, commit.sequence, commit.stream, commit.revision, reason) for commit in commits],
    )


async def retry(connection: Connection, log_of: EventLog, projection: Projection, lease: Lease, aggregate: str) -> int:
    """Apply an aggregate's parked commits, all or none; returns how many. Raises `LeaseLost`, and what the fold raises unfixed.

    The worker that holds the lease calls it between two batches, so that nothing of the aggregate comes in between.
    """
    async with connection.transaction():
        await lock(connection, lease)
        rows = await connection.fetch("DELETE FROM parked WHERE aggregate = $1 RETURNING sequence", aggregate)
        wanted = {row["sequence"] for row in rows}
        if not wanted:
            return 0
        there = await log_of.read(from_subject(aggregate), after=min(wanted) - 1)
        commits = [recorded for recorded in there if recorded.sequence in wanted]
        if len(commits) != len(wanted):
            raise LookupError(f"{len(wanted) - len(commits)} parked commits of {aggregate} are not in the log")
        heads = await Heads.read(connection, commits)
        for recorded in commits:
            heads.follow(recorded)
            await projection.apply(connection, [recorded])
        await heads.write(connection)
        return len(commits)
