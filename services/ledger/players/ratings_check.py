"""Are the rows of the ratings what the results make? Computed once more, from nothing, and compared row by row; it only reads."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Final

import asyncpg
import msgspec

from services.ledger.players import rating, rating_rows
from services.ledger.players.pulka_results import COLUMNS, LATEST, PulkaResult
from services.ledger.players.rating import Rated, RatingChange
from shared.events.chain import Problem
from shared.projections.projection import Connection

PAGE: Final = 200  # results read at a time
Present = tuple[float, float, float, int, int]  # rating, deviation, volatility, pulkas, milliseconds since 1970

_RESULTS: Final = f"SELECT {COLUMNS} FROM pulka_results r WHERE unrated = '' AND {LATEST} ORDER BY closed_at, table_id"  # noqa: S608 - constants of ours
_CHANGES: Final = f"SELECT {', '.join(RatingChange.__struct_fields__)} FROM rating_changes ORDER BY closed_at, table_id, player"  # noqa: S608 - a constant of ours


class RatingsChecked(msgspec.Struct, frozen=True):
    """`checked`: they were looked at, since nothing of them was still to be computed. A problem's `revision` is its result's, or 0."""

    checked: bool
    problems: tuple[Problem, ...] = ()


async def check(connection: Connection) -> RatingsChecked:
    """The first rating that differs, as of one moment: of the transaction that is open, else of one of its own.

    The search path is the version's schema. `rating_restated` is not checked.
    """
    moment = nullcontext() if connection.is_in_transaction() else connection.transaction(isolation="repeatable_read", readonly=True)
    async with moment:
        due = await rating_rows.due(connection)
        if due["pulkas"] or due["restatements"]:
            return RatingsChecked(checked=False)
        present: dict[str, Present] = {}
        wrong = await _changes_differ(connection, present) or await _present_differ(connection, present)
        return RatingsChecked(checked=True, problems=(wrong,) if wrong else ())


async def _changes_differ(connection: Connection, present: dict[str, Present]) -> Problem | None:
    """The first change that differs; fills `present` with what everybody has after them."""
    known: dict[str, Rated] = {}
    results, changes = await connection.cursor(_RESULTS), await connection.cursor(_CHANGES)
    while page := [PulkaResult(*row) for row in await results.fetch(PAGE)]:
        for result in page:
            made = sorted(rating.changes(known, result), key=lambda one: one.player)
            found = {row["player"]: row for row in await changes.fetch(len(made))}
            for one in made:
                if not _same(one, found.get(one.player)):
                    message = f"The rating of {one.player} after {result.table_id} is not what the results make."
                    return Problem(result.revision, "rows_differ", message)
            known.update(rating.after({}, made))
            for one in made:
                if one.rated:
                    pulkas = present[one.player][3] + 1 if one.player in present else 1
                    present[one.player] = (one.rating, one.deviation, one.volatility, pulkas, one.closed_at)
    if more := await changes.fetchrow():
        return Problem(0, "rows_differ", f"The rating of {more['player']} has a change by {more['table_id']}, which no result makes.")
    return None


def _same(made: RatingChange, row: asyncpg.Record | None) -> bool:
    return row is not None and tuple(row) == msgspec.structs.astuple(made)


async def _present_differ(connection: Connection, present: Mapping[str, Present]) -> Problem | None:
    rows = await connection.fetch("SELECT player, rating, deviation, volatility, pulkas, played_at FROM ratings ORDER BY player")
    found: dict[str, Present] = {row["player"]: tuple(row)[1:] for row in rows}
    for player in sorted({*found, *present}):
        if found.get(player) != present.get(player):
            return Problem(0, "rows_differ", f"The present rating of {player} is not what the results make.")
    return None
