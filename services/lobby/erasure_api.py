"""Erasing a person over HTTP (deploy/docs/http.md): their personal data becomes unreadable; what they played stays."""

from __future__ import annotations

from collections.abc import Callable

from litestar import delete, post
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath

from services.lobby.desk import Desk
from services.lobby.players import NOBODY
from services.lobby.responses import Erased
from shared.eventlog.aggregates.aggregates import RefusedAt
from shared.events.address import is_id
from shared.web import auth
from shared.web.auth import Caller
from shared.web.problems import refusal


def erasure_routes(desk: Callable[[], Desk]) -> list[HTTPRouteHandler]:
    """The handlers; `desk()` raises 503 `unavailable` before the service has started."""

    @delete("/v1/lobby/me", status_code=200, tags=["lobby"], summary="Erase yourself: name and password become unreadable for ever")
    async def erase_me(caller: NamedDependency[Caller], request_id: NamedDependency[str]) -> Erased:
        caller.require(auth.PLAY)
        return await _erased(desk(), caller.player, caller.player, request_id)

    @post("/v1/lobby/players/{player:str}/erasure", status_code=200, tags=["lobby"], summary="Erase a player (operators)")
    async def erase(player: FromPath[str], caller: NamedDependency[Caller], request_id: NamedDependency[str]) -> Erased:
        caller.require(auth.OPERATE)
        if not is_id(player):
            raise refusal(NOBODY, 0)
        return await _erased(desk(), player, caller.player, request_id)

    return [erase_me, erase]


async def _erased(at: Desk, player: str, author: str, request_id: str) -> Erased:
    at.require_log()
    result = await at.players.erase(player, author, at.clock(), request_id)
    if isinstance(result, RefusedAt):
        raise refusal(result.refused, result.revision)
    return Erased(player, result.revision, f"{result.address.stream}:{result.sequence}")
