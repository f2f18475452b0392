"""One instance's clocks, which a test drives round by round, on clocks of its own."""

from __future__ import annotations

from services.table.clocks.clocks import Clocks
from services.table.clocks.memory import MemoryClockStore, MemoryRows
from services.table.clocks.outages import Outages
from tests.partitions import TABLE_STREAMS

APART = 1_000  # milliseconds between rounds: less than an outage


class Sweeper:
    """One instance's clocks, which do what they do when they are told to; `made` is what they did. Its two clocks go on together."""

    def __init__(self, tables, rows, streams=TABLE_STREAMS):
        """`rows`: those of the in-memory store, or a store."""
        self.now, self.steady = 0, 0.0
        self.made, self.outages, self.store = [], Outages(), MemoryClockStore(rows) if isinstance(rows, MemoryRows) else rows
        self.clocks = Clocks(tables, self.store, streams, lambda: self.now, self.made.append, lambda: self.steady, self.outages)

    def set(self, at):
        """Set the wall clock, and that alone."""
        self.now = at

    async def sweep(self, at):
        if self.now:
            self.steady += (at - self.now) / 1000
        self.now = at
        await self.clocks.round()
        made, self.made[:] = list(self.made), []
        return made

    async def sweep_on(self, begin, end):
        """Sweep from `begin` to `end` without a silence that would be an outage."""
        for at in range(begin, end, APART):
            assert await self.sweep(at) == []
        return await self.sweep(end)
