"""Whether the log is still the one that the rows were folded from: heads are mirrored, and every batch and every start compares.

Sequences may have gaps (archived tables), so the comparison goes by revision and hash per aggregate.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from typing import Final

import msgspec

from shared.eventlog.aggregates.decisions import BrokenChain
from shared.eventlog.port import EventLog, Stored
from shared.events.address import from_subject
from shared.events.archive_mark import is_mark
from shared.events.commit import FIRST_PREV_HASH, Revision, Time, hash_of
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


class OutOfPlace(BrokenChain):
    """A commit does not stand where its aggregate's next one must, or is none: that aggregate is parked, the others go on.

    `reason` says it in a few words; `revision` is the one that was to come.
    """

    def __init__(self, stored: Stored, reason: str, revision: int) -> None:
        super().__init__(f"{stored.position} of {stored.address.subject}: {reason}", revision)
        self.reason = reason


class Link(msgspec.Struct, frozen=True):
    """What the chain needs of a commit."""

    revision: Revision
    prev_hash: str
    at: Time


_link = msgspec.json.Decoder(Link).decode


def link_of(data: bytes) -> Link:
    """The chain's part of a commit. Raises `ValueError` (of msgspec, as a rule) when `data` is no commit."""
    try:
        return _link(data)
    except RecursionError:  # brackets without end
        raise ValueError("nested too deeply") from None


async def check_against_log(log: EventLog, checkpoint: Checkpoint, connection: Connection) -> None:
    """Refuse a log that ends before the checkpoint, or that holds another commit there; where nothing lies there any more, since it was
    archived or the server cannot read it, one whose oldest commits were never applied. Raises `RefusedToRun`, `Unavailable`.
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
    if there and there[0].sequence == checkpoint.sequence and hash_of(there[0].data) == checkpoint.hash:
        return
    if await log.next_after(checkpoint.stream, checkpoint.sequence - 1) == checkpoint.sequence:
        raise HistoryDiffers(f"{checkpoint.stream}:{checkpoint.sequence} is not the commit of {checkpoint.aggregate} that has been applied")
    await _check_the_oldest(log, checkpoint, connection)


async def _check_the_oldest(log: EventLog, checkpoint: Checkpoint, connection: Connection) -> None:
    """The checkpoint's commit is not in the log: archived, lost, or this is another log. What is left of the old one has been applied."""
    async with aclosing(log.follow(checkpoint.stream, batch=SAMPLE)) as batches:
        oldest = [stored for stored in await anext(batches) if stored.sequence <= checkpoint.sequence and stored.revision]
    heads = await Heads.read(connection, oldest)
    parked = {row["aggregate"] for row in await connection.fetch("SELECT DISTINCT aggregate FROM parked")}
    for stored in oldest:
        if stored.address.subject not in parked and not heads.has(stored):
            raise HistoryDiffers(f"{stored.position} lies before {checkpoint.sequence}, up to which was applied, and is not known")


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
        subjects = list({stored.address.subject for stored in batch})
        rows = await connection.fetch("SELECT aggregate, revision, hash FROM heads WHERE aggregate = ANY($1)", subjects)
        return Heads({row["aggregate"]: (row["revision"], row["hash"]) for row in rows})

    def has(self, stored: Stored) -> bool:
        """Whether `stored` has been applied. Raises `HistoryDiffers` when another commit was in its place, as far as that can be told."""
        revision, head = self._known.get(stored.address.subject, (0, FIRST_PREV_HASH))
        if stored.revision == revision and hash_of(stored.data) != head:
            raise HistoryDiffers(f"{stored.position} is not the commit of revision {revision} that has been applied")
        return stored.revision <= revision

    def repeats(self, stored: Stored) -> bool:
        """Whether `stored` is its aggregate's head once more, byte for byte: the same commit, and nothing to apply."""
        revision, head = self._known.get(stored.address.subject, (0, FIRST_PREV_HASH))
        return stored.revision == revision and hash_of(stored.data) == head

    def check(self, stored: Stored) -> Link:
        """Whether `stored` is its aggregate's next commit. Raises `OutOfPlace` when it is not; `HistoryDiffers` as `follow` does."""
        return self._next(stored, stored.address.subject)

    def follow(self, stored: Stored) -> Link:
        """Check `stored` and take it as its aggregate's new head. Raises as `check` does.

        `HistoryDiffers`: it is the end of an archived table whose beginning was not read. That is no damage of one table.
        """
        subject = stored.address.subject
        link = self._next(stored, subject)
        self._known[subject] = (link.revision, hash_of(stored.data))
        self._changed.add(subject)
        return link

    def pass_over(self, stored: Stored) -> None:
        """Take `stored`, which is left out of the rows, as its aggregate's new head. Raises `OutOfPlace`."""
        subject = stored.address.subject
        revision, _ = self._known.get(subject, (0, FIRST_PREV_HASH))
        if stored.revision != revision + 1:
            raise OutOfPlace(stored, _out_of_place(stored.revision, revision), revision + 1)
        self._known[subject] = (stored.revision, hash_of(stored.data))
        self._changed.add(subject)

    def _next(self, stored: Stored, subject: str) -> Link:
        revision, head = self._known.get(subject, (0, FIRST_PREV_HASH))
        try:
            link = link_of(stored.data)
        except ValueError:
            raise OutOfPlace(stored, "is no commit", revision + 1) from None
        if link.revision == revision + 1 and link.prev_hash == head:
            return link
        if link.revision > revision + 1 and is_mark(stored.data):
            raise HistoryDiffers(
                f"{stored.position}: {subject} is archived up to revision {link.revision}, but {revision} has been applied; "
                "what came before is in an archive that was not read"
            )
        raise OutOfPlace(stored, _out_of_place(link.revision, revision), revision + 1)

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


def _out_of_place(found: int, applied: int) -> str:
    """Why a commit of revision `found` cannot follow revision `applied`."""
    if found == applied + 1:
        return f"does not follow from revision {applied}" if applied else "does not begin the chain"
    if found <= applied:
        return f"revision {found} a second time" if found else "is no commit"
    return f"revision {found - 1} is missing" if found == applied + 2 else f"revisions {applied + 1} to {found - 1} are missing"
