"""Live streams: frames as Server-Sent Events or as NDJSON, with heartbeats, resume, and a bounded queue a client.

A client that does not keep up is dropped, never an event: it comes back with its cursor and gets what it missed.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Annotated, Any, Final

import msgspec
import structlog
from litestar import Litestar, Request
from litestar.di import Provide
from litestar.params import HeaderParameter, QueryParameter
from litestar.response import Stream
from litestar.response.base import ASGIResponse
from litestar.response.streaming import ASGIStreamingResponse
from litestar.types import Receive, Scope, Send

from shared.web.auth import Caller
from shared.web.headers import listed
from shared.web.problems import Problem, malformed, unavailable

SSE: Final = "text/event-stream"
NDJSON: Final = "application/x-ndjson"
HEARTBEAT: Final = 15.0  # seconds; under the 30 to 60 after which proxies cut a silent connection
STALL: Final = 30.0  # seconds with a full queue after which a client is dropped: two missed heartbeats
QUEUE: Final = 256  # frames a client may lag behind its reader; a deal has about 60
STREAMS_A_TOKEN: Final = 16  # a few windows on a few tables
STREAMS_AN_ADDRESS: Final = 128  # spectators without a token, many of whom may share one address
_PIECE: Final = 64  # frames joined into one write, so that history does not cost a system call a frame

_REVISION: Final = re.compile(r"0|[1-9][0-9]{0,17}")  # one spelling a number; 18 digits stay within 64 bits

log = structlog.get_logger("web")


class Frame(msgspec.Struct, frozen=True):
    """One thing a stream says: `event` (`view`, `commit`, `heartbeat`), `data` (one encoded JSON object), `id` (the cursor after it)."""

    event: str
    data: bytes
    id: int | None = None


def as_sse(frame: Frame) -> bytes:
    """The frame as a Server-Sent Event; encoded JSON has no line breaks."""
    head = f"event: {frame.event}\n" if frame.id is None else f"id: {frame.id}\nevent: {frame.event}\n"
    return b"%bdata: %b\n\n" % (head.encode(), frame.data)


def as_ndjson(frame: Frame) -> bytes:
    """The frame as one line: the same object with `frame` in front."""
    rest = frame.data[1:]
    return b'{"frame":"%b"%b%b\n' % (frame.event.encode(), b"" if rest == b"}" else b",", rest)


def negotiate(accept: str | None) -> Callable[[Frame], bytes]:
    """How `Accept` wants the frames: SSE unless NDJSON stands before it; raises 406 for a header that allows neither."""
    for part in (accept or "*/*").lower().split(","):
        match part.split(";")[0].strip():
            case "text/event-stream" | "text/*" | "*/*" | "":
                return as_sse
            case "application/x-ndjson" | "application/ndjson" | "application/jsonl" | "application/*":
                return as_ndjson
    raise Problem(406, "not_acceptable", f"A stream comes as {SSE} or {NDJSON}.")


def resume_after(
    after: Annotated[str | None, QueryParameter(name="after", description="The last revision that was received")] = None,
    last_event_id: Annotated[str | None, HeaderParameter(name="Last-Event-ID", description="As `after`; wins over it")] = None,
) -> int | None:
    """The revision after which to go on, None to begin at the head; a browser reconnects with its first address, so the header wins."""
    name, text = ("Last-Event-ID", last_event_id) if last_event_id is not None else ("after", after)
    if text is None:
        return None
    if _REVISION.fullmatch(text) is None:
        raise malformed(name, "must be a revision: a whole number, not negative")
    return int(text)


DEPENDENCIES: Final = {"resume_after": Provide(resume_after, sync_to_thread=False)}
"""`resume_after: NamedDependency[int | None]`."""


class Streams:
    """All live streams of a process: opens them within the limits, ends them all when the process stops."""

    def __init__(self, heartbeat: float = HEARTBEAT, stall: float = STALL, queue: int = QUEUE, per_token: int = STREAMS_A_TOKEN) -> None:
        self.heartbeat = heartbeat
        self.stall = stall
        self.queue = queue
        self.closing = asyncio.Event()
        self._per_token = per_token
        self._open: Counter[str] = Counter()

    @property
    def count(self) -> int:
        """Streams that are open now."""
        return self._open.total()

    def open(
        self,
        request: Request[Any, Any, Any],
        caller: Caller | None,
        frames: AsyncGenerator[Frame, None],
        heartbeat: Callable[[int | None], Awaitable[Frame]],
    ) -> Stream:
        """The response that sends `frames` until they end or the client goes; `heartbeat` makes a frame from the last id sent.

        Raises 429 over the limit, 406 for an `Accept` without either form, 503 while stopping. An exception of `frames` ends the stream:
        the client comes back with its cursor and gets a proper answer.
        """
        encode = negotiate(listed(request, "accept"))
        if self.closing.is_set():
            raise unavailable("This process is stopping.")
        owner, limit = self._owner(request, caller)
        if self._open[owner] >= limit:
            raise Problem(
                429,
                "too_many_streams",
                f"At most {limit} streams at a time; close one first.",
                headers={
                    "Retry-After": "5",
                    "RateLimit-Limit": str(limit),
                    "RateLimit-Remaining": "0",
                },  # by then a closed tab is noticed
            )
        self._open[owner] += 1
        remaining = str(limit - self._open[owner])
        return FrameStream(self, owner, frames, heartbeat, encode, {"RateLimit-Limit": str(limit), "RateLimit-Remaining": remaining})

    def release(self, owner: str) -> None:
        """One stream of `owner` has ended."""
        self._open[owner] -= 1
        if self._open[owner] <= 0:
            del self._open[owner]

    def close(self) -> None:
        """End every stream after the frame it is sending; clients resume elsewhere or later."""
        self.closing.set()

    def _owner(self, request: Request[Any, Any, Any], caller: Caller | None) -> tuple[str, int]:
        if caller is not None:
            return f"player {caller.player}", self._per_token
        return f"address {request.client.host if request.client else ''}", STREAMS_AN_ADDRESS


class FrameStream(Stream):
    """A response made of frames."""

    def __init__(
        self,
        streams: Streams,
        owner: str,
        frames: AsyncGenerator[Frame, None],
        heartbeat: Callable[[int | None], Awaitable[Frame]],
        encode: Callable[[Frame], bytes],
        headers: dict[str, str],
    ) -> None:
        kind = SSE if encode is as_sse else NDJSON
        # no-transform and X-Accel-Buffering: proxies neither compress nor hold frames back
        super().__init__(
            iter(()), media_type=kind, headers={"Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no", **headers}
        )
        self.streams, self.owner, self.frames, self.heartbeat, self.encode = streams, owner, frames, heartbeat, encode

    def to_asgi_response(self, app: Litestar | None, request: Request[Any, Any, Any], **given: Any) -> ASGIResponse:
        """The sender; what Litestar adds by itself (cookies, headers, status) goes through unchanged."""
        plain = super().to_asgi_response(app, request, **given)
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in plain.encode_headers()]
        return _Sender(self, iterator=iter(()), media_type=self.media_type, status_code=plain.status_code, headers=headers)


class _Sender(ASGIStreamingResponse):
    """Reads frames in one task and writes them in another, so that neither a slow client nor a quiet table holds up the heartbeat."""

    __slots__ = ("_frames", "_last", "_queue")

    def __init__(self, stream: FrameStream, **given: Any) -> None:
        super().__init__(**given)
        self._frames = stream
        self._queue: asyncio.Queue[Frame | None] = asyncio.Queue(stream.streams.queue)  # None: the frames have ended
        self._last: int | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._frames.streams.release(self._frames.owner)
            await self._frames.frames.aclose()

    async def send_body(self, send: Send, receive: Receive) -> None:
        """Send frames until they end, the client goes or stalls, or the process stops."""
        writer = asyncio.create_task(self._write(send))
        pump = asyncio.create_task(self._pump(writer))
        ends = [writer, asyncio.create_task(_gone(receive)), asyncio.create_task(self._frames.streams.closing.wait())]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if self._frames.streams.closing.is_set():
                writer.cancel()
                await asyncio.wait([writer])
                await _end(send)
        finally:
            for task in (pump, *ends):
                task.cancel()
            await asyncio.gather(pump, *ends, return_exceptions=True)

    async def _pump(self, writer: asyncio.Task[None]) -> None:
        try:
            async for frame in self._frames.frames:
                if self._queue.full():
                    async with asyncio.timeout(self._frames.streams.stall):
                        await self._queue.put(frame)
                else:
                    self._queue.put_nowait(frame)
        except TimeoutError:
            log.info("stream_dropped", reason="slow client", last=self._last)
            writer.cancel()
            return
        except Exception as wrong:  # noqa: BLE001 - whatever it was, the client must come back with its cursor rather than wait
            log.warning("stream_ended", reason=type(wrong).__name__, last=self._last)
        await self._queue.put(None)

    async def _write(self, send: Send) -> None:
        clock = asyncio.get_running_loop().time
        beat = clock() + self._frames.streams.heartbeat
        while True:
            frames: list[Frame | None] = []
            if self._queue.empty():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout_at(beat):
                        frames.append(await self._queue.get())
            while not self._queue.empty() and len(frames) < _PIECE:
                frames.append(self._queue.get_nowait())
            ended = bool(frames) and frames[-1] is None
            pieces = [self._piece(frame) for frame in frames if frame is not None]
            if not ended and clock() >= beat:
                pieces.append(self._piece(await self._frames.heartbeat(self._last)))
                beat = clock() + self._frames.streams.heartbeat
            if pieces:
                await send({"type": "http.response.body", "body": b"".join(pieces), "more_body": True})
            if ended:
                await _end(send)
                return

    def _piece(self, frame: Frame) -> bytes:
        if frame.id is not None:
            self._last = frame.id
        return self._frames.encode(frame)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _end(send: Send) -> None:
    await send({"type": "http.response.body", "body": b"", "more_body": False})
