"""The bot host's composition root."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from services.bots.client import connect
from services.bots.host import BotHost
from services.bots.host_token import FiledToken, token_file
from shared.web.service import CannotStart, Service
from shared.web.settings import Settings, variable


def create(settings: Settings, token: Callable[[], str] | None = None) -> Service:
    """The bot host of the lobby at `lobby_url` and the tables at `table_url`, by default there too.

    `token` gives the host's own, by default that of the file in the settings: no key that signs is ever here. Raises `CannotStart` without
    an address or a token.
    """
    if not settings.lobby_url:
        raise CannotStart(f"{variable('lobby_url')} is not set: where the lobby is, and the tables unless {variable('table_url')} says it")
    lobby = connect(settings.lobby_url)
    tables = connect(settings.table_url) if settings.table_url else lobby
    host = BotHost(lobby, tables, token or FiledToken(token_file(settings)), settings.bot_seats)

    async def stop() -> None:
        await host.stop()
        await lobby.aclose()
        await tables.aclose()

    async def health() -> dict[str, Any]:
        return host.health()

    return Service(name="bots", start=host.start, drain=host.stop, stop=stop, health=health)
