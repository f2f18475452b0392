"""The double entry over HTTP (deploy/docs/books.md: Statements): what a player won and lost, and what was posted for a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, FromQuery

from services.ledger.desk.desk import Desk, as_of, reader_of
from services.ledger.desk.requests import NO_STORE, PAGE, Limit, known
from services.ledger.views import deal_history
from services.ledger.whists import statement, statement_lines
from shared.web.auth import Caller
from shared.web.paging import begins_after, paged, to_cursor


def statement_routes(desk: Callable[[], Desk]) -> list[HTTPRouteHandler]:
    """The handlers; `desk()` raises 503 `unavailable` before the service has started."""

    @get("/v1/ledger/players/{player:str}/statement", tags=["ledger"], summary="What a player won and lost, pulka by pulka")
    async def of_player(
        player: FromPath[str],
        viewer: NamedDependency[Caller | None],
        *,
        cursor: FromQuery[str | None] = None,
        limit: Limit = PAGE,
        at_least: FromQuery[str | None] = None,
    ) -> Response[dict[str, Any]]:
        known(player)
        before = begins_after(cursor, tuple[int, str])
        at = desk()
        await at.reached(at_least)
        async with at.readers.reading() as connection:
            shown = await statement_lines.page(connection, player, reader_of(viewer), before, limit)
            newest = await as_of(connection)
        last = shown["pulkas"][-1] if shown.pop("more") else None
        following = None if last is None else to_cursor((last["at"], last["table_id"]))
        return Response({**shown, "cursor": following, "as_of": newest}, headers=NO_STORE)

    @get("/v1/ledger/tables/{table_id:str}/statement", tags=["ledger"], summary="What was posted for a table: settlement, corrections")
    async def of_table(
        table_id: FromPath[str],
        viewer: NamedDependency[Caller | None],
        *,
        cursor: FromQuery[str | None] = None,
        limit: Limit = PAGE,
        at_least: FromQuery[str | None] = None,
    ) -> Response[dict[str, Any]]:
        after = begins_after(cursor, int) or 0
        async with desk().table(table_id, viewer, at_least) as (connection, seen):
            found, results = await statement_lines.of_table(connection, seen.sight, after, limit + 1)
        page, following = paged(found, limit, lambda transaction: transaction.revision)
        made = [statement_lines.document(one) for one in page]
        return Response({"transactions": made, "results": results, "cursor": following, **seen.marks}, headers=NO_STORE)

    return [of_player, of_table]


def player_routes(desk: Callable[[], Desk]) -> list[HTTPRouteHandler]:
    """A player's deals, at tables that the reader may look at; `desk` as for `statement_routes`."""

    @get("/v1/ledger/players/{player:str}/deals", tags=["ledger"], summary="A player's deals, newest first")
    async def deals(
        player: FromPath[str],
        viewer: NamedDependency[Caller | None],
        *,
        cursor: FromQuery[str | None] = None,
        limit: Limit = PAGE,
        at_least: FromQuery[str | None] = None,
    ) -> Response[dict[str, Any]]:
        known(player)
        before = begins_after(cursor, tuple[int, str, int])
        at = desk()
        await at.reached(at_least)
        async with at.readers.reading() as connection:
            found = await statement.deals_of(connection, player, reader_of(viewer), before, limit + 1)
            newest = await as_of(connection)
        page, following = paged(found, limit, lambda row: (row[1].at, row[1].table_id, row[1].deal))
        shown = [{"table_id": score.table_id, "seat": seat, **deal_history.summary(score)} for seat, score in page]
        return Response({"deals": shown, "cursor": following, "as_of": newest}, headers=NO_STORE)

    return [deals]
