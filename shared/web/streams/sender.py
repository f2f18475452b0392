"""One live stream: alone with its frames at first, and together with others as soon as it can."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
from types import coroutine
from typing import Any, Final, Protocol, cast

import msgspec
import structlog
from litestar.response.streaming import ASGIStreamingResponse
from litestar.types import HTTPResponseBodyEvent, Message, Receive, Scope, Send

from shared.web.auth import Caller
from shared.web.streams.broadcast import Broadcast, Channel, Deliveries
from shared.web.streams.frames import Frame, leaving

_SLOW: Final = "slow client"
_END: Final[HTTPResponseBodyEvent] = {"type": "http.response.body", "body": b"", "more_body": False}
_PIECE: Final = 64  # frames joined into one write, so that history does not cost a system call a frame

log = structlog.get_logger("web")


class Shared(Protocol):
    """How a stream can go on together with others that see the same."""

    caller: Caller | None

    def broadcast(self) -> Broadcast | None:
        """Where that is shown to many which follows the frames that were read so far, if it is at that place now."""
        ...

    def resumed(self, last: int | None) -> AsyncGenerator[Frame, None]:
        """What follows revision `last` of this stream, for it alone."""
        ...


class Home(Protocol):
    """All streams of the process, as one of them sees it; see `Streams`."""

    heartbeat: float
    stall: float
    queue: int
    deliveries: Deliveries
    stopping: bool

    def begun(self, sender: Sender) -> None:
        """A stream is to be ended with the process."""
        ...

    def ended(self, sender: Sender) -> None:
        """A stream has ended, or is about to; there is room for another."""
        ...


class Source(msgspec.Struct, frozen=True, eq=False):
    """Where the frames of one stream come from, and how they are sent."""

    streams: Home
    owner: str
    frames: AsyncGenerator[Frame, None]
    heartbeat: Callable[[int | None], Awaitable[Frame]]
    encode: Callable[[Frame], bytes]
    shared: Shared | None


class Sender(ASGIStreamingResponse):
    """One stream. Alone it reads frames in one task and writes them in another, so that neither a slow client nor a quiet table holds up
    the heartbeat. Together with others it has no task of its own: whoever makes the frames sends them.
    """

    __slots__ = (
        "_alone", "_broadcast", "_channel", "_dropped", "_over", "_request", "_send", "_sending", "_sharing", "_source",
        "last", "owner", "place",
    )  # fmt: skip

    def __init__(self, source: Source, **given: Any) -> None:
        super().__init__(**given)
        self.owner: str | None = source.owner  # None: it counts no more
        self._source = source
        self._alone: asyncio.Task[None] | None = None  # what this stream does for itself
        self._broadcast: Broadcast | None = None
        self._channel: Channel | None = None
        self._request: asyncio.Task[Any] | None = None  # waits for the client to go
        self._dropped = False
        self._over = False  # whether the end has been sent
        self._sending = False  # whether it is open if what `last` says has been sent
        self._sharing = False  # whether it goes on with others behind the frames that it sends alone
        self.place = 0
        self.last: int | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the head, and frames until they end, the client goes or stalls, or the process stops."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._leave()
            self._source.streams.ended(self)
            if self._alone is not None:
                await _ended(self._alone)
            await self._source.frames.aclose()

    async def send_body(self, send: Send, receive: Receive) -> None:
        """Wait until the client has gone, or was told the end."""
        self._send, self._request = send, asyncio.current_task()
        self.headers.headers.clear()  # they are sent, and the stream may be long
        self._alone = asyncio.create_task(self._go_alone(self._source.frames))
        self._source.streams.begun(self)
        try:
            await asyncio.sleep(0)  # frames that nobody waits for begin too: only so are they told of their end
            await _gone(receive)
        except asyncio.CancelledError:
            if not self._dropped or self._request is None:
                raise
            self._request.uncancel()
        finally:
            self._request = None

    # ---- Alone ---------------------------------------------------------------------------------------------------------

    async def _go_alone(self, frames: AsyncGenerator[Frame, None] | None, begun: Awaitable[None] | None = None) -> None:
        """Send `frames`, or what has `begun` to be sent, until this stream goes on with others, or all is sent."""
        while True:
            if frames is not None and not await self._sent(frames):
                if not self._dropped:
                    self._over = await self._patiently(self._send(_END))
                return
            if not await self._caught_up(begun):
                return
            if self._channel is not None or self._source.shared is None:
                self._alone = None
                return
            frames, begun = self._source.shared.resumed(self.last), None

    async def _sent(self, frames: AsyncGenerator[Frame, None]) -> bool:
        """Send `frames`; whether this stream goes on with others behind them."""
        self._sharing = False
        queue: asyncio.Queue[Frame | None] = asyncio.Queue(self._source.streams.queue)  # None: nothing more comes from it
        writer = asyncio.create_task(self._write(queue))
        pump = asyncio.create_task(self._pump(frames, queue, writer))
        try:
            await asyncio.wait((writer,))
        finally:
            await _ended(writer, pump)
        if writer.cancelled() or writer.exception() is not None:
            self._drop()
            return False
        return self._sharing

    async def _pump(self, frames: AsyncGenerator[Frame, None], queue: asyncio.Queue[Frame | None], writer: asyncio.Task[None]) -> None:
        try:
            async with contextlib.aclosing(frames):
                async for frame in frames:
                    if not queue.full():
                        queue.put_nowait(frame)
                    elif not await self._patiently(queue.put(frame)):
                        writer.cancel()
                        return
                    if self._joined():
                        break
        except Exception as wrong:  # noqa: BLE001 - whatever it was, the client must come back with its cursor rather than wait
            log.warning("stream_ended", reason=type(wrong).__name__, last=self.last)
        await queue.put(None)

    async def _write(self, queue: asyncio.Queue[Frame | None]) -> None:
        streams, clock = self._source.streams, asyncio.get_running_loop().time
        beat = clock() + streams.heartbeat
        while True:
            frames: list[Frame | None] = []
            if queue.empty():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout_at(beat):
                        frames.append(await queue.get())
            while not queue.empty() and len(frames) < _PIECE:
                frames.append(queue.get_nowait())
            ended = bool(frames) and frames[-1] is None
            pieces = [self._piece(frame) for frame in frames if frame is not None]
            if not ended and clock() >= beat:
                pieces.append(self._piece(await self._source.heartbeat(self.last)))
                beat = clock() + streams.heartbeat
                ended = queue.empty() and self._joined()  # what kept it alone so far may be over
            if pieces:
                await self._send({"type": "http.response.body", "body": b"".join(pieces), "more_body": True})
                self._sending = False
            if ended:
                return

    def _piece(self, frame: Frame) -> bytes:
        if frame.id is not None:
            self.last = frame.id
        self._sending = True
        return self._source.encode(frame)

    # ---- Together with others ------------------------------------------------------------------------------------------

    def _joined(self) -> bool:
        """Go on with others behind what has been read, if that can be."""
        shared, streams = self._source.shared, self._source.streams
        ending = self._request is None or self._dropped or streams.stopping
        if shared is None or ending or self._channel is not None or (broadcast := shared.broadcast()) is None:
            return False
        self._broadcast = broadcast
        self._sharing = True
        self._channel = broadcast.join(self, self._source.encode, streams.deliveries, streams.queue, streams.heartbeat)
        return True

    async def _caught_up(self, begun: Awaitable[None] | None) -> bool:
        """Enter the round once all there is has been sent; or learn that this stream is no longer among the others. False: dropped."""
        while True:
            if begun is not None:
                self._sending = True
                if not await self._patiently(begun):
                    return False
                self._sending = False
            if self._channel is None or self._channel.enter(self):
                return True
            message = self._channel.next_for(self)
            if message is None:
                self._leave()
                return True
            begun = self._send(message)

    @property
    def caller(self) -> Caller | None:
        """See `Member.caller`."""
        return self._source.shared.caller if self._source.shared is not None else None

    def take(self, message: Message) -> bool:
        """See `Member.take`."""
        rest = self._begin(message)
        if rest is not None:
            self._alone = asyncio.create_task(self._go_alone(None, rest))
        return rest is None

    def dismiss(self) -> None:
        """See `Member.dismiss`."""
        self._leave()
        if self._alone is None and self._source.shared is not None:  # else it notices by itself
            self._alone = asyncio.create_task(self._go_alone(self._source.shared.resumed(self.last)))

    def finish(self) -> None:
        """See `Member.finish`: the client is told that this was all."""
        self._finish(_END)

    # ---- The connection ------------------------------------------------------------------------------------------------

    def stop(self, retry_ms: int | None = None) -> None:
        """End behind the frame that is being sent; with `retry_ms` the client is told to come back elsewhere after that time."""
        self._leave()
        if self._over:
            return
        if self._alone is None:
            self._finish(self._last_word(retry_ms))
        else:
            self._alone = asyncio.create_task(self._finish_after(self._alone, retry_ms))

    async def _finish_after(self, alone: asyncio.Task[None], retry_ms: int | None) -> None:
        await _ended(alone)
        if not self._over:
            await self._send(self._last_word(retry_ms))

    def _last_word(self, retry_ms: int | None) -> HTTPResponseBodyEvent:
        if retry_ms is None:
            return _END
        frame = leaving(None if self._sending else self.last, retry_ms)
        return {"type": "http.response.body", "body": self._source.encode(frame), "more_body": False}

    def _finish(self, last: HTTPResponseBodyEvent) -> None:
        self._leave()
        self._over = True
        rest = self._begin(last)
        if rest is not None:
            self._alone = asyncio.create_task(self._to_the_end(rest))

    async def _to_the_end(self, rest: Awaitable[None]) -> None:
        await self._patiently(rest)

    def _begin(self, message: Message) -> Awaitable[None] | None:
        """Send without a task; what is left to wait for, if the connection does not take it at once."""
        begun = cast("Coroutine[Any, Any, None]", self._send(message))
        try:
            return _rest(begun, begun.send(None))
        except StopIteration:
            pass  # nearly always
        except Exception as wrong:  # noqa: BLE001 - whatever the server says, to the others it is one connection less
            log.warning("stream_ended", reason=type(wrong).__name__, last=self.last)
            self._drop()
        return None

    async def _patiently(self, begun: Awaitable[None]) -> bool:
        """Wait until it is sent; False when the client has taken nothing for the stall time, and is dropped."""
        try:
            async with asyncio.timeout(self._source.streams.stall):
                await begun
        except TimeoutError:
            log.info("stream_dropped", reason=_SLOW, last=self.last)
            self._drop()
            return False
        return True

    def _leave(self) -> None:
        broadcast, self._broadcast, self._channel = self._broadcast, None, None
        if broadcast is not None:
            broadcast.leave(self)

    def _drop(self) -> None:
        """Cut the connection."""
        self._leave()
        if not self._dropped and self._request is not None:
            self._dropped = True
            self._source.streams.ended(self)
            self._request.cancel()


@coroutine
def _rest(begun: Coroutine[Any, Any, None], waits_for: Any) -> Generator[Any, Any, None]:
    """The rest of a coroutine that has been begun without a task, and waits."""
    try:
        yield waits_for
    except BaseException:
        begun.close()
        raise
    yield from begun


async def _ended(*tasks: asyncio.Task[None]) -> None:
    """Cancel tasks and wait until they have ended, also when whoever waits is cancelled meanwhile: what they hold is let go of by then."""
    for task in tasks:
        task.cancel()
    cancelled: asyncio.CancelledError | None = None
    while running := [task for task in tasks if not task.done()]:
        try:
            await asyncio.wait(running)
        except asyncio.CancelledError as once_more:
            cancelled = once_more
    if cancelled is not None:
        raise cancelled


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
