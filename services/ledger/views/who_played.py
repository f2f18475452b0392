"""Who played which deal from which seat: people come, go and move up in the middle of a pulka (3.1.2, 5.4.7)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from services.ledger.views.tables import Line
from shared.projections.core.projection import Connection
from shared.rules.language.game_events import DealScored
from shared.rules.language.member_events import NewcomerSeated
from shared.rules.pulka.imported import PulkaRecorded

DDL: Final = """
CREATE TABLE IF NOT EXISTS who_played (
    player text NOT NULL,
    table_id text NOT NULL,
    deal int NOT NULL,
    seat int NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (player, table_id, deal)
);
CREATE INDEX IF NOT EXISTS who_played_newest ON who_played (player, at, table_id, deal);
CREATE INDEX IF NOT EXISTS who_played_by_table ON who_played (table_id);
"""


class Occupant(msgspec.Struct, frozen=True):
    """`player` had `seat` when the deal was scored: a substitute the deals that they finished, a replaced player those before.

    `at`: milliseconds since 1970, of the commit that scored it; a player's deals are listed by it.
    """

    player: str
    table_id: str
    deal: int
    seat: int
    at: int


def seats_scored(line: Line) -> tuple[str, ...]:
    """The players of the deal that `line` scored: a newcomer of the same commit sat down after it."""
    later = {event.player for event in line.events if isinstance(event, NewcomerSeated)}
    return tuple(player for player in line.table.seats if player not in later)


def parts(lines: Iterable[Line]) -> list[Occupant]:
    """Who played the deals that `lines` scored."""
    return [
        Occupant(player, line.table.table_id, deal, seat, line.commit.at)
        for line in lines
        for deal in _deals(line)
        for seat, player in enumerate(seats_scored(line))
    ]


def _deals(line: Line) -> Sequence[int]:
    """The numbers of the deals that a commit scored: one, or all of a pulka that was played elsewhere."""
    for event in line.events:
        if isinstance(event, DealScored):
            return (line.table.deal,)
        if isinstance(event, PulkaRecorded):
            return range(1, len(event.deals) + 1)
    return ()


async def apply(connection: Connection, lines: Sequence[Line]) -> None:
    """Write a batch's."""
    if found := parts(lines):
        await connection.execute(
            """
            INSERT INTO who_played (player, table_id, deal, seat, at)
            SELECT * FROM unnest($1::text[], $2::text[], $3::int[], $4::int[], $5::bigint[])
            """,
            *map(list, zip(*map(msgspec.structs.astuple, found), strict=True)),
        )


async def of_table(connection: Connection, table_id: str) -> list[Occupant]:
    """The parts of one table, by deal and seat."""
    rows = await connection.fetch(
        "SELECT player, table_id, deal, seat, at FROM who_played WHERE table_id = $1 ORDER BY deal, seat", table_id
    )
    return [Occupant(*row) for row in rows]
