"""Fixtures that every folder of tests may use: real servers for the session, names of their own for each test."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
from collections.abc import AsyncIterator, Iterator

import asyncpg
import msgspec
import nats
import pytest
import structlog

from tests.servers import Urls, nats_server, postgres_server

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started by a shell's `&`: programs that the tests start would ignore SIGINT too
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # by `nohup`, likewise
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


SERVERS = {"nats_urls", "nats_url", "postgres_dsn"}  # fixtures that start one
ON_SERVERS = {"journeys", "chaos"}  # folders whose tests all start processes of their own


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as `servers` every test that asks for a server, by whatever fixture between: `make check` leaves these out."""
    for item in items:
        if SERVERS & set(getattr(item, "fixturenames", ())) or ON_SERVERS & set(item.path.parts):
            item.add_marker(pytest.mark.servers)


@pytest.fixture(autouse=True)
def logging_as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a command sets up for its own process (`log_to`) ends with the test that ran it in ours: no logger keeps it, lines can be
    captured, and nothing is written to a stream that is gone.
    """
    before, configure = structlog.get_config(), structlog.configure
    handlers, level = list(logging.root.handlers), logging.root.level
    monkeypatch.setattr(structlog, "configure", lambda **wanted: configure(**wanted | {"cache_logger_on_first_use": False}))
    yield
    configure(**before)
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)


@pytest.fixture(scope="session")
def nats_urls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Urls]:
    """A NATS for the session, as `service` and as `operator`."""
    with nats_server(tmp_path_factory.mktemp("nats")) as urls:
        yield urls


@pytest.fixture(scope="session")
def nats_url(nats_urls: Urls) -> str:
    """A NATS for the session, as a service sees it."""
    return nats_urls.service


@pytest.fixture(scope="session")
def postgres_dsn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Postgres for the session."""
    with postgres_server(tmp_path_factory.mktemp("postgres")) as dsn:
        yield dsn


@pytest.fixture
def namespace(request: pytest.FixtureRequest) -> Iterator[str]:
    """A prefix that nobody else uses; what was made under it is cleared away from the servers that this test used."""
    name = f"t{secrets.token_hex(6)}"
    yield name
    if "nats_urls" in request.fixturenames:
        asyncio.run(_clear_streams(request.getfixturevalue("nats_urls").operator, name))
    if "postgres_dsn" in request.fixturenames and os.environ.get("PULKA_POSTGRES_DSN"):  # our own server goes with the session
        asyncio.run(_clear_schemas(request.getfixturevalue("postgres_dsn"), name))


@pytest.fixture
async def connection(postgres_dsn: str, namespace: str, schema: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection to look at the rows in `schema`, which each folder names; every schema under the namespace goes with it."""
    connection = await asyncpg.connect(postgres_dsn, server_settings={"search_path": schema})
    yield connection
    await _drop_schemas(connection, namespace)
    await connection.close()


async def _clear_streams(url: str, name: str) -> None:
    client = await nats.connect(url)
    there = await client.request("$JS.API.STREAM.NAMES", msgspec.json.encode({"subject": f"{name}.>"}), timeout=5)
    for stream in msgspec.json.decode(there.data)["streams"] or ():
        await client.request(f"$JS.API.STREAM.DELETE.{stream}", b"", timeout=5)
    await client.close()


async def _clear_schemas(dsn: str, name: str) -> None:
    connection = await asyncpg.connect(dsn)
    await _drop_schemas(connection, name)
    await connection.close()


async def _drop_schemas(connection: asyncpg.Connection, prefix: str) -> None:
    for row in await connection.fetch("SELECT nspname FROM pg_namespace WHERE starts_with(nspname, $1)", prefix):
        await connection.execute(f'DROP SCHEMA "{row["nspname"]}" CASCADE')
