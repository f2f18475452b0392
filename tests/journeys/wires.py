"""A small HTTP/1.1 client for many at once: kept connections that notice their end, requests with one retry elsewhere, live streams.

It does what a good client does, and counts: why a request had to be sent again, and how often a stream began anew.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress

import msgspec

ATTEMPTS = 2  # of a request: what is promised is one retry
PATIENCE = 30.0  # seconds for one answer on a busy machine

Choose = Callable[[int], int]  # of an attempt (0, 1): the number of the instance that is asked


class Cut(Exception):
    """A connection that was refused, or ended before the whole answer had come."""


class Line:
    """One connection to a port of this machine."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._last = False

    @classmethod
    async def to(cls, port: int) -> Line:
        try:
            return cls(*await asyncio.open_connection("127.0.0.1", port))
        except OSError as wrong:
            raise Cut(f"not connected: {type(wrong).__name__}") from None

    @property
    def usable(self) -> bool:
        """Whether another request may go this way, as far as one can see."""
        return not (self._last or self._reader.at_eof() or self._reader.exception() is not None)

    async def ask(self, method: str, path: str, headers: str, body: bytes) -> tuple[int, bytes]:
        """Status and body; `headers` are whole lines."""
        status, headers_told = await self.begin(method, path, headers, body)
        try:
            return status, await self._reader.readexactly(int(headers_told.get("content-length", "0")))
        except (OSError, asyncio.IncompleteReadError) as wrong:
            raise Cut(f"in an answer: {type(wrong).__name__}") from None

    async def begin(self, method: str, path: str, headers: str, body: bytes = b"") -> tuple[int, dict[str, str]]:
        """The head of the answer."""
        try:
            head = f"{method} {path} HTTP/1.1\r\nHost: club\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
            self._writer.write(head.encode() + body)
            lines = (await self._reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        except (OSError, asyncio.IncompleteReadError) as wrong:
            raise Cut(f"no answer: {type(wrong).__name__}") from None
        told = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:] if line)}
        self._last = told.get("connection") == "close"
        return int(lines[0].split()[1]), told

    async def lines(self) -> AsyncIterator[bytes]:
        """The lines of an answer in chunks. Raises `Cut`."""
        kept = b""
        try:
            while size := int(await self._reader.readline(), 16):
                *whole, kept = (kept + (await self._reader.readexactly(size + 2))[:-2]).split(b"\n")
                for line in whole:
                    yield line
        except (OSError, ValueError, asyncio.IncompleteReadError) as wrong:
            raise Cut(f"in a stream: {type(wrong).__name__}") from None

    async def close(self) -> None:
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()


class Tally(msgspec.Struct):
    """What clients met."""

    requests: int = 0
    again: Counter[str] = msgspec.field(default_factory=Counter)  # why a request was sent a second time
    lost: list[str] = msgspec.field(default_factory=list)  # requests that one retry did not help
    streams: Counter[str] = msgspec.field(default_factory=Counter)  # how streams ended


class Client:
    """Somebody with a token; `ports` are those of the instances, which `choose` chooses from."""

    def __init__(self, ports: Sequence[Callable[[], int]], choose: Choose, tally: Tally, token: str = "") -> None:
        self._ports, self._choose, self._tally = ports, choose, tally
        self._lines: dict[int, Line] = {}
        self.token = token
        self.answered_by = -1  # the instance of the last answer

    async def ask(self, method: str, path: str, body: object = None, *, token: str = "", key: str = "") -> tuple[int, dict]:
        """Status and answer; sent once more, elsewhere, if the first is refused, cut or 503."""
        content = b"" if body is None else msgspec.json.encode(body)
        headers = "Content-Type: application/json\r\n" if content else ""
        if token or self.token:
            headers += f"Authorization: Bearer {token or self.token}\r\n"
        if key:
            headers += f"Idempotency-Key: {key}\r\n"
        self._tally.requests += 1
        met = []
        for attempt in range(ATTEMPTS):
            site = self._choose(attempt)
            try:
                async with asyncio.timeout(PATIENCE):
                    status, answer = await (await self._line(site)).ask(method, path, headers, content)
            except (Cut, TimeoutError) as wrong:
                met.append(str(wrong) or "no answer in time")
                await self._hang_up(site)
            else:
                if status != 503:
                    self.answered_by = site
                    return status, msgspec.json.decode(answer) if answer else {}
                met.append(f"503 {msgspec.json.decode(answer)['code']}")
            if attempt == 0:
                self._tally.again[met[0]] += 1
        self._tally.lost.append(f"{method} {path}: {met}")
        raise AssertionError(self._tally.lost[-1])

    async def commits(self, table: str) -> AsyncIterator[dict]:
        """Every commit frame from the first, through all instances. Where the end is told, it comes back when it is asked to."""
        after, headers = 0, "Accept: application/x-ndjson\r\n"
        while True:
            line = await self._opened(f"/v1/tables/{table}/events?after={after}", headers)
            how, wait = "ended", 0.0
            try:
                async for one in line.lines():
                    frame = msgspec.json.decode(one)
                    if frame["frame"] == "commit":
                        after = frame["revision"]
                        yield frame
                    elif frame["frame"] == "leaving":
                        how, wait = "leaving", frame["retry_ms"] / 1000
                        assert frame["revision"] in {after, None}
                    elif frame["frame"] == "view":
                        assert frame["revision"] == after
            except Cut:
                how = "cut"
            finally:
                await line.close()
            self._tally.streams[how] += 1
            await asyncio.sleep(wait)  # as the server asks

    async def _opened(self, path: str, headers: str) -> Line:
        self._tally.requests += 1
        met = []
        for attempt in range(ATTEMPTS):
            try:
                line = await Line.to(self._ports[self._choose(attempt)]())
                status, _ = await line.begin("GET", path, headers)
                if status == 200:
                    return line
                await line.close()
                met.append(str(status))
                assert status == 503, path
            except Cut as wrong:
                met.append(str(wrong))
            if attempt == 0:
                self._tally.again[f"stream {met[0]}"] += 1
        self._tally.lost.append(f"GET {path}: {met}")
        raise AssertionError(self._tally.lost[-1])

    async def close(self) -> None:
        for site in list(self._lines):
            await self._hang_up(site)

    async def _line(self, site: int) -> Line:
        line = self._lines.get(site)
        if line is None or not line.usable:
            await self._hang_up(site)
            line = self._lines[site] = await Line.to(self._ports[site]())
        return line

    async def _hang_up(self, site: int) -> None:
        line = self._lines.pop(site, None)
        if line is not None:
            await line.close()


def hashed(table: str, instances: int) -> Choose:
    """Affinity: a table's instance, and for a retry the next one."""
    home = sum(table.encode())
    return lambda attempt: (home + attempt) % instances


def in_turn(instances: int) -> Choose:
    """No affinity: each request goes to another instance."""
    turns = itertools.count()
    return lambda _attempt: next(turns) % instances
