"""A table's deals and score file over HTTP (deploy/docs/http.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, FromQuery

from services.ledger.desk.desk import Desk
from services.ledger.desk.requests import NO_STORE, PAGE, Limit
from services.ledger.views import deal_history, score_sheet, sections
from shared.web.auth import Caller
from shared.web.paging import begins_after, paged
from shared.web.problems import Problem


def table_routes(desk: Callable[[], Desk]) -> list[HTTPRouteHandler]:
    """What is read of a table; `desk()` raises 503 `unavailable` before the service has started."""

    @get("/v1/ledger/tables/{table_id:str}/deals", tags=["ledger"], summary="The deals that were scored, in order")
    async def deals(
        table_id: FromPath[str],
        viewer: NamedDependency[Caller | None],
        *,
        cursor: FromQuery[str | None] = None,
        limit: Limit = PAGE,
        at_least: FromQuery[str | None] = None,
    ) -> Response[dict[str, Any]]:
        after = begins_after(cursor, int) or 0
        async with desk().table(table_id, viewer, at_least) as (connection, seen):
            found = await score_sheet.read(connection, table_id, seen.sight.last_deal, after=after, limit=limit + 1)
        page, following = paged(found, limit, lambda score: score.deal)
        return Response({"deals": [deal_history.summary(score) for score in page], "cursor": following, **seen.marks}, headers=NO_STORE)

    @get("/v1/ledger/tables/{table_id:str}/deals/{number:int}", tags=["ledger"], summary="One deal card by card: a deal record")
    async def deal(
        table_id: FromPath[str],
        number: FromPath[int],
        viewer: NamedDependency[Caller | None],
        at_least: FromQuery[str | None] = None,
    ) -> Response[dict[str, Any]]:
        async with desk().table(table_id, viewer, at_least) as (connection, seen):
            visible = 1 <= number <= seen.sight.last_deal
            record = None
            if visible:
                section = await sections.section_of(connection, seen.sight, number)
                record = await deal_history.deal_record(connection, seen.sight.table, section, number)
        if record is None:
            raise Problem(404, "no_such_deal", "There is no such deal, or it is not over or not revealed to you.")
        return Response(record, headers=seen.headers | NO_STORE)

    @get("/v1/ledger/tables/{table_id:str}/score-file", tags=["ledger"], summary="The pulka as a score file for `pulka score`")
    async def score_file(
        table_id: FromPath[str],
        viewer: NamedDependency[Caller | None],
        section: FromQuery[int | None] = None,
        at_least: FromQuery[str | None] = None,
    ) -> Response[dict[str, Any]]:
        async with desk().table(table_id, viewer, at_least) as (connection, seen):
            chosen = await sections.chosen(connection, seen.sight, section)
            played = await score_sheet.read(connection, table_id, chosen.last_deal, after=chosen.section.deals_before)
            kept = await deal_history.kept_sheets(connection, seen.sight.table, chosen.section, played, chosen.last_deal)
        return Response(deal_history.score_file(seen.sight.table, chosen.section, played, kept), headers=seen.headers | NO_STORE)

    return [deals, deal, score_file]
