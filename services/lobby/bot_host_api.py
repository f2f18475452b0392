"""The lobby over HTTP for bot hosts (scope `host`): leases on their shares of the tables, seats of built-in players, tokens for these.

A host has no connection to Postgres or to the log, and no key: what it needs of them it asks for here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final

import msgspec
from litestar import delete, get, post, put
from litestar.di import NamedDependency, Provide
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter
from msgspec import Meta

from services.lobby.desk import Desk
from services.lobby.players import MACHINE, NOBODY
from services.lobby.queries import BotSeat
from services.lobby.responses import Token
from shared.eventlog.aggregates.aggregates import RefusedAt
from shared.events.address import is_id
from shared.leases.port import Instance, ShareLease
from shared.rules.language.documents import text_like
from shared.web import auth
from shared.web.auth import Caller
from shared.web.problems import Problem, malformed, refusal

MOST_SHARES: Final = 256  # of one host: four times as many as there are
PAGE: Final = 1000  # live tables looked through for a page of seats: some 30 ms

_WANTED: Final = "letters, digits and _.:- only, at most 120"
Name = Annotated[str, text_like(r"^[A-Za-z0-9_.:-]{1,120}$(?!\n)", f"must be {_WANTED}")]  # a share, or a host
Holder = Annotated[str, text_like(r"^[A-Za-z0-9_.:-]{0,120}$(?!\n)", f"must be {_WANTED}")]  # empty: the lease was given back
Count = Annotated[int, Meta(ge=0, le=2**53)]  # what every JSON library keeps exact; at one a second it is never reached
Held = Annotated[dict[Name, Count], Meta(max_length=MOST_SHARES)]


class SeenLease(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A lease as a host saw it; one that nobody has had yet: held by nobody, with epoch 0 and 0 renewals."""

    name: Name
    holder: Holder
    epoch: Count
    renewals: Count = 0


class HostAlive(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A sign of life: the shares that a host can look after, and the epochs of those that it holds."""

    names: Annotated[tuple[Name, ...], Meta(max_length=MOST_SHARES)]
    held: Held


class TakeLease(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who takes a lease, and the lease as they saw it."""

    holder: Name
    seen: SeenLease


class ReleaseLeases(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Leases that are given back, by name and epoch."""

    held: Held


class LeaseList(msgspec.Struct, frozen=True):
    """Every lease and every host."""

    leases: list[ShareLease]
    hosts: list[Instance]


class LeaseTaken(msgspec.Struct, frozen=True):
    """The lease as its new holder has it; null: it was no longer as it was seen."""

    lease: ShareLease | None


class LeasesKept(msgspec.Struct, frozen=True):
    """The shares that a host still holds."""

    held: list[str]


class BotSeats(msgspec.Struct, frozen=True):
    """Seats of built-in players at tables that wait or play. `cursor` goes on, null at the end."""

    seats: list[BotSeat]
    cursor: str | None


def host_only() -> Provide:
    """`host: NamedDependency[Caller]`: needs a bot host's token."""

    def host(caller: NamedDependency[Caller]) -> Caller:
        caller.require(auth.HOST)
        return caller

    return Provide(host, sync_to_thread=False)


def lease_routes(desk: Callable[[], Desk]) -> list[HTTPRouteHandler]:
    """The handlers of the leases; `desk()` raises 503 `unavailable` before the service has started."""

    @get("/v1/lobby/bots/leases", tags=["bots"], summary="Which bot host holds which share of the tables")
    async def standing(host: NamedDependency[Caller]) -> LeaseList:  # noqa: ARG001 - asks for the scope
        return LeaseList(*await desk().bot_leases.standing())

    @post("/v1/lobby/bots/leases", status_code=200, tags=["bots"], summary="Take a lease over, as it was seen")
    async def take(data: JSONBody[TakeLease], host: NamedDependency[Caller]) -> LeaseTaken:  # noqa: ARG001 - asks for the scope
        seen = ShareLease(data.seen.name, data.seen.holder, data.seen.epoch, data.seen.renewals)
        return LeaseTaken(await desk().bot_leases.take(data.holder, seen))

    @post("/v1/lobby/bots/leases/released", status_code=200, tags=["bots"], summary="Give leases back")
    async def release(data: JSONBody[ReleaseLeases], host: NamedDependency[Caller]) -> LeasesKept:  # noqa: ARG001 - asks for the scope
        await desk().bot_leases.release(data.held)
        return LeasesKept([])

    @put("/v1/lobby/bots/hosts/{holder:str}", tags=["bots"], summary="A bot host's sign of life")
    async def renew(holder: FromPath[str], data: JSONBody[HostAlive], host: NamedDependency[Caller]) -> LeasesKept:  # noqa: ARG001 - asks for the scope
        return LeasesKept(sorted(await desk().bot_leases.renew(_named(holder), data.names, data.held)))

    @delete("/v1/lobby/bots/hosts/{holder:str}", status_code=200, tags=["bots"], summary="Strike out a bot host that has ended")
    async def leave(holder: FromPath[str], host: NamedDependency[Caller]) -> LeasesKept:  # noqa: ARG001 - asks for the scope
        await desk().bot_leases.leave(_named(holder))
        return LeasesKept([])

    return [standing, take, release, renew, leave]


def bot_routes(desk: Callable[[], Desk]) -> list[HTTPRouteHandler]:
    """The handlers of seats and tokens; `desk` as for `lease_routes`."""

    @get("/v1/lobby/bots/seats", tags=["bots"], summary="Seats of built-in players at tables that wait or play")
    async def seats(
        host: NamedDependency[Caller],  # noqa: ARG001 - asks for the scope
        *,
        cursor: FromQuery[str | None] = None,
        limit: Annotated[int, QueryParameter(ge=1, le=PAGE)] = PAGE,
    ) -> BotSeats:
        if cursor is not None and not is_id(cursor):
            raise malformed("cursor", "not a cursor of this list")
        found, after = await desk().reads.bot_seats(cursor or "", limit)
        return BotSeats(found, after)

    @post("/v1/lobby/bots/{player:str}/tokens", tags=["bots"], summary="A token of a built-in player")
    async def token(player: FromPath[str], host: NamedDependency[Caller], request_id: NamedDependency[str]) -> Token:  # noqa: ARG001 - asks for the scope
        at = desk()
        at.require_log()
        known = (await at.players.load(player)).state if is_id(player) else None
        if known is None or known.name is None:
            raise Problem(404, NOBODY.code, NOBODY.message)
        if not known.bot:
            raise Problem(403, "not_a_bot", "This is a person, for whom nobody else gets a token.")
        issued = await at.players.issue(player, MACHINE, auth.LIFETIME, at.clock(), request_id)
        if isinstance(issued, RefusedAt):
            raise refusal(issued.refused, issued.revision)
        return Token(issued.token, list(issued.scopes), issued.expires)

    return [seats, token]


def _named(holder: str) -> str:
    try:
        return msgspec.convert(holder, Name)
    except msgspec.ValidationError:
        raise malformed("holder", f"must be {_WANTED}") from None
