"""Watching one aggregate: the log first, then what the stream republishes once it is stored.

Live messages say which commit came before them. Whatever breaks that chain (a lost message, a reconnect, a slow reader) sends the watcher
back to the log, and now and then it compares with the leader, since a loss at the very end would break no chain.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Final

import msgspec
import structlog
from nats.aio.msg import Msg

from shared.eventlog.jetstream.connection import Connection, header
from shared.eventlog.jetstream.reading import PREVIOUS, SEQUENCE, Reader
from shared.eventlog.jetstream.streams import Namespace
from shared.eventlog.port import Stored, Unavailable
from shared.events.address import Address
from shared.events.commit import revision_in

log = structlog.get_logger()

WAITING: Final = 256  # commits a slow watcher may leave waiting; more are dropped and read from the log when it comes back
COMPARE_SECONDS: Final = 5.0  # between two comparisons with the leader
PAUSE_SECONDS: Final = 0.1  # before the next try to read


class _Seen(msgspec.Struct, frozen=True):
    """A live commit and the sequence of the one before it in the same aggregate."""

    stored: Stored
    previous: int


class _Watcher:
    """One reader's share of a channel."""

    __slots__ = ("lost", "news", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[_Seen] = deque()
        self.news = asyncio.Event()
        self.lost = False

    def offer(self, seen: _Seen) -> None:
        if len(self.waiting) >= WAITING:
            self.lose()
        else:
            self.waiting.append(seen)
            self.news.set()

    def lose(self) -> None:
        """Forget what waits; the log has it."""
        self.waiting.clear()
        self.lost = True
        self.news.set()


class _Channel:
    """The subscription to one aggregate, shared by all its watchers in this process."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.watchers: set[_Watcher] = set()
        self.compared_at = 0.0
        self.subscribed = False
        self.leave: Callable[[], Awaitable[None]] | None = None

    def deliver(self, message: Msg) -> None:
        """Hand one live commit to every watcher."""
        seen = _seen_in(self.address, message)
        if seen is not None:
            for watcher in self.watchers:
                watcher.offer(seen)


def _seen_in(address: Address, message: Msg) -> _Seen | None:
    """The commit in a live message; None, and a word in the log, for what no stream has republished."""
    try:
        sequence, previous = int(header(message, SEQUENCE)), int(header(message, PREVIOUS))
        return _Seen(Stored(address, address.stream, sequence, revision_in(message.data), message.data), previous)
    except ValueError:
        log.warning("live_message_unreadable", aggregate=address.subject)
        return None


class Live:
    """All live subscriptions of one connection."""

    def __init__(self, connection: Connection, namespace: Namespace, reader: Reader) -> None:
        self._connection = connection
        self._namespace = namespace
        self._reader = reader
        self._channels: dict[Address, _Channel] = {}
        connection.on_reconnected.append(self.lose)
        connection.on_lost.append(self.lose)

    def lose(self) -> None:
        """Send every watcher back to the log."""
        for channel in self._channels.values():
            for watcher in channel.watchers:
                watcher.lose()

    async def hear(self, address: Address, heard: Callable[[Stored], None]) -> Callable[[], Awaitable[None]]:
        """See `EventLog.hear`."""

        def deliver(message: Msg) -> None:
            seen = _seen_in(address, message)
            if seen is not None:
                heard(seen.stored)

        return await self._connection.subscribe(self._namespace.live_subject(address), deliver)

    async def watch(self, address: Address, after: int) -> AsyncGenerator[Stored, None]:
        """See `EventLog.watch`."""
        watcher = _Watcher()
        watcher.lost = True  # the log first
        channel = self._channels.setdefault(address, _Channel(address))
        channel.watchers.add(watcher)
        try:
            if not channel.subscribed:
                await self._subscribe(channel)
            while True:
                if watcher.lost:
                    for stored in await self._from_log(watcher, address, after):
                        after = stored.sequence
                        yield stored
                    continue
                while watcher.waiting and not watcher.lost:
                    seen = watcher.waiting.popleft()
                    if seen.stored.sequence <= after:
                        continue
                    if seen.previous != after:
                        watcher.lose()
                        break
                    after = seen.stored.sequence
                    yield seen.stored
                if not await self._news(watcher):
                    await self._compare(channel, watcher, after)
        finally:
            await self._part(channel, watcher)

    async def _subscribe(self, channel: _Channel) -> None:
        """Once for all watchers of the channel; whoever is stopped before it is done leaves it to the next."""
        channel.subscribed = True
        try:
            channel.leave = await self._connection.subscribe(self._namespace.live_subject(channel.address), channel.deliver)
        finally:
            channel.subscribed = channel.leave is not None

    async def _part(self, channel: _Channel, watcher: _Watcher) -> None:
        channel.watchers.discard(watcher)
        if not channel.watchers and self._channels.get(channel.address) is channel:
            del self._channels[channel.address]
            if channel.leave is not None:
                await channel.leave()

    async def _from_log(self, watcher: _Watcher, address: Address, after: int) -> list[Stored]:
        """What the leader knows above `after`. Live commits that come meanwhile wait, and those read here are passed over later."""
        while True:
            await self._connection.wait_connected()
            watcher.lost = False
            try:
                head = await self._reader.head(address)
                if head is None or head.sequence <= after:
                    return []
                return await self._reader.read(address, after, head.sequence)
            except Unavailable as cause:
                log.info("watch_waits", aggregate=address.subject, cause=str(cause))
                watcher.lost = True
                await asyncio.sleep(PAUSE_SECONDS)

    @staticmethod
    async def _news(watcher: _Watcher) -> bool:
        """Wait for something new; False when the time to compare has come first."""
        watcher.news.clear()
        if watcher.waiting or watcher.lost:
            return True
        try:
            async with asyncio.timeout(COMPARE_SECONDS):
                await watcher.news.wait()
        except TimeoutError:
            return False
        return True

    async def _compare(self, channel: _Channel, watcher: _Watcher, after: int) -> None:
        """Go back to the log if the leader knows more; one watcher asks for all of its channel."""
        now = asyncio.get_running_loop().time()
        if now - channel.compared_at < COMPARE_SECONDS / 2:
            return
        channel.compared_at = now
        if not channel.subscribed:  # whoever began to was stopped
            await self._subscribe(channel)
        try:
            head = await self._reader.head(channel.address)
        except Unavailable:
            watcher.lose()
            return
        if head is not None and head.sequence > after and not watcher.waiting:
            for each in channel.watchers:
                each.lose()
