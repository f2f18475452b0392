"""`/health` for people and dashboards, `/health/ready` for whoever routes traffic."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from litestar import Response, get
from litestar.handlers import HTTPRouteHandler

from shared.events.token_keys import PublicKeys
from shared.web.service import Life, Service

PATIENCE: Final = 1.0  # seconds; a service that cannot say how it is by then is not well
LEAVING: Final = "leaving"  # of a process that stops
_ORDER: Final = ("ok", "degraded", "down")


async def health_of(services: Sequence[Service]) -> dict[str, Any]:
    """`{"status", "services": {name: …}}`; the whole is as well as its worst part."""
    answers = await asyncio.gather(*(_asked(service) for service in services))
    parts = {service.name: answer for service, answer in zip(services, answers, strict=True)}
    worst = max((str(part.get("status", "down")) for part in parts.values()), key=_rank, default="ok")
    return {"status": worst, "services": parts}


def health_routes(services: Sequence[Service], public: PublicKeys | None, life: Life) -> list[HTTPRouteHandler]:
    """The two routes over `services`; `public` are the keys by which tokens are verified, `life` says whether the process leaves."""

    @get("/health", tags=["operation"], summary="How each service is; 200 as long as the process answers")
    async def health() -> dict[str, Any]:
        found = await health_of(services)
        return found if public is None else found | {"token_keys": {"known": list(public.ids), "trouble": public.trouble}}

    @get("/health/ready", tags=["operation"], summary="200 while any service of this process can serve, else 503; 503 once it stops")
    async def ready() -> Response[dict[str, Any]]:
        """With Postgres away tables play on: a router must not take them out because the ledger, in the same process, is down."""
        found = await health_of(services)
        if life.leaving:
            found["status"] = LEAVING
        down = life.leaving or all(part.get("status") not in ("ok", "degraded") for part in found["services"].values())
        return Response(found, status_code=503 if down else 200, headers={"Retry-After": "1"} if down else None)

    return [health, ready]


async def _asked(service: Service) -> dict[str, Any]:
    try:
        async with asyncio.timeout(PATIENCE):
            return await service.health()
    except TimeoutError:
        return {"status": "down", "reason": f"no answer in {PATIENCE:.0f} s"}


def _rank(status: str) -> int:
    return _ORDER.index(status) if status in _ORDER else len(_ORDER)
