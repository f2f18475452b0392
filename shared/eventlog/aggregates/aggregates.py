"""Load, decide, append: how every command changes an aggregate, exactly once, whatever the network does.

The cache makes it fast and is never trusted: a commit carries the revision it was decided on, a refusal is given on the newest one only.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, Generic

import msgspec
import structlog

from shared.eventlog.aggregates.cache import Cache, size_of
from shared.eventlog.aggregates.closed_books import Books, ClosedBooks
from shared.eventlog.aggregates.decisions import (
    BrokenChain,
    Codec,
    Committed,
    E,
    Loaded,
    Mismatch,
    Nothing,
    QueueFull,
    RefusedAt,
    Request,
    S,
)
from shared.eventlog.aggregates.folding import Folded, Folding, last_of
from shared.eventlog.aggregates.hearing import Hearing
from shared.eventlog.port import Conflict, EventLog, Stored
from shared.eventlog.snapshots import Snapshot
from shared.events.address import Address
from shared.events.commit import SCHEMA, Commit, encode
from shared.rules.language.refusal import Refused

__all__ = [
    "Aggregates",
    "BrokenChain",
    "Codec",
    "Committed",
    "Decide",
    "Loaded",
    "Mismatch",
    "Nothing",
    "QueueFull",
    "RefusedAt",
    "Request",
]

log = structlog.get_logger()

ATTEMPTS: Final = 5  # decisions on one command: each loss means that somebody else's commit got in, so five losses are a table in uproar
CAPACITY: Final = 64 * 1024 * 1024  # bytes of aggregates held where no setting says otherwise: some 3,000 pulkas
QUEUE: Final = 32  # commands that may wait for one aggregate: four seats and their retries; more is a client gone wild
DECISIONS_A_DRAW: Final = 128  # a page of memory; what a process does not use is lost with it
MEASURED_EVERY: Final = 256  # commits between two measurements of a cached aggregate: one takes as long as two moves
ENTROPY_BYTES: Final = 32  # a decision's: enough for the nonces of all its sealed boxes

Decide = Callable[[Loaded[S], int], "tuple[E, ...] | Refused"]


class Entropy:
    """Random bytes of the operating system, drawn for many decisions at once: asking it for a few costs as much as for a page."""

    def __init__(self) -> None:
        self._drawn = b""
        self._used = 0

    def __call__(self) -> bytes:
        """`ENTROPY_BYTES` that nobody else gets."""
        if self._used >= len(self._drawn):
            self._drawn, self._used = secrets.token_bytes(ENTROPY_BYTES * DECISIONS_A_DRAW), 0
        self._used += ENTROPY_BYTES
        return self._drawn[self._used - ENTROPY_BYTES : self._used]


class _Lane:
    """The commands that wait for one aggregate, in their order of arrival."""

    __slots__ = ("turn", "waiting")

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self.waiting = 0


class Aggregates(Generic[S, E]):
    """All aggregates of one kind, as one instance of a service sees them.

    `initial(address)` is a state before any commit, `fold(state, commit, events)` the state after one, and `alone` as in `Folding`. With
    `books` the state is kept beside the log whenever they are closed, and an aggregate is folded from there. `queue` bounds the commands
    that wait for one aggregate, `capacity` the bytes of aggregates in memory; what is of a class in `shared` counts for none of them.
    """

    def __init__(  # noqa: PLR0913 - four that say what it is, the others keywords with a default
        self,
        log: EventLog,
        codec: Codec[E],
        initial: Callable[[Address], S],
        fold: Callable[[S, Commit, tuple[E, ...]], S],
        *,
        books: Books[S, E] | None = None,
        capacity: int = CAPACITY,
        shared: tuple[type, ...] = (),
        queue: int = QUEUE,
        entropy: Callable[[], bytes] | None = None,
        alone: Callable[[tuple[E, ...]], bool] = lambda _: False,
    ) -> None:
        self._log = log
        self._codec = codec
        self._folding = Folding(codec, initial, fold, alone)
        self._books = None if books is None else ClosedBooks(log, books)
        self._shared = (Address, *shared)
        self._queue = queue
        self._entropy = entropy or Entropy()
        self.cache: Cache[Address, Folded[S, E]] = Cache(capacity)
        self._hearing = Hearing(log, self._heard)
        self._usual = 0  # bytes of the last aggregate that was measured
        self._lanes: dict[Address, _Lane] = {}
        self._under_way: dict[asyncio.Task[None], asyncio.Future[Committed[S, E] | RefusedAt | Nothing[S]]] = {}

    async def load(self, address: Address, *, at_leader: bool = False, confirmed: bool = False) -> Loaded[S]:
        """The aggregate as this instance knows it; `at_leader`, as the log's leader does; `confirmed`, as a majority does, so that a
        refusal may rest on it. Raises `Unavailable`, `BrokenChain`.
        """
        folded = self.cache.get(address) or await self._read(address)
        if at_leader or confirmed:
            folded = await self._ask_leader(folded, confirmed=confirmed)
        return folded.loaded

    async def kept(self, address: Address) -> Loaded[S] | None:
        """The aggregate's snapshot, if there is one that can be read; whoever uses it looks whether the log bears it out."""
        kept = None if self._books is None else await self._books.newest(address)
        return None if kept is None or self._books is None else self._books.loaded(address, kept)

    async def transact(self, address: Address, request: Request, decide: Decide[S, E]) -> Committed[S, E] | RefusedAt | Nothing[S]:
        """Decide one command and make it durable.

        `decide(loaded, at)` is pure and may be called more than once, each time on a newer aggregate; `at` is the time of the commit:
        `request.now`, but never before the last commit. It is not called for a repeat, which gets the first answer.
        Once begun, the command runs to its end even if the caller is cancelled.
        Raises `Mismatch`, `QueueFull`, and from the log `Conflict` (lost five times in a row), `OutcomeUnknown`, `Unavailable`,
        `StorageFull`, `CommitTooLarge`, `BrokenChain`.
        """
        lane = self._lanes.setdefault(address, _Lane())
        if lane.waiting >= self._queue:
            raise QueueFull(address.subject)
        lane.waiting += 1
        outcome: asyncio.Future[Committed[S, E] | RefusedAt | Nothing[S]] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._in_turn(lane, address, request, decide, outcome))
        self._under_way[task] = outcome
        task.add_done_callback(self._ended)
        return await outcome  # not the task: the caller's disconnect must not stop a commit between its append and its ack

    async def drain(self) -> None:
        """Wait until every command that was begun has ended, and its snapshot is written; for a graceful stop."""
        while self._under_way:
            await asyncio.wait(self._under_way)
        await self._hearing.drain()
        if self._books is not None:
            await self._books.drain()

    async def _in_turn(
        self,
        lane: _Lane,
        address: Address,
        request: Request,
        decide: Decide[S, E],
        outcome: asyncio.Future[Committed[S, E] | RefusedAt | Nothing[S]],
    ) -> None:
        """Settle a command and tell `outcome`, unless nobody waits for it any more."""
        try:
            async with lane.turn:
                settled = await self._settle(address, request, decide)
            if not outcome.done():
                outcome.set_result(settled)
        except Exception as wrong:  # noqa: BLE001 - for whoever sent the command
            if not outcome.done():
                outcome.set_exception(wrong)
        finally:
            lane.waiting -= 1
            if not lane.waiting:
                del self._lanes[address]

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Whoever waits for a task that was stopped is stopped with it."""
        self._under_way.pop(task).cancel()

    async def _settle(self, address: Address, request: Request, decide: Decide[S, E]) -> Committed[S, E] | RefusedAt | Nothing[S]:
        key = request.key()
        newest = False  # whether a majority confirmed, after the command came in, that `folded` was the newest
        folded = self.cache.get(address) or await self._read(address)
        lost: Conflict | None = None
        for _ in range(ATTEMPTS):
            if revision := await self._revision_of(folded, key):
                if (answered := await self._repeat(folded, revision, request)) is not None:
                    return answered
                folded = await self._read(address)
            at = max(request.now, folded.loaded.at)
            decision = decide(folded.loaded, at)
            if (isinstance(decision, Refused) or not decision) and not newest:
                known, folded, newest = folded, await self._ask_leader(folded, confirmed=True), True
                if folded is not known:
                    self._hearing.conflict(address)
                    revision = await self._revision_of(folded, key)
                    if revision and (answered := await self._repeat(folded, revision, request)) is not None:
                        return answered
                    at = max(request.now, folded.loaded.at)
                    decision = decide(folded.loaded, at)
            if isinstance(decision, Refused):
                return RefusedAt(decision, folded.loaded.revision)
            if not decision:
                return Nothing(folded.loaded)
            try:
                return await self._append(folded, request, at, decision)
            except Conflict as conflict:
                lost, newest = conflict, False
                self._hearing.conflict(address)
                folded = await self._caught_up(folded, conflict.head)
        raise lost or AssertionError  # ATTEMPTS is not 0, so that one was lost

    async def _append(self, folded: Folded[S, E], request: Request, at: int, events: tuple[E, ...]) -> Committed[S, E]:
        loaded = folded.loaded
        commit = Commit(
            aggregate=loaded.address.subject,
            revision=loaded.revision + 1,
            schema=SCHEMA,
            at=at,
            actor=request.actor,
            command_id=request.command_id,
            command_digest=request.digest,
            cause=request.cause,
            correlation=request.correlation,
            prev_hash=loaded.head_hash,
            signed=request.signed,
            events=self._codec.seal(loaded.address, events, self._entropy()),
        )
        data = encode(commit)
        try:
            stored = await self._log.append(loaded.address, data, loaded.sequence)
        except Conflict:  # what is in hand is true, and stale
            raise
        except BaseException:  # even a cancellation leaves the outcome open
            self._forget(loaded.address)
            raise
        if stored.data == data:
            self._hearing.own(loaded.address)
            return last_of(self._remember(self._closed(self._folding.commit(folded, stored, commit, events))))
        after = self._advance(folded, (stored,))  # the same command, stored first by another instance
        answered = await self._repeat(after, commit.revision, request)
        assert answered is not None, "its newest commit is the one that is asked for"  # noqa: S101 - says what the line before makes
        return answered

    async def _repeat(self, folded: Folded[S, E], revision: int, request: Request) -> Committed[S, E] | None:
        """The first answer to a command that made `revision`, from memory if it was the last one, else from the log; None when it has left
        the log.
        """
        self._remember(folded)
        if revision != folded.loaded.revision:
            commits = await self._log.read(folded.loaded.address, until=folded.loaded.sequence)
            so_far = [one for one in commits if one.revision <= revision]
            if commits and not so_far:  # what is there now stands alone: the rest is in an archive
                return None
            folded = self._advance(self._folding.empty(folded.loaded.address), so_far)
        committed = last_of(folded)
        if committed.loaded.revision != revision:
            return None
        if not request.carries(committed.commit.command_digest):
            raise Mismatch(revision)
        return msgspec.structs.replace(committed, repeated=True)

    async def _revision_of(self, folded: Folded[S, E], key: bytes) -> int:
        """The revision that the command with this key made, 0 for none. Raises `Unavailable`."""
        recent = folded.keys.recent_revision(key)
        if recent or self._books is None or not folded.keys.perhaps_older(key):
            return recent
        return await self._books.older_revision(folded, key)

    async def _read(self, address: Address, head: Stored | None = None) -> Folded[S, E]:
        """Fold the log from its newest snapshot, or from its beginning, at least up to `head`."""
        if self._books is None:
            return self._remember(
                self._advance(self._folding.empty(address), await self._log.read(address, until=head.sequence if head else 0))
            )
        if head is None and (at_hand := self._books.taken_back(address)) is not None:
            return self._remember(at_hand)
        if head is None:  # both at once
            reading = asyncio.create_task(self._books.newest(address))
            try:
                found = await self._log.head(address)
            finally:
                kept = await reading
        else:
            found, kept = head, await self._books.newest(address)
        folded = None if kept is None or found is None else await self._from_snapshot(kept, found)
        if folded is None:
            commits = await self._log.read(address, until=found.sequence if found else 0)
            folded = self._advance(self._folding.empty(address), commits, keeps=True)
        return self._remember(folded)

    async def _from_snapshot(self, kept: Snapshot, head: Stored) -> Folded[S, E] | None:
        """The aggregate from `kept` on; None where the log does not bear the snapshot out: each commit names the hash of the one before."""
        assert self._books is not None  # noqa: S101 - it read the snapshot
        loaded = self._books.loaded(head.address, kept)
        if loaded is None or head.sequence < kept.sequence:
            return None
        try:
            if head.sequence == kept.sequence:
                return self._folding.restored(loaded, kept.keys, head)
            at_once = head.revision == kept.revision + 1
            commits = [head] if at_once else await self._log.read(head.address, kept.sequence, head.sequence)
            return self._advance(Folded(loaded, None, kept.keys, kept.revision), commits, keeps=True) if commits else None
        except BrokenChain as wrong:
            log.warning("snapshot_not_borne_out", aggregate=head.address.subject, reason=str(wrong))
            return None

    async def _ask_leader(self, folded: Folded[S, E], *, confirmed: bool = False) -> Folded[S, E]:
        """`folded` itself if it is the leader's newest, else the newest; `confirmed` by a majority, so that a refusal may rest on it."""
        head = await (self._log.newest if confirmed else self._log.head)(folded.loaded.address)
        ours = folded.last.stored if folded.last else None
        return folded if head == ours else await self._caught_up(folded, head)

    async def _caught_up(self, folded: Folded[S, E], head: Stored | None) -> Folded[S, E]:
        """`folded` and what the log has since then, at least up to `head`; only that is read. Raises `BrokenChain` where the log knows less
        than it acknowledged, or another history.
        """
        loaded = folded.loaded
        if folded.last is None:
            return await self._read(loaded.address, head)
        if _is_behind(folded, head):  # perhaps a leader that is cut off
            head = await self._log.newest(loaded.address)
        if head == folded.last.stored:
            return folded
        if head is None or _is_behind(folded, head):
            self._remember(folded)  # as the witness
            raise BrokenChain(f"the log is behind revision {loaded.revision} of {loaded.address.subject}, which it had", loaded.revision)
        new = [head] if head.revision == loaded.revision + 1 else await self._log.read(loaded.address, loaded.sequence, head.sequence)
        return self._remember(self._advance(folded, new))

    def _advance(self, folded: Folded[S, E], commits: Sequence[Stored], *, keeps: bool = False) -> Folded[S, E]:
        """Fold stored commits; one that cannot be folded leaves nothing cached. Raises `BrokenChain`."""
        books = self._books if keeps else None
        try:
            after, closed = self._folding.all_stored(folded, commits, None if books is None else books.closes)
        except Exception:
            self._forget(folded.loaded.address)
            raise
        if closed is not None and books is not None:  # whoever should have kept it did not, or it was lost
            books.keep(closed)
        return after

    def _heard(self, stored: Stored) -> bool:
        """A commit was stored, here or elsewhere: the copy in hand takes it along, unless a command is under way on it."""
        cached = self.cache.peek(stored.address)
        if cached is None:
            return False
        if stored.address not in self._lanes and stored.revision == cached.loaded.revision + 1:
            with suppress(BrokenChain):  # told to whoever asks for the aggregate next
                self._remember(self._folding.stored(cached, stored))
        return True

    def _closed(self, folded: Folded[S, E]) -> Folded[S, E]:
        """After a commit of this instance: where it closes the books, its state is kept."""
        if self._books is None or folded.last is None or not self._books.closes(folded.loaded, folded.last.events):
            return folded
        known = msgspec.structs.replace(folded, keys=folded.keys.all_filtered(), kept=folded.loaded.revision)
        self._books.keep(known)
        return msgspec.structs.replace(known, keys=known.keys.settled())

    def _remember(self, folded: Folded[S, E]) -> Folded[S, E]:
        """Keep the newer of two copies; the aggregates that were used longest ago make room."""
        address = folded.loaded.address
        cached = self.cache.peek(address)
        if folded.last is not None and (cached is None or cached.loaded.sequence < folded.loaded.sequence):
            for pushed_out in self.cache.put(address, folded, self._size(folded, new=cached is None)):
                if self._books is not None and (pushed_out.kept < pushed_out.loaded.revision - 1 or self._books.waits(pushed_out)):
                    self._books.keep(pushed_out)  # so that it costs little when it comes back; its newest commit is read in any case
        return folded

    def _size(self, folded: Folded[S, E], *, new: bool) -> int:
        """Bytes: measured now and then while it grows, and until then as many as the last one that was measured."""
        if not self._usual or folded.loaded.revision % MEASURED_EVERY == 0:
            self._usual = size_of(folded, self._shared)
            return self._usual
        return self._usual if new else self.cache.size(folded.loaded.address)

    def _forget(self, address: Address) -> None:
        self.cache.pop(address)
        if self._books is not None:
            self._books.forget(address)


def _is_behind(folded: Folded[S, E], head: Stored | None) -> bool:
    """Whether `head` is older than what is in hand, or another commit at its place."""
    return head is None or (head.sequence <= folded.loaded.sequence and (folded.last is None or head != folded.last.stored))
