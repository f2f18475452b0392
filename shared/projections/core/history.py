"""Whether the log is still the one that the rows were folded from: heads are mirrored, and every batch and every start compares.

Sequences may have gaps (archived tables), so the comparison goes by revision and hash per aggregate.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from typing import Final

import msgspec

from shared.eventlog.port import EventLog, Stored
from shared.events.address import from_subject
from shared.events.commit import FIRST_PREV_HASH, hash_of
from shared.projections.core.checkpoint import Checkpoint
from shared.projections.core.projection import Connection

SAMPLE: Final = 100  # of the log's oldest commits: none of them would be known if the log were another


class RefusedToRun(Exception):
    """The log and the read tables do not belong together; somebody must look before anything is written. `reason` is one word."""

    reason = "refused"


class LogBehindCheckpoint(RefusedToRun):
    """The log ends before what has been applied: it was wiped, truncated or restored from an older copy."""

    reason = "log_behind"


class HistoryDiffers(RefusedToRun):
    """A commit is not the one that was applied, or does not follow the aggregate's mirrored head."""

    reason = "history_differs"


class Link(msgspec.Struct, frozen=True):
    """What the chain needs of a commit."""

    revision: int
    prev_hash: str
    at: int


_link = msgspec.json.Decoder(Link).decode


def link_of(data: bytes) -> Link:
    """The chain's part of a commit. Raises `ValueError` (of msgspec) when `data` is no commit."""
    return _link(data)


async def check_against_log(log: EventLog, checkpoint: Checkpoint, connection: Connection) -> None:
    """Refuse a log that ends before the checkpoint, or that holds another commit there; where that commit was archived, one whose oldest
    commits were never applied. Raises `RefusedToRun`, `Unavailable`.
    """
    if checkpoint.sequence == 0:
        return
    last = await log.last_sequence(checkpoint.stream)
    if last < checkpoint.sequence:
        raise LogBehindCheckpoint(f"{checkpoint.stream} ends at sequence {last}, but {checkpoint.sequence} has been applied")
    if checkpoint.aggregate is None:
        return
    address = from_subject(checkpoint.aggregate)
    there = await log.read(address, after=checkpoint.sequence - 1)
    if not there and await log.head(address) is None:
        await _check_the_oldest(log, checkpoint, connection)
    elif not there or there[0].sequence != checkpoint.sequence or hash_of(there[0].data) != checkpoint.hash:
        raise HistoryDiffers(f"{checkpoint.stream}:{checkpoint.sequence} is not the commit of {checkpoint.aggregate} that has been applied")


async def _check_the_oldest(log: EventLog, checkpoint: Checkpoint, connection: Connection) -> None:
    """The aggregate of the checkpoint is not in the log: archived, or this is another log. What is left of the old one has been applied."""
    async with aclosing(log.follow(checkpoint.stream, batch=SAMPLE)) as batches:
        oldest = [recorded for recorded in await anext(batches) if recorded.sequence <= checkpoint.sequence]
    heads = await Heads.read(connection, oldest)
    parked = {row["aggregate"] for row in await connection.fetch("SELECT DISTINCT aggregate FROM parked")}
    for recorded in oldest:
        if recorded.address.subject not in parked and not heads.has(recorded):
            raise HistoryDiffers(f"{recorded.position} lies before {checkpoint.sequence}, up to which was applied, and is not known")


async def head(connection: Connection, subject: str) -> tuple[int, str]:
    """Revision and hash of the last commit of an aggregate that the rows have followed; of none `(0, FIRST_PREV_HASH)`."""
    row = await connection.fetchrow("SELECT revision, hash FROM heads WHERE aggregate = $1", subject)
    return (0, FIRST_PREV_HASH) if row is None else (row["revision"], row["hash"])


class Heads:
    """The mirrored heads of the aggregates of one batch."""

    def __init__(self, known: dict[str, tuple[int, str]]) -> None:
        self._known = known
        self._changed: set[str] = set()

    @staticmethod
    async def read(connection: Connection, batch: Sequence[Stored]) -> Heads:
        """The heads that the rows know of every aggregate in `batch`."""
        subjects = list({recorded.address.subject for recorded in batch})
        rows = await connection.fetch("SELECT aggregate, revision, hash FROM heads WHERE aggregate = ANY($1)", subjects)
        return Heads({row["aggregate"]: (row["revision"], row["hash"]) for row in rows})

    def has(self, recorded: Stored) -> bool:
        """Whether `recorded` has been applied. Raises `HistoryDiffers` when another commit was in its place, as far as that can be told."""
        revision, head = self._known.get(recorded.address.subject, (0, FIRST_PREV_HASH))
        if recorded.revision == revision and hash_of(recorded.data) != head:
            raise HistoryDiffers(f"{recorded.position} is not the commit of revision {revision} that has been applied")
        return recorded.revision <= revision

    def check(self, recorded: Stored) -> Link:
        """Whether `recorded` is its aggregate's next commit. Raises `HistoryDiffers` when it is not, `ValueError` when it is no commit."""
        return self._next(recorded, recorded.address.subject)

    def follow(self, recorded: Stored) -> Link:
        """Check `recorded` and take it as its aggregate's new head. Raises as `check` does."""
        subject = recorded.address.subject
        link = self._next(recorded, subject)
        self._known[subject] = (link.revision, hash_of(recorded.data))
        self._changed.add(subject)
        return link

    def pass_over(self, recorded: Stored) -> None:
        """Take `recorded`, which is left out of the rows and may be unreadable, as its aggregate's new head. Raises `HistoryDiffers`."""
        subject = recorded.address.subject
        revision, _ = self._known.get(subject, (0, FIRST_PREV_HASH))
        if recorded.revision != revision + 1:
            raise HistoryDiffers(f"{recorded.position}: revision {recorded.revision} of {subject} is left out, {revision} has been applied")
        self._known[subject] = (recorded.revision, hash_of(recorded.data))
        self._changed.add(subject)

    def _next(self, recorded: Stored, subject: str) -> Link:
        revision, head = self._known.get(subject, (0, FIRST_PREV_HASH))
        link = link_of(recorded.data)
        if link.revision != revision + 1 or link.prev_hash != head:
            raise HistoryDiffers(
                f"{recorded.position}: {subject} goes on with revision {link.revision} on {link.prev_hash[:12]}, "
                f"but {revision} with hash {head[:12]} has been applied"
                + (" (is what came before in an archive that was not read?)" if not revision else "")
            )
        return link

    async def write(self, connection: Connection) -> None:
        """Store what `follow` took, within the batch's transaction."""
        if not self._changed:
            return
        changed = sorted(self._changed)
        await connection.execute(
            """
            INSERT INTO heads (aggregate, revision, hash) SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[])
            ON CONFLICT (aggregate) DO UPDATE SET revision = EXCLUDED.revision, hash = EXCLUDED.hash
            """,
            changed,
            [self._known[subject][0] for subject in changed],
            [self._known[subject][1] for subject in changed],
        )
