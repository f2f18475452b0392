"""A Postgres that is starting is waited for, and one that cannot be worked with is told of in words (F27)."""

from __future__ import annotations

import asyncio
import re
from contextlib import asynccontextmanager
from urllib.parse import urlsplit, urlunsplit

import httpx
import pytest

from shared.web.postgres_connection import AWAY, postgres_started, why_away
from shared.web.service import ServersUnreachable
from shared.web.settings import Settings
from shared.web.unanswered import why_unanswered

RECOVERS = b"SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0"  # cannot_connect_now, as the server says it
NO_TLS = b"N"  # the answer to a client that asks for TLS first
ASKS_FOR_TLS = 8  # bytes of that question


async def poured(source, into):
    while data := await source.read(65536):
        into.write(data)
    into.close()


@asynccontextmanager
async def recovering(dsn, refusals):
    """A server that says so many times that it is starting, and is the one at `dsn` from then on; yields its address and who came."""
    parts, came, ends, tasks = urlsplit(dsn), [], [], []

    async def serve(reader, writer):
        came.append(writer)
        tasks.append(asyncio.current_task())
        ends.append(writer)
        if len(came) > refusals:
            inner, outer = await asyncio.open_connection(parts.hostname, parts.port)
            ends.append(outer)
            await asyncio.gather(poured(reader, outer), poured(inner, writer))
            return
        await reader.readexactly(ASKS_FOR_TLS)
        writer.write(NO_TLS)
        await reader.read(1000)
        writer.write(b"E" + (len(RECOVERS) + 4).to_bytes(4, "big") + RECOVERS)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        yield urlunsplit(parts._replace(netloc=f"{parts.netloc.rpartition('@')[0]}@127.0.0.1:{port}")), came
        server.close()
        for end in ends:
            end.transport.abort()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_server_that_is_starting_is_waited_for(postgres_dsn):
    """F27: each time it says so it is asked once more, until it takes us."""
    async with recovering(postgres_dsn, refusals=2) as (dsn, came):
        await postgres_started(Settings(postgres_dsn=dsn))
        assert len(came) == 3


async def test_a_server_that_goes_on_starting_is_told_of_in_one_sentence():
    """F27: without the password, and without a name of some library's class."""
    async with recovering("postgresql://u:hush@127.0.0.1:1/club", refusals=1_000) as (dsn, came):
        with pytest.raises(ServersUnreachable) as away:
            await postgres_started(Settings(postgres_dsn=dsn), seconds=0)
        assert str(away.value) == f"Postgres at {dsn.replace('hush', '***')}: it is starting, recovering or stopping"
        assert len(came) == 1


async def test_other_trouble_is_told_at_once():
    """Nothing listens at port 1."""
    with pytest.raises(ServersUnreachable, match=r"^Postgres at postgresql://127\.0\.0\.1:1/club: nothing listens there$"):
        await postgres_started(Settings(postgres_dsn="postgresql://127.0.0.1:1/club"))


def kinds(of):
    return [one for kind in of for one in (kind, *kinds(kind.__subclasses__()))]


def test_nobody_is_told_the_name_of_a_class():
    """F27: whatever asking Postgres or a server over HTTP raises is said in words, which end as part of a sentence does."""
    asked = [OSError, TimeoutError, ConnectionResetError, ConnectionRefusedError, *kinds(AWAY[1:])]
    said = {kind: why_away(kind.__new__(kind, "as the server says")) for kind in asked}
    said |= {kind: why_unanswered(kind("")) for kind in kinds([httpx.TransportError])} | {
        httpx.InvalidURL: why_unanswered(httpx.InvalidURL(""))
    }
    assert len(said) > 50
    assert {kind: words for kind, words in said.items() if kind.__name__ in words or re.search(r"[a-z][A-Z]|Error|^$", words)} == {}
