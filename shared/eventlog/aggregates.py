"""Load, decide, append: how every command changes an aggregate, exactly once, whatever the network does.

The cache makes it fast and is never trusted: a commit carries the revision it was decided on, a refusal is given on the newest one only.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Generic

import msgspec

from shared.eventlog.copies import is_copy
from shared.eventlog.decisions import (
    DIGEST_BYTES,
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
    command_key,
)
from shared.eventlog.port import Conflict, EventLog, Stored
from shared.events.address import Address
from shared.events.commit import SCHEMA, Commit, decode, encode, hash_of
from shared.events.sealed import TamperedBox
from shared.rules.language.refusal import Malformed, Refused

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

ATTEMPTS: Final = 5  # decisions on one command: each loss means that somebody else's commit got in, so five losses are a table in uproar
CAPACITY: Final = 2048  # aggregates held: at some 50 KB a pulka about 100 MB
QUEUE: Final = 32  # commands that may wait for one aggregate: four seats and their retries; more is a client gone wild
DECISIONS_A_DRAW: Final = 128  # a page of memory; what a process does not use is lost with it
ENTROPY_BYTES: Final = 32  # a decision's: enough for the nonces of all its sealed boxes

#: What the fold of an event that cannot stand where it does raises; a fold rejects nothing itself.
_NO_NEXT: Final = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError, Malformed)

Decide = Callable[[Loaded[S], int], "tuple[E, ...] | Refused"]


class _Folded(msgspec.Struct, Generic[S, E], frozen=True):
    """An aggregate, its last commit (None when it has none) and the keys of all its commands, 16 bytes each, in the order of revisions."""

    loaded: Loaded[S]
    last: Committed[S, E] | None = None
    keys: bytes = b""

    def revision_of(self, key: bytes) -> int:
        """The revision that the command with this key made, 0 for none."""
        place = self.keys.find(key)
        while place >= 0 and place % DIGEST_BYTES:  # by chance, across two neighbours
            place = self.keys.find(key, place + 1)
        return place // DIGEST_BYTES + 1 if place >= 0 else 0


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

    `initial(address)` is a state before any commit, `fold(state, commit, events)` the state after one. `queue` bounds the commands that
    wait for one aggregate, `capacity` the aggregates that are kept in memory. `alone(events)`: a commit with these events is an aggregate's
    last, and what came before it may have left the log; it then is folded from `initial`, and no earlier command is remembered.
    """

    def __init__(  # noqa: PLR0913 - four that say what it is, the others keywords with a default
        self,
        log: EventLog,
        codec: Codec[E],
        initial: Callable[[Address], S],
        fold: Callable[[S, Commit, tuple[E, ...]], S],
        *,
        capacity: int = CAPACITY,
        queue: int = QUEUE,
        entropy: Callable[[], bytes] | None = None,
        alone: Callable[[tuple[E, ...]], bool] = lambda _: False,
    ) -> None:
        self._log = log
        self._codec = codec
        self._initial = initial
        self._fold = fold
        self._capacity = capacity
        self._queue = queue
        self._entropy = entropy or Entropy()
        self._alone = alone
        self._cache: OrderedDict[Address, _Folded[S, E]] = OrderedDict()
        self._lanes: dict[Address, _Lane] = {}
        self._under_way: set[asyncio.Task[Committed[S, E] | RefusedAt | Nothing[S]]] = set()

    async def load(self, address: Address, *, at_leader: bool = False) -> Loaded[S]:
        """The aggregate as this instance knows it, or, `at_leader`, as the log's leader does. Raises `Unavailable`, `BrokenChain`."""
        folded = self._cache.get(address)
        if folded is None:
            folded = await self._read(address)
        else:
            self._cache.move_to_end(address)
        if at_leader:
            folded = await self._ask_leader(folded)
        return folded.loaded

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
        task = asyncio.create_task(self._in_turn(lane, address, request, decide))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return await asyncio.shield(task)  # the caller's disconnect must not stop a commit between its append and its ack

    async def drain(self) -> None:
        """Wait until every command that was begun has ended; for a graceful stop."""
        while self._under_way:
            await asyncio.wait(self._under_way)

    async def _in_turn(
        self, lane: _Lane, address: Address, request: Request, decide: Decide[S, E]
    ) -> Committed[S, E] | RefusedAt | Nothing[S]:
        try:
            async with lane.turn:
                return await self._settle(address, request, decide)
        finally:
            lane.waiting -= 1
            if not lane.waiting:
                del self._lanes[address]

    async def _settle(self, address: Address, request: Request, decide: Decide[S, E]) -> Committed[S, E] | RefusedAt | Nothing[S]:
        key = request.key()
        newest = False  # whether `folded` was the leader's newest after the command came in
        folded = self._cache.get(address) or await self._read(address)
        lost: Conflict | None = None
        for _ in range(ATTEMPTS):
            if revision := folded.revision_of(key):
                if (answered := await self._repeat(folded, revision, request)) is not None:
                    return answered
                folded = await self._read(address)
            at = max(request.now, folded.loaded.at)
            decision = decide(folded.loaded, at)
            if (isinstance(decision, Refused) or not decision) and not newest:
                known, folded, newest = folded, await self._ask_leader(folded), True
                if folded is not known:
                    if (revision := folded.revision_of(key)) and (answered := await self._repeat(folded, revision, request)) is not None:
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
                self._check_not_behind(folded, conflict.head)
                lost, newest = conflict, True
                folded = await self._read(address, conflict.head)
        raise lost or AssertionError  # ATTEMPTS is not 0, so that one was lost

    async def _append(self, folded: _Folded[S, E], request: Request, at: int, events: tuple[E, ...]) -> Committed[S, E]:
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
            events=self._codec.seal(loaded.address, events, self._entropy()),
        )
        data = encode(commit)
        try:
            stored = await self._log.append(loaded.address, data, loaded.sequence)
        except BaseException:  # whatever it was, the copy may be stale now; even a cancellation leaves the outcome open
            self._forget(loaded.address)
            raise
        if stored.data == data:
            return _last(self._remember(self._advance(folded, stored, commit, events)))
        after = self._advance_guarded(folded, (stored,))  # the same command, stored first by another instance
        answered = await self._repeat(after, commit.revision, request)
        assert answered is not None, "its newest commit is the one that is asked for"  # noqa: S101 - says what the line before makes
        return answered

    async def _repeat(self, folded: _Folded[S, E], revision: int, request: Request) -> Committed[S, E] | None:
        """The first answer to a command that made `revision`, from memory if it was the last one, else from the log; None when it has left
        the log.
        """
        self._remember(folded)
        if revision != folded.loaded.revision:
            commits = await self._log.read(folded.loaded.address, until=folded.loaded.sequence)
            so_far = [one for one in commits if one.revision <= revision]
            if commits and not so_far:  # what is there now stands alone: the rest is in an archive
                return None
            folded = self._advance_guarded(self._empty(folded.loaded.address), so_far)
        committed = _last(folded)
        if committed.loaded.revision != revision:
            return None
        if not request.carries(committed.commit.command_digest):
            raise Mismatch(revision)
        return msgspec.structs.replace(committed, repeated=True)

    async def _read(self, address: Address, head: Stored | None = None) -> _Folded[S, E]:
        """Fold the log from its beginning, at least up to `head`."""
        commits = await self._log.read(address, until=head.sequence if head else 0)
        folded = self._advance_guarded(self._empty(address), commits)
        return self._remember(folded)

    async def _ask_leader(self, folded: _Folded[S, E]) -> _Folded[S, E]:
        """`folded` itself if it is the leader's newest, else the newest."""
        loaded = folded.loaded
        head = await self._log.head(loaded.address)
        ours = folded.last.stored if folded.last else None
        if head == ours:
            return folded
        self._check_not_behind(folded, head)
        commits = await self._log.read(loaded.address, after=loaded.sequence, until=head.sequence if head else 0)
        return self._remember(self._advance_guarded(folded, commits))

    def _check_not_behind(self, folded: _Folded[S, E], head: Stored | None) -> None:
        """Refuse a leader that knows less than it acknowledged, or another history; the copy is kept as the witness."""
        if folded.last is not None and (head is None or head.sequence <= folded.loaded.sequence) and head != folded.last.stored:
            self._remember(folded)
            raise BrokenChain(
                f"the log is behind revision {folded.loaded.revision} of {folded.loaded.address.subject}, which it had",
                folded.loaded.revision,
            )

    def _empty(self, address: Address) -> _Folded[S, E]:
        return _Folded(Loaded(address, self._initial(address)))

    def _advance_guarded(self, folded: _Folded[S, E], commits: list[Stored] | tuple[Stored, ...]) -> _Folded[S, E]:
        """Fold stored commits; one that cannot be folded leaves nothing cached. Raises `BrokenChain`."""
        try:
            for stored in commits:
                if folded.last is not None and is_copy(stored, folded.last.stored):
                    folded = _at_copy(folded, stored)
                    continue
                commit = _commit_in(stored, folded.loaded)
                folded = self._advance(folded, stored, commit, self._opened(stored, commit, folded.loaded))
        except Exception:
            self._forget(folded.loaded.address)
            raise
        return folded

    def _advance(self, folded: _Folded[S, E], stored: Stored, commit: Commit, events: tuple[E, ...]) -> _Folded[S, E]:
        before = folded.loaded
        if commit.aggregate == before.address.subject and commit.revision > before.revision and self._alone(events):
            return self._begun_with(stored, before, commit, events)
        follows = (before.address.subject, before.revision + 1, before.head_hash)
        if (commit.aggregate, commit.revision, commit.prev_hash) != follows:
            raise BrokenChain(
                f"{stored.position} does not follow revision {before.revision} of {before.address.subject}", before.revision + 1
            )
        own_hash = hash_of(stored.data)
        state = self._after(stored, before, before.state, commit, events)
        after = Loaded(before.address, state, commit.revision, stored.sequence, own_hash, commit.at)
        keys = folded.keys + command_key(commit.actor, commit.command_id)
        return _Folded(after, Committed(stored, commit, own_hash, events, after), keys)

    def _begun_with(self, stored: Stored, before: Loaded[S], commit: Commit, events: tuple[E, ...]) -> _Folded[S, E]:
        """An aggregate of whose commits only the last is there, or soon will be; and no command is remembered that cannot be answered."""
        own_hash, state = hash_of(stored.data), self._after(stored, before, self._initial(stored.address), commit, events)
        after = Loaded(stored.address, state, commit.revision, stored.sequence, own_hash, commit.at)
        return _Folded(after, Committed(stored, commit, own_hash, events, after))

    def _opened(self, stored: Stored, commit: Commit, before: Loaded[S]) -> tuple[E, ...]:
        """Raises `BrokenChain` for events that no program of ours writes, or whose boxes were changed."""
        try:
            return self._codec.open(commit)
        except (msgspec.DecodeError, TamperedBox) as wrong:
            raise BrokenChain(f"{stored.position} of {before.address.subject} has an event that is none", before.revision + 1) from wrong

    def _after(self, stored: Stored, before: Loaded[S], state: S, commit: Commit, events: tuple[E, ...]) -> S:
        """Raises `BrokenChain` for events that cannot happen where they stand."""
        try:
            return self._fold(state, commit, events)
        except _NO_NEXT as wrong:
            raise BrokenChain(f"{stored.position} of {before.address.subject} cannot follow", before.revision + 1) from wrong

    def _remember(self, folded: _Folded[S, E]) -> _Folded[S, E]:
        """Keep the newer of two copies; the aggregate that was used longest ago makes room."""
        address = folded.loaded.address
        cached = self._cache.get(address)
        if folded.last is not None and (cached is None or cached.loaded.sequence < folded.loaded.sequence):
            self._cache[address] = folded
            if len(self._cache) > self._capacity:
                self._cache.popitem(last=False)
        if address in self._cache:
            self._cache.move_to_end(address)
        return folded

    def _forget(self, address: Address) -> None:
        self._cache.pop(address, None)


def _last(folded: _Folded[S, E]) -> Committed[S, E]:
    if folded.last is None:
        raise BrokenChain(f"{folded.loaded.address.subject} lost commits that it had", 1)
    return folded.last


def _at_copy(folded: _Folded[S, E], stored: Stored) -> _Folded[S, E]:
    """The same aggregate, whose last commit lies at the place of its copy `stored` too: there the next one is expected to follow."""
    if folded.last is None:
        return folded
    after = msgspec.structs.replace(folded.loaded, sequence=stored.sequence)
    return msgspec.structs.replace(folded, loaded=after, last=msgspec.structs.replace(folded.last, stored=stored, loaded=after))


def _commit_in(stored: Stored, before: Loaded[S]) -> Commit:
    """Raises `BrokenChain` for bytes that are no commit."""
    try:
        return decode(stored.data)
    except msgspec.DecodeError:
        raise BrokenChain(f"{stored.position} of {before.address.subject} is no commit", before.revision + 1) from None
