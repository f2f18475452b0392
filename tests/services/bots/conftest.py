"""Lobby and table on real servers, under one port of loopback, for players who use nothing but HTTP."""

from __future__ import annotations

import secrets
import time
from typing import Any, NamedTuple

import msgspec
import pytest

from services.bots import main
from services.bots.client import Api, connect
from services.lobby import main as lobby
from services.table import main as table
from shared.events.keys import MasterKeys
from shared.web.application import build
from shared.web.service import Service
from shared.web.settings import Settings
from tests.served import served
from tests.token_keys import ISSUER, token_files


class Club(NamedTuple):
    """A running club: its settings, with the port that it listens on."""

    settings: Settings
    services: dict[str, Service]

    def host(self, **settings: Any) -> Service:
        """A bot host of this club, with settings of its own."""
        told = {"lobby_url": self.settings.url, **settings}
        return main.create(msgspec.structs.replace(self.settings, **told), lambda: ISSUER.issue_host(int(time.time())))

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
    settings = Settings(
        nats_url=nats_url,
        postgres_dsn=postgres_dsn,
        namespace=namespace,
        master_keys_file=str(tmp_path / "master_keys"),
        **token_files(tmp_path),
    )
    services = [lobby.create(settings), table.create(settings)]
    for service in services:
        await service.start()
    async with served(build(services, settings)) as running:
        yield Club(msgspec.structs.replace(settings, port=running.port), {service.name: service for service in services})
        for service in services:
            await service.drain()
        await running.end()
    for service in services:
        await service.stop()


@pytest.fixture
async def http(club):
    async with connect(club.settings.url) as client:
        yield client
