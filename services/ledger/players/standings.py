"""The club's standings: by rating, or by what was won in all; ranks with ties.

Only of pulkas at tables open to all, so everybody sees the same, and not of those that were agreed not to be rated.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from typing import Any, Final

import msgspec

from services.ledger.players import rating_history
from services.ledger.players.glicko import LARGEST_DEVIATION, SCALE, Strength
from services.ledger.players.pulka_results import LATEST
from services.ledger.players.rating import PERIOD_MS
from shared.projections.core.projection import Connection
from shared.rules.language.amount import written

#: Conditions on a result `r` of table `t`: it counts, everybody may know it, and it is one of those that are asked for.
_ASKED: Final = f"""
{LATEST} AND NOT r.annulled AND t.open_to_all AND t.rated
AND ($1::bigint IS NULL OR r.closed_at >= $1) AND ($2::bigint IS NULL OR r.closed_at < $2)
AND ($3::text IS NULL OR t.convention::json ->> 'preset' = $3) AND ($4::int IS NULL OR t.players = $4)
"""
_WON: Final = f"""
SELECT won.player, split_part(won.net, '/', 1)::numeric AS upper, coalesce(nullif(split_part(won.net, '/', 2), ''), '1')::numeric AS lower
FROM pulka_results r JOIN tables t USING (table_id),
     unnest(string_to_array(r.players, ' '), string_to_array(r.net, ' ')) AS won (player, net)
WHERE {_ASKED}
"""  # noqa: S608 - constants of ours


class Asked(msgspec.Struct, frozen=True):
    """Of which pulkas: closed from `since` on and before `until` (milliseconds since 1970), one preset, one number of players."""

    since: int | None = None
    until: int | None = None
    convention: str | None = None
    players: int | None = None

    @property
    def parameters(self) -> tuple[int | str | None, ...]:
        """In the places of the conditions."""
        return msgspec.structs.astuple(self)


async def by_whists(connection: Connection, asked: Asked, after: tuple[str, str] | None, limit: int) -> list[dict[str, Any]]:
    """Who has won most in all, exactly; at most `limit`, those behind the whists and player of `after`."""
    parts = await connection.fetch(f"SELECT DISTINCT lower::text FROM ({_WON}) AS won", *asked.parameters)  # noqa: S608 - a constant of ours
    common = lcm(*(int(row["lower"]) for row in parts))  # in parts of this all sums are whole, and Postgres compares them exactly
    last = None if after is None else Fraction(after[0])
    rows = await connection.fetch(
        f"""
        SELECT rank, player, pulkas, total::text AS sum FROM (
            SELECT player, count(*) AS pulkas, sum(upper * div($5::text::numeric, lower)) AS total,
                   rank() OVER (ORDER BY sum(upper * div($5::text::numeric, lower)) DESC)
            FROM ({_WON}) AS won GROUP BY player
        ) AS ranked
        WHERE $6::text IS NULL OR total * $7::text::numeric < $6::text::numeric
              OR (total * $7::text::numeric = $6::text::numeric AND player > $8)
        ORDER BY total DESC, player LIMIT $9
        """,  # noqa: S608 - constants of ours
        *asked.parameters,
        str(common),
        None if last is None else str(last.numerator * common),
        None if last is None else str(last.denominator),
        None if after is None else after[1],
        limit,
    )
    shown = []
    for rank, player, pulkas, total in rows:
        whists = Fraction(int(total), common)
        shown.append(
            {"rank": rank, "player": player, "pulkas": pulkas, "whists": str(written(whists)), "mean": round(float(whists / pulkas), 4)}
        )
    return shown


async def by_rating(
    connection: Connection, asked: Asked, after: tuple[float, str] | None, limit: int, at: int, *, provisional: bool
) -> list[dict[str, Any]]:
    """Who is rated highest at `at`, of those who have played a pulka such as `asked`; `provisional` ratings too if that is said."""
    rows = await connection.fetch(
        f"""
        SELECT rank, player, pulkas, rating, present, volatility, played_at FROM (
            SELECT *, rank() OVER (ORDER BY rating DESC) FROM (
                SELECT *, round(least($5::float8, sqrt(deviation ^ 2 + (volatility * $6::float8) ^ 2
                                * floor(greatest(0, $7::bigint - played_at) / $8::bigint)))::numeric, 4)::float8 AS present
                FROM ratings
            ) AS now
            WHERE ($9 OR present <= $10::float8)
              AND ($1::bigint IS NULL AND $2::bigint IS NULL AND $3::text IS NULL AND $4::int IS NULL
                   OR player IN (SELECT player FROM ({_WON}) AS won))
        ) AS ranked
        WHERE $11::float8 IS NULL OR rating < $11 OR (rating = $11 AND player > $12) ORDER BY rating DESC, player LIMIT $13
        """,  # noqa: S608 - a constant of ours
        *asked.parameters,
        LARGEST_DEVIATION,
        SCALE,
        at,
        PERIOD_MS,
        provisional,
        rating_history.PROVISIONAL,
        *(after or (None, None)),
        limit,
    )
    return [
        {"rank": rank, "player": player, "pulkas": pulkas, **rating_history.told(Strength(*strength)), "played_at": played_at}
        for rank, player, pulkas, *strength, played_at in rows
    ]
