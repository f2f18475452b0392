"""Closing the books: the state after a deal is kept beside the log, so that nobody folds that deal again.

A snapshot is believed as far as the log bears it out: the commit that it names must lie where it says, with the hash that it says, and
every later one must follow. Without one, or with a wrong one, the aggregate is folded from its first commit; no answer changes.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from itertools import islice
from typing import Final, Generic, Protocol, TypeVar

import structlog

from shared.eventlog import snapshots
from shared.eventlog.aggregates.decisions import E, Loaded, S, command_key
from shared.eventlog.aggregates.folding import Folded
from shared.eventlog.aggregates.packing import Packing, R, Unpackable
from shared.eventlog.command_keys import KEY_BYTES, Chunk, CommandKeys, digest_of, place_of
from shared.eventlog.port import EventLog
from shared.eventlog.snapshots import LARGEST, STATE, Snapshot, keys_part
from shared.events.address import Address
from shared.events.commit import decode_head
from shared.events.keys import UnknownKey
from shared.events.sealed import TamperedBox

log = structlog.get_logger()

E_contra = TypeVar("E_contra", contravariant=True)

WAITING: Final = 64  # aggregates whose snapshot waits to be written, 1 MB of them; of more the oldest are left to the next deal
AT_ONCE: Final = 16  # snapshots that are written at a stretch, some two milliseconds; then whoever waits for an answer comes first


class Books(Protocol[S, E_contra]):
    """How one kind of aggregate closes its books. `version` names the fold and the form of its states: another one reads nothing."""

    version: str

    def closes(self, loaded: Loaded[S], events: tuple[E_contra, ...]) -> bool:
        """Whether the books are closed after a commit with these events, which led to `loaded`."""
        ...

    def pack(self, address: Address, state: S) -> bytes:
        """The state's bytes, in which nothing that is hidden can be read. Raises `TypeError` or `OverflowError` for what cannot be kept."""
        ...

    def unpack(self, address: Address, data: bytes) -> S:
        """The state that `pack` made these bytes of. Raises `Unpackable`, `TamperedBox`, `UnknownKey`."""
        ...


class RegularBooks(Generic[R]):
    """The books of an aggregate that hides nothing and grows slowly: they are closed at every `every`th commit.

    `fold` is raised whenever the fold makes another state of the same commits.
    """

    def __init__(self, root: type[R], *, fold: int, every: int) -> None:
        self._packing = Packing(root)
        self._every = every
        self.version = f"{fold}-{self._packing.fingerprint}"

    def pack(self, _address: Address, state: R) -> bytes:
        """See `Books.pack`."""
        return self._packing.pack(state)

    def unpack(self, _address: Address, data: bytes) -> R:
        """See `Books.unpack`."""
        return self._packing.unpack(data)

    def closes(self, loaded: Loaded[R], _events: tuple[object, ...]) -> bool:
        """See `Books.closes`."""
        return loaded.revision % self._every == 0


class ClosedBooks(Generic[S, E]):
    """The snapshots of one kind of aggregate, as one instance reads and writes them; writing never keeps a command waiting."""

    def __init__(self, log: EventLog, books: Books[S, E]) -> None:
        self._log = log
        self._books = books
        self.closes = books.closes
        self._waiting: OrderedDict[Address, Folded[S, E]] = OrderedDict()
        self._writer: asyncio.Task[None] | None = None

    async def newest(self, address: Address) -> Snapshot | None:
        """The aggregate's snapshot, if there is one of this fold."""
        data = await self._log.snapshots.read(address, STATE)
        kept = None if data is None else snapshots.decode(data)
        fits = kept is not None and kept.fold == self._books.version and kept.subject == address.subject and kept.revision > 0
        return kept if fits else None

    def loaded(self, address: Address, kept: Snapshot) -> Loaded[S] | None:
        """What a snapshot tells of the aggregate; None where it cannot be read."""
        try:
            state = self._books.unpack(address, kept.state)
        except (Unpackable, TamperedBox, UnknownKey) as wrong:
            log.warning("snapshot_unreadable", aggregate=address.subject, reason=str(wrong))
            return None
        return Loaded(address, state, kept.revision, kept.sequence, kept.head_hash, kept.at)

    def keep(self, folded: Folded[S, E]) -> None:
        """Write the snapshot of `folded` when nothing else is to be done; a newer one of the same aggregate takes its place."""
        address = folded.loaded.address
        before = self._waiting.get(address)
        if before is not None and before.loaded.revision > folded.loaded.revision:
            return
        self._waiting.pop(address, None)
        self._waiting[address] = folded
        if len(self._waiting) > WAITING:
            self._waiting.popitem(last=False)
        if self._writer is None:
            self._writer = asyncio.create_task(self._write(), name="snapshots")

    def taken_back(self, address: Address) -> Folded[S, E] | None:
        """The aggregate as long as it waits to be written: nobody needs to read what is still at hand. None where it does not wait."""
        return self._waiting.get(address)

    def waits(self, folded: Folded[S, E]) -> bool:
        """Whether an older state of it waits to be written, which nobody may take back any more."""
        waiting = self._waiting.get(folded.loaded.address)
        return waiting is not None and waiting.loaded.revision < folded.loaded.revision

    def forget(self, address: Address) -> None:
        """Write nothing of it that waits: it is not to be believed any more."""
        self._waiting.pop(address, None)

    async def drain(self) -> None:
        """Wait until what waits has been written."""
        while self._writer is not None:
            await asyncio.wait([self._writer])

    async def older_revision(self, folded: Folded[S, E], key: bytes) -> int:
        """The revision before the recent ones that the command with this key made, 0 for none. Raises `Unavailable`."""
        address, chunks = folded.loaded.address, folded.keys.chunks
        parts = await asyncio.gather(*(self._log.snapshots.read(address, keys_part(chunk)) for chunk in chunks))
        for chunk, data in zip(chunks, parts, strict=True):
            keys = _as_known(chunk, data)
            if keys is None:
                return await self._from_the_log(folded, key)
            if (place := place_of(keys, key)) >= 0:
                return chunk.first + place
        return 0

    async def _from_the_log(self, folded: Folded[S, E], key: bytes) -> int:
        """The same without chunks."""
        for stored in await self._log.read(folded.loaded.address, until=folded.loaded.sequence):
            head = decode_head(stored.data)
            if head.revision < folded.keys.first and command_key(head.actor, head.command_id) == key:
                return head.revision
        return 0

    async def _write(self) -> None:
        try:
            while self._waiting:
                await asyncio.sleep(0)  # whoever waits for an answer comes first
                some = list(islice(self._waiting.items(), AT_ONCE))
                try:
                    await self._write_all([folded for _, folded in some])
                finally:
                    for address, folded in some:
                        if self._waiting.get(address) is folded:  # not a newer one, which waits too
                            del self._waiting[address]
        finally:
            self._writer = None

    async def _write_all(self, some: list[Folded[S, E]]) -> None:
        """One after the other where nothing is waited for; all at once whose last chunk of keys has to be read."""
        waiting = []
        for folded in some:
            if folded.keys.to_lengthen() is None:
                await self._write_one(folded)
            else:
                waiting.append(self._write_one(folded))
        await asyncio.gather(*waiting)

    async def _write_one(self, folded: Folded[S, E]) -> None:
        loaded = folded.loaded
        keys, parts = (await self._lengthened(loaded.address, folded.keys)).shelved()
        try:
            state = self._books.pack(loaded.address, loaded.state)
        except (TypeError, OverflowError) as wrong:
            log.warning("snapshot_not_packed", aggregate=loaded.address.subject, reason=str(wrong))
            return
        data = snapshots.encode(
            Snapshot(
                self._books.version,
                loaded.address.subject,
                loaded.revision,
                loaded.sequence,
                loaded.head_hash,
                loaded.at,
                keys.filter,
                keys.recent,
                keys.chunks,
                state,
            )
        )
        if len(data) > LARGEST:
            log.info("snapshot_too_large", aggregate=loaded.address.subject, bytes=len(data))
            return
        for chunk, piece in parts:
            await self._log.snapshots.keep(loaded.address, keys_part(chunk), piece)
        await self._log.snapshots.keep(loaded.address, STATE, data)

    async def _lengthened(self, address: Address, keys: CommandKeys) -> CommandKeys:
        """Such that the last chunk grows rather than gets a short one behind it: what is pushed out again and again would have hundreds."""
        chunk = keys.to_lengthen()
        before = None if chunk is None else _as_known(chunk, await self._log.snapshots.read(address, keys_part(chunk)))
        return keys if before is None else keys.taken_back(before)


def _as_known(chunk: Chunk, data: bytes | None) -> bytes | None:
    """The keys of `chunk` in the part that holds it: a later deal may have made it longer. None where they are not there."""
    if data is None:
        return None
    keys = data[: chunk.count * KEY_BYTES]
    return keys if digest_of(keys) == chunk.digest else None
