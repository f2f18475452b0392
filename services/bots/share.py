"""A bot host's share of the tables: buckets of them, on each of which it has a lease.

A lease saves work and makes nothing right or wrong: of two hosts that play the same seat for a moment both make the same moves under the
same keys.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets
import socket
from collections.abc import Callable
from typing import Final

import structlog

from shared.leases.port import LeaseStore
from shared.leases.shares import Sharing

BUCKETS: Final = 64  # a power of two that no club has half as many hosts of: with 64 the largest share of three is 22, the smallest 21
NAMES: Final = tuple(map(str, range(BUCKETS)))
BEAT: Final = 1.0  # seconds between two signs of life: twice in the time that a lease lasts
TOGETHER: Final = 8  # leases taken at once: all 64 in a tenth of a second, and the lobby's few connections to Postgres are not all ours
LOOK: Final = 0.25  # seconds between two looks at the leases, so that a dead host is replaced within 3 s

log = structlog.get_logger("bots")


def new_host() -> str:
    """Who takes leases: machine, process, and a random part, since two hosts in one process are two."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


def bucket_of(table: str) -> str:
    """The bucket that a table is in, the same for every host of every version."""
    return str(hashlib.sha256(table.encode()).digest()[0] % BUCKETS)


class Share:
    """The buckets that `holder` has, by `attend` again and again. `taken` and `dropped` are told which came and which went."""

    def __init__(
        self,
        store: LeaseStore,
        holder: str,
        steady: Callable[[], float],
        taken: Callable[[set[str]], None],
        dropped: Callable[[set[str]], None],
    ) -> None:
        self._store = store
        self._holder = holder
        self._steady = steady
        self._taken = taken
        self._dropped = dropped
        self._sharing = Sharing(holder, NAMES, steady)
        self._beat_at = float("-inf")
        self.held: dict[str, int] = {}  # the epochs of the leases, by bucket

    def has(self, table: str) -> bool:
        """Whether the table is this host's now."""
        return bucket_of(table) in self.held

    async def attend(self) -> None:
        """Show a sign of life when one is due, give back what is another's, and take what is this host's."""
        if self._steady() - self._beat_at >= BEAT:
            self._drop(set(self.held) - await self._store.renew(self._holder, NAMES, self.held), "lost")
            self._beat_at = self._steady()
        leases, hosts = await self._store.standing()
        epochs = {lease.name: lease.epoch for lease in leases if lease.holder == self._holder}
        self._drop({name for name, epoch in self.held.items() if epochs.get(name) != epoch}, "lost")
        take, give, dead = self._sharing.decide(leases, hosts, self.held)
        if give:
            giving = {name: self.held[name] for name in give}
            self._drop(set(give), "given back")
            await self._store.release(giving)
        came: set[str] = set()
        try:
            for some in (take[first : first + TOGETHER] for first in range(0, len(take), TOGETHER)):
                for lease in await asyncio.gather(*(self._store.take(self._holder, seen) for seen in some)):
                    if lease is not None:
                        self.held[lease.name] = lease.epoch
                        came.add(lease.name)
        finally:
            if came:
                log.info("bot_buckets_taken", buckets=len(came), held=len(self.held))
                self._taken(came)
        for holder in dead:
            await self._store.leave(holder)

    async def give_back(self) -> None:
        """Leave everything to the others, at once."""
        giving = dict(self.held)
        self._drop(set(giving), "given back")
        await self._store.release(giving)
        await self._store.leave(self._holder)

    def _drop(self, names: set[str], why: str) -> None:
        if names:
            for name in names:
                self.held.pop(name, None)
            log.info("bot_buckets_dropped", buckets=len(names), held=len(self.held), why=why)
            self._dropped(names)
