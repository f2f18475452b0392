"""The score sheet over HTTP: the object of `pulka score`, the drawn pulka, or a page to print, as `Accept` says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Final

import msgspec
from litestar import Request, Response, get
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, FromQuery, QueryParameter

from services.ledger.desk.desk import Desk
from services.ledger.desk.player_names import Names, by_seat, nobody
from services.ledger.sheet.drawn_sheet import drawn_sheet
from services.ledger.sheet.page import CONTENT_POLICY
from services.ledger.sheet.printed_sheet import PrintedDeal, PrintedTerms, printed_sheet
from services.ledger.sheet.sheet_compared import convention_meant, pulka_of
from services.ledger.sheet.sheet_reading import HTML, JSON, SVG, form_wanted, language_wanted
from services.ledger.views import kept_entries, score_sheet, sections
from services.ledger.views.score_sheet import Score
from services.ledger.whists.statement_lines import since_the_settlement
from shared.rules.deal.ending import outcome_of
from shared.rules.score_files.players_called import seat_word
from shared.rules.score_files.what_if import Compared, what_if
from shared.rules.score_files.what_if_document import what_if_document
from shared.rules.scoring.sheet_document import SheetDocument, read_sheet
from shared.web.auth import Caller
from shared.web.headers import listed

HEADERS: Final = {
    "Vary": "Accept, Accept-Language, Authorization",
    "Cache-Control": "no-store",  # what is seen depends on the token
    "X-Content-Type-Options": "nosniff",  # a page and a picture that nobody may take for anything else
}
CARRIED: Final = (
    "recorded",
    "annulled",
    "corrections",
    "as_of",
    "position",
    "section",
    "sections",
)  # of a sheet; stands under another convention too
As = Annotated[str | None, QueryParameter(name="as", description="Another convention: a preset's name, or an object as JSON")]
PICTURE_POLICY: Final = "default-src 'none'; frame-ancestors 'none'"  # a picture loads nothing and runs nothing


def sheet_routes(desk: Callable[[], Desk], names: Names = nobody) -> list[HTTPRouteHandler]:
    """The sheet of a table; `desk()` raises 503 `unavailable` before the service has started. `names`: what people are called in it."""

    @get("/v1/ledger/tables/{table_id:str}/sheet", tags=["ledger"], summary="The score sheet: as JSON, drawn (SVG), or to print (HTML)")
    async def sheet(
        request: Request[Any, Any, Any],
        table_id: FromPath[str],
        viewer: NamedDependency[Caller | None],
        *,
        section: FromQuery[int | None] = None,
        like: As = None,
        lang: FromQuery[str | None] = None,
        at_least: FromQuery[str | None] = None,
    ) -> Response[Any]:
        form = form_wanted(listed(request, "accept"))
        language = language_wanted(lang, listed(request, "accept-language"))
        async with desk().table(table_id, viewer, at_least) as (connection, seen):
            chosen = await sections.chosen(connection, seen.sight, section)
            played = await score_sheet.read(connection, table_id, chosen.last_deal, after=chosen.section.deals_before)
            own = await kept_entries.by_hand(connection, seen.sight.table, chosen.section, chosen.last_deal)
            since = await since_the_settlement(connection, seen.sight.table)
        table = seen.sight.table
        kept = None if own is None else kept_entries.paper(chosen.section.sheet, own)
        shown = score_sheet.score_sheet(table, chosen.section, played, kept) | since | chosen.marks | seen.marks
        if own is not None:
            shown["kept"] = kept_entries.documents(own)
        terms = PrintedTerms(table.rules, table.target, table.whist_stake, seen.at)
        compared: Compared | None = None
        if like is not None:
            said, other = convention_meant(like, table)
            sheet_now = read_sheet(msgspec.convert(shown["sheet"], SheetDocument), chosen.section.players, "sheet")
            compared = what_if(pulka_of(table, chosen.section, played, sheet_now, closed=shown["closed"]), other)
            carried = {name: shown[name] for name in CARRIED if name in shown}
            shown, terms = what_if_document(compared, said) | carried, terms._replace(convention=other)
        if form == JSON:
            return Response(shown, headers=HEADERS)
        score = msgspec.json.decode(msgspec.json.encode(shown))  # the deals' own JSON text is read
        seats = by_seat(table.seats, await names(table.seats), chosen.section.players, partial(seat_word, language))
        # Drawn in a thread: four hundred deals, more than any evening has, take a tenth of a second, and other reads go on beside it.
        if form == SVG:
            drawn = await asyncio.to_thread(drawn_sheet, score, table.target, seats, language)
            return Response(drawn, media_type=SVG, headers=HEADERS | seen.headers | {"Content-Security-Policy": PICTURE_POLICY})
        page = await asyncio.to_thread(printed_sheet, score, _deals(played), terms, seats, language, compared)
        return Response(page, media_type=HTML, headers=HEADERS | seen.headers | {"Content-Security-Policy": CONTENT_POLICY})

    return [sheet]


def _deals(played: list[Score]) -> list[PrintedDeal]:
    return [PrintedDeal(score.deal, outcome_of(msgspec.json.decode(score.outcome))) for score in played]
