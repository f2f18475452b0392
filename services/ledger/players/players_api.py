"""Players compared, over HTTP (deploy/docs/players.md): a player's deals in figures, their rating, and the club's standings."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, Final, Literal

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, FromQuery, QueryParameter

from services.ledger.desk.desk import Desk, as_of, reader_of
from services.ledger.desk.requests import NO_STORE, PAGE, Limit, known
from services.ledger.players import player_figures, rating, rating_history, standings
from services.ledger.players.rating_keeper import RatingKeeper
from services.ledger.players.standings import Asked
from shared.rules.convention.options import PRESETS
from shared.web.auth import Caller
from shared.web.paging import LARGEST, begins_after, from_cursor, paged
from shared.web.problems import malformed, unavailable

WHISTS: Final = re.compile(
    r"-?[0-9]{1,2000}(/[1-9][0-9]{0,2000})?"
)  # an exact sum: corrections in odd parts make it long; Python reads 4,300 digits

From = Annotated[int | None, QueryParameter(name="from", ge=0, le=LARGEST)]  # milliseconds since 1970, as every time of the log
To = Annotated[int | None, QueryParameter(name="to", ge=0, le=LARGEST)]
Players = Annotated[int | None, QueryParameter(ge=2, le=5)]


def stats_routes(desk: Callable[[], Desk]) -> list[HTTPRouteHandler]:
    """Figures of players; `desk()` raises 503 `unavailable` before the service has started."""

    @get("/v1/ledger/players/{player:str}/stats", tags=["ledger"], summary="A player's deals in figures")
    async def stats(
        player: FromPath[str],
        viewer: NamedDependency[Caller | None],
        *,
        convention: FromQuery[str | None] = None,
        players: Players = None,
        at_least: FromQuery[str | None] = None,
    ) -> Response[dict[str, Any]]:
        known(player)
        known_preset(convention)
        at = desk()
        await at.reached(at_least)
        async with at.readers.reading() as connection:
            found = await player_figures.sums(connection, player, reader_of(viewer), convention, players)
            newest = await as_of(connection)
        return Response({"player": player, **player_figures.figures(found), "as_of": newest}, headers=NO_STORE)

    return [stats]


def rating_routes(desk: Callable[[], Desk], keeper: Callable[[], RatingKeeper]) -> list[HTTPRouteHandler]:
    """Ratings and standings; `keeper()` has computed them, and raises 503 like `desk()`."""

    async def reached(at_least: str | None) -> None:
        """Wait until the rows, and the ratings made of them, show that position."""
        await desk().reached(at_least)
        if at_least is not None and not await keeper().caught_up():
            raise unavailable("The ratings do not show that position yet.")

    @get("/v1/ledger/players/{player:str}/ratings", tags=["ledger"], summary="A player's rating, and how it came about")
    async def ratings(
        player: FromPath[str],
        *,
        cursor: FromQuery[str | None] = None,
        limit: Limit = PAGE,
        at_least: FromQuery[str | None] = None,
    ) -> Response[dict[str, Any]]:
        known(player)
        before = begins_after(cursor, tuple[int, str])
        await reached(at_least)
        async with desk().readers.reading() as connection:
            newest = await as_of(connection)
            found = await rating_history.changes(connection, player, before, limit + 1)
            page, following = paged(found, limit, rating.key_of)
            answer = {
                "player": player,
                "rating": await rating_history.present(connection, player, newest),
                "changes": await rating_history.explained(connection, player, page),
                "cursor": following,
                "unrated": await rating_history.unrated(connection, player),
                "complete": await rating_history.complete(connection),
                "as_of": newest,
            }
        return Response(answer, headers=NO_STORE)

    @get("/v1/ledger/standings", tags=["ledger"], summary="Who stands where, by rating or by whists")
    async def standing(  # noqa: PLR0913 - one argument a query parameter
        *,
        by: FromQuery[Literal["rating", "whists"]] = "rating",
        since: From = None,
        until: To = None,
        convention: FromQuery[str | None] = None,
        players: Players = None,
        provisional: FromQuery[bool] = False,
        cursor: FromQuery[str | None] = None,
        limit: Limit = PAGE,
        at_least: FromQuery[str | None] = None,
    ) -> Response[dict[str, Any]]:
        known_preset(convention)
        asked = Asked(since, until, convention, players)
        await reached(at_least)
        async with desk().readers.reading() as connection:
            newest = await as_of(connection)
            if by == "rating":
                last = begins_after(cursor, tuple[float, str])
                found = await standings.by_rating(connection, asked, last, limit + 1, newest, provisional=provisional)
            else:
                found = await standings.by_whists(connection, asked, None if cursor is None else _whists(cursor), limit + 1)
            complete = await rating_history.complete(connection)
        page, following = paged(found, limit, lambda one: (one[by], one["player"]))
        return Response({"by": by, "standings": page, "cursor": following, "complete": complete, "as_of": newest}, headers=NO_STORE)

    return [ratings, standing]


def _whists(cursor: str) -> tuple[str, str]:
    """The sum and the player in a cursor of the standings by whists. Raises 400 `malformed`."""
    whists, player = from_cursor(cursor, tuple[str, str])
    if WHISTS.fullmatch(whists) is None:
        raise malformed("cursor", "not a cursor of this list")
    return whists, player


def known_preset(convention: str | None) -> None:
    """Raises 400 `malformed` for a name that is no preset's."""
    if convention is not None and convention not in PRESETS:
        raise malformed("convention", f"must be a preset's name: {', '.join(PRESETS)}")
