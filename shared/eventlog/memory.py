"""The in-memory twin of the log: the promises of the JetStream adapter, held by the same contract tests, for tests of what lies above it.

A `MemoryStore` is what would lie on the server's disk, a `MemoryLog` one client's connection to it; several may share a store.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

from shared.eventlog.port import (
    FOLLOW_BATCH,
    HEARTBEAT_SECONDS,
    MAX_COMMIT_BYTES,
    CommitTooLarge,
    Conflict,
    LastCommits,
    LogBehind,
    OutcomeUnknown,
    StorageFull,
    Stored,
    Unavailable,
    is_repeat,
)
from shared.eventlog.snapshots import MemorySnapshots, Snapshots
from shared.events.address import Address, Partitions
from shared.events.commit import decode_head


class MemoryStore:
    """Streams of commits. `max_bytes` a stream: what is over it is refused, as a full disk does; None: no limit."""

    def __init__(self, max_bytes: int | None = None) -> None:
        self.max_bytes = max_bytes
        self.snapshots = MemorySnapshots()
        self._streams: dict[str, list[Stored]] = {}
        self._aggregates: dict[Address, list[Stored]] = {}
        self._last: dict[str, int] = {}
        self._bytes: dict[str, int] = {}
        self._changed = asyncio.Event()
        self.listeners: dict[Address, list[Callable[[Stored], None]]] = {}

    def stream(self, name: str) -> list[Stored]:
        """The commits of one stream, oldest first."""
        return self._streams.get(name, [])

    def aggregate(self, address: Address) -> list[Stored]:
        """The commits of one aggregate, oldest first."""
        return self._aggregates.get(address, [])

    def last_sequence(self, name: str) -> int:
        """The sequence of the newest commit that was ever stored in `name`."""
        return self._last.get(name, 0)

    def store(self, address: Address, data: bytes, revision: int) -> Stored:
        """Write one commit at the end of its stream; raises `StorageFull`."""
        name = address.stream
        used = self._bytes.get(name, 0) + len(data)
        if self.max_bytes is not None and used > self.max_bytes:
            raise StorageFull(f"{name} holds {self.max_bytes} bytes at most")
        stored = Stored(address, name, self._last.get(name, 0) + 1, revision, data)
        self._bytes[name] = used
        self._last[name] = stored.sequence
        self._streams.setdefault(name, []).append(stored)
        self._aggregates.setdefault(address, []).append(stored)
        self.wake()
        for heard in tuple(self.listeners.get(address, ())):
            heard(stored)
        return stored

    def purge(self, address: Address, before: int = 1 << 62) -> int:
        """Take one aggregate out, or its commits below sequence `before`; the stream keeps its other commits and a gap."""
        gone = [stored for stored in self.aggregate(address) if stored.sequence < before]
        self._aggregates[address] = self.aggregate(address)[len(gone) :]
        self._bytes[address.stream] = self._bytes.get(address.stream, 0) - sum(len(stored.data) for stored in gone)
        self._streams[address.stream] = [
            stored for stored in self.stream(address.stream) if stored.address != address or stored.sequence >= before
        ]
        return len(gone)

    def wake(self) -> None:
        """Let every reader that waits look again."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def changed(self, seconds: float) -> bool:
        """Wait for the next write or wake-up; False when there was none for `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return False
        return True


class MemoryLog:
    """A client of a `MemoryStore`; an `EventLog`.

    Faults on demand: `disconnect` and `reconnect`; `lose_next_ack` lets the next append end in `OutcomeUnknown`, written or not.
    """

    def __init__(
        self, store: MemoryStore | None = None, heartbeat: float = HEARTBEAT_SECONDS, partitions: Partitions | None = None
    ) -> None:
        self.partitions = partitions or Partitions()
        self.store = MemoryStore() if store is None else store
        self.snapshots: Snapshots = self.store.snapshots
        self._heartbeat = heartbeat
        self._connected = True
        self._closed = False
        self._lost_acks: list[bool] = []

    def disconnect(self) -> None:
        """Cut the connection: appends and reads are refused, followers and watchers wait."""
        self._connected = False

    def reconnect(self) -> None:
        """Join again; followers and watchers go on where they were."""
        self._connected = True
        self.store.wake()

    def lose_next_ack(self, *, written: bool) -> None:
        """Let one more append end unknown; `written` says what really happened."""
        self._lost_acks.append(written)

    async def append(self, address: Address, data: bytes, expected: int) -> Stored:
        """See `EventLog.append`."""
        own = decode_head(data)
        if len(data) > MAX_COMMIT_BYTES:
            raise CommitTooLarge(f"{len(data)} bytes")
        self._check()
        if not self.partitions.know(address):
            raise Unavailable(f"{address.stream} is not known to this instance")
        await asyncio.sleep(0)  # others run between a decision and its append here as they do over a network
        head = self._head(address)
        if (head.sequence if head else 0) != expected:
            if head is not None and is_repeat(head, own):
                return head
            raise Conflict(head)
        if self._lost_acks:
            if self._lost_acks.pop(0):
                self.store.store(address, data, own.revision)
            raise OutcomeUnknown("the ack was lost")
        return self.store.store(address, data, own.revision)

    async def head(self, address: Address) -> Stored | None:
        """See `EventLog.head`."""
        self._check()
        await asyncio.sleep(0)  # see append
        return self._head(address)

    async def newest(self, address: Address) -> Stored | None:
        """See `EventLog.newest`: memory is its own majority."""
        return await self.head(address)

    async def confirm(self, _stream: str) -> None:
        """See `EventLog.confirm`."""
        self._check()
        await asyncio.sleep(0)  # see append

    async def heads(self, addresses: Sequence[Address], after: int = 0) -> LastCommits:
        """See `EventLog.heads`."""
        self._check()
        await asyncio.sleep(0)  # see append
        if not addresses:
            return LastCommits({})
        found = {address: head for address in addresses if (head := self._head(address)) is not None and head.sequence > after}
        return LastCommits(found, self.store.last_sequence(addresses[0].stream))

    async def read(self, address: Address, after: int = 0, until: int = 0) -> list[Stored]:  # noqa: ARG002 - never lags, so `until` asks nothing
        """See `EventLog.read`."""
        self._check()
        await asyncio.sleep(0)  # see append
        return [stored for stored in self._aggregate(address) if stored.sequence > after]

    async def follow(self, stream: str, after: int = 0, batch: int = FOLLOW_BATCH) -> AsyncGenerator[list[Stored], None]:
        """See `EventLog.follow`."""
        while not self._closed:
            if self._connected and self.store.last_sequence(stream) < after:
                raise LogBehind(f"{stream} ends at {self.store.last_sequence(stream)}, before {after}, up to which it has been read")
            found = [stored for stored in self.store.stream(stream) if stored.sequence > after][:batch] if self._connected else []
            if found:
                after = found[-1].sequence
                yield found
            elif not await self.store.changed(self._heartbeat) and self._connected:
                yield []
        raise Unavailable("closed")

    async def watch(self, address: Address, after: int = 0) -> AsyncGenerator[Stored, None]:
        """See `EventLog.watch`."""
        while not self._closed:
            found = [stored for stored in self.store.aggregate(address) if stored.sequence > after] if self._connected else []
            for stored in found:
                after = stored.sequence
                yield stored
            if not found:
                await self.store.changed(self._heartbeat)
        raise Unavailable("closed")

    async def hear(self, address: Address, heard: Callable[[Stored], None]) -> Callable[[], Awaitable[None]]:
        """See `EventLog.hear`; nothing is heard while the connection is cut."""
        self._check()

        def tell(stored: Stored) -> None:
            if self._connected:
                heard(stored)

        self.store.listeners.setdefault(address, []).append(tell)

        async def leave() -> None:
            self.store.listeners[address].remove(tell)

        return leave

    def connected(self) -> bool:
        """See `EventLog.connected`."""
        return self._connected

    def trouble(self) -> str | None:
        """See `EventLog.trouble`: memory that is full says so each time."""
        return None

    def durability(self) -> str:
        """See `EventLog.durability`: memory promises none."""
        return "unverified"

    async def last_sequence(self, stream: str) -> int:
        """See `EventLog.last_sequence`."""
        self._check()
        await asyncio.sleep(0)  # see append
        return self.store.last_sequence(stream)

    async def next_after(self, stream: str, after: int) -> int:
        """See `EventLog.next_after`."""
        self._check()
        await asyncio.sleep(0)  # see append
        return next((stored.sequence for stored in self.store.stream(stream) if stored.sequence > after), 0)

    async def purge(self, address: Address, before: int) -> int:
        """See `EventLog.purge`; whoever has the memory may."""
        self._check()
        if all(stored.sequence != before for stored in self.store.aggregate(address)):
            raise ValueError(f"{address.subject} has no commit at {before}")
        return self.store.purge(address, before)

    async def close(self) -> None:
        """See `EventLog.close`."""
        self._connected = False
        self._closed = True
        self.store.wake()

    def _check(self) -> None:
        if not self._connected:
            raise Unavailable("not connected")

    def _head(self, address: Address) -> Stored | None:
        commits = self._aggregate(address)
        return commits[-1] if commits else None

    def _aggregate(self, address: Address) -> list[Stored]:
        return self.store.aggregate(address) if self.partitions.know(address) else []
