"""How each pulka ended and for whom, version by version: what ratings and standings are made of.

A result is said when the pulka closes, and may be said anew later, by a correction, or taken back with the pulka; each time is a version,
so that a rating can tell what it was before. Whether a pulka is rated is decided here, once: `unrated`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from typing import Final

import msgspec

from services.ledger.views.tables import Line, Table
from services.ledger.views.who_played import Occupant, parts
from shared.events.terms import read as read_terms
from shared.projections.core.projection import Connection
from shared.rules.language.amount import written
from shared.rules.language.correction_events import PulkaAnnulled, ResultCorrected
from shared.rules.language.game_events import PulkaClosed, PulkaOpened
from shared.rules.pulka.imported import PulkaRecorded

DDL: Final = """
CREATE TABLE IF NOT EXISTS pulka_results (
    table_id text NOT NULL,
    version int NOT NULL,
    revision bigint NOT NULL,
    at bigint NOT NULL,
    closed_at bigint NOT NULL,
    players text NOT NULL,
    net text NOT NULL,
    annulled bool NOT NULL,
    unrated text NOT NULL,
    PRIMARY KEY (table_id, version)
);
CREATE INDEX IF NOT EXISTS pulka_results_in_order ON pulka_results (closed_at, table_id, version);
CREATE INDEX IF NOT EXISTS pulka_results_said_anew ON pulka_results (at) WHERE version > 1;
CREATE TABLE IF NOT EXISTS seated_bots (
    table_id text PRIMARY KEY,
    bots int NOT NULL
);
CREATE TABLE IF NOT EXISTS ratings_due (
    mark text PRIMARY KEY,
    closed_at bigint NOT NULL,
    table_id text NOT NULL
);
"""

CHANNEL: Final = ":ratings"  # behind the schema's name: the channel on which Postgres says that ratings are due
SAYING: Final = (PulkaClosed, PulkaRecorded, ResultCorrected, PulkaAnnulled)  # events that say a result, or say it anew
RATED_PLAYERS: Final = (3, 4)  # at the table; two play another game (hussar), five are too many to know whom one lost to

COLUMNS: Final = "table_id, version, revision, at, closed_at, players, net, annulled, unrated"
#: A condition on `pulka_results r`: nobody has said it anew since.
LATEST: Final = "NOT EXISTS (SELECT FROM pulka_results later WHERE later.table_id = r.table_id AND later.version > r.version)"
#: A condition on anything with a `table_id` in `{0}`: its pulka was not annulled, so what was played there counts.
COUNTS: Final = "NOT EXISTS (SELECT FROM pulka_results a WHERE a.table_id = {0}.table_id AND a.annulled)"


class PulkaResult(msgspec.Struct, frozen=True):
    """Version `version` (from 1) of how a pulka ended, said by commit `revision` at `at`; it closed at `closed_at`
    (both milliseconds since 1970).

    `players` are ids in the order of the seats, `net` their whists as exact numbers, each as one text with spaces between. `unrated`: why
    it is not rated, empty when it is: `recorded` (played elsewhere), `agreed` (not to be rated), `players` (not three or four), `private`
    (not open to all), `bots` (one sat there), `changed` (not the same people from the first deal to the last), `no_deals`.
    """

    table_id: str
    version: int
    revision: int
    at: int
    closed_at: int
    players: str
    net: str
    annulled: bool
    unrated: str


def bots(lines: Iterable[Line]) -> dict[str, int]:
    """How many built-in players sit at the tables that `lines` open; tables without them are left out."""
    return {
        line.table.table_id: seated
        for line in lines
        for event in line.events
        if isinstance(event, PulkaOpened) and (seated := read_terms(event.terms).bots)
    }


def _unrated(table: Table, deals: Counter[str], *, with_bots: bool) -> str:
    """Why the pulka of `table`, whose players have finished so many `deals` each, is not rated."""
    if table.recorded:
        return "recorded"
    if not table.rated:
        return "agreed"
    if table.players not in RATED_PLAYERS:
        return "players"
    if not table.open_to_all:
        return "private"
    if with_bots:
        return "bots"
    if not deals:
        return "no_deals"
    return "changed" if set(deals) != set(table.seats) or len(set(deals.values())) > 1 else ""


def results(
    known: Iterable[PulkaResult], played: Iterable[Occupant], with_bots: Collection[str], lines: Iterable[Line]
) -> list[PulkaResult]:
    """The versions that `lines` say; `known` are the latest ones of their tables before, `played` all deals that were finished there,
    `with_bots` the ids of the tables where a built-in player sat down.
    """
    latest: dict[str, PulkaResult] = {result.table_id: result for result in known}
    deals: dict[str, Counter[str]] = {}
    for part in played:
        deals.setdefault(part.table_id, Counter())[part.player] += 1
    found: list[PulkaResult] = []
    for line in lines:
        for event in line.events:
            if not isinstance(event, SAYING):
                continue
            table = line.table
            unrated = _unrated(table, deals.get(table.table_id, Counter()), with_bots=table.table_id in with_bots)
            after = _after(latest.get(table.table_id), line, event, unrated)
            if after is not None:
                latest[line.table.table_id] = after
                found.append(after)
    return found


def _after(before: PulkaResult | None, line: Line, event: object, unrated: str) -> PulkaResult | None:
    """The version that `event` makes, None when it says nothing of the result; a closing pulka is `unrated` for that reason, if any."""
    table, at = line.table, line.commit.at
    match event:
        case PulkaClosed(settlement=settled) | PulkaRecorded(settlement=settled) if table.seats:
            net = " ".join(map(str, settled["net"]))
            return PulkaResult(table.table_id, 1, line.commit.revision, at, at, " ".join(table.seats), net, annulled=False, unrated=unrated)
        case ResultCorrected(amounts=amounts) if before is not None:
            net = " ".join(
                str(written(Fraction(won) + Fraction(amount))) for won, amount in zip(before.net.split(" "), amounts, strict=True)
            )
            return _anew(before, line, net=net)
        case PulkaAnnulled() if before is not None:
            return _anew(before, line, annulled=True)
    return None


def _anew(before: PulkaResult, line: Line, **changed: object) -> PulkaResult:
    """The next version: what is said by `line` and `changed`, the rest as before."""
    said = {"version": before.version + 1, "revision": line.commit.revision, "at": line.commit.at}
    return msgspec.structs.replace(before, **said, **changed)


def of_lines(lines: Sequence[Line]) -> list[PulkaResult]:
    """All versions of a table whose commits, from the first on, are `lines`."""
    return results((), parts(lines), bots(lines), lines)


async def apply(connection: Connection, lines: Sequence[Line]) -> None:
    """Write what a batch says, and that ratings are due from there on; runs after `who_played` has written it."""
    if seated := bots(lines):
        await connection.execute("INSERT INTO seated_bots SELECT * FROM unnest($1::text[], $2::int[])", list(seated), list(seated.values()))
    saying = [line for line in lines if any(isinstance(event, SAYING) for event in line.events)]
    if not saying:
        return
    ids = sorted({line.table.table_id for line in saying})
    known = await connection.fetch(f"SELECT {COLUMNS} FROM pulka_results r WHERE table_id = ANY($1) AND {LATEST}", ids)  # noqa: S608 - constants of ours
    played = await connection.fetch("SELECT player, table_id, deal, seat, at FROM who_played WHERE table_id = ANY($1)", ids)
    with_bots = await connection.fetch("SELECT table_id FROM seated_bots WHERE table_id = ANY($1)", ids)
    found = results(
        [PulkaResult(*row) for row in known], [Occupant(*row) for row in played], {row["table_id"] for row in with_bots}, saying
    )
    if found:  # a record may name nobody
        await write(connection, found)


async def write(connection: Connection, found: Sequence[PulkaResult]) -> None:
    """Store versions, in the order in which they were said."""
    await connection.execute(
        f"""
        INSERT INTO pulka_results ({COLUMNS})
        SELECT * FROM unnest($1::text[], $2::int[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::bool[],
                             $9::text[])
        """,  # noqa: S608 - a constant of ours
        *map(list, zip(*map(msgspec.structs.astuple, found), strict=True)),
    )
    if due := {one.table_id: one.closed_at for one in found if not one.unrated}:
        await connection.execute(
            """
            INSERT INTO ratings_due (mark, closed_at, table_id) SELECT id, at, id FROM unnest($1::text[], $2::bigint[]) AS row (id, at)
            ON CONFLICT (mark) DO UPDATE SET closed_at = excluded.closed_at
            """,
            sorted(due),
            [due[table_id] for table_id in sorted(due)],
        )
        await connection.execute("SELECT pg_notify(current_schema() || $1, '')", CHANNEL)


async def of_table(connection: Connection, table_id: str) -> list[PulkaResult]:
    """All versions of one table, in order."""
    rows = await connection.fetch(f"SELECT {COLUMNS} FROM pulka_results WHERE table_id = $1 ORDER BY version", table_id)  # noqa: S608 - a constant of ours
    return [PulkaResult(*row) for row in rows]
