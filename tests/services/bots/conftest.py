"""Lobby and table on real servers, under one port of loopback, for players who use nothing but HTTP."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any, NamedTuple

import msgspec
import pytest
import uvicorn

from services.bots.client import Api, connect
from services.lobby import main as lobby
from services.table import main as table
from shared.events.keys import MasterKeys
from shared.web.application import build
from shared.web.settings import Settings


class Club(NamedTuple):
    """A running club: its settings, with the port that it listens on."""

    settings: Settings

    async def open(self, http: Any, people: int, **terms: Any) -> tuple[str, list[Api]]:
        """A table on `terms` with so many people seated, not yet ready."""
        apis = [Api(http) for _ in range(people)]
        for number, api in enumerate(apis):
            await api.sign_up(f"Player {number}")
        opened = await apis[0].open_table(terms)
        for api in apis:
            await api.sit(opened)
        return opened, apis


@pytest.fixture
async def club(nats_url, postgres_dsn, namespace, tmp_path):
    MasterKeys.create(tmp_path / "master_keys", "k1", secrets.token_bytes(32))
    settings = Settings(nats_url=nats_url, postgres_dsn=postgres_dsn, namespace=namespace, master_keys_file=str(tmp_path / "master_keys"))
    services = [lobby.create(settings), table.create(settings)]
    for service in services:
        await service.start()
    server = _Server(
        uvicorn.Config(build(services, settings), host="127.0.0.1", port=0, log_config=None, timeout_graceful_shutdown=1)
    )  # 1 s: streams have ended by then
    serving = asyncio.create_task(server.serve())
    await server.listening.wait()
    yield Club(msgspec.structs.replace(settings, port=server.servers[0].sockets[0].getsockname()[1]))
    for service in services:
        await service.drain()
    server.should_exit = True
    await serving
    for service in services:
        await service.stop()


@pytest.fixture
async def http(club):
    async with connect(club.settings.url) as client:
        yield client


class _Server(uvicorn.Server):
    def __init__(self, config):
        super().__init__(config)
        self.listening = asyncio.Event()

    async def startup(self, sockets=None):
        await super().startup(sockets)
        self.listening.set()
