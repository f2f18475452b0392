"""Whether a majority of the log's servers stands behind what was read: a leader that is cut off goes on answering for seconds.

Its successor is elected after 4 to 9 s, and meanwhile, and for some seconds longer, the old one tells what it knew. A write is acknowledged
by a majority only. So whoever must not rest on a stale read writes a word of no meaning after it, and the ack says that the read was the
newest, or that it was a moment ago. All who wait at a time share one such write.
"""

from __future__ import annotations

import asyncio
import secrets
from typing import Final

import msgspec

from shared.eventlog.connection import ApiError, Connection, NoResponders, Unanswered, Unsent, check_answer
from shared.eventlog.port import Unavailable
from shared.eventlog.streams import SNAPSHOTS, Namespace

ACK_SECONDS: Final = 2.0  # for the word's ack, which takes a millisecond; no majority answers no sooner
KNOWN_SECONDS: Final = 60.0  # between two questions of how many copies the streams have: an operator may have added some


class _Replicas(msgspec.Struct):
    num_replicas: int = 1


class _Info(msgspec.Struct):
    config: _Replicas


_decode_info = msgspec.json.Decoder(_Info).decode


def _seen(task: asyncio.Task[None]) -> None:
    """Whoever waited has gone: asyncio need not report the error as lost."""
    if not task.cancelled():
        task.exception()


class Majority:
    """Asks for one connection. Where a stream has one copy its only server is the majority, and nothing is asked."""

    def __init__(self, connection: Connection, namespace: Namespace) -> None:
        self._connection = connection
        self._info = f"$JS.API.STREAM.INFO.{namespace.stream(SNAPSHOTS)}"
        self._subject = f"{namespace.name}.snapshot.majority.{secrets.token_hex(8)}"  # this connection's own word, replaced in place
        self._replicated = False
        self._known_at = -KNOWN_SECONDS
        self._asking: asyncio.Task[None] | None = None
        self._next: asyncio.Task[None] | None = None

    async def confirm(self) -> None:
        """Return once a majority has confirmed that what was answered before this call was the newest. Raises `Unavailable`."""
        if self._next is None:
            self._next = asyncio.create_task(self._after(self._asking), name="majority")
            self._next.add_done_callback(_seen)
        await asyncio.shield(self._next)  # others wait for the same

    async def _after(self, before: asyncio.Task[None] | None) -> None:
        """Ask once the question before is answered: that one may have been sent before what is to be confirmed was read."""
        if before is not None:
            await asyncio.wait([before])
        self._asking, self._next = self._next, None
        try:
            await self._ask()
        except (Unsent, NoResponders, Unanswered, ApiError, msgspec.DecodeError) as cause:
            raise Unavailable(f"no majority of the log's servers answers: {cause}") from cause

    async def _ask(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._known_at >= KNOWN_SECONDS:
            answer = await self._connection.request(self._info, b"", ACK_SECONDS)
            self._replicated = _decode_info(check_answer(answer.data)).config.num_replicas > 1
            self._known_at = now
        if self._replicated:
            check_answer((await self._connection.request(self._subject, b"", ACK_SECONDS)).data)
