"""When each table of the streams that an instance looks after is to be looked at again.

It lies in memory: Postgres has what a successor needs, and a look at a table that played on changes nothing there.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from services.table.clocks.store import Running
from shared.eventlog.port import Stored

LONG_AGO: Final = 1 << 62  # milliseconds: tables that are new here are due at once, those whose turn ends soonest first


class Known(msgspec.Struct, frozen=True):
    """The turn that a table waits for, as it was folded at `revision`: which commit began it and when, since when its clock runs, when it
    is over without outages, and the deal that is started then instead of a default move. Times in milliseconds since 1970.
    """

    revision: int
    turn: int
    began: int
    runs_since: int
    deadline: int
    starts: int | None = None


class Entry(msgspec.Struct):
    """A running table, when to look at it again, and what is known of its turn: `ends_at` has its outages in it; 0: nothing is.

    `left`: the last turn ran out, and this one began with that; most likely nobody is there. `idle`: the revision at which no turn waited.
    `calm`: the revision at which no turn can be over before `calm_until`. `orphaned`: whoever would have started its next deal may have
    died. `told`: the revision of its last commit as the log told it (0: it did not), which was so up to sequence `as_of` of the stream.
    """

    table_id: str
    stream: str
    shortest: int
    revision: int = 0
    ends_at: int = 0
    again: int = 0
    known: Known | None = None
    left: bool = False
    idle: int = 0
    calm: int = 0
    calm_until: int = 0
    orphaned: bool = False
    busy: bool = False
    told: int = 0
    as_of: int = 0

    def forget(self) -> None:
        """Nothing is known of the table's turn any more."""
        self.revision, self.ends_at, self.known, self.left, self.idle, self.calm = 0, 0, None, False, 0, 0

    def hear(self, head: Stored | None, as_of: int) -> None:
        """What an answer of the log that was asked for what came after `as_of` says of this table; see `LastCommits`."""
        if head is not None:
            self.told = head.revision
        elif not self.as_of or as_of < self.as_of:  # nothing was ever told of it, or by a server that has less of the log
            self.told = 0
        self.as_of = as_of

    def row(self) -> Running:
        """For the store."""
        return Running(self.table_id, self.shortest, self.revision, self.ends_at)


class Schedule:
    """The tables of the streams that are held, the next one first."""

    def __init__(self) -> None:
        self._tables: dict[str, dict[str, Entry]] = {}
        self._heaps: dict[str, list[tuple[int, str]]] = {}

    def hold(self, stream: str) -> None:
        """Begin with a stream, without tables as yet."""
        self._tables.setdefault(stream, {})
        self._heaps.setdefault(stream, [])

    def drop(self, stream: str) -> Iterable[str]:
        """Another looks after this stream now. Returns its tables."""
        self._heaps.pop(stream, None)
        return self._tables.pop(stream, {})

    def add(self, rows: Iterable[Running], *, orphaned: bool = False) -> None:
        """Look at these tables at once; those that are here already stay as they are."""
        for row in rows:
            tables = self._tables.get(row.stream)
            if tables is not None and row.table_id not in tables:
                entry = tables[row.table_id] = Entry(row.table_id, row.stream, row.shortest, row.revision, row.ends_at)
                entry.orphaned = orphaned
                self.put(entry, row.ends_at - LONG_AGO)

    def put(self, entry: Entry, again: int) -> None:
        """Look at a table again at `again`, milliseconds since 1970."""
        entry.again, entry.busy = again, False
        if self._has(entry):
            heapq.heappush(self._heaps[entry.stream], (again, entry.table_id))

    def over(self, entry: Entry) -> None:
        """The pulka is over."""
        if self._has(entry):
            del self._tables[entry.stream][entry.table_id]

    def due(self, stream: str, now: int, most: int) -> list[Entry]:
        """At most so many tables of a stream that are to be looked at now; each is `busy` until it is `put` or `over`."""
        found: list[Entry] = []
        heap, tables = self._heaps.get(stream, []), self._tables.get(stream, {})
        while heap and heap[0][0] <= now and len(found) < most:
            again, table_id = heapq.heappop(heap)
            entry = tables.get(table_id)
            if entry is not None and not entry.busy and entry.again == again:  # else it was put elsewhere meanwhile
                entry.busy = True
                found.append(entry)
        return found

    def anew(self) -> None:
        """Forget what is known, and look at every table at once: the wall clock was set."""
        for stream, tables in self._tables.items():
            for entry in tables.values():
                entry.forget()
                entry.again = 0
            self._heaps[stream] = [(0, table_id) for table_id in sorted(tables)]

    def all_now(self) -> None:
        """Look at every table at once, and ask the log about each: one who may have served them has died."""
        for entry in self.entries():
            entry.left, entry.orphaned = False, True
            if not entry.busy:
                self.put(entry, entry.ends_at - LONG_AGO)

    def entries(self) -> Iterator[Entry]:
        """All tables."""
        return (entry for tables in self._tables.values() for entry in tables.values())

    def _has(self, entry: Entry) -> bool:
        return self._tables.get(entry.stream, {}).get(entry.table_id) is entry
