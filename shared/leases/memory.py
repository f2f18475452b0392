"""The in-memory twin of the leases, under the same contract tests. `MemoryLeaseRows` is what would lie in Postgres; clients share it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from shared.leases.port import NOBODY, Instance, ShareLease


class MemoryLeaseRows:
    """Rows that several clients share."""

    def __init__(self) -> None:
        self.leases: dict[str, ShareLease] = {}
        self.instances: dict[str, Instance] = {}

    def held(self, held: Mapping[str, int]) -> frozenset[str]:
        """Which of those that somebody holds, by name and epoch, they still hold."""
        there = self.leases
        return frozenset(
            name for name, epoch in held.items() if name in there and there[name].epoch == epoch and there[name].holder != NOBODY
        )


class MemoryLeases:
    """A client of `MemoryLeaseRows`; a `LeaseStore`. `away` takes the place of a store that cannot be reached."""

    def __init__(self, rows: MemoryLeaseRows) -> None:
        self._leases = rows
        self.away = False

    async def standing(self) -> tuple[list[ShareLease], list[Instance]]:
        """See `LeaseStore.standing`."""
        self._check()
        return list(self._leases.leases.values()), list(self._leases.instances.values())

    async def renew(self, holder: str, names: Collection[str], held: Mapping[str, int]) -> frozenset[str]:
        """See `LeaseStore.renew`."""
        self._check()
        rows = self._leases
        was = rows.instances.get(holder)
        rows.instances[holder] = Instance(holder, tuple(names), was.renewals + 1 if was else 1)
        kept = rows.held(held)
        for name in kept:
            lease = rows.leases[name]
            rows.leases[name] = msgspec.structs.replace(lease, renewals=lease.renewals + 1)
        return kept

    async def take(self, holder: str, seen: ShareLease) -> ShareLease | None:
        """See `LeaseStore.take`."""
        self._check()
        if self._leases.leases.get(seen.name, ShareLease(seen.name, NOBODY, 0)) != seen:
            return None
        taken = self._leases.leases[seen.name] = ShareLease(seen.name, holder, seen.epoch + 1, seen.renewals + 1)
        return taken

    async def release(self, held: Mapping[str, int]) -> None:
        """See `LeaseStore.release`."""
        self._check()
        for name in self._leases.held(held):
            self._leases.leases[name] = msgspec.structs.replace(self._leases.leases[name], holder=NOBODY)

    async def leave(self, holder: str) -> None:
        """See `LeaseStore.leave`."""
        self._check()
        self._leases.instances.pop(holder, None)

    def _check(self) -> None:
        if self.away:
            raise ConnectionError("the store is away")
