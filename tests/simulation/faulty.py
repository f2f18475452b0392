"""The in-memory log as a bad day has it: slow, with lost acknowledgements, lagging replicas, a leader that is cut off, and silences."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence

from shared.eventlog.memory import MemoryLog, MemoryStore
from shared.eventlog.port import LastCommits, Stored
from shared.events.address import Address

SLOW = 0.05  # seconds that a request to the log takes at the most; now and then it is a hundred times as long


class FaultyLog(MemoryLog):
    """One client's connection. `faults` is the chance that a request meets one; everything is drawn by `lot`."""

    def __init__(self, store: MemoryStore, lot: random.Random, faults: float) -> None:
        super().__init__(store)
        self._lot = lot
        self._faults = faults

    def calm(self) -> None:
        """No fault from now on."""
        self._faults = 0.0
        self.reconnect()

    async def _wire(self) -> None:
        """On its way there or back."""
        await asyncio.sleep(self._lot.random() * SLOW * (100 if self._lot.random() < self._faults / 4 else 1))

    async def append(self, address: Address, data: bytes, expected: int) -> Stored:
        """See `EventLog.append`; its acknowledgement may get lost, the commit written or not."""
        await self._wire()
        if self._lot.random() < self._faults:
            self.lose_next_ack(written=self._lot.random() < 0.5)
        stored = await super().append(address, data, expected)
        await self._wire()
        return stored

    async def head(self, address: Address) -> Stored | None:
        """See `EventLog.head`: it may be that of a leader that is cut off."""
        await self._wire()
        commits = self.store.aggregate(address)
        if commits and self._lot.random() < self._faults:
            return self._lot.choice([None, *commits])
        return await super().head(address)

    async def newest(self, address: Address) -> Stored | None:
        """See `EventLog.newest`."""
        await self._wire()
        return await super().head(address)

    async def heads(self, addresses: Sequence[Address], after: int = 0) -> LastCommits:
        """See `EventLog.heads`: a replica may have far less than the one that was asked before, and parts of an answer get lost."""
        await self._wire()
        if not addresses or self._lot.random() >= self._faults:
            return await super().heads(addresses, after)
        as_of = self._lot.randint(0, self.store.last_sequence(addresses[0].stream))
        there = ([one for one in self.store.aggregate(address) if one.sequence <= as_of] for address in addresses)
        found = {commits[-1].address: commits[-1] for commits in there if commits and commits[-1].sequence > after}
        if self._lot.random() < 0.5:
            return LastCommits(found, as_of)
        return LastCommits({address: head for address, head in found.items() if self._lot.random() < 0.5})

    async def hear(self, address: Address, heard: Callable[[Stored], None]) -> Callable[[], Awaitable[None]]:
        """See `EventLog.hear`: what is stored is heard later, and now and then not at all."""
        await self._wire()
        loop = asyncio.get_running_loop()

        def tell(stored: Stored) -> None:
            if self._lot.random() >= self._faults:
                loop.call_later(self._lot.random() * SLOW, heard, stored)

        return await super().hear(address, tell)

    async def read(self, address: Address, after: int = 0, until: int = 0) -> list[Stored]:
        """See `EventLog.read`: a replica may lag, but not behind `until`."""
        await self._wire()
        found = await super().read(address, after, until)
        if self._lot.random() < self._faults:
            known = sum(one.sequence <= until for one in found)
            return found[: self._lot.randint(known, len(found))]
        return found
