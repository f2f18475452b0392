"""Services that follow versions of a tally, over a log in memory or on a real server."""

import asyncio

import pytest

from shared.projections.versions.live_version import LiveVersion
from shared.projections.versions.next_version import NextVersion
from shared.projections.versions.versions import Versions
from tests.contracts.projection_subject import Tally

STREAMS = ("LOBBY_0", "LOBBY_1")
PATIENCE = 20.0  # seconds for what comes by itself


@pytest.fixture
def versions(namespace):
    return Versions(Tally.name, namespace)


@pytest.fixture
def schema(versions):
    return versions.schema(1)


class World:
    """Services that end with the test, and the registry as it is."""

    def __init__(self, dsn, versions):
        self.dsn, self.versions, self.started, self.announced = dsn, versions, [], []

    async def follow(self, log, projection=None):
        live = LiveVersion(log, projection or Tally(), STREAMS, self.dsn, self.versions, announce=self.announce)
        self.started.append(live)
        await live.start()
        return live

    async def announce(self, version):
        self.announced.append((version.number, version.previous))

    def next(self, log, projection=None):
        return NextVersion(log, projection or Tally(), STREAMS, self.dsn, self.versions)


@pytest.fixture
async def world(postgres_dsn, versions, connection):  # noqa: ARG001 - the connection clears away afterwards
    world = World(postgres_dsn, versions)
    yield world
    for live in world.started:
        await live.stop()


async def states(connection, versions):
    return {version.number: version.state for version in await versions.known(connection)}


async def until(condition):
    async with asyncio.timeout(PATIENCE):
        while not await condition():  # noqa: ASYNC110 - what is waited for happens in Postgres, which sets no Event
            await asyncio.sleep(0.01)
