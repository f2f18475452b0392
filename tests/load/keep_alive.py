"""A load generator's HTTP client: one kept connection, one request at a time, so little work that the server is what is measured."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

import msgspec

HEAD_END = b"\r\n\r\n"
LENGTH = b"content-length: "


class KeepAlive(asyncio.Protocol):
    """One connection. Speaks just the HTTP/1.1 that our own server answers with: a status line, headers with Content-Length, a body."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._received = b""
        self._answered: asyncio.Future[tuple[int, bytes]] | None = None
        self._lost = asyncio.get_running_loop().create_future()

    @classmethod
    async def open(cls, url: str) -> KeepAlive:
        """A connection to the server at `url`."""
        parts = urlsplit(url)
        loop = asyncio.get_running_loop()
        return (await loop.create_connection(lambda: cls(parts.netloc), parts.hostname, parts.port))[1]

    async def request(self, method: str, path: str, body: object = None, headers: str = "") -> tuple[int, dict]:
        """Status and decoded body; `headers` are whole lines, each with its line end."""
        status, content = await self.ask(method, path, body, headers)
        return status, msgspec.json.decode(content) if content else {}

    async def ask(self, method: str, path: str, body: object = None, headers: str = "") -> tuple[int, bytes]:
        """Status and body, as `request`."""
        data = b"" if body is None else msgspec.json.encode(body)
        kind = "Content-Type: application/json\r\n" if data else ""
        head = f"{method} {path} HTTP/1.1\r\nHost: {self._host}\r\nContent-Length: {len(data)}\r\n{kind}{headers}\r\n"
        self._answered = asyncio.get_running_loop().create_future()
        self._transport.write(head.encode() + data)
        return await self._answered

    async def close(self) -> None:
        """Close the connection."""
        self._transport.close()
        await self._lost

    def connection_made(self, transport: asyncio.Transport) -> None:
        """It is open."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """A piece of an answer, or all of it."""
        self._received += data
        head, found, content = self._received.partition(HEAD_END)
        if not found:
            return
        _, found, rest = head.lower().partition(LENGTH)
        length = int(rest.partition(b"\r\n")[0]) if found else 0
        if len(content) >= length and self._answered is not None and not self._answered.done():
            self._received = b""
            self._answered.set_result((int(head[9:12]), content))

    def connection_lost(self, exc: Exception | None) -> None:
        """Whoever waits for an answer gets none."""
        self._lost.set_result(None)
        if self._answered is not None and not self._answered.done():
            self._answered.set_exception(exc or ConnectionResetError("the server closed the connection"))
