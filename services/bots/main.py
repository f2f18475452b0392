"""The bot host's composition root."""

from __future__ import annotations

from typing import Any

from services.bots.client import connect
from services.bots.host import BotHost
from shared.web.application import now_ms
from shared.web.auth import issuing
from shared.web.service import Service
from shared.web.settings import Settings


def create(settings: Settings) -> Service:
    """The bot host of the services under `settings.url`, which answer already when it starts. Raises `CannotStart` without the private key
    of tokens.
    """
    http = connect(settings.url)
    host = BotHost(http, issuing(settings), now_ms)

    async def stop() -> None:
        await host.stop()
        await http.aclose()

    async def health() -> dict[str, Any]:
        return host.health()

    return Service(name="bots", start=host.start, drain=host.stop, stop=stop, health=health)
