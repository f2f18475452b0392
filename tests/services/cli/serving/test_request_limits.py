"""Connections that want too much before their request is whole, over real sockets: bytes and seconds are bounded, answers are problems."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import msgspec
import pytest
import uvicorn
from litestar import Litestar, get
from uvicorn.server import ServerState

from services.cli.serving import request_limits
from services.cli.serving.request_limits import HEAD_LIMIT, LimitedRequests
from tests.served import served

SHORT = 0.1  # seconds that stand for the half minute of a request


@asynccontextmanager
async def connected(*handlers):
    async with served(Litestar([*handlers], openapi_config=None), LimitedRequests) as running:
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        try:
            yield reader, writer
        finally:
            writer.close()


async def everything(reader):
    async with asyncio.timeout(5):  # far beyond what it should take; fails the test where nothing ends
        return await reader.read()


def problem(answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"content-type: application/problem+json" in head
    return int(head.split()[1]), msgspec.json.decode(body)["code"]


class Wire(asyncio.Transport):
    """Keeps what is written, in place of a socket whose reset could take the answer with it."""

    def __init__(self):
        super().__init__()
        self.written, self.closed, self.aborted = b"", False, asyncio.Event()

    def write(self, data):
        self.written += data

    def close(self):
        self.closed = True

    def is_closing(self):
        return self.closed

    def abort(self):
        self.aborted.set()


def connection():
    wire, reading = Wire(), LimitedRequests(uvicorn.Config(Litestar([]), log_config=None), ServerState(), {})
    reading.connection_made(wire)
    return wire, reading


@pytest.mark.parametrize("piece", [b":" + b"a" * 1023, b":" + b"a" * 1020 + b"\r\nx"], ids=["one header", "many headers"])
async def test_a_head_without_end(piece):
    """Request line and headers over the limit are 431, whether in one header or in many, and the connection ends."""
    wire, reading = connection()
    reading.data_received(b"GET / HTTP/1.1\r\nHost: x\r\nx")
    for _ in range(HEAD_LIMIT // len(piece)):
        reading.data_received(piece)
        assert not wire.closed
    for _ in range(2):
        reading.data_received(piece)
    assert wire.closed
    assert problem(wire.written) == (431, "head_too_large")


async def test_what_is_no_http():
    """Bytes that are no HTTP are answered by a problem document."""
    async with connected() as (reader, writer):
        writer.write(b"GET / SMTP\r\n\r\n")
        assert problem(await everything(reader)) == (400, "malformed")


@pytest.mark.parametrize(
    "begun", [b"", b"GET / HT", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"], ids=["nothing", "head", "body"]
)
async def test_a_request_that_is_never_whole(monkeypatch, begun):
    """A connection whose request is not whole in time is closed."""
    monkeypatch.setattr(request_limits, "REQUEST_SECONDS", SHORT)
    async with connected() as (reader, writer):
        writer.write(begun)
        assert b"200 OK" not in await everything(reader)


@pytest.mark.slow
async def test_an_answer_that_takes_its_time(monkeypatch):
    """The limit ends with the request: an answer may take longer, and the connection serves the next one."""
    monkeypatch.setattr(request_limits, "REQUEST_SECONDS", SHORT)

    @get("/slow")
    async def slow() -> str:
        passed = asyncio.Event()
        asyncio.get_running_loop().call_later(3 * SHORT, passed.set)
        await passed.wait()
        return "done"

    async with connected(slow) as (reader, writer):
        for _ in range(2):
            writer.write(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
            async with asyncio.timeout(5):  # far beyond what it should take
                assert b"done" in await reader.readuntil(b"done")


async def test_a_client_that_does_not_read(monkeypatch):
    """A connection whose buffer stays full is cut off, even one that is being closed; one whose reader catches up is not."""
    monkeypatch.setattr(request_limits, "UNREAD_SECONDS", SHORT)
    (deaf, stalled), (slow, resumed) = connection(), connection()
    resumed.pause_writing()
    resumed.resume_writing()
    stalled.pause_writing()
    deaf.close()
    await asyncio.wait_for(deaf.aborted.wait(), 5)  # seconds, far beyond the tenth that it should take
    assert not slow.aborted.is_set()
