"""Onlookers of one table, in a process of their own: they open streams and count the commits that come. Arguments: URL, path, how many.

Prints `ready` when each has its view. Then each line of standard input is a number, and is printed once as many commits have come in all.
Nothing is parsed, so that many onlookers cost little beside the server.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from urllib.parse import urlsplit

import uvloop

AN_ADDRESS = 128  # streams without a token: the server's limit
OPENING = 64  # at a time: a server's queue of connections is not endless
VIEW, COMMIT = b'"frame":"view"', b'"frame":"commit"'


class Counts:
    """What has come to all onlookers together."""

    def __init__(self) -> None:
        self.commits = 0
        self.wanted: list[int] = []  # ascending: numbers to print once as many commits have come

    def came(self, commits: int) -> None:
        """So many more."""
        self.commits += commits
        while self.wanted and self.commits >= self.wanted[0]:
            print(self.wanted.pop(0), flush=True)

    def want(self, commits: int) -> None:
        """Print the number when as many have come."""
        self.wanted.append(commits)
        self.came(0)


class Onlooker(asyncio.Protocol):
    """One stream."""

    def __init__(self, counts: Counts, request: bytes) -> None:
        self._counts, self._request = counts, request
        self._tail = b""
        self.viewed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Ask for the stream."""
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Count the frames; one may come in two pieces."""
        data = self._tail + data
        self._tail = data[1 - len(COMMIT) :]
        if not self.viewed.done() and VIEW in data:
            self.viewed.set_result(None)
        if commits := data.count(COMMIT):
            self._counts.came(commits)

    def connection_lost(self, exc: Exception | None) -> None:
        """No onlooker is sent away."""
        if not self.viewed.done():
            self.viewed.set_exception(exc or ConnectionResetError(self._tail.decode(errors="replace")))
        else:
            print("lost", exc, flush=True)


async def main(url: str, path: str, count: int) -> None:
    """Open, then count until standard input ends."""
    loop, parts, counts = asyncio.get_running_loop(), urlsplit(url), Counts()
    request = f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nAccept: application/x-ndjson\r\n\r\n".encode()
    opening = asyncio.Semaphore(OPENING)

    async def watch(number: int) -> None:
        address = f"127.0.{1 + number // AN_ADDRESS // 250}.{1 + number // AN_ADDRESS % 250}"
        async with opening:
            _, onlooker = await loop.create_connection(
                lambda: Onlooker(counts, request), parts.hostname, parts.port, local_addr=(address, 0)
            )
            await onlooker.viewed

    await asyncio.gather(*(watch(number) for number in range(count)))
    gc.freeze()
    print("ready", flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        counts.want(int(line))


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
