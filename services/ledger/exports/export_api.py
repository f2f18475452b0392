"""Exports over HTTP (deploy/docs/books.md: Exports): the ledger's rows as a stream that a client can resume after an interruption."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Annotated, Final

import structlog
from litestar import Response, get
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, FromQuery, QueryParameter
from litestar.response import Stream

from services.ledger.desk.desk import Desk, as_of
from services.ledger.desk.player_names import Names, nobody
from services.ledger.exports import export_rows
from services.ledger.exports.export_columns import What
from services.ledger.exports.export_files import FormName, NoSuchForm, NotInstalled, form_of, one_part, written
from services.ledger.exports.export_forms import Dialect, Separator
from services.ledger.exports.export_rows import Place, Scope
from shared.projections.core.projection import Connection
from shared.projections.core.status import PASSING
from shared.web.auth import OPERATE, Caller
from shared.web.paging import from_cursor, to_cursor
from shared.web.problems import Problem, malformed
from shared.web.viewing import reading

AT_ONCE: Final = 2  # parts read at a time by all exports together: six of the eight connections are left to everybody else
LARGEST_PART: Final = 1000  # deals, pulkas or lines: some five thousand entries, which are held for a moment

Limit = Annotated[int | None, QueryParameter(ge=1, le=LARGEST_PART)]

log = structlog.get_logger(__name__)


def export_routes(desk: Callable[[], Desk], known: Names = nobody) -> list[HTTPRouteHandler]:
    """The handler; `desk()` raises 503 `unavailable` before the service has started. `known`: what people are called, for who asks it."""
    turns = asyncio.Semaphore(AT_ONCE)

    @asynccontextmanager
    async def in_turn() -> AsyncIterator[Connection]:
        async with turns, desk().readers.reading() as connection:
            yield connection

    @get("/v1/ledger/export/{what:str}", tags=["ledger"], summary="Entries, deals, score files, statement lines or the double entry")
    async def export(  # noqa: PLR0913 - one argument a query parameter
        what: FromPath[What],
        viewer: NamedDependency[Caller | None],
        *,
        format: FromQuery[FormName] = "ndjson",  # noqa: A002 - the parameter's name in the contract
        player: FromQuery[str | None] = None,
        cursor: FromQuery[str | None] = None,
        limit: Limit = None,
        separator: FromQuery[Separator] = "comma",
        bom: FromQuery[bool] = False,
        names: FromQuery[bool] = False,
        at_least: FromQuery[str | None] = None,
    ) -> Response[bytes] | Stream:
        scope = _scope(viewer, player)
        place = None if cursor is None else from_cursor(cursor, Place)
        try:
            dialect = Dialect(separator, bom)
            form = form_of(format, what, player, None if dialect == Dialect() else dialect, resumed=place is not None, names=names)
        except NoSuchForm as wrong:
            raise malformed("format", str(wrong)) from None
        except NotInstalled as missing:
            raise Problem(406, "not_acceptable", f"{missing}.") from None
        await desk().reached(at_least)
        newness: dict[str, str] = {}
        if place is None:
            async with in_turn() as connection:
                place, newness["Pulka-As-Of"] = await export_rows.beginning(connection), str(await as_of(connection))
        headers = newness | {
            "Cache-Control": "no-store, no-transform",
            "X-Accel-Buffering": "no",  # a proxy that gathered it all would be the only one to do so
            "Content-Disposition": f'attachment; filename="{what}.{format}"',
        }
        asked = known if names else nobody
        if limit is None:
            return Stream(_told(written(in_turn, what, scope, place, form, asked)), media_type=form.media_type, headers=headers)
        data, following = await one_part(in_turn, what, scope, place, form, limit, asked)
        if following is not None:
            headers["Pulka-Cursor"] = to_cursor(following)
        return Response(data, media_type=form.media_type, headers=headers)

    return [export]


def _scope(caller: Caller | None, player: str | None) -> Scope:
    """An operator sees everything; others their own pulkas, and what everybody may look at once it is over. Raises 400."""
    if player is not None and "\0" in player:
        raise malformed("player", "no player has this id")
    if caller is not None and OPERATE in caller.scopes:
        return Scope(caller.player, everything=True, player=player)
    reader = reading(caller)
    return Scope(None if reader is None else reader.player, player=player)


async def _told(pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """`pieces`; when something is wrong in the middle the log says so, and the connection breaks off, so that nobody takes it for whole."""
    async with aclosing(pieces):
        try:
            async for piece in pieces:
                yield piece
        except PASSING as wrong:
            log.warning("export_broken_off", reason=type(wrong).__name__)
            raise
