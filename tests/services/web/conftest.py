"""A small application of the same parts that the services use, in process and on a real port."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from typing import Annotated, Any

import asyncpg
import httpx
import msgspec
import pytest
from litestar import Request, Router, get, post
from litestar.di import NamedDependency, Provide
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter
from litestar.response import Stream

from services.cli.serving.request_limits import LimitedRequests
from shared.eventlog.aggregates.aggregates import Mismatch, QueueFull
from shared.eventlog.port import Conflict, OutcomeUnknown, StorageFull, Unavailable
from shared.events.keys import MasterKeys
from shared.rules.language.moves import AnyMove
from shared.rules.language.refusal import Refused
from shared.web import application, auth
from shared.web.auth import Caller
from shared.web.problems import refusal
from shared.web.service import Service
from shared.web.settings import Settings
from shared.web.streams.streaming import Frame, Streams
from tests.served import served as on_a_port
from tests.token_keys import ISSUER, token_files

TROUBLES = {
    "mismatch": Mismatch(3),
    "queue": QueueFull(),
    "conflict": Conflict(None),
    "unknown": OutcomeUnknown(),
    "full": StorageFull(),
    "away": Unavailable(),
    "postgres": ConnectionRefusedError("secret address"),
    "disk": asyncpg.DiskFullError('could not extend file "base/5/16384"'),
    "defect": KeyError("AS KS"),
}


@post("/echo/{table_id:str}")
async def echo(table_id: FromPath[str], data: JSONBody[AnyMove], limit: FromQuery[int] = 5) -> dict[str, Any]:
    return {"table": table_id, "move": msgspec.to_builtins(data), "limit": limit}


@get("/numbers/{number:int}")
async def numbers(
    number: FromPath[int],
    since: Annotated[int | None, QueryParameter(name="from", ge=0)] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=200)] = 50,
) -> dict[str, Any]:
    return {"number": number, "from": since, "limit": limit}


@get("/needed")
async def needed(given: Annotated[int, QueryParameter(name="of")]) -> int:
    return given


@post("/numbers/{number:int}")
async def counted(number: FromPath[int]) -> dict[str, Any]:
    return {"number": number}


@post("/key")
async def key(idempotency_key: NamedDependency[str], if_match: NamedDependency[int | None]) -> dict[str, Any]:
    return {"key": idempotency_key, "if_match": if_match}


@get("/who")
async def who(viewer: NamedDependency[Caller | None]) -> dict[str, Any]:
    return {"player": viewer and viewer.player}


@get("/mine")
async def mine(caller: NamedDependency[Caller]) -> dict[str, Any]:
    caller.require(auth.PLAY)
    return {"player": caller.player}


@get("/trouble/{kind:str}")
async def trouble(kind: FromPath[str]) -> None:
    if kind == "refused":
        raise refusal(Refused("must_follow_suit", "3.9.3", "Follow suit."), 17)
    raise TROUBLES[kind]


class Source:
    """Frames that a test pushes, and whether the stream has let go of them."""

    def __init__(self) -> None:
        self.frames: asyncio.Queue[Frame | Exception | None] = asyncio.Queue()
        self.closed = asyncio.Event()
        self.asked = asyncio.Event()  # by a request that hangs
        self.streams = Streams()

    async def read(self, after: int) -> AsyncIterator[Frame]:
        try:
            while (frame := await self.frames.get()) is not None:
                if isinstance(frame, Exception):
                    raise frame
                if frame.id is None or frame.id > after:
                    yield frame
        finally:
            self.closed.set()

    async def heartbeat(self, last: int | None) -> Frame:
        return Frame("heartbeat", msgspec.json.encode({"revision": last}))


@get("/stream")
async def stream(
    request: Request[Any, Any, Any],
    viewer: NamedDependency[Caller | None],
    resume_after: NamedDependency[int | None],
    source: NamedDependency[Source],
) -> Stream:
    return source.streams.open(request, viewer, source.read(resume_after or 0), source.heartbeat)


@get("/hang")
async def hang(source: NamedDependency[Source]) -> None:
    source.asked.set()
    await asyncio.Event().wait()


@post("/hang")
async def hang_with_a_command(source: NamedDependency[Source]) -> None:
    source.asked.set()
    await asyncio.Event().wait()


async def nothing() -> None:
    """A start and a stop."""


@pytest.fixture
def master(tmp_path):
    path = tmp_path / "master_keys"
    return MasterKeys.create(path, "k1", secrets.token_bytes(32)), path


@pytest.fixture
def tokens():
    return ISSUER


@pytest.fixture
def health():
    return {"status": "ok"}


@pytest.fixture
def source():
    return Source()


@pytest.fixture
def app(master, health, source):
    async def told() -> dict[str, Any]:
        return health

    provided = {"source": Provide(lambda: source, sync_to_thread=False)}
    handlers = [echo, needed, numbers, counted, hang, hang_with_a_command, key, who, mine, trouble, stream]
    routes = Router("/", route_handlers=handlers, dependencies=provided)
    service = Service(name="small", start=nothing, stop=nothing, health=told, routes=[routes])
    return application.build([service], Settings(master_keys_file=str(master[1]), **token_files(master[1].parent)))


@pytest.fixture
async def client(app):
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
        yield client


@pytest.fixture
async def running(app):
    """The application on a real port."""
    async with on_a_port(app, LimitedRequests) as running:
        yield running


@pytest.fixture
async def served(running):
    """A client of the application on a real port: streams need one."""
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{running.port}", timeout=5) as client:
        yield client
