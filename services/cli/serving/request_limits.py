"""Limits of a connection: bytes of a request's head, seconds to send all of it, seconds to take the answer, and its last answer.

uvicorn bounds none of them, so one client could fill the memory with a header that never ends, or hold sockets for ever by silence. And it
closes kept connections at a stop while a request may be on its way.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Final

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from shared.web.problems import MEDIA_TYPE, Problem, malformed

HEAD_LIMIT: Final = 64 * 1024  # bytes of request line and headers, beyond what came with their first; our longest have 4 KB
REQUEST_SECONDS: Final = 30.0  # from its first byte to its last; the longest has 64 KB, which a telephone sends in a few seconds
UNREAD_SECONDS: Final = 45.0  # that a full buffer may wait for its reader; longer than a stream's own stall, which says so in the log


class LimitedRequests(HttpToolsProtocol):
    """uvicorn's protocol with these limits; what cannot be read as HTTP is answered by a problem document."""

    _last = False
    _in_head = False
    _head = 0
    _whole: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn narrows it
        """Expect a request soon."""
        super().connection_made(transport)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect no more."""
        self._expect_nothing()
        self._read_on()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on; a head that goes on and on is refused."""
        went_on = self._in_head
        super().data_received(data)
        if went_on and self._in_head:
            self._head += len(data)
            if self._head > HEAD_LIMIT and not self.transport.is_closing():
                self._refuse(Problem(431, "head_too_large", f"The request line and headers may have at most {HEAD_LIMIT // 1024} KB."))

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        super().on_message_begin()
        self._in_head, self._head = True, 0
        self._expect()

    def on_headers_complete(self) -> None:
        """The head is whole."""
        self._in_head = False
        super().on_headers_complete()
        if self._last:
            self.cycle.keep_alive = False

    def on_message_complete(self) -> None:
        """The request is whole; its answer may take as long as it likes."""
        self._expect_nothing()
        super().on_message_complete()

    def leave(self) -> None:
        """The answer to the request that is under way, else to the next one, is the last of this connection, and says so."""
        self._last = True
        if self.cycle is not None:
            self.cycle.keep_alive = False

    def shutdown(self) -> None:
        """Close the connection, unless a request has begun to come: that is answered first."""
        if not self._in_head:
            super().shutdown()

    def pause_writing(self) -> None:
        """The reader is behind; `abort`, since `close` would wait for them."""
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_later(UNREAD_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """The reader has caught up."""
        self._read_on()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP."""
        self._refuse(malformed("", msg))

    def _refuse(self, problem: Problem) -> None:
        body = msgspec.json.encode(problem.document)
        status = HTTPStatus(problem.status_code)
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}",
            f"content-type: {MEDIA_TYPE}",
            f"content-length: {len(body)}",
            "connection: close",
        )
        self.transport.write("\r\n".join((*head, "", "")).encode() + body)
        self.transport.close()

    def _read_on(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _expect(self) -> None:
        if self._whole is None:
            self._whole = self.loop.call_later(REQUEST_SECONDS, self.transport.close)

    def _expect_nothing(self) -> None:
        if self._whole is not None:
            self._whole.cancel()
            self._whole = None
