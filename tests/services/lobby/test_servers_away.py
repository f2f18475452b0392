"""With Postgres or NATS away the lobby says 503 where it needs them, goes on where it does not, and recovers by itself."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import msgspec
import pytest

from services.lobby.database import Database
from services.lobby.table_progress import Progress
from shared.eventlog.memory import MemoryLog
from tests.partitions import TABLE_STREAMS


class Cable:
    """A TCP connection to a server that can be cut: what runs through it breaks, and nothing new gets through."""

    def __init__(self, url: str) -> None:
        self._parts = urlsplit(url)
        self._listener: asyncio.Server | None = None
        self._ends: set[asyncio.StreamWriter] = set()
        self._port = 0

    async def plug_in(self) -> None:
        self._listener = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        self._port = self._listener.sockets[0].getsockname()[1]

    async def cut(self) -> None:
        self._listener.close()
        for end in list(self._ends):
            end.transport.abort()
        await asyncio.gather(*(end.wait_closed() for end in self._ends), return_exceptions=True)

    @property
    def url(self) -> str:
        user = self._parts.netloc.rpartition("@")[0]
        return urlunsplit(self._parts._replace(netloc=f"{user}@127.0.0.1:{self._port}"))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner, outer = await asyncio.open_connection(self._parts.hostname, self._parts.port)
        self._ends |= {writer, outer}
        await asyncio.gather(_pour(reader, outer), _pour(inner, writer))
        self._ends -= {writer, outer}


async def _pour(source: asyncio.StreamReader, into: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await source.read(65536):
            into.write(chunk)
            await into.drain()
    into.close()


@pytest.fixture
async def postgres_cable(postgres_dsn):
    cable = Cable(postgres_dsn)
    await cable.plug_in()
    yield cable
    await cable.cut()


@pytest.fixture
async def nats_cable(nats_url):
    cable = Cable(nats_url)
    await cable.plug_in()
    yield cable
    await cable.cut()


@pytest.fixture
def settings(settings, postgres_cable, nats_cable):
    return msgspec.structs.replace(settings, postgres_dsn=postgres_cable.url, nats_url=nats_cable.url)


async def until(ask, status):
    """Ask until the answer has the status; a server that went or came back is noticed within a second or two."""
    async with asyncio.timeout(10):
        while (await ask()).status_code != status:
            pass  # each question asks Postgres and so lets others run


async def test_without_postgres(sign_up, stranger, postgres_cable, client):
    """Lists and sign-ups are 503 with `Retry-After`; opening, sitting and reading a table go on, without names; then all is as before."""
    anna = await sign_up("Anna")
    await postgres_cable.cut()
    answer = await stranger.ask("GET", "/tables")
    assert (answer.status_code, answer.json()["code"], answer.headers["retry-after"]) == (503, "unavailable", "1")
    assert (await stranger.post("/players", {"name": "Boris"}, status=503))["code"] == "unavailable"
    table = await anna.post("/tables", {})
    assert table["host"] == {"id": anna.id, "name": None}
    seated = await anna.post(f"/tables/{table['id']}/seats")
    assert (seated["seat"], seated["table"]["seats"][0]["player"]["name"]) == (0, None)
    assert (await client.get("/health")).json()["status"] == "degraded"
    assert (await client.get("/health/ready")).status_code == 200

    await postgres_cable.plug_in()
    await until(lambda: stranger.ask("GET", "/tables"), 200)
    assert (await anna.get(f"/tables/{table['id']}"))["host"]["name"] == "Anna"
    await sign_up("Boris")
    await until(lambda: stranger.ask("GET", f"/tables?at_least={seated['table']['position']}"), 200)
    assert [listed["id"] for listed in (await anna.get("/tables"))["tables"]] == [table["id"]]


async def test_what_the_followers_lack_is_said_in_our_words():
    """The problems that `/health` shows are no names of classes of some library."""
    progress = Progress(MemoryLog(), Database("postgresql://nobody@127.0.0.1:1/none"), "lobby")
    progress.start()
    async with asyncio.timeout(10):
        while len(progress.health()["problems"]) < len(TABLE_STREAMS):  # noqa: ASYNC110 - a state, told to nobody
            await asyncio.sleep(0)  # lets them be refused
    assert progress.health() == {"status": "degraded", "problems": dict.fromkeys(TABLE_STREAMS, "postgres_unreachable")}
    await progress.stop()


async def test_without_nats(sign_up, stranger, nats_cable, client):
    """Every write is 503 and nothing is decided; lists go on; then all is as before."""
    anna = await sign_up("Anna")
    table = await anna.post("/tables", {})
    await anna.get(f"/tables?at_least={table['position']}")
    await nats_cable.cut()
    await until(lambda: client.get("/health/ready"), 503)
    answer = await anna.ask("POST", f"/tables/{table['id']}/seats")
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert answer.headers["retry-after"] == "1"
    assert (await anna.post("/tables", {}, status=503))["code"] == "unavailable"
    assert [listed["id"] for listed in (await stranger.get("/tables"))["tables"]] == [table["id"]]
    assert (await client.get("/health/ready")).status_code == 503

    await nats_cable.plug_in()
    await until(lambda: client.get("/health/ready"), 200)
    assert (await anna.post(f"/tables/{table['id']}/seats"))["seat"] == 0


def spoil(path):
    """Put what is no key into a file of keys."""
    Path(path).write_text("no key", encoding="utf-8")


async def test_a_file_of_keys_that_cannot_be_used_shows_at_once(lobby, settings):
    """The answer that gives the reason is `degraded` already, not the one after it."""
    lobby.health.__self__._keys._file._next = 0.0  # the next look is due
    spoil(settings.master_keys_file)
    told = await lobby.health()
    trouble = f"{settings.master_keys_file}, line 1: not `id:64 hex digits`"
    assert told["master_keys"] == {"seals": "k1", "opens": ["k1"], "trouble": trouble}
    assert told["status"] == "degraded"
