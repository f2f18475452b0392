"""Onlookers of one table over ASGI: each has a connection that can be slow, a form, and beside it a twin who reads the log alone."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import msgspec
from litestar import Request

from services.table.viewer_stream import Reader
from shared.events.redaction import PublicCodec
from shared.web.streams.frames import as_ndjson, as_sse
from shared.web.streams.streaming import Streams
from tests.services.cli.processes import until_async
from tests.services.table.playing import KEYS, TABLE_ID

FORMS = {"text/event-stream": as_sse, "application/x-ndjson": as_ndjson}


class Onlooker:
    """One stream of `reader`, and all that came of it. `alone`: the frames of another, opened at the same time, that goes alone."""

    def __init__(self, playing, reader: Reader, streams: Streams, caller, accept="application/x-ndjson"):
        self.reader, self.streams, self.caller, self.accept = reader, streams, caller, accept
        self.sent = b""
        self.alone = []
        self.ended = False
        self.takes = asyncio.Event()
        self.takes.set()
        self._plain = Reader(playing.tables, PublicCodec(KEYS), lambda: playing.now)
        self._gone = asyncio.Event()

    async def open(self, cursor=None):
        watching, frames = await self.reader.watching(TABLE_ID, self.caller, cursor, follow=True)
        alone = await self._plain.frames(TABLE_ID, self.caller, cursor, follow=True)
        scope = {"type": "http", "headers": [(b"accept", self.accept.encode())], "client": ("test", 1), "state": {}, "path": "/"}
        opened = self.streams.open(Request(scope), self.caller, frames, watching.heartbeat, watching)
        self.sender = opened.to_asgi_response(None, Request(scope))
        self._tasks = [asyncio.create_task(self.sender(scope, self._receive, self._send)), asyncio.create_task(self._read(alone))]
        return self

    @property
    def frames(self):
        """What came, as the plain reader's frames are written; heartbeats and the word that the process leaves left out."""
        return [piece for piece in self.pieces if not any(kind in piece[:30] for kind in (b"heartbeat", b"leaving"))]

    @property
    def pieces(self):
        """All frames that came."""
        end = b"\n\n" if self.accept == "text/event-stream" else b"\n"
        assert self.sent.endswith(end) or not self.sent, "whole frames only"
        return [piece + end for piece in self.sent.split(end)[:-1]]

    @property
    def last(self):
        """The cursor with which this onlooker would come back."""
        return max((frame.id for frame in self.alone[: len(self.frames)] if frame.id is not None), default=None)

    @property
    def together(self):
        """Whether it is one of many: it does nothing by itself."""
        return self.sender._alone is None and self.sender._channel is not None

    def matches(self):
        """Whether it got, but for who is present, the very bytes that its twin would be sent, so far."""
        ours = self.frames
        wanted = [FORMS[self.accept](frame) for frame in self.alone[: len(ours)]]
        return ours[1:] == wanted[1:] and [_lasting(first) for first in ours[:1]] == [_lasting(first) for first in wanted[:1]]

    async def settled(self):
        """Wait until it and its twin have got the same number of frames; it is not slow any more."""
        self.takes.set()
        await until_async(lambda: len(self.frames) >= len(self.alone) or self.ended)

    async def close(self):
        """Go; the twin reads at least as far."""
        self._gone.set()
        self.takes.set()
        await self._tasks[0]
        await until_async(lambda: len(self.frames) <= len(self.alone))
        self._tasks[1].cancel()
        await asyncio.gather(self._tasks[1], return_exceptions=True)

    async def _read(self, frames):
        async with aclosing(frames):
            async for frame in frames:
                self.alone.append(frame)

    async def _receive(self):
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message):
        if not self.takes.is_set():
            await self.takes.wait()
        if self._gone.is_set():  # as a server does: what is sent to nobody is lost
            return
        self.sent += message.get("body", b"")
        if message["type"] == "http.response.body" and not message["more_body"]:
            self.ended = True
            self._gone.set()


def _lasting(frame):
    """A view without what is only true of the moment in which it was made."""
    view = msgspec.json.decode(frame[frame.index(b"{") :])
    return view | {"presence": None, "clock": None}
