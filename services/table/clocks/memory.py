"""The in-memory twin of the clocks' store, under the same contract tests, for tests of what lies above it.

`MemoryRows` is what would lie in Postgres, a `MemoryClockStore` one client's connection to it; several may share the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from services.table.clocks.outages import LATEST
from services.table.clocks.store import AT_A_TIME, Beat, Outage, Running, Silence
from shared.leases.memory import MemoryLeaseRows, MemoryLeases


class MemoryRows(MemoryLeaseRows):
    """Rows that several clients share. `clock` is the store's own, in milliseconds since 1970."""

    def __init__(self, clock: Callable[[], int] = lambda: 0) -> None:
        super().__init__()
        self.clock = clock
        self.beats: dict[str, Beat] = {}
        self.outages: list[Outage] = []
        self.tables: dict[str, Running] = {}
        self.fresh: set[str] = set()

    def runs(self, table_id: str, shortest: int) -> None:
        """A pulka has opened, as `running_tables.runs` says it to Postgres."""
        if table_id not in self.tables:
            self.tables[table_id] = Running(table_id, shortest)
            self.fresh.add(table_id)


class MemoryClockStore(MemoryLeases):
    """A client of `MemoryRows`; a `ClockStore`. `away` takes the place of Postgres when it cannot be reached."""

    def __init__(self, rows: MemoryRows | None = None) -> None:
        self.rows = MemoryRows() if rows is None else rows
        super().__init__(self.rows)

    async def open(self) -> None:
        """See `ClockStore.open`."""
        self._check()

    async def close(self) -> None:
        """See `ClockStore.close`."""

    async def time(self) -> int:
        """See `ClockStore.time`."""
        self._check()
        return self.rows.clock()

    async def beats(self) -> dict[str, Beat]:
        """See `ClockStore.beats`."""
        self._check()
        return dict(self.rows.beats)

    async def beat(self, holder: str, silences: Sequence[Silence]) -> frozenset[str]:
        """See `ClockStore.beat`."""
        self._check()
        beats = self.rows.beats
        moved = [one for one in silences if one.stream not in beats or beats[one.stream].at == one.was]
        for one in moved:
            beats[one.stream] = Beat(one.at, holder)
            if one.until:
                self.rows.outages.append(Outage(one.was, one.until, (one.stream,)))
        return frozenset(one.stream for one in moved)

    async def strike(self, now: int) -> None:
        """See `ClockStore.strike`."""
        self._check()
        self.rows.outages = [one for one in self.rows.outages if one.ended <= now]

    async def outages(self) -> list[Outage]:
        """See `ClockStore.outages`."""
        self._check()
        return sorted(self.rows.outages, key=lambda one: -one.ended)[:LATEST]

    async def tables(self, streams: Collection[str], *, fresh: bool = False) -> list[Running]:
        """See `ClockStore.tables`."""
        self._check()
        found = [row for row in self.rows.tables.values() if row.stream in streams]
        return [row for row in found if row.table_id in self.rows.fresh][:AT_A_TIME] if fresh else found

    async def note(self, held: Mapping[str, int], found: Sequence[Running], over: Collection[str]) -> None:
        """See `ClockStore.note`."""
        self._check()
        mine = self.rows.held(held)
        for row in found:
            if row.stream in mine and row.table_id in self.rows.tables:
                self.rows.tables[row.table_id] = row
                self.rows.fresh.discard(row.table_id)
        for table_id in over:
            if Running(table_id, 0).stream in mine:
                self.rows.tables.pop(table_id, None)
