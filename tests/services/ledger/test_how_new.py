"""Every answer of the ledger says how new it is, and every route waits for a position that it is given."""

from __future__ import annotations

import re

import pytest

from shared.events.commit import decode
from tests.services.ledger.played import PlayedTable

pytestmark = pytest.mark.servers


async def test_every_route_says_how_new_its_answer_is(site):
    """`as_of` stands in the body of a JSON answer or in a header of any other, and is the time of a commit that the log has."""
    played = await PlayedTable(site._log, 7, target=2).play()
    last = played.commits[-1].position
    times = {decode(commit.data).at for commit in played.commits}
    document = (await site.client.get("/schema/openapi.json")).json()
    asked = 0
    for path in sorted(path for path in document["paths"] if path.startswith("/v1/ledger") and "get" in document["paths"][path]):
        filled = re.sub(r"\{(\w+)\}", lambda name: known(played)[name[1]], path)
        answer = await site.get(filled.removeprefix("/v1/ledger"), at_least=last)
        assert answer.status_code == 200, (path, answer.text)
        body = answer.json() if answer.headers["content-type"].startswith("application/json") else {}
        as_of = answer.headers.get("Pulka-As-Of") or (body.get("as_of") if isinstance(body, dict) else None)
        assert as_of is not None, path
        assert int(as_of) in times, path
        asked += 1
        late = await site.get(filled.removeprefix("/v1/ledger"), at_least="MOON_0:1")
        assert (late.status_code, late.json()["path"]) == (400, "at_least"), path
    assert asked > 8


def known(played):
    """What stands for each name in a path."""
    return {"table_id": played.id, "number": "1", "player": played.seats[0], "what": "entries", "convention": "sochi"}
