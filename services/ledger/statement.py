"""What a player won and lost: one line a pulka, settled when it closes. Positive whists are his gain; a pulka's lines sum to zero."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from services.ledger.score_sheet import Score
from services.ledger.tables import Line
from shared.projections.projection import Connection
from shared.rules.game_events import PulkaClosed, PulkaOpened

DDL: Final = """
CREATE TABLE IF NOT EXISTS accounts (
    player text NOT NULL,
    table_id text NOT NULL,
    seat int NOT NULL,
    opened_at bigint NOT NULL,
    closed_at bigint,
    net text,
    rounded int,
    PRIMARY KEY (player, table_id)
);
CREATE INDEX IF NOT EXISTS accounts_by_table ON accounts (table_id);
"""


class Account(msgspec.Struct, frozen=True):
    """A player's part in one pulka: `net` whists as an exact number in text, `rounded` for show; None until the pulka is closed."""

    player: str
    table_id: str
    seat: int
    opened_at: int
    closed_at: int | None = None
    net: str | None = None
    rounded: int | None = None


class Settled(msgspec.Struct, frozen=True):
    """What one seat's account gets when the pulka closes."""

    table_id: str
    seat: int
    closed_at: int
    net: str
    rounded: int


def opened(lines: Iterable[Line]) -> list[Account]:
    """The accounts that `lines` opened."""
    return [
        Account(player, line.table.table_id, seat, line.commit.at)
        for line in lines
        for event in line.events
        if isinstance(event, PulkaOpened)
        for seat, player in enumerate(event.seats)
    ]


def settled(lines: Iterable[Line]) -> list[Settled]:
    """What `lines` settled. Raises `ValueError` for a settlement that does not sum to zero: it is not posted."""
    found: list[Settled] = []
    for line in lines:
        for event in line.events:
            if not isinstance(event, PulkaClosed):
                continue
            net, rounded = event.settlement["net"], event.settlement["rounded"]
            if sum(rounded) != 0:
                raise ValueError(f"the settlement of {line.table.table_id} sums to {sum(rounded)}")
            found += [
                Settled(line.table.table_id, seat, line.commit.at, str(whists), shown)
                for seat, (whists, shown) in enumerate(zip(net, rounded, strict=True))
            ]
    return found


async def apply(connection: Connection, lines: Sequence[Line]) -> None:
    """Open and settle the accounts of a batch."""
    if new := opened(lines):
        await connection.execute(
            """
            INSERT INTO accounts (player, table_id, seat, opened_at)
            SELECT * FROM unnest($1::text[], $2::text[], $3::int[], $4::bigint[])
            """,
            *map(list, zip(*[msgspec.structs.astuple(account)[:4] for account in new], strict=True)),
        )
    if closed := settled(lines):
        await connection.execute(
            """
            UPDATE accounts SET closed_at = row.closed_at, net = row.net, rounded = row.rounded
            FROM unnest($1::text[], $2::int[], $3::bigint[], $4::text[], $5::int[]) AS row (table_id, seat, closed_at, net, rounded)
            WHERE accounts.table_id = row.table_id AND accounts.seat = row.seat
            """,
            *map(list, zip(*map(msgspec.structs.astuple, closed), strict=True)),
        )


async def of_table(connection: Connection, table_id: str) -> list[Account]:
    """The accounts of one table, by seat."""
    rows = await connection.fetch(
        "SELECT player, table_id, seat, opened_at, closed_at, net, rounded FROM accounts WHERE table_id = $1 ORDER BY seat", table_id
    )
    return [Account(*row) for row in rows]


# Whose tables a reader may know of: his own, and those open to all. `$2` is the reader, NULL without a token.
_MAY_SEE: Final = "(t.open_to_all OR EXISTS (SELECT FROM accounts own WHERE own.table_id = t.table_id AND own.player = $2))"


async def read(connection: Connection, player: str, reader: str | None, before: tuple[int, str] | None, limit: int) -> list[dict[str, Any]]:
    """The closed pulkas of `player` that `reader` may know of, newest first, at most `limit`, those after the key `before`."""
    rows = await connection.fetch(
        f"""
        SELECT a.table_id, a.seat, a.closed_at AS at, a.net, a.rounded FROM accounts a JOIN tables t USING (table_id)
        WHERE a.player = $1 AND a.closed_at IS NOT NULL AND {_MAY_SEE}
          AND ($3::bigint IS NULL OR (a.closed_at, a.table_id) < ($3, $4))
        ORDER BY a.closed_at DESC, a.table_id DESC LIMIT $5
        """,  # noqa: S608 - a constant of ours
        player,
        reader,
        *(before or (None, None)),
        limit,
    )
    return [dict(row) for row in rows]


async def deals_of(
    connection: Connection, player: str, reader: str | None, before: tuple[int, str, int] | None, limit: int
) -> list[tuple[int, Score]]:
    """The scored deals of `player` that `reader` may know of, with the player's seat, newest first, those after the key `before`.

    A reader without a seat there sees them as late as the table's terms say.
    """
    rows = await connection.fetch(
        f"""
        SELECT a.seat, s.table_id, s.deal, s.revision, s.at, s.outcome, s.written, s.sheet
        FROM accounts a JOIN tables t USING (table_id) JOIN scores s USING (table_id)
        WHERE a.player = $1 AND {_MAY_SEE}
          AND (t.status = 'over' OR s.deal + t.delay_deals <= t.deal
               OR EXISTS (SELECT FROM accounts own WHERE own.table_id = t.table_id AND own.player = $2))
          AND ($3::bigint IS NULL OR (s.at, s.table_id, s.deal) < ($3, $4, $5::bigint))
        ORDER BY s.at DESC, s.table_id DESC, s.deal DESC LIMIT $6
        """,  # noqa: S608 - a constant of ours
        player,
        reader,
        *(before or (None, None, None)),
        limit,
    )
    return [(row["seat"], Score(*list(row)[1:])) for row in rows]
