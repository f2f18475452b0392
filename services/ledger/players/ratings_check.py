"""Are the rows of the ratings what the results make? Recomputed from scratch and compared row by row; it only reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing, nullcontext
from typing import Final

import asyncpg
import msgspec

from services.ledger.players import rating, rating_rows
from services.ledger.players.pulka_results import COLUMNS, LATEST, PulkaResult
from services.ledger.players.rating import Rated, RatingChange
from services.ledger.players.rating_restated import Restated, RestatedChange
from shared.events.chain import Finding
from shared.projections.core.projection import Connection

PAGE: Final = 200  # results read at a time
Progress = Callable[[int], None]
Present = tuple[float, float, float, int, int]  # rating, deviation, volatility, pulkas, milliseconds since 1970

_RESULTS: Final = f"SELECT {COLUMNS} FROM pulka_results r WHERE unrated = '' AND {LATEST} ORDER BY closed_at, table_id"  # noqa: S608 - constants of ours
_CHANGES: Final = f"SELECT {', '.join(RatingChange.__struct_fields__)} FROM rating_changes ORDER BY closed_at, table_id, player"  # noqa: S608 - a constant of ours

_RESTATED: Final = f"SELECT {', '.join(RestatedChange.__struct_fields__)} FROM rating_restated"  # noqa: S608 - a constant of ours
_OF_NOTHING: Final = f"""
{_RESTATED} AS r WHERE NOT EXISTS
    (SELECT FROM pulka_results AS p WHERE p.table_id = r.cause AND p.version = r.cause_version AND p.version > 1 AND p.unrated = '')
ORDER BY at, cause, cause_version, closed_at, table_id, player LIMIT 1
"""
_OF_NO_PULKA: Final = f"{_RESTATED} WHERE cause = $1 AND cause_version = $2 AND table_id <> ALL($3) ORDER BY closed_at, table_id LIMIT 1"


class RatingsChecked(msgspec.Struct, frozen=True):
    """`checked`: they were looked at, since nothing of them was still to be computed. A problem's `revision` is its result's, or 0."""

    checked: bool
    problems: tuple[Finding, ...] = ()


async def check(connection: Connection, progress: Progress = lambda _done: None) -> RatingsChecked:
    """The first rating that differs, as of one moment: of the transaction that is open, else of one of its own.

    Held against the results: every change, every present rating, and, once these hold, every row about what a correction or an annulment
    changed, which takes as long as computing them did. `progress` hears how many pulkas were rated once more. The search path is the
    version's schema.
    """
    moment = nullcontext() if connection.is_in_transaction() else connection.transaction(isolation="repeatable_read", readonly=True)
    async with moment:
        due = await rating_rows.due(connection)
        if due["pulkas"] or due["restatements"]:
            return RatingsChecked(checked=False)
        present: dict[str, Present] = {}
        rated = _Rated(progress)
        wrong = (
            await _changes_differ(connection, present, rated)
            or await _present_differ(connection, present)
            or await _restated_differ(connection, rated)  # last: computed from the changes, which hold now
        )
        return RatingsChecked(checked=True, problems=(wrong,) if wrong else ())


class _Rated:
    """Counts the pulkas that were rated once more."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._done = 0

    def add(self, pulkas: int) -> None:
        """So many more."""
        self._done += pulkas
        self._progress(self._done)


async def _changes_differ(connection: Connection, present: dict[str, Present], rated: _Rated) -> Finding | None:
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
                    return Finding(result.revision, "rows_differ", message)
            known.update(rating.after({}, made))
            for one in made:
                if one.rated:
                    pulkas = present[one.player][3] + 1 if one.player in present else 1
                    present[one.player] = (one.rating, one.deviation, one.volatility, pulkas, one.closed_at)
        rated.add(len(page))
    if more := await changes.fetchrow():
        return Finding(0, "rows_differ", f"The rating of {more['player']} has a change by {more['table_id']}, which no result makes.")
    return None


def _same(made: RatingChange, row: asyncpg.Record | None) -> bool:
    return row is not None and tuple(row) == msgspec.structs.astuple(made)


async def _present_differ(connection: Connection, present: Mapping[str, Present]) -> Finding | None:
    rows = await connection.fetch("SELECT player, rating, deviation, volatility, pulkas, played_at FROM ratings ORDER BY player")
    found: dict[str, Present] = {row["player"]: tuple(row)[1:] for row in rows}
    for player in sorted({*found, *present}):
        if found.get(player) != present.get(player):
            return Finding(0, "rows_differ", f"The present rating of {player} is not what the results make.")
    return None


async def _restated_differ(connection: Connection, rated: _Rated) -> Finding | None:
    said = await rating_rows.said_anew(connection)
    for cause in said:
        if wrong := await _by_one_differ(connection, cause, said, rated):
            return wrong
    row = await connection.fetchrow(_OF_NOTHING)
    if row is None:
        return None
    message = f"The rating of {row['player']} after {row['table_id']} is said to be changed by {row['cause']}, which said nothing anew."
    return Finding(0, "rows_differ", message)


async def _by_one_differ(connection: Connection, cause: Restated, said: Sequence[Restated], rated: _Rated) -> Finding | None:
    """The first row about what `cause` changed that differs; a problem's `revision` is that of the correction or annulment."""
    seen: list[str] = []
    async with aclosing(rating_rows.changed_by(connection, cause, said)) as pages:
        async for pulkas, made in pages:
            tables = [table_id for _, table_id in pulkas]
            rows = await connection.fetch(
                f"{_RESTATED} WHERE cause = $1 AND cause_version = $2 AND table_id = ANY($3)", cause.table_id, cause.version, tables
            )
            found = {RestatedChange(*row) for row in rows}
            if lost := [one for one in made if one not in found]:
                return await _restated_wrong(connection, cause, lost[0], "not what the results make")
            if more := sorted(found - set(made), key=lambda one: (one.closed_at, one.table_id, one.player)):
                return await _restated_wrong(connection, cause, more[0], "told, and no result makes it")
            seen += tables
            rated.add(len(tables))
    row = await connection.fetchrow(_OF_NO_PULKA, cause.table_id, cause.version, seen)
    return None if row is None else await _restated_wrong(connection, cause, RestatedChange(*row), "told, and no result makes it")


async def _restated_wrong(connection: Connection, cause: Restated, one: RestatedChange, what: str) -> Finding:
    revision = await connection.fetchval(
        "SELECT revision FROM pulka_results WHERE table_id = $1 AND version = $2", cause.table_id, cause.version
    )
    message = f"What revision {revision} of {cause.table_id} changed in the rating of {one.player} after {one.table_id} is {what}."
    return Finding(revision, "rows_differ", message)
