"""The log as the services see it: append with an expected revision, read, follow, watch. Adapters: `jetstream`, `memory`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Final, Protocol

import msgspec

from shared.eventlog.snapshots import Snapshots
from shared.events.address import Address, Partitions
from shared.events.commit import CommitHead, decode_head

MAX_COMMIT_BYTES: Final = 255 * 1024  # a stream takes messages of 256 KiB; the rest is for the headers
FOLLOW_BATCH: Final = 500  # commits a batch: one database transaction of a projection
HEARTBEAT_SECONDS: Final = 2.0  # `follow` promises a sign of life every five seconds; two leave room for a slow loop


STORAGE_FULL: Final = "storage_full"  # a trouble: the log refuses commits
NO_ACK: Final = "no_ack"  # a trouble: the log answers, and acknowledges no commit


class Stored(msgspec.Struct, frozen=True):
    """One commit as it lies in the log. `sequence` counts within `stream`; `revision` within the aggregate, from 1; 0: it is no commit."""

    address: Address
    stream: str
    sequence: int
    revision: int
    data: bytes

    @property
    def position(self) -> str:
        """Opaque to clients: where a reader of this stream is once it has applied this commit."""
        return f"{self.stream}:{self.sequence}"


class LastCommits(msgspec.Struct, frozen=True):
    """The last commits of many aggregates of one stream, as far as they were told, `as_of` a sequence of that stream.

    An aggregate that was asked for and is not `found` has no commit above the sequence after which it was asked, up to `as_of`. 0: a part
    of the answer was lost, and what is not found says nothing.
    """

    found: dict[Address, Stored]
    as_of: int = 0


class LogError(Exception):
    """Base of what the log can answer instead of an append or a read."""


class Conflict(LogError):
    """Somebody else was first; `head` is the aggregate's last commit as the leader knows it."""

    def __init__(self, head: Stored | None) -> None:
        super().__init__("the aggregate has moved on")
        self.head = head


class Unavailable(LogError):
    """The log cannot be reached now; nothing was written."""


class NotInArchive(Unavailable):
    """What is asked for has left the log, and the archive that it went to is not here, or is damaged."""


class OutcomeUnknown(LogError):
    """The append may or may not have been written, and the leader could not be asked in time; repeat with the same command id."""


class StorageFull(LogError):
    """The log takes no more; nothing was written."""


class CommitTooLarge(LogError):
    """The encoded commit is over `MAX_COMMIT_BYTES`; nothing was written, and no repeat will do better."""


class LogBehind(LogError):
    """The log ends before the place up to which a reader has read it: it was restored from an older copy, or is another log."""


class NotPermitted(LogError):
    """This user of the log may not do that; nothing was done."""


def is_repeat(head: Stored | None, own: CommitHead) -> bool:
    """Whether `head` is the commit `own`: of the same command at the same revision; another instance may have sealed it to other bytes."""
    if head is None or head.revision != own.revision:  # a damaged head has another or none
        return False
    stored = decode_head(head.data)
    return (stored.actor, stored.command_id) == (own.actor, own.command_id)


class EventLog(Protocol):
    """What both adapters promise; `tests/contracts` holds them to it.

    An aggregate in a partition that this instance does not know has no commits here, and an append to it is `Unavailable`.
    """

    @property
    def partitions(self) -> Partitions:
        """How far this instance's partitions go, for as long as it lives."""
        ...

    snapshots: Snapshots  # beside the log, in the same cluster; never needed

    async def append(self, address: Address, data: bytes, expected: int) -> Stored:
        """Store one encoded commit durably, if the aggregate's last commit is the one at stream sequence `expected` (0: none).

        Returns the stored commit. A repeat of the very same commit (command id, actor and revision of the head) returns the head instead of
        a conflict.
        Raises `Conflict`, `OutcomeUnknown`, `Unavailable`, `StorageFull`, `CommitTooLarge`.
        """
        ...

    async def head(self, address: Address) -> Stored | None:
        """The aggregate's last commit, asked at the leader; stale while that one is cut off from the others. Raises `Unavailable`."""
        ...

    async def newest(self, address: Address) -> Stored | None:
        """The aggregate's last commit, never stale: a majority of the log's servers stands behind it. Raises `Unavailable`."""
        ...

    async def confirm(self, stream: str, /) -> None:
        """Return once a majority of a stream's servers is known to be there, so that commits can be stored now. Raises `Unavailable`."""
        ...

    async def heads(self, addresses: Sequence[Address], after: int = 0) -> LastCommits:
        """The last commits of many aggregates of one stream, those of them above sequence `after`, asked together; may lag the leader, and
        may go back from one answer to the next. For whoever only wants to know where to look. Raises `Unavailable`.
        """
        ...

    async def read(self, address: Address, after: int = 0, until: int = 0) -> list[Stored]:
        """The aggregate's commits with stream sequence above `after`, in order; may lag the leader, but not behind sequence `until`.

        Raises `Unavailable`.
        """
        ...

    def follow(self, stream: str, after: int = 0, batch: int = FOLLOW_BATCH) -> AsyncGenerator[list[Stored], None]:
        """Every commit of `stream` after `after`, in order, for ever, in batches of at most `batch`.

        An empty batch is a sign of life, at least every five seconds; none comes while the log is away. Gaps in the sequence (archived
        tables) are legal. Reconnects by itself; raises `LogBehind`, and `Unavailable` once the log is closed. Close it (`aclosing`).
        """
        ...

    def watch(self, address: Address, after: int = 0) -> AsyncGenerator[Stored, None]:
        """One aggregate's commits with sequence above `after`, first from the log, then live as they are stored, without gap or repeat.

        Reconnects by itself; raises `Unavailable` once the log is closed. Close it (`aclosing`) when done.
        """
        ...

    async def hear(self, address: Address, heard: Callable[[Stored], None]) -> Callable[[], Awaitable[None]]:
        """Tell `heard` of the aggregate's commits as they are stored, until what is returned is called. Some may get lost.

        Raises `Unavailable`.
        """
        ...

    def connected(self) -> bool:
        """Whether the log can be asked now; answers at once."""
        ...

    def trouble(self) -> str | None:
        """Why appends fail though the log answers: `storage_full`, `no_ack` (its disk may be full); None when the last ones were stored."""
        ...

    def durability(self) -> str:
        """`verified` if the server is known to sync every append before its ack, else `unverified`."""
        ...

    async def last_sequence(self, stream: str) -> int:
        """The sequence of the newest commit in `stream`, 0 when empty. Raises `Unavailable`."""
        ...

    async def next_after(self, stream: str, after: int) -> int:
        """The sequence of the first commit of `stream` above `after`, 0 when there is none, asked at the leader. Raises `Unavailable`."""
        ...

    async def purge(self, address: Address, before: int) -> int:
        """Take the aggregate's commits below stream sequence `before` out of the log for good; returns how many that were.

        Its commit at `before` must be there, and stays. Only the operator's user may.
        Raises `NotPermitted`, `Unavailable` (it may have been done), and `ValueError` when there is no such commit.
        """
        ...

    async def close(self) -> None:
        """Leave the log; what is under way ends as `Unavailable` or `OutcomeUnknown`."""
        ...
