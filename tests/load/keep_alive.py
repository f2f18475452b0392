"""A load generator's HTTP client: one kept connection, one request at a time, so little work that the server is what is measured."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

import msgspec


class KeepAlive:
    """One connection. Speaks just the HTTP/1.1 that our own server answers with: a status line, headers with Content-Length, a body."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str) -> None:
        self._reader = reader
        self._writer = writer
        self._host = host

    @classmethod
    async def open(cls, url: str) -> KeepAlive:
        """A connection to the server at `url`."""
        parts = urlsplit(url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        return cls(reader, writer, parts.netloc)

    async def request(self, method: str, path: str, body: object = None, headers: str = "") -> tuple[int, dict]:
        """Status and decoded body; `headers` are whole lines, each with its line end."""
        data = b"" if body is None else msgspec.json.encode(body)
        kind = "Content-Type: application/json\r\n" if data else ""
        head = f"{method} {path} HTTP/1.1\r\nHost: {self._host}\r\nContent-Length: {len(data)}\r\n{kind}{headers}\r\n"
        self._writer.write(head.encode() + data)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        lines = answer.decode("latin-1").lower().split("\r\n")
        length = next(int(line.partition(":")[2]) for line in lines if line.startswith("content-length:"))
        content = await self._reader.readexactly(length)
        return int(lines[0].split(" ", 2)[1]), msgspec.json.decode(content) if content else {}

    async def close(self) -> None:
        """Close the connection."""
        self._writer.close()
        await self._writer.wait_closed()
