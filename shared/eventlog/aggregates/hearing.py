"""Aggregates that other instances move too: their commits are heard as they are stored, so that the copy in hand is seldom stale.

Where each aggregate's commands reach one instance, nothing is heard and nothing costs. A conflict says that they do not; from then on the
aggregate is listened to, until so many commands in a row were this instance's own. What is lost on the way costs a conflict and no more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from shared.eventlog.port import EventLog, Stored, Unavailable
from shared.events.address import Address

log = structlog.get_logger()

MOST: Final = 4096  # aggregates that are listened to: a subscription takes some kilobytes here and in the server
OWN_IN_A_ROW: Final = 64  # commands: two deals at a table of whose moves none came elsewhere


class _Listening:
    """One subscription; `leave` ends it, None until it has begun."""

    __slots__ = ("leave", "own")

    def __init__(self) -> None:
        self.leave: Callable[[], Awaitable[None]] | None = None
        self.own = 0


class Hearing:
    """What one instance listens to. `heard` is told of each commit, its own too, and says whether it still wants to know."""

    def __init__(self, event_log: EventLog, heard: Callable[[Stored], bool]) -> None:
        self._log = event_log
        self._heard = heard
        self._to: dict[Address, _Listening] = {}  # the one that was listened to longest first
        self._doing: set[asyncio.Task[None]] = set()

    def conflict(self, address: Address) -> None:
        """Another instance was faster: listen."""
        listening = self._to.get(address)
        if listening is not None:
            listening.own = 0
            return
        listening = self._to[address] = _Listening()
        self._do(self._begin(address, listening))
        if len(self._to) > MOST:
            self._end(next(iter(self._to)))

    def own(self, address: Address) -> None:
        """A command of this instance was stored."""
        listening = self._to.get(address)
        if listening is not None:
            listening.own += 1
            if listening.own > OWN_IN_A_ROW:
                self._end(address)

    async def drain(self) -> None:
        """End all of it."""
        for address in list(self._to):
            self._end(address)
        while self._doing:
            await asyncio.wait(self._doing)

    async def _begin(self, address: Address, listening: _Listening) -> None:
        def tell(stored: Stored) -> None:
            if self._to.get(address) is listening and not self._heard(stored):
                self._end(address)

        try:
            listening.leave = await self._log.hear(address, tell)
        except Unavailable as cause:
            log.debug("not_heard", aggregate=address.subject, reason=str(cause))
            if self._to.get(address) is listening:  # else it has ended, and perhaps another has begun
                del self._to[address]
        else:
            if self._to.get(address) is not listening:  # ended before it had begun
                await listening.leave()

    def _end(self, address: Address) -> None:
        listening = self._to.pop(address, None)
        if listening is not None and listening.leave is not None:
            self._do(listening.leave())

    def _do(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._doing.add(task)
        task.add_done_callback(self._doing.discard)
