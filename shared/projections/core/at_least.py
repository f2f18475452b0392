"""Read your writes: wait, for a bounded time, until the rows have reached the position that a write answered with.

The projector in this process tells it directly; where another process projects, Postgres does (`NOTIFY` in the batch's transaction).
Nothing polls.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

WAIT_S: Final = 2.0  # seconds a reader waits: many times the usual lag of milliseconds, and less than a client's patience
_SEQUENCE: Final = re.compile(r"0|[1-9][0-9]{0,17}")  # one spelling a number; 18 digits fit a bigint


class UnknownPosition(ValueError):
    """The text is no position of a stream that this projection follows."""


class AtLeast:
    """How far each stream's rows are, and who waits for more."""

    def __init__(self, streams: tuple[str, ...]) -> None:
        self._reached = dict.fromkeys(streams, 0)
        self._waiting: dict[str, list[tuple[int, asyncio.Future[None]]]] = {stream: [] for stream in streams}

    def reached(self, stream: str, sequence: int) -> None:
        """The rows of `stream` have been committed up to `sequence`."""
        if sequence <= self._reached.get(stream, sequence):
            return
        self._reached[stream] = sequence
        waiting, self._waiting[stream] = self._waiting[stream], []
        for wanted, waiter in waiting:
            if wanted > sequence:
                self._waiting[stream].append((wanted, waiter))
            elif not waiter.done():
                waiter.set_result(None)

    def restarted(self, sequences: Mapping[str, int]) -> None:
        """What a fresh connection finds in the rows, or nothing when one was lost.

        That is less than before where the database was put back, and then readers wait again.
        """
        for stream in self._reached:
            found = sequences.get(stream, 0)
            self._reached[stream] = min(self._reached[stream], found)
            self.reached(stream, found)

    def notified(self, _connection: object, _pid: int, _channel: str, payload: str) -> None:
        """A Postgres notification; its payload is a position. One of a stream that only others know concerns nobody here."""
        with suppress(UnknownPosition):
            self.reached(*self.parse(payload))

    def parse(self, position: str) -> tuple[str, int]:
        """Stream and sequence of a position. Raises `UnknownPosition`."""
        stream, colon, digits = position.rpartition(":")
        if not colon or stream not in self._reached or _SEQUENCE.fullmatch(digits) is None:
            raise UnknownPosition(position)
        return stream, int(digits)

    async def wait(self, position: str, timeout_s: float = WAIT_S) -> bool:
        """Whether the rows have reached `position` within `timeout_s` seconds. Raises `UnknownPosition`."""
        stream, wanted = self.parse(position)
        if self._reached[stream] >= wanted:
            return True
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (wanted, waiter)
        self._waiting[stream].append(entry)
        try:
            async with asyncio.timeout(timeout_s):
                await waiter
        except TimeoutError:
            return False
        finally:
            if entry in self._waiting[stream]:
                self._waiting[stream].remove(entry)
        return True
