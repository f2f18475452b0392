"""Live streams: frames as Server-Sent Events or as NDJSON, with heartbeats, resume, and a bounded queue a client.

A client that does not keep up is dropped, never an event: it comes back with its cursor and gets what it missed.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Annotated, Any, Final

from litestar import Litestar, Request
from litestar.di import Provide
from litestar.params import HeaderParameter, QueryParameter
from litestar.response import Stream
from litestar.response.base import ASGIResponse

from shared.web.auth import Caller
from shared.web.headers import listed
from shared.web.problems import Problem, malformed, unavailable
from shared.web.streams.broadcast import Deliveries
from shared.web.streams.frames import Frame, as_ndjson, as_sse
from shared.web.streams.sender import Sender, Shared, Source

SSE: Final = "text/event-stream"
NDJSON: Final = "application/x-ndjson"
HEARTBEAT: Final = 15.0  # seconds; under the 30 to 60 after which proxies cut a silent connection
STALL: Final = 30.0  # seconds with a full queue after which a client is dropped: two missed heartbeats
QUEUE: Final = 256  # frames a client may lag behind its reader; a deal has about 60
STREAMS_A_TOKEN: Final = 16  # a few windows on a few tables
STREAMS_AN_ADDRESS: Final = 128  # spectators without a token, many of whom may share one address
COMEBACK_MS: Final = 100  # milliseconds at least until a client of a process that stops comes back: whoever routes it may have noticed
COMEBACKS_A_SECOND: Final = 500  # of such clients: half a core, since to open a stream where it was takes a millisecond of one
LONGEST_COMEBACK_MS: Final = 15_000  # milliseconds at most: nobody waits longer for news than between two heartbeats
STOPPED_AT_A_TIME: Final = 64  # streams that are told to go without a pause, some milliseconds; then requests have their turn

_REVISION: Final = re.compile(r"0|[1-9][0-9]{0,17}")  # one spelling a number; 18 digits stay within 64 bits


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
        self.deliveries = Deliveries()
        self.stopping = False
        self._per_token = per_token
        self._open: Counter[str] = Counter()
        self._senders: set[Sender] = set()
        self._closing: asyncio.Task[None] | None = None

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
        shared: Shared | None = None,
    ) -> Stream:
        """The response that sends `frames` until they end or the client goes; `heartbeat` makes a frame from the last id sent. With
        `shared` it goes on together with others as soon as it can.

        Raises 429 over the limit, 406 for an `Accept` without either form, 503 while stopping. An exception of `frames` ends the stream:
        the client comes back with its cursor and gets a proper answer.
        """
        encode = negotiate(listed(request, "accept"))
        if self.stopping:
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
        source = Source(self, owner, frames, heartbeat, encode, shared)
        return FrameStream(source, {"RateLimit-Limit": str(limit), "RateLimit-Remaining": str(limit - self._open[owner])})

    def begun(self, sender: Sender) -> None:
        """A stream is to be ended with the process."""
        if self.stopping:
            sender.stop(COMEBACK_MS)
        else:
            self._senders.add(sender)

    def ended(self, sender: Sender) -> None:
        """A stream has ended, or is about to; there is room for another."""
        self._senders.discard(sender)
        if sender.owner is None:
            return
        self._open[sender.owner] -= 1
        if self._open[sender.owner] <= 0:
            del self._open[sender.owner]
        sender.owner = None

    def dismiss(self, holds: Callable[[Caller], bool]) -> None:
        """End the streams of those whose token does not hold any more; a client that comes back is told so."""
        for sender in tuple(self._senders):
            if sender.caller is not None and not holds(sender.caller):
                self._senders.discard(sender)  # it is ended once
                sender.stop()

    async def close(self) -> None:
        """End every stream behind the frame that it is sending. Clients are told to resume elsewhere, each at another time.

        All are told, also if whoever waits here does not wait for the last of them.
        """
        self.stopping = True
        if self._closing is None:
            self._closing = asyncio.create_task(self._send_all_away(), name="streams leave")
        await asyncio.shield(self._closing)

    async def _send_all_away(self) -> None:
        senders = tuple(self._senders)
        self._senders.clear()  # each is told once
        spread = min(1000 * len(senders) // COMEBACKS_A_SECOND, LONGEST_COMEBACK_MS - COMEBACK_MS)
        for number, sender in enumerate(senders, 1):
            sender.stop(COMEBACK_MS + random.randint(0, spread))  # noqa: S311 - no secret
            if number % STOPPED_AT_A_TIME == 0:
                await asyncio.sleep(0)

    def _owner(self, request: Request[Any, Any, Any], caller: Caller | None) -> tuple[str, int]:
        if caller is not None:
            return f"player {caller.player}", self._per_token
        return f"address {request.client.host if request.client else ''}", STREAMS_AN_ADDRESS


class FrameStream(Stream):
    """A response made of frames."""

    def __init__(self, source: Source, headers: dict[str, str]) -> None:
        kind = SSE if source.encode is as_sse else NDJSON
        # no-transform and X-Accel-Buffering: proxies neither compress nor hold frames back
        super().__init__(
            iter(()), media_type=kind, headers={"Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no", **headers}
        )
        self.source = source

    def to_asgi_response(self, app: Litestar | None, request: Request[Any, Any, Any], **given: Any) -> ASGIResponse:
        """The sender; what Litestar adds by itself (cookies, headers, status) goes through unchanged."""
        plain = super().to_asgi_response(app, request, **given)
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in plain.encode_headers()]
        return Sender(self.source, iterator=iter(()), media_type=self.media_type, status_code=plain.status_code, headers=headers)
