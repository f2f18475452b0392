"""What every process serves besides its services: health, figures, the index, the description of the API."""

from __future__ import annotations

import httpx
import msgspec
import pytest
from litestar import Litestar

from shared.web.health import health_routes
from shared.web.paging import from_cursor, to_cursor
from shared.web.problems import Problem
from shared.web.service import Life, Service


@pytest.mark.parametrize(("status", "ready"), [("ok", 200), ("degraded", 200), ("down", 503), ("on fire", 503)])
async def test_health(client, health, status, ready):
    """`/health` always tells; `/health/ready` is 503 when every service is down, or says something that nobody knows."""
    health["status"] = status
    answer = await client.get("/health")
    told = {"status": status, "services": {"small": {"status": status}}, "token_keys": {"known": ["t1"], "trouble": None}}
    assert (answer.status_code, answer.json()) == (200, told)
    assert (await client.get("/health/ready")).status_code == ready


async def test_a_process_is_ready_while_any_of_its_services_is():
    """With the ledger down the tables of the same process go on being served, and `/health` tells what is wrong."""

    def service(name, status):
        async def nothing():
            return None

        async def health():
            return {"status": status}

        return Service(name=name, start=nothing, stop=nothing, health=health)

    life = Life()
    app = Litestar(health_routes([service("table", "ok"), service("ledger", "down")], None, life))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
        assert (await client.get("/health/ready")).status_code == 200
        assert (await client.get("/health")).json()["status"] == "down"
        life.leaving = True  # it serves on what comes by open connections, and wants nothing new
        red = await client.get("/health/ready")
        assert (red.status_code, red.json()["status"], red.headers["retry-after"]) == (503, "leaving", "1")
        assert (await client.get("/health")).json()["status"] == "down"


async def test_figures_are_by_route(client):
    """`/metrics` counts by route template: an id in a path makes no series of its own."""
    await client.get("/trouble/refused")
    text = (await client.get("/metrics")).text
    assert 'pulka_http_requests_total{method="GET",route="/trouble/{kind}",status="409"}' in text
    assert "/trouble/refused" not in text


async def test_the_index(client):
    """`/` leads a program to the API's description and a person to a page of it."""
    document = (await client.get("/")).json()
    assert document["services"] == ["small"]
    assert "POST /echo/{table_id}" in document["operations"]
    page = await client.get("/", headers={"Accept": "text/html"})
    assert "/schema/openapi.json" in page.text


async def test_the_description_is_complete(client):
    """The OpenAPI document has the discriminator of the moves, closed objects, the problem as every other answer, and the token."""
    document = (await client.get("/schema/openapi.json")).json()
    operation = document["paths"]["/echo/{table_id}"]["post"]
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    assert schema["discriminator"]["mapping"]["bid"] == "#/components/schemas/Bid"
    assert document["components"]["schemas"]["Bid"]["additionalProperties"] is False
    assert operation["responses"]["default"]["content"]["application/problem+json"]
    assert "400" not in operation["responses"]
    assert "code" in document["components"]["schemas"]["ProblemDocument"]["required"]
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    names = {parameter["name"] for parameter in document["paths"]["/key"]["post"]["parameters"]}
    assert names == {"Idempotency-Key", "If-Match"}
    assert msgspec.json.encode(document).count(b'"$ref":"#/components/schemas/Bid"') >= 1


def test_cursors():
    """A cursor gives back the key it was made of; a made-up one is 400 at `cursor`."""
    assert from_cursor(to_cursor((17, "3-abc")), tuple[int, str]) == (17, "3-abc")
    for text in ("", "x", "жук", to_cursor(["a", 1]), to_cursor(5), to_cursor([1 << 63, "a"]), to_cursor([-1, "a"]), to_cursor([1, "a\0"])):
        with pytest.raises(Problem) as refused:
            from_cursor(text, tuple[int, str])
        assert refused.value.path == "cursor"
