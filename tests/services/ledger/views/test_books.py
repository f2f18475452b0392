"""The ledger's rows: what cannot be read is parked with its table, and a settlement that is not zero is never posted."""

from __future__ import annotations

import msgspec
import pytest

from shared.events.commit import SCHEMA, decode, encode
from shared.projections.parking import parking
from tests.services.ledger.played import PlayedTable

pytestmark = pytest.mark.servers


def newer(commit):
    """As a later version would have written it."""
    return msgspec.structs.replace(commit, schema=SCHEMA + 1)


def unknown(commit):
    """With an event that nobody knows."""
    return msgspec.structs.replace(commit, events=(msgspec.Raw(b'{"type":"MoonRose"}'),))


def crooked(commit):
    """With a settlement that makes a whist out of nothing."""
    closing = b'{"type":"PulkaClosed","reason":"all_closed","settlement":{"mountain":[0,0,0],"net":["1","0","0"],"rounded":[1,0,0]}}'
    return msgspec.structs.replace(commit, events=(msgspec.Raw(closing),))


@pytest.mark.parametrize("change", [newer, unknown, crooked])
async def test_a_table_that_cannot_be_read_is_parked_alone(projector, log, connection, site, change):
    """A commit of a newer version, an unknown event or a crooked settlement parks its table from there on; other tables go on."""
    sick, well = await PlayedTable(log, 31).play(commits=30), await PlayedTable(log, 32).play(commits=30)
    assert await projector.at_least.wait(well.commits[-1].position)
    head = sick.commits[-1]
    commit = change(decode((await sick.step()).data))
    log.store.aggregate(sick.address).pop()  # what was just appended never was; in its place:
    log.store.stream("TABLE_0").pop()
    bad = log.store.store(sick.address, encode(commit), head.revision + 1)
    await well.step()
    assert await projector.at_least.wait(well.commits[-1].position)
    assert [(parked.aggregate, parked.sequence) for parked in await parking.list_parked(connection)] == [
        (sick.address.subject, bad.sequence)
    ]
    assert projector.health()["status"] == "degraded"
    assert (await site.read(well, "/audit", limit=200))["as_of"] == decode(well.commits[-1].data).at
    assert (await site.get(f"/tables/{sick.id}/sheet")).json()["position"] == head.position
    assert await connection.fetchval("SELECT count(*) FROM accounts WHERE net IS NOT NULL AND table_id = $1", sick.id) == 0


async def test_the_interface_is_documented(site):
    """Every route of the ledger stands in the OpenAPI document with a summary and its query parameters."""
    document = (await site.client.get("/schema/openapi.json")).json()
    paths = {path: item["get"] for path, item in document["paths"].items() if path.startswith("/v1/ledger")}
    assert len(paths) >= 9
    for operation in paths.values():
        assert operation["summary"]
        assert "at_least" in {parameter["name"] for parameter in operation["parameters"]}
