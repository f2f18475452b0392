"""The table service on a real NATS and a real Postgres, from its start to its stop: what it says of itself, and what it knows at once."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest

from services.table import main
from services.table.openings import Openings
from shared.eventlog.port import STORAGE_FULL
from shared.events.keys import MasterKeys
from shared.projections.core.projection import schema_of
from shared.web.application import now_ms
from shared.web.settings import Settings
from tests.services.table.playing import TABLE_ID
from tests.token_keys import token_files

pytestmark = pytest.mark.servers

HOUR = 3_600_000  # milliseconds


@pytest.fixture
def schema(namespace):
    return schema_of(Openings(None, None, None), namespace)


@pytest.fixture
def running(nats_url, postgres_dsn, namespace, connection, tmp_path):  # noqa: ARG001 - the connection clears away afterwards
    """A context: the service between its start and its stop."""
    keys = tmp_path / "master_keys"
    MasterKeys.create(keys, "k1", bytes(32))
    settings = Settings(
        nats_url=nats_url, postgres_dsn=postgres_dsn, namespace=namespace, master_keys_file=str(keys), **token_files(tmp_path)
    )

    @asynccontextmanager
    async def run():
        service = main.create(settings)
        await service.start()
        yield service
        await service.stop()

    return run


async def test_f24_health_names_a_clock_that_differs(running, monkeypatch):
    """F24: a service whose wall clock is an hour ahead says by how much, and is not well; one whose clock is right says nothing of it."""
    async with running() as service:
        health = await service.health()
    assert (health["status"], "clock_skew" in health) == ("ok", False)
    monkeypatch.setattr(main, "now_ms", lambda: now_ms() + HOUR)
    async with running() as service:
        health = await service.health()
    assert (health["status"], health["clocks"]) == ("degraded", "sweeping")
    assert health["clock_skew"] == {"ahead_of_postgres_s": pytest.approx(HOUR / 1000, abs=30)}


async def test_f19_an_outage_is_known_before_the_first_answer(running, connection):
    """F19: whoever asks as soon as the service is up again sees the deadline with what the outage took."""
    async with running():
        pass
    await connection.execute("UPDATE clock_beat SET beat = beat - $1::bigint", HOUR)
    async with running() as service:
        assert service.start.__self__.desk().reader._frames._credit(TABLE_ID, now_ms() - HOUR) > HOUR - 60_000


async def test_f22_health_says_that_the_log_takes_nothing(running):
    """F22: from an append that the server refused on to the next that is stored the service is not well, and names the reason."""
    async with running() as service:
        service.start.__self__._log._troubles["TABLE_0"] = STORAGE_FULL
        health = await service.health()
        assert (health["status"], health["log"]) == ("degraded", STORAGE_FULL)
        service.start.__self__._log._troubles.clear()
        health = await service.health()
        assert (health["status"], health["log"]) == ("ok", "connected")
