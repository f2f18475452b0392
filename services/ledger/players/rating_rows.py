"""The rows of the ratings: a second stage after the ledger's other rows, since a rating crosses tables and partitions.

`pulka_results` marks in `ratings_due` from which pulka on ratings are due; `recompute` computes from the earliest of these on and
overwrites what stood there. Done, the rows are the same bytes as a computation from nothing, in whatever order results, corrections and
annulments arrived; a rebuild calls it once at its end. Each step is one transaction under one lock, so that two ledgers never do the same
work.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from typing import Final

import msgspec

from services.ledger.players import rating
from services.ledger.players.glicko import Strength
from services.ledger.players.pulka_results import COLUMNS, LATEST, PulkaResult
from services.ledger.players.rating import Key, Rated, RatingChange
from services.ledger.players.rating_restated import Known, Restated, RestatedChange, in_both_worlds
from shared.projections.core.projection import Connection

DDL: Final = """
CREATE TABLE IF NOT EXISTS rating_changes (
    player text NOT NULL,
    closed_at bigint NOT NULL,
    table_id text NOT NULL,
    rated bool NOT NULL,
    rating_before float8 NOT NULL,
    deviation_before float8 NOT NULL,
    volatility_before float8 NOT NULL,
    rating float8 NOT NULL,
    deviation float8 NOT NULL,
    volatility float8 NOT NULL,
    why text NOT NULL,
    PRIMARY KEY (player, closed_at, table_id)
);
CREATE INDEX IF NOT EXISTS rating_changes_in_order ON rating_changes (closed_at, table_id);
CREATE TABLE IF NOT EXISTS ratings (
    player text PRIMARY KEY,
    rating float8 NOT NULL,
    deviation float8 NOT NULL,
    volatility float8 NOT NULL,
    pulkas int NOT NULL,
    played_at bigint NOT NULL
);
CREATE INDEX IF NOT EXISTS ratings_in_order ON ratings (rating DESC, player);
CREATE TABLE IF NOT EXISTS rating_restated (
    player text NOT NULL,
    closed_at bigint NOT NULL,
    table_id text NOT NULL,
    at bigint NOT NULL,
    cause text NOT NULL,
    cause_version int NOT NULL,
    annulled bool NOT NULL,
    was text NOT NULL,
    became text NOT NULL,
    PRIMARY KEY (player, closed_at, table_id, at, cause, cause_version)
);
CREATE INDEX IF NOT EXISTS rating_restated_by_cause ON rating_restated (cause, cause_version);
CREATE TABLE IF NOT EXISTS ratings_restated_due (
    table_id text NOT NULL,
    version int NOT NULL,
    PRIMARY KEY (table_id, version)
);
"""

CHUNK: Final = 100  # pulkas a transaction: some ten milliseconds of the process's time, in which others wait
GOING_ON: Final = ""  # the mark of where the next transaction goes on; no table is called so

_CHANGE: Final = ", ".join(RatingChange.__struct_fields__)


async def recompute(connection: Connection) -> int:
    """Bring the ratings up to the results, step by step; returns how many steps there were. The search path is the version's schema."""
    steps = 0
    while await step(connection):
        steps += 1
    return steps


async def anew(connection: Connection) -> int:
    """Compute all ratings once more, whatever stands there; returns how many steps that took. A change that stands is read until then."""
    await connection.execute("INSERT INTO ratings_due (mark, closed_at, table_id) VALUES ('all', 0, '') ON CONFLICT DO NOTHING")
    return await recompute(connection)


async def step(connection: Connection) -> bool:
    """One transaction's work; False when there is none."""
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _lock(await connection.fetchval("SELECT current_schema()")))
        due = await connection.fetch("DELETE FROM ratings_due RETURNING mark, closed_at, table_id")
        if due:
            if any(row["mark"] != GOING_ON for row in due):
                await _restatements_due(connection, min(row["closed_at"] for row in due))
            await _onwards(connection, min((row["closed_at"], row["table_id"]) for row in due))
            return True
        return await _one_restatement(connection)


async def due(connection: Connection) -> dict[str, int | None]:
    """What is left to compute: `pulkas` that changed and `restatements` that wait, and `since` when (milliseconds since 1970) or null."""
    row = await connection.fetchrow(
        "SELECT count(*) AS pulkas, min(closed_at) AS since, (SELECT count(*) FROM ratings_restated_due) AS restatements FROM ratings_due"
    )
    return dict(row)


def _lock(schema: str) -> int:
    """The advisory lock of the ratings in `schema`."""
    return int.from_bytes(hashlib.sha256(f"ratings of {schema}".encode()).digest()[:8], "big", signed=True)


# ---- from a pulka on ---------------------------------------------------------------------------------------------------


async def _onwards(connection: Connection, first: Key) -> None:
    """Rate the next pulkas from `first` on, and say where to go on if there are more."""
    rows = await connection.fetch(
        f"""
        SELECT {COLUMNS} FROM pulka_results r WHERE unrated = '' AND (closed_at, table_id) >= ($1, $2) AND {LATEST}
        ORDER BY closed_at, table_id LIMIT $3
        """,  # noqa: S608 - constants of ours
        *first,
        CHUNK + 1,
    )
    found = [PulkaResult(*row) for row in rows]
    chunk, later = found[:CHUNK], found[CHUNK:]
    changed = chain(await _known(connection, chunk, first), chunk)
    await _write(connection, first, rating.key_of(later[0]) if later else None, changed)
    if later:
        await connection.execute(
            "INSERT INTO ratings_due (mark, closed_at, table_id) VALUES ($1, $2, $3)", GOING_ON, *rating.key_of(later[0])
        )


def chain(known: dict[str, Rated], results: Iterable[PulkaResult]) -> list[RatingChange]:
    """What `results`, in order, change, from the ratings `known` on."""
    found: list[RatingChange] = []
    for result in results:
        changed = rating.changes(known, result)
        known = rating.after(known, changed)
        found += changed
    return found


async def _known(connection: Connection, results: Iterable[PulkaResult], first: Key) -> dict[str, Rated]:
    """The ratings of the players of `results` before the pulka `first`."""
    players = sorted({player for result in results for player in result.players.split(" ")})
    rows = await connection.fetch(
        """
        SELECT DISTINCT ON (player) player, rating, deviation, volatility, closed_at FROM rating_changes
        WHERE player = ANY($1) AND rated AND (closed_at, table_id) < ($2, $3) ORDER BY player, closed_at DESC, table_id DESC
        """,
        players,
        *first,
    )
    return {player: Rated(Strength(*values), at) for player, *values, at in rows}


async def _write(connection: Connection, first: Key, end: Key | None, changed: Sequence[RatingChange]) -> None:
    """Put `changed` in the place of what stood from `first` on and before `end`, and bring its players' present ratings up to it."""
    gone = await connection.fetch(
        """
        DELETE FROM rating_changes WHERE (closed_at, table_id) >= ($1, $2) AND ($3::bigint IS NULL OR (closed_at, table_id) < ($3, $4))
        RETURNING player
        """,
        *first,
        *(end or (None, None)),
    )
    if changed:
        await connection.execute(
            f"""
            INSERT INTO rating_changes ({_CHANGE})
            SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bool[], $5::float8[], $6::float8[], $7::float8[], $8::float8[],
                                 $9::float8[], $10::float8[], $11::text[])
            """,  # noqa: S608 - a constant of ours
            *map(list, zip(*map(msgspec.structs.astuple, changed), strict=True)),
        )
    players = sorted({row["player"] for row in gone} | {one.player for one in changed})
    await connection.execute("DELETE FROM ratings WHERE player = ANY($1)", players)
    await connection.execute(
        """
        INSERT INTO ratings (player, rating, deviation, volatility, pulkas, played_at)
        SELECT DISTINCT ON (player) player, rating, deviation, volatility, count(*) OVER (PARTITION BY player), closed_at
        FROM rating_changes WHERE player = ANY($1) AND rated ORDER BY player, closed_at DESC, table_id DESC
        """,
        players,
    )


# ---- what a correction or an annulment changed -------------------------------------------------------------------------


async def _restatements_due(connection: Connection, closed_at: int) -> None:
    """Whatever was said anew after `closed_at` changed ratings that may be others now."""
    await connection.execute(
        """
        INSERT INTO ratings_restated_due (table_id, version)
        SELECT table_id, version FROM pulka_results WHERE version > 1 AND unrated = '' AND at >= $1 ON CONFLICT DO NOTHING
        """,
        closed_at,
    )


async def _one_restatement(connection: Connection) -> bool:
    """Compute what one restatement changed; False when none waits."""
    row = await connection.fetchrow(
        """
        DELETE FROM ratings_restated_due
        WHERE (table_id, version) = (SELECT table_id, version FROM ratings_restated_due LIMIT 1) RETURNING *
        """
    )
    if row is None:
        return False
    said = await said_anew(connection)
    cause = next(one for one in said if (one.table_id, one.version) == tuple(row))
    await connection.execute("DELETE FROM rating_restated WHERE cause = $1 AND cause_version = $2", cause.table_id, cause.version)
    async with aclosing(changed_by(connection, cause, said)) as pages:
        async for _, found in pages:
            await _write_restated(connection, found)
    return True


async def said_anew(connection: Connection) -> list[Restated]:
    """All that corrections and annulments said of rated pulkas, in the order in which they did."""
    rows = await connection.fetch(f"SELECT {COLUMNS} FROM pulka_results WHERE version > 1 AND unrated = ''")  # noqa: S608 - a constant of ours
    return sorted((Restated.of(PulkaResult(*row)) for row in rows), key=lambda one: one.order)


async def changed_by(
    connection: Connection, cause: Restated, said: Sequence[Restated]
) -> AsyncGenerator[tuple[list[Key], list[RestatedChange]], None]:
    """What `cause`, one of all that was `said` anew, changed: some pulkas at a time with all changes after these. It only reads, from
    results and present changes, which must not change meanwhile.
    """
    # Before the first pulka that this one or a later one says anew, the stored ratings are those of both worlds.
    first = min(one.key for one in said if one.order >= cause.order)
    was: Known = {}
    became: Known = {}
    page = await _pulkas(connection, first, cause.at, inclusive=True)
    while page:
        rows = await connection.fetch(
            f"SELECT {COLUMNS} FROM pulka_results WHERE table_id = ANY($1) ORDER BY closed_at, table_id, version",  # noqa: S608 - a constant of ours
            [table_id for _, table_id in page],
        )
        results = [PulkaResult(*version) for version in rows]
        at_first = await _known(connection, results, first)
        was, became, found = in_both_worlds((at_first | was, at_first | became), results, cause)
        yield page, found
        page = await _pulkas(connection, page[-1], cause.at, inclusive=False)


async def _pulkas(connection: Connection, after: Key, until: int, *, inclusive: bool) -> list[Key]:
    """The next rated pulkas after `after`, or from it on, that closed no later than `until`."""
    rows = await connection.fetch(
        f"""
        SELECT closed_at, table_id FROM pulka_results
        WHERE version = 1 AND unrated = '' AND (closed_at, table_id) {">=" if inclusive else ">"} ($1, $2) AND closed_at <= $3
        ORDER BY closed_at, table_id LIMIT $4
        """,  # noqa: S608 - a constant of ours
        *after,
        until,
        CHUNK,
    )
    return [tuple(row) for row in rows]


async def _write_restated(connection: Connection, found: Sequence[RestatedChange]) -> None:
    if found:
        await connection.execute(
            """
            INSERT INTO rating_restated (player, closed_at, table_id, at, cause, cause_version, annulled, was, became)
            SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::text[], $6::int[], $7::bool[], $8::text[],
                                 $9::text[])
            """,
            *map(list, zip(*map(msgspec.structs.astuple, found), strict=True)),
        )
