"""The ledger over HTTP (docs/formats.md: HTTP): a table's deals, score file and audit; a player's deals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, FromQuery, QueryParameter

from services.ledger import audit_trail, deal_history, score_sheet, sections
from services.ledger.desk import Desk, as_of, reader_of
from services.ledger.whists import statement
from shared.web.auth import Caller
from shared.web.paging import begins_after, paged
from shared.web.problems import Problem

PAGE: Final = 50  # deals or commits a page, some 50 KB
LARGEST_PAGE: Final = 200
NO_STORE: Final = {"Cache-Control": "no-store"}  # what is seen depends on the token

Limit = Annotated[int, QueryParameter(ge=1, le=LARGEST_PAGE)]


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
            raise Problem(404, "no_such_deal", "No such deal is over and revealed to you.")
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


def audit_routes(desk: Callable[[], Desk]) -> list[HTTPRouteHandler]:
    """A table's commits, and whether they hold; `desk` as for `table_routes`."""

    @get("/v1/ledger/tables/{table_id:str}/audit", tags=["ledger"], summary="Every commit; its bytes once its deal is revealed")
    async def audit(
        table_id: FromPath[str],
        viewer: NamedDependency[Caller | None],
        *,
        cursor: FromQuery[str | None] = None,
        limit: Limit = PAGE,
        at_least: FromQuery[str | None] = None,
    ) -> Response[dict[str, Any]]:
        after = begins_after(cursor, int) or 0
        at = desk()
        async with at.table(table_id, viewer, at_least) as (connection, seen):
            found = await audit_trail.read(connection, table_id, seen.sight.last_deal, after=after, limit=limit + 1)
            revealed = await deal_history.revealed_deals(connection, table_id)
        page, following = paged(found, limit, lambda step: step.revision)
        try:
            commits = await audit_trail.with_bytes(at.log, seen.sight.table, page, revealed)
        except LookupError as lost:
            raise Problem(500, "log_differs", f"{lost}; see the verification".capitalize()) from None
        return Response({"commits": commits, "cursor": following, **seen.marks}, headers=NO_STORE)

    @get("/v1/ledger/tables/{table_id:str}/audit/verify", tags=["ledger"], summary="Hashes, deals, rules and rows, checked now")
    async def verify(
        table_id: FromPath[str], viewer: NamedDependency[Caller | None], at_least: FromQuery[str | None] = None
    ) -> Response[dict[str, Any]]:
        at = desk()
        async with at.table(table_id, viewer, at_least) as (_, seen):
            pass
        return Response(await at.verify(table_id, seen), headers=seen.headers | NO_STORE)

    return [audit, verify]


def player_routes(desk: Callable[[], Desk]) -> list[HTTPRouteHandler]:
    """A player's deals, at tables that the reader may look at; `desk` as for `table_routes`."""

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


def known(player: str) -> None:
    """Raises 404 for a text that Postgres cannot hold: nobody is called so."""
    if "\0" in player:
        raise Problem(404, "no_such_player", "There is no such player.")
