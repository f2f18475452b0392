"""What can be exported whole: entries of the sheets, deal records, score files, statement lines, and the double entry (`money_rows`);
part after part, as of one moment.

A place says how far a reader has got and up to which commit of each stream they read. A row says what that commit left: what
later ones change (a result, whether a pulka is over, a sheet that its players keep) is told as it stood at the mark. So a reader who
begins again at a place reads what they would have read uninterrupted. No part holds more than `PART` units, however large the club is.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Annotated, Any, Final, TypeAlias

import msgspec

from services.ledger.exports import money_rows
from services.ledger.exports.export_columns import COLUMNS, What, day_of
from services.ledger.views import deal_history, score_sheet, sections, tables
from services.ledger.views.score_sheet import Score
from services.ledger.views.tables import Table
from services.ledger.whists.as_it_stood import as_it_stood
from shared.events.address import FEWEST, MOST, size_for
from shared.projections.core.projection import Connection
from shared.web.paging import LARGEST

PART: Final = 200  # deals, pulkas or lines read at a time: a few thousand entries, some milliseconds, under a megabyte
Number: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
Reading: TypeAlias = Callable[[], AbstractAsyncContextManager[Connection]]


class Scope(msgspec.Struct, frozen=True):
    """Whose eyes see it (`everything`: an operator's; else `reader`'s, None without a token), and whose rows are wanted (None: all)."""

    reader: str | None = None
    everything: bool = False
    player: str | None = None


class Place(msgspec.Struct, frozen=True, array_like=True):
    """How far a reader has got: `rows` of them, the last one of stream number `stream` at (`sequence`, `unit`); `marks` end each stream.

    Streams that were added since have no mark, and no row: the reader began before anything lay in them.
    """

    marks: Annotated[tuple[Number, ...], msgspec.Meta(min_length=FEWEST, max_length=MOST)]
    rows: Number = 0
    stream: Annotated[int, msgspec.Meta(ge=0, le=MOST)] = 0
    sequence: Number = 0
    unit: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)] = 0  # a deal's number, a seat and one, a revision, or nothing

    def __post_init__(self) -> None:
        if self.stream > len(self.marks):
            raise ValueError(f"stream {self.stream} of {len(self.marks)}")

    @property
    def at_the_end(self) -> bool:
        """Whether there is nothing after it."""
        return self.stream == len(self.marks)


class Batch(msgspec.Struct, frozen=True):
    """Some rows in their order, and the place after them."""

    rows: list[dict[str, Any]]
    place: Place


async def beginning(connection: Connection) -> Place:
    """The place before the first row, for somebody who reads what is there now."""
    found = {row["stream"]: row["sequence"] for row in await connection.fetch("SELECT stream, sequence FROM checkpoint")}
    last = max((int(stream.rpartition("_")[2]) for stream in found), default=0)
    return Place(tuple(found.get(f"TABLE_{partition}", 0) for partition in range(size_for(last + 1))))


async def parts(reading: Reading, what: What, scope: Scope, place: Place, size: int = PART) -> AsyncGenerator[Batch, None]:
    """All rows after `place`, each part read as of one moment and none of them empty. Raises what `reading` raises."""
    while not place.at_the_end:
        async with reading() as connection:
            rows, reached = await _READ[what](connection, scope, place, size)
        if reached is None:
            place = Place(place.marks, place.rows, place.stream + 1)
        else:
            place = Place(place.marks, place.rows + len(rows), place.stream, *reached)
        if rows:
            yield Batch(rows, place)


# ---- One kind after the other: its rows after a place in one stream, and where the last unit lies; None when there is none left ---------

Read: TypeAlias = tuple[list[dict[str, Any]], tuple[int, int] | None]

_OWN: Final = "EXISTS (SELECT FROM accounts own WHERE own.table_id = t.table_id AND own.player = $5)"
#: `$1` stream, `$2` and `$3` the place, `$4` the mark, `$5` the reader, `$6` whether they see everything, `$7` whose rows, `$8` how many.
_SEEN: Final = f"($6 OR {_OWN} OR (t.open_to_all AND t.over_sequence <= $4))"
#: Everybody's rows; for one player's it gives way to another condition, not to an alternative, which would hide the index from the planner.
_WHOSE: Final = "$7::text IS NULL"
#: What a row says of its pulka, as the mark's commit left it.
_OF_THE_PULKA: Final = """
    t.recorded, t.stake, t.convention::json ->> 'preset' AS convention, t.played_on,
    EXISTS (SELECT FROM transactions gone JOIN audit_trail b USING (table_id, revision)
            WHERE gone.table_id = t.table_id AND gone.kind = 'annulment' AND b.sequence <= $4) AS annulled
"""
_DEALS: Final = f"""
    SELECT t.first_sequence, {_OF_THE_PULKA}, s.table_id, s.deal, s.revision, s.at, s.outcome, s.written, s.sheet
    FROM tables t JOIN scores s USING (table_id) JOIN audit_trail a ON a.table_id = s.table_id AND a.revision = s.revision
    WHERE t.stream = $1 AND t.first_sequence >= $2 AND (t.first_sequence, s.deal) > ($2, $3::int) AND a.sequence <= $4 AND {_SEEN}
      AND {_WHOSE}
    ORDER BY t.first_sequence, s.deal LIMIT $8
"""  # noqa: S608 - constants of ours
_HIS_DEALS: Final = "EXISTS (SELECT FROM who_played w WHERE w.player = $7 AND w.table_id = s.table_id AND w.deal = s.deal)"
_PULKAS: Final = f"""
    SELECT t.first_sequence, t.table_id,
           (SELECT max(s.deal) FROM scores s JOIN audit_trail a ON a.table_id = s.table_id AND a.revision = s.revision
            WHERE s.table_id = t.table_id AND a.sequence <= $4) AS last_deal,
           (SELECT max(a.revision) FROM audit_trail a WHERE a.table_id = t.table_id AND a.sequence <= $4) AS revision
    FROM tables t
    WHERE t.stream = $1 AND t.first_sequence > $2 AND t.first_sequence <= $4 AND $3::int >= 0 AND {_SEEN}
      AND {_WHOSE}
    ORDER BY t.first_sequence LIMIT $8
"""  # noqa: S608 - constants of ours
_HIS_PULKAS: Final = "EXISTS (SELECT FROM who_played w WHERE w.player = $7 AND w.table_id = t.table_id)"
_LINES: Final = f"""
    SELECT t.over_sequence, a.table_id, a.seat, a.player, a.closed_at AS at, a.net, a.rounded, a.payment, {_OF_THE_PULKA}
    FROM tables t JOIN accounts a USING (table_id)
    WHERE t.stream = $1 AND t.over_sequence >= $2 AND (t.over_sequence, a.seat) > ($2, $3::int - 1) AND t.over_sequence <= $4 AND {_SEEN}
      AND a.closed_at IS NOT NULL AND {_WHOSE}
    ORDER BY t.over_sequence, a.seat LIMIT $8
"""  # noqa: S608 - constants of ours
_HIS_LINES: Final = "a.player = $7"
_MADE: Final = money_rows.MADE.format(seen=_SEEN, whose=_WHOSE)


async def _fetch(connection: Connection, query: str, his: str, scope: Scope, place: Place, size: int) -> list[Any]:
    found: list[Any] = await connection.fetch(
        query if scope.player is None else query.replace(_WHOSE, his),
        f"TABLE_{place.stream}", place.sequence, place.unit, place.marks[place.stream],
        scope.reader, scope.everything, scope.player, size,
    )  # fmt: skip
    return found


async def _entries(connection: Connection, scope: Scope, place: Place, size: int) -> Read:
    deals = await _fetch(connection, _DEALS, _HIS_DEALS, scope, place, size)
    if not deals:
        return [], None
    seats = await _seats(connection, [row["table_id"] for row in deals], [row["deal"] for row in deals])
    rows: list[dict[str, Any]] = []
    for deal in deals:
        table_id, number = deal["table_id"], deal["deal"]
        for place_of, entry in enumerate(msgspec.json.decode(deal["written"])["entries"], start=1):
            who = {seat: seats.get((table_id, number, seat)) for seat in (entry["seat"], entry.get("on"))}
            if scope.player is not None and scope.player not in who.values():
                continue
            rows.append(
                {
                    "table_id": table_id,
                    "deal": number,
                    "entry": place_of,
                    "seat": entry["seat"],
                    "player": who[entry["seat"]],
                    "column": entry["column"],
                    "on": entry.get("on"),
                    "amount": entry["amount"],
                    "rule": entry["rule"],
                    "why": entry["why"],
                    "at": deal["at"],
                    **_pulka(deal),
                }
            )
    return rows, (deals[-1]["first_sequence"], deals[-1]["deal"])


async def _seats(connection: Connection, table_ids: list[str], deals: list[int]) -> dict[tuple[str, int, int], str]:
    """Who had which seat in these deals."""
    rows = await connection.fetch(
        """
        SELECT w.table_id, w.deal, w.seat, w.player
        FROM who_played w JOIN unnest($1::text[], $2::int[]) AS wanted (table_id, deal) USING (table_id, deal)
        """,
        table_ids,
        deals,
    )
    return {(row["table_id"], row["deal"], row["seat"]): row["player"] for row in rows}


async def _records(connection: Connection, scope: Scope, place: Place, size: int) -> Read:
    deals = await _fetch(connection, _DEALS, _HIS_DEALS, scope, place, size)
    if not deals:
        return [], None
    known = await tables.load(connection, list({row["table_id"] for row in deals}))
    parted = {table_id: await sections.read(connection, table, table.deal) for table_id, table in known.items()}
    rows: list[dict[str, Any]] = []
    for deal in deals:
        table_id, number = deal["table_id"], deal["deal"]
        section = [one for one in parted[table_id] if one.first_deal <= number][-1]
        record = await deal_history.deal_record(connection, known[table_id], section, number)
        if record is not None:  # else its cards are not revealed yet
            rows.append({"table_id": table_id, "number": number, "at": deal["at"], "record": record})
    return rows, (deals[-1]["first_sequence"], deals[-1]["deal"])


async def _score_files(connection: Connection, scope: Scope, place: Place, size: int) -> Read:
    found = await _fetch(connection, _PULKAS, _HIS_PULKAS, scope, place, size)
    if not found:
        return [], None
    known = await tables.load(connection, [row["table_id"] for row in found])
    rows: list[dict[str, Any]] = []
    for row in found:
        if row["last_deal"] is not None:
            table = known[row["table_id"]]
            over = table.over_sequence is not None and table.over_sequence <= place.marks[place.stream]
            rows += await _files_of(connection, table, row["last_deal"], row["revision"], "over" if over else "playing")
    return rows, (found[-1]["first_sequence"], 0)


async def _files_of(connection: Connection, table: Table, last_deal: int, revision: int, status: str) -> list[dict[str, Any]]:
    """One score file a section, as far as deal `last_deal` and commit `revision`, which left the pulka in this `status`."""
    played: list[Score] = await score_sheet.read(connection, table.table_id, last_deal)
    every = await sections.read(connection, table, table.deal)
    parted = [section for section in every if section.first_deal <= last_deal]
    ends = [*(section.first_deal for section in every[1:]), table.deal + 1]  # players who keep the sheet may write in the deal after it
    files: list[dict[str, Any]] = []
    for number, (section, end) in enumerate(zip(parted, ends, strict=False), start=1):
        own = [score for score in played if section.first_deal <= score.deal < end]
        kept = await deal_history.kept_sheets(connection, table, section, own, end - 1, before=revision + 1)
        file = deal_history.score_file(table, section, own, kept)
        files.append({"table_id": table.table_id, "section": number, "status": status, "score_file": file})
    return files


async def _statement(connection: Connection, scope: Scope, place: Place, size: int) -> Read:
    found = await _fetch(connection, _LINES, _HIS_LINES, scope, place, size)
    rows = [dict(row) | _pulka(row) for row in found]
    rows = [{column: row[column] for column in COLUMNS["statement"]} for row in rows]
    rows = await as_it_stood(connection, rows, place.marks[place.stream])
    return rows, (found[-1]["over_sequence"], found[-1]["seat"] + 1) if found else None


def _pulka(row: Mapping[str, Any]) -> dict[str, Any]:
    """What a row says of its pulka. One that was played here was played on the day of the row; of an import only its author knows."""
    entered = day_of(row["at"])
    told = {name: row[name] for name in ("recorded", "annulled", "stake", "convention")}
    return told | {"played_on": row["played_on"] if row["recorded"] else entered, "entered_on": entered, "name": None}


def _money(told: Callable[[Connection, Sequence[Any], str | None], Awaitable[list[dict[str, Any]]]]) -> Callable[..., Any]:
    """The reader of what `told` makes of some transactions."""

    async def read(connection: Connection, scope: Scope, place: Place, size: int) -> Read:
        found = await _fetch(connection, _MADE, money_rows.HIS, scope, place, size)
        if not found:
            return [], None
        return await told(connection, found, scope.player), (found[-1]["over_sequence"], found[-1]["revision"])

    return read


_READ: Final[dict[str, Callable[[Connection, Scope, Place, int], Any]]] = {
    "entries": _entries,
    "deals": _records,
    "score-files": _score_files,
    "statement": _statement,
    "transactions": _money(money_rows.transactions),
    "postings": _money(money_rows.posted),
    "corrections": _money(money_rows.corrections),
}
