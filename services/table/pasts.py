"""A table as it was at some revision: folded from the nearest state at hand, and a slice of its commits at a time.

Of a table one snapshot is kept, and an instance holds it as it is now. Whoever comes back with a cursor behind the snapshot needs a state
that only the log can tell, from the table's first commit. That takes as long as its history is; nobody else waits for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import msgspec

from services.table.table import Table, fold, initial
from services.table.tables import Tables
from shared.eventlog.aggregates.aggregates import BrokenChain, Loaded
from shared.eventlog.aggregates.cache import Cache, size_of
from shared.eventlog.aggregates.copies import without_copies
from shared.eventlog.port import Stored
from shared.events.commit import decode, hash_of
from shared.rules.convention.options import Convention

SLICE: Final = 32  # commits folded or shown at a stretch: some two milliseconds, then everybody else has a turn
CAPACITY: Final = 8 * 1024 * 1024  # bytes of past states: some 600, the latest deals of as many tables that are watched
WORTH: Final = 64  # commits, some deal's: a state that took no more is found as fast again, from the snapshot or the log

Fits: TypeAlias = "Callable[[Table], bool]"  # of a state: true up to some revision, and of no later one


class Seen(msgspec.Struct, frozen=True):
    """A table as far as somebody may know it, where in the log that is, the commits after it that are in the log already, and the hash of
    its last one.
    """

    table: Table
    sequence: int
    rest: tuple[Stored, ...] = ()
    hash: str = ""


class Past(msgspec.Struct, frozen=True):
    """A table after one of its commits, which lies at `sequence` and hashes to `head_hash`."""

    table: Table
    sequence: int = 0
    head_hash: str = ""


class Pasts:
    """Finds past states, and remembers some: those that took long to find, and where a watched table closed its books."""

    def __init__(self, tables: Tables, capacity: int = CAPACITY) -> None:
        self._tables = tables
        self.cache: Cache[tuple[str, int], Past] = Cache(capacity)
        self._revisions: dict[str, set[int]] = {}  # of each table in the cache
        self._folding = asyncio.Lock()  # one history at a time, so that the next who asks for the same one finds it folded
        self._turn = asyncio.Lock()

    async def latest(self, head: Loaded[Table], fits: Fits) -> Seen:
        """The last state up to `head` that `fits`, and what follows it. Raises `BrokenChain` where the log is damaged, `Unavailable`."""
        if fits(head.state):
            return Seen(head.state, head.sequence, hash=head.head_hash)
        begun = self._remembered(head.address.id, fits) or (await self._kept(head, fits) if head.revision > WORTH else None)
        records = [] if begun is None else await self._following(begun, head)
        if begun is None or not records:
            begun = Past(initial(head.address))
            records = without_copies(await self._tables.log.read(head.address, until=head.sequence))
        async with self._folding:
            return await self._folded(begun, records, fits)

    async def breath(self) -> None:
        """Give everybody else a turn; of all who ask for it one goes on at a time."""
        async with self._turn:
            await asyncio.sleep(0)

    def passed(self, before: Table, table: Table, stored: Stored) -> None:
        """A watched table has come from `before` to `table` by `stored`: where that ends a deal, it is remembered. Whoever comes back soon
        after a deal has a cursor in that one, and its snapshot is younger.
        """
        if table.pulka.deal is None and before.pulka.deal is not None and not table.hidden:
            self._remember(Past(table, stored.sequence, hash_of(stored.data)))

    async def _folded(self, begun: Past, records: Sequence[Stored], fits: Fits) -> Seen:
        """Fold `records`, which follow `begun`, as long as the state fits."""
        past, first = begun, begun.table.revision
        nearer = self._remembered(begun.table.pulka.table_id, fits)  # perhaps found meanwhile, for somebody else
        if nearer is not None and _lies_in(nearer, records, first):
            past = nearer
        done = past.table.revision - first
        while done < len(records):
            stored = records[done]
            table = self.after(past.table, stored)
            if not fits(table):
                break
            past = Past(table, stored.sequence)
            done += 1
            if done % SLICE == 0:
                await self.breath()
        head_hash = hash_of(records[done - 1].data) if done else past.head_hash
        if done > WORTH and past is not nearer:
            self._remember(msgspec.structs.replace(past, head_hash=head_hash))
        return Seen(past.table, past.sequence, tuple(records[done:]), head_hash)

    def after(self, table: Table, stored: Stored) -> Table:
        """The table after its next commit. Raises `BrokenChain` where the log is damaged."""
        if stored.revision != table.revision + 1:
            raise BrokenChain(f"{stored.position} does not follow revision {table.revision}", table.revision + 1)
        commit = decode(stored.data)
        return fold(table, commit, self._tables.codec.open(commit))

    async def _kept(self, head: Loaded[Table], fits: Fits) -> Past | None:
        """The table's snapshot, if it is old enough."""
        kept = await self._tables.kept(head.address)
        return None if kept is None or not fits(kept.state) else Past(kept.state, kept.sequence, kept.head_hash)

    async def _following(self, past: Past, head: Loaded[Table]) -> list[Stored]:
        """What follows `past` in the log; nothing where the log does not bear it out."""
        found = without_copies(await self._tables.log.read(head.address, past.sequence - 1, head.sequence))
        return found[1:] if found and _is_after(past, found[0]) else []

    def _remembered(self, table_id: str, fits: Fits) -> Past | None:
        """The last state at hand that fits."""
        for revision in sorted(self._revisions.get(table_id, ()), reverse=True):
            past = self.cache.peek((table_id, revision))
            if past is not None and fits(past.table):
                return self.cache.get((table_id, revision))
        self.cache.misses += 1
        return None

    def _remember(self, past: Past) -> None:
        of = past.table
        self._revisions.setdefault(of.pulka.table_id, set()).add(of.revision)
        for gone in self.cache.put((of.pulka.table_id, of.revision), past, size_of(past, (Convention,))):
            left = self._revisions[gone.table.pulka.table_id]
            left.discard(gone.table.revision)
            if not left:
                del self._revisions[gone.table.pulka.table_id]


def _lies_in(past: Past, records: Sequence[Stored], first: int) -> bool:
    """Whether `past` is the table after one of `records`, the first of which follows revision `first`."""
    place = past.table.revision - first - 1
    return 0 <= place < len(records) and _is_after(past, records[place])


def _is_after(past: Past, stored: Stored) -> bool:
    """Whether `past` is the table after this very commit."""
    return (stored.revision, stored.sequence, hash_of(stored.data)) == (past.table.revision, past.sequence, past.head_hash)
