"""The ledger on a real NATS and a real Postgres: verified from the command line, started and stopped as a service."""

from __future__ import annotations

import asyncio
import json

import pytest
from click.testing import CliRunner

from services.cli.operator.audit import audit
from services.ledger import main
from services.ledger.books import Books
from shared.eventlog.jetstream.log import open_log
from shared.eventlog.port import STORAGE_FULL
from shared.projections.versions.live_version import LiveVersion
from shared.web.service import CannotStart
from shared.web.settings import Settings
from tests.partitions import TABLE_STREAMS
from tests.services.ledger.played import PlayedTable

pytestmark = pytest.mark.servers


@pytest.fixture
async def log(nats_url, namespace):
    log = await open_log(nats_url, namespace, heartbeat=0.2)
    yield log
    await log.close()


async def test_pulka_audit_verify(log, nats_url, namespace, postgres_dsn, connection, versions):
    """`pulka audit verify` needs the two servers and nothing else; it ends with 1 when something is wrong, and names it."""
    one, two = [await PlayedTable(log, seed).play(deals=2) for seed in (1, 2)]
    projector = LiveVersion(log, Books(), TABLE_STREAMS, postgres_dsn, versions)
    await projector.start()
    for played in (one, two):
        assert await projector.at_least.wait(played.commits[-1].position, 10.0)
    await projector.stop()
    environment = {"PULKA_NATS_URL": nats_url, "PULKA_POSTGRES_DSN": postgres_dsn, "PULKA_NAMESPACE": namespace}

    async def verified(*arguments):
        return await asyncio.to_thread(CliRunner(env=environment).invoke, audit, ["verify", *arguments])

    everything = await verified("--json")
    assert everything.exit_code == 0, everything.output
    answer = json.loads(everything.stdout)
    assert (answer["verified"], {table["table_id"] for table in answer["tables"]}) == (True, {one.id, two.id})
    single = json.loads((await verified(one.id, "--json")).stdout)
    assert (single["verified"], single["commits"]) == (True, len(one.commits))
    assert "all verified" in (await verified()).stdout
    await connection.execute("UPDATE scores SET written = 'x' WHERE table_id = $1", two.id)
    wrong = await verified()
    assert wrong.exit_code == 1
    assert two.id in wrong.stdout
    assert one.id not in wrong.stdout
    unknown = await verified("0-" + "a" * 26)
    assert isinstance(unknown.exception, CannotStart)


async def test_the_service_starts_serves_and_stops(log, nats_url, namespace, postgres_dsn, connection):
    """The service follows the log from its start, is well, says so, and is down after its stop; it needs no key."""
    played = await PlayedTable(log, 5).play(deals=1)
    service = main.create(Settings(nats_url=nats_url, postgres_dsn=postgres_dsn, namespace=namespace))
    assert (await service.health())["status"] == "down"
    await service.start()
    health = await service.health()
    assert (health["status"], health["books"]["parked"]) == ("ok", 0)
    ledger = service.start.__self__
    async with ledger.desk().table(played.id, None, played.commits[-1].position) as (_, seen):
        assert seen.revision == len(played.commits)
    ledger._log._troubles["LEDGER"] = STORAGE_FULL  # F22: as an append leaves it that the server refused
    health = await service.health()
    assert (health["status"], health["log"]) == ("degraded", STORAGE_FULL)
    await service.stop()
    await connection.execute("UPDATE checkpoint SET sequence = sequence + 1")  # as if the log had been restored from an older copy
    again = main.create(Settings(nats_url=nats_url, postgres_dsn=postgres_dsn, namespace=namespace))
    with pytest.raises(CannotStart, match="refuses"):
        await again.start()
    await again.stop()
