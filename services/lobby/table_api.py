"""The lobby's tables over HTTP: list, open, sit, leave, ready, close."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final, Literal

import msgspec
from litestar import Request, delete, get, post
from litestar.di import NamedDependency, Provide
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter
from msgspec import Meta

from services.lobby import table_progress
from services.lobby.desk import Desk
from services.lobby.queries import Wanted
from services.lobby.responses import Readiness, Seated, TableList, TableView, people_of, status_of, view_of
from services.lobby.tables import NEVER_SAT, Order, Result, Table
from services.lobby.terms import OpenTable, agree
from shared.eventlog.aggregates.aggregates import Committed, RefusedAt
from shared.events.address import is_id
from shared.projections.core.at_least import UnknownPosition
from shared.rules.convention.options import PRESETS
from shared.rules.deck.seats import MOST
from shared.rules.language.documents import text_like
from shared.rules.language.moves import Link
from shared.rules.language.refusal import Refused
from shared.web import auth
from shared.web.auth import Caller
from shared.web.idempotency import KeyHeader, optional_key
from shared.web.metrics import request_id
from shared.web.paging import begins_after, paged
from shared.web.problems import Problem, malformed, refusal, unavailable

READY_S: Final = 2.0  # seconds that the last `ready` waits for the pulka to begin (deploy/docs/http.md: Lobby); usually 20 ms
PAGE: Final = 50  # tables a page; each is some 3 KB with its convention
LARGEST_PAGE: Final = 200

Status = Literal["open", "full", "starting", "playing", "over", "annulled", "refused", "closed"]


class Sit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The seat that is wanted; none: any free one."""

    seat: Annotated[int, Meta(ge=0, lt=MOST)] | None = None


#: A point of the curve is asked for when a signature is checked; here only the form.
PublicKey = Annotated[str, text_like(r"^[0-9a-f]{64}$(?!\n)", "must be 64 hexadecimal digits, small letters")]


class BeReady(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The end of the chain that the player promises for the deals; none: the player trusts the others (deploy/docs/fair-deal.md). `key`:
    the public key with which they sign their moves (deploy/docs/signed-moves.md).
    """

    end: Link | None = None
    key: PublicKey | None = None


def orders(desk: Callable[[], Desk]) -> Provide:
    """`order: NamedDependency[Order]`: needs a token that may play; the key is optional."""

    def order(request: Request[Any, Any, Any], key: KeyHeader = None) -> Order:
        at = desk()
        now = at.clock()
        caller = at.tokens.caller(request, now)
        caller.require(auth.PLAY)
        at.require_log()
        return Order(caller.player, optional_key(key), now, request_id(request), caller.is_bot)

    return Provide(order, sync_to_thread=False)


def table_routes(desk: Callable[[], Desk]) -> list[HTTPRouteHandler]:
    """The handlers; `desk()` raises 503 `unavailable` before the service has started."""

    @get("/v1/lobby/tables", tags=["lobby"], summary="Tables, newest first; private ones only for the bot host")
    async def tables(
        viewer: NamedDependency[Caller | None],
        *,
        status: FromQuery[Status | None] = None,
        convention: FromQuery[str | None] = None,
        wants_bots: FromQuery[bool] = False,
        cursor: FromQuery[str | None] = None,
        limit: Annotated[int, QueryParameter(ge=1, le=LARGEST_PAGE)] = PAGE,
        at_least: FromQuery[str | None] = None,
    ) -> TableList:
        at = desk()
        if convention is not None and convention not in PRESETS:
            raise malformed("convention", f"must be a preset's name: {', '.join(PRESETS)}")
        after = begins_after(cursor, tuple[int, str])
        if at_least is not None:
            await _reached(at, at_least)
        private = viewer is not None and not viewer.scopes.isdisjoint({auth.BOT, auth.HOST})
        found = await at.reads.tables(Wanted(status, convention, wants_bots, private, after, limit))
        page, following = paged(found, limit, lambda listed: (listed.table.opened_at, listed.table.id))
        names = await at.reads.names(person for listed in page for person in people_of(listed.table))
        shown = [view_of(listed.table, status_of(listed.table, listed.progress), names) for listed in page]
        return TableList(shown, following, await at.reads.as_of())

    @post("/v1/lobby/tables", tags=["lobby"], summary="Open a table")
    async def open_table(data: JSONBody[OpenTable], order: NamedDependency[Order]) -> TableView:
        at = desk()
        agreed = agree(data)
        if isinstance(agreed, Refused):
            raise refusal(agreed, None)
        return await _shown(at, *_done(await at.tables.open(order, agreed)))

    @get("/v1/lobby/tables/{table_id:str}", tags=["lobby"], summary="One table and who sits at it")
    async def table(table_id: FromPath[str]) -> TableView:
        at = desk()
        at.require_log()
        loaded = await at.tables.load(_known(table_id), at_leader=True)
        if loaded.state.status == "none":
            raise _no_such_table()
        return await _shown(at, loaded.state)

    @delete("/v1/lobby/tables/{table_id:str}", status_code=200, tags=["lobby"], summary="Close one's table, before the pulka")
    async def close(table_id: FromPath[str], order: NamedDependency[Order]) -> TableView:
        at = desk()
        return await _shown(at, *_done(await at.tables.close(_known(table_id), order)))

    return [tables, open_table, table, close]


def seat_routes(desk: Callable[[], Desk]) -> list[HTTPRouteHandler]:
    """The handlers for a table's seats; `desk` as for `table_routes`."""

    @post("/v1/lobby/tables/{table_id:str}/seats", tags=["lobby"], summary="Sit down")
    async def sit(table_id: FromPath[str], order: NamedDependency[Order], data: JSONBody[Sit | None] = None) -> Seated:
        at = desk()
        seat = None if data is None else data.seat
        state, position = _done(await at.tables.sit(_known(table_id), order, seat))
        taken = state.seat_of(order.player)
        if taken is None:
            raise AssertionError("whoever sat down has a seat")
        return Seated(taken, await _shown(at, state, position))

    @delete("/v1/lobby/tables/{table_id:str}/seats/me", status_code=200, tags=["lobby"], summary="Stand up, before the pulka")
    async def leave(table_id: FromPath[str], order: NamedDependency[Order]) -> TableView:
        at = desk()
        left = await at.tables.leave(_known(table_id), order)
        if isinstance(left, RefusedAt) and left.refused == NEVER_SAT:  # no right is missing, as elsewhere with this code: there is no seat
            raise Problem(409, NEVER_SAT.code, NEVER_SAT.message, revision=left.revision)
        return await _shown(at, *_done(left))

    @post("/v1/lobby/tables/{table_id:str}/ready", status_code=200, tags=["lobby"], summary="Be ready; the last one begins the pulka")
    async def ready(table_id: FromPath[str], order: NamedDependency[Order], data: JSONBody[BeReady | None] = None) -> Readiness:
        at = desk()
        brought = data or BeReady()
        state, position = _done(await at.tables.ready(_known(table_id), order, brought.end or "", brought.key or ""))
        shown = await _shown(at, state, position, patience=READY_S)
        return Readiness(shown.status, shown)

    return [sit, leave, ready]


async def _shown(at: Desk, table: Table, position: str | None = None, patience: float = 0.0) -> TableView:
    """The view of `table`. Once all were ready its status is what its own log says, which this awaits `patience` seconds, or the rows."""
    known: list[str | None] = []
    if table.status == "starting":
        now = await table_progress.status_now(at.log, table.id)
        if now is None and patience:
            now = await table_progress.status_when_begun(at.log, table.id, patience)
        known = [now, await at.reads.progress(table.id)]
    return view_of(table, status_of(table, *known), await at.reads.names(people_of(table)), position)


def _done(result: Result) -> tuple[Table, str | None]:
    """The table after what was done, and the position of the commit; raises the problem of a refusal."""
    match result:
        case RefusedAt(refused=refused, revision=revision):
            raise refusal(refused, revision)
        case Committed():
            return result.loaded.state, result.stored.position
    return result.loaded.state, None


async def _reached(at: Desk, position: str) -> None:
    try:
        arrived = await at.at_least.wait(position)
    except UnknownPosition:
        raise malformed("at_least", "not a position of the lobby") from None
    if not arrived:
        raise unavailable("The list does not show that position yet.")


def _known(table_id: str) -> str:
    """An id that has the shape of one; everything else is no table of ours."""
    if not is_id(table_id):
        raise _no_such_table()
    return table_id


def _no_such_table() -> Problem:
    return Problem(404, "no_such_table", "There is no such table.")
