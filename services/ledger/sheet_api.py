"""The score sheet over HTTP: the object of `pulka score`, the drawn pulka, or a page to print, as `Accept` says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec
from litestar import Request, Response, get
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, FromQuery

from services.ledger import own_entries, score_sheet, sections
from services.ledger.desk import Desk
from services.ledger.drawn_sheet import drawn_sheet
from services.ledger.printed_sheet import CONTENT_POLICY, PrintedDeal, PrintedTerms, printed_sheet
from services.ledger.score_sheet import Score
from services.ledger.sheet_reading import HTML, JSON, SVG, form_wanted, language_wanted
from services.ledger.statement_lines import since_the_settlement
from services.ledger.tables import Table
from shared.rules.ending import outcome_of
from shared.web.auth import Caller

HEADERS: Final = {
    "Vary": "Accept, Accept-Language, Authorization",
    "Cache-Control": "no-store",  # what is seen depends on the token
    "X-Content-Type-Options": "nosniff",  # a page and a picture that nobody may take for anything else
}
PICTURE_POLICY: Final = "default-src 'none'; frame-ancestors 'none'"  # a picture loads nothing and runs nothing


def sheet_routes(desk: Callable[[], Desk]) -> list[HTTPRouteHandler]:
    """The sheet of a table; `desk()` raises 503 `unavailable` before the service has started."""

    @get("/v1/ledger/tables/{table_id:str}/sheet", tags=["ledger"], summary="The score sheet: as JSON, drawn (SVG), or to print (HTML)")
    async def sheet(
        request: Request[Any, Any, Any],
        table_id: FromPath[str],
        viewer: NamedDependency[Caller | None],
        *,
        section: FromQuery[int | None] = None,
        lang: FromQuery[str | None] = None,
        at_least: FromQuery[str | None] = None,
    ) -> Response[Any]:
        form = form_wanted(request.headers.get("accept"))
        language = language_wanted(lang, request.headers.get("accept-language"))
        async with desk().table(table_id, viewer, at_least) as (connection, seen):
            chosen = await sections.chosen(connection, seen.sight, section)
            played = await score_sheet.read(connection, table_id, chosen.last_deal, after=chosen.section.deals_before)
            own = await own_entries.by_hand(connection, seen.sight.table, chosen.section, chosen.last_deal)
            since = await since_the_settlement(connection, seen.sight.table)
        table = seen.sight.table
        kept = None if own is None else own_entries.paper(chosen.section.sheet, own)
        shown = score_sheet.score_sheet(table, chosen.section, played, kept) | since | chosen.marks | seen.marks
        if own is not None:
            shown["kept"] = own_entries.documents(own)
        if form == JSON:
            return Response(shown, headers=HEADERS)
        score = msgspec.json.decode(msgspec.json.encode(shown))  # the deals' own JSON text is read
        if form == SVG:
            drawn = drawn_sheet(score, table.target, lang=language)
            return Response(drawn, media_type=SVG, headers=HEADERS | seen.headers | {"Content-Security-Policy": PICTURE_POLICY})
        page = printed_sheet(score, _deals(played), _terms(table, seen.at), lang=language)
        return Response(page, media_type=HTML, headers=HEADERS | seen.headers | {"Content-Security-Policy": CONTENT_POLICY})

    return [sheet]


def _deals(played: list[Score]) -> list[PrintedDeal]:
    return [PrintedDeal(score.deal, outcome_of(msgspec.json.decode(score.outcome))) for score in played]


def _terms(table: Table, at: int) -> PrintedTerms:
    return PrintedTerms(table.rules, table.target, table.whist_stake, at)
