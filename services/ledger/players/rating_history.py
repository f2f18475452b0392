"""A player's rating as it is read: what it is now, how sure that is, and how it came about, pulka by pulka, restatements included."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from services.ledger.players import rating
from services.ledger.players.glicko import Strength, interval
from services.ledger.players.rating import Key, Rated, RatingChange
from services.ledger.players.rating_restated import shown
from shared.projections.core.projection import Connection

PROVISIONAL: Final = 110.0  # a deviation above which a rating is provisional: it may be wrong by two hundred points

_CHANGE: Final = ", ".join(RatingChange.__struct_fields__)


async def present(connection: Connection, player: str, at: int) -> dict[str, Any] | None:
    """The rating of `player` at `at` (milliseconds since 1970), missed periods included; None without a rated pulka."""
    row = await connection.fetchrow("SELECT rating, deviation, volatility, pulkas, played_at FROM ratings WHERE player = $1", player)
    if row is None:
        return None
    *values, pulkas, played_at = row
    now = rating.present(Rated(Strength(*values), played_at), at)
    return told(now) | {"pulkas": pulkas, "played_at": played_at}


def told(now: Strength) -> dict[str, Any]:
    """A strength as an answer has it."""
    return {**msgspec.structs.asdict(now), "interval_95": interval(now), "provisional": now.deviation > PROVISIONAL}


async def changes(connection: Connection, player: str, before: Key | None, limit: int) -> list[RatingChange]:
    """The changes of a player's rating, newest first, at most `limit`, those after the key `before`. Rated pulkas are open to all."""
    rows = await connection.fetch(
        f"""
        SELECT {_CHANGE} FROM rating_changes
        WHERE player = $1 AND ($2::bigint IS NULL OR (closed_at, table_id) < ($2, $3)) ORDER BY closed_at DESC, table_id DESC LIMIT $4
        """,  # noqa: S608 - a constant of ours
        player,
        *(before or (None, None)),
        limit,
    )
    return [RatingChange(*row) for row in rows]


async def explained(connection: Connection, player: str, page: list[RatingChange]) -> list[dict[str, Any]]:
    """The changes as they are told: before, after, every game; and what each was before a correction or an annulment, in order."""
    rows = await connection.fetch(
        """
        SELECT table_id, at, cause, annulled, was, became FROM rating_restated
        WHERE player = $1 AND table_id = ANY($2) ORDER BY at, cause, cause_version
        """,
        player,
        [change.table_id for change in page],
    )
    restated: dict[str, list[dict[str, Any]]] = {}
    for table_id, at, cause, annulled, was, became in rows:
        why = {"at": at, "because": "annulled" if annulled else "corrected", "table_id": cause}
        restated.setdefault(table_id, []).append(why | {"was": msgspec.Raw(was.encode()), "became": msgspec.Raw(became.encode())})
    return [
        {"table_id": change.table_id, "at": change.closed_at, **shown(change), "restated": restated.get(change.table_id, [])}
        for change in page
    ]


async def unrated(connection: Connection, player: str) -> dict[str, int]:
    """How many of a player's closed pulkas at tables open to all are not rated, by why."""
    rows = await connection.fetch(
        """
        SELECT r.unrated, count(*) FROM (SELECT DISTINCT table_id FROM who_played WHERE player = $1) AS own
        JOIN pulka_results r USING (table_id) JOIN tables t USING (table_id)
        WHERE r.version = 1 AND r.unrated <> '' AND t.open_to_all GROUP BY r.unrated ORDER BY r.unrated
        """,
        player,
    )
    return dict(rows)


async def complete(connection: Connection) -> bool:
    """Whether every result that the rows show is rated; else the ratings are those of a moment ago."""
    return not await connection.fetchval("SELECT EXISTS (SELECT FROM ratings_due) OR EXISTS (SELECT FROM ratings_restated_due)")
