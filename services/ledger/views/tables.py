"""Which tables there are, on what terms they are played, who sits where, and how far each one's log has been read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from shared.eventlog.port import Stored
from shared.events import address
from shared.events.catalogue import SealedDealStarted, StoredTableEvent
from shared.events.commit import Commit, decode, hash_of
from shared.events.terms import adjudication
from shared.events.terms import read as read_terms
from shared.events.upcast import stored_table_events
from shared.projections.core.projection import Connection
from shared.projections.parking.parking import COLUMNS as PARKED_COLUMNS
from shared.projections.parking.parking import Parked
from shared.rules.convention.options import Convention, from_document
from shared.rules.language.amount import Amount
from shared.rules.language.game_events import PulkaClosed, PulkaOpened, PulkaRefused
from shared.rules.language.member_events import NewcomerSeated, SeatsDrawn, SubstituteSeated
from shared.rules.pulka.imported import PulkaRecorded
from shared.rules.scoring.stakes import read_stake

DDL: Final = """
CREATE TABLE IF NOT EXISTS tables (
    table_id text PRIMARY KEY,
    stream text NOT NULL,
    sequence bigint NOT NULL,
    revision bigint NOT NULL,
    at bigint NOT NULL,
    hash text NOT NULL,
    status text NOT NULL,
    players int NOT NULL,
    target int,
    seats text[] NOT NULL,
    convention text NOT NULL,
    open_to_all bool NOT NULL,
    delay_deals int NOT NULL,
    deal int NOT NULL,
    stake text,
    adjudication text,
    first_sequence bigint NOT NULL,
    over_sequence bigint,
    recorded bool NOT NULL,
    sections int NOT NULL,
    rated bool NOT NULL,
    played_on text
);
CREATE INDEX IF NOT EXISTS tables_in_order ON tables (stream, first_sequence);
CREATE INDEX IF NOT EXISTS tables_as_they_ended ON tables (stream, over_sequence);
"""

_encode: Final = msgspec.json.Encoder(order="deterministic").encode


class Table(msgspec.Struct, frozen=True):
    """One table as its commits have left it.

    `stream`, `sequence`, `revision`, `at` (milliseconds since 1970) and `hash` are its newest commit's. `status`: `playing`, `over`,
    `refused`. `target` is None for a pulka without one; `seats` are player ids clockwise; `convention` the resolved record as JSON text.
    `open_to_all`: who has no seat may look, `delay_deals` whole deals late. `deal` counts the deals that began. `stake`: what a whist
    is worth, an exact number as text (4.2.13). `adjudication`: what an adjudicated table agreed on besides (`terms.adjudication`), as JSON
    text; None where the rules are enforced. `first_sequence` is its first commit's, `over_sequence` that of the commit that ended it.
    `recorded`: it was played elsewhere and written down whole. `sections`: how many rows of `sections` it has. `rated`: it may count in
    ratings and standings. `played_on`: of one that was played elsewhere the day, `2026-11-01`, where whoever wrote it down has told it.
    """

    table_id: str
    stream: str = ""
    sequence: int = 0
    revision: int = 0
    at: int = 0
    hash: str = ""
    status: str = "playing"
    players: int = 0
    target: int | None = None
    seats: tuple[str, ...] = ()
    convention: str = ""
    open_to_all: bool = False
    delay_deals: int = 0
    deal: int = 0
    stake: str | None = None
    adjudication: str | None = None
    first_sequence: int = 0
    over_sequence: int | None = None
    recorded: bool = False
    sections: int = 0
    rated: bool = True
    played_on: str | None = None

    @property
    def whist_stake(self) -> Amount | None:
        """What a whist is worth, as a number."""
        return None if self.stake is None else read_stake(self.stake, "stake")

    @property
    def court(self) -> dict[str, Any] | None:
        """`adjudication`, read."""
        return None if self.adjudication is None else msgspec.json.decode(self.adjudication, type=dict[str, Any])

    @property
    def by_hand(self) -> bool:
        """Whether each player keeps their own columns (4.2.4)."""
        return (self.court or {}).get("entries") == "by_hand"

    @property
    def arbiter(self) -> str | None:
        """The player id of who judges at an adjudicated table, if it has one."""
        return (self.court or {}).get("arbiter")

    @property
    def rules(self) -> Convention:
        """The convention, read."""
        return _convention(self.convention)


class Line(msgspec.Struct, frozen=True):
    """One commit as the books are written from it: the table after it, and its events with boxes closed."""

    table: Table
    commit: Commit
    events: tuple[StoredTableEvent, ...]


@lru_cache(maxsize=256)  # a club plays a handful of conventions; one takes 30 us to read
def _convention(record: str) -> Convention:
    return from_document(msgspec.json.decode(record))


def after(table: Table, events: Iterable[StoredTableEvent]) -> Table:
    """The table after one commit; where the commit lies is set by `lines`."""
    for event in events:
        match event:
            case PulkaOpened():
                terms = read_terms(event.terms)
                table = msgspec.structs.replace(
                    table,
                    players=event.players,
                    target=event.target,
                    seats=event.seats,
                    convention=_encode(event.convention).decode(),
                    open_to_all=terms.open_to_all,
                    delay_deals=terms.spectators.delay_deals,
                    stake=None if terms.stake is None else str(terms.stake),
                    adjudication=_encode(agreed).decode() if (agreed := adjudication(terms)) is not None else None,
                    rated=terms.rated,
                )
            case PulkaRecorded():
                terms = read_terms(event.terms)
                table = msgspec.structs.replace(
                    table,
                    status="over",
                    players=event.players,
                    target=event.target,
                    seats=event.seats,
                    convention=_encode(event.score_file["convention"]).decode(),
                    open_to_all=terms.open_to_all,
                    deal=len(event.deals),
                    stake=None if terms.stake is None else str(terms.stake),
                    recorded=True,
                    sections=int("start" in event.score_file),
                    played_on=event.terms.get("played_on"),
                )
            case SeatsDrawn(seats=seats):
                table = msgspec.structs.replace(table, seats=seats, players=len(seats))
            case NewcomerSeated(seats=seats):
                table = msgspec.structs.replace(table, seats=seats, players=len(seats), sections=table.sections + 1)
            case SubstituteSeated(seat=seat, player=player):
                table = msgspec.structs.replace(table, seats=(*table.seats[:seat], player, *table.seats[seat + 1 :]))
            case PulkaRefused():
                table = msgspec.structs.replace(table, status="refused")
            case PulkaClosed():
                table = msgspec.structs.replace(table, status="over")
            case SealedDealStarted(number=number):
                table = msgspec.structs.replace(table, deal=number)
            case _:
                pass
    return table


def lines(batch: Iterable[Stored], known: dict[str, Table]) -> list[Line]:
    """The commits of `batch` with what they hold; `known` are their tables before it and become those after it.

    Raises `NewerSchema`, and `msgspec.ValidationError` for what the catalogue does not know.
    """
    written: list[Line] = []
    for stored in batch:
        commit = decode(stored.data)
        events = stored_table_events(commit)
        table_id = stored.address.id
        table = after(known.get(table_id) or Table(table_id), events)
        table = known[table_id] = msgspec.structs.replace(
            table,
            stream=stored.stream,
            sequence=stored.sequence,
            revision=commit.revision,
            at=commit.at,
            hash=hash_of(stored.data),
            first_sequence=table.first_sequence or stored.sequence,
            over_sequence=table.over_sequence or (stored.sequence if table.status == "over" else None),
        )
        written.append(Line(table, commit, events))
    return written


_COLUMNS: Final = ", ".join(Table.__struct_fields__)


async def load(connection: Connection, table_ids: Sequence[str]) -> dict[str, Table]:
    """The tables that the rows know, by id."""
    rows = await connection.fetch(f"SELECT {_COLUMNS} FROM tables WHERE table_id = ANY($1)", table_ids)  # noqa: S608 - a constant of ours
    return {row["table_id"]: _table(row) for row in rows}


async def read(connection: Connection, table_id: str) -> tuple[Table | None, Parked | None]:
    """The table that the rows know, and since where they do not go on with it: its first parked commit."""
    row = await connection.fetchrow(
        f"""
        SELECT {", ".join(f"t.{column}" for column in Table.__struct_fields__)}, p.*
        FROM (VALUES ($1::text)) AS asked (id)
        LEFT JOIN tables t ON t.table_id = asked.id
        LEFT JOIN LATERAL (SELECT {PARKED_COLUMNS} FROM parked WHERE aggregate = $2 ORDER BY sequence LIMIT 1) p ON true
        """,  # noqa: S608 - constants of ours
        table_id,
        address.table(table_id).subject,
    )
    values = list(row)
    known, parked = values[: len(Table.__struct_fields__)], values[len(Table.__struct_fields__) :]
    return None if known[0] is None else _table(known), None if parked[0] is None else Parked(*parked)


async def write(connection: Connection, before: Collection[str], tables: Iterable[Table]) -> None:
    """Store the tables as they are after a batch; `before` are the ids of those that the rows knew."""
    kept = sorted(tables, key=lambda table: table.table_id)
    if new := [table for table in kept if table.table_id not in before]:
        await connection.execute(
            f"""
            INSERT INTO tables ({_COLUMNS})
            SELECT table_id, stream, sequence, revision, at, hash, status, players, target, string_to_array(seats, ' '), convention,
                   open_to_all, delay_deals, deal, stake, adjudication, first_sequence, over_sequence, recorded,
                   sections, rated, played_on
            FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::int[], $9::int[],
                        $10::text[], $11::text[], $12::bool[], $13::int[], $14::int[], $15::text[], $16::text[], $17::bigint[],
                        $18::bigint[], $19::bool[], $20::int[], $21::bool[], $22::text[])
                 AS row ({_COLUMNS})
            """,  # noqa: S608 - a constant of ours
            *map(list, zip(*map(_row, new), strict=True)),
        )
    if old := [_changed(table) for table in kept if table.table_id in before]:
        await connection.execute(
            """
            UPDATE tables SET sequence = row.sequence, revision = row.revision, at = row.at, hash = row.hash, status = row.status,
                              deal = row.deal, players = row.players, seats = string_to_array(row.seats, ' '),
                              over_sequence = row.over_sequence, sections = row.sections
            FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::int[], $8::int[], $9::text[],
                        $10::bigint[], $11::int[])
                 AS row (table_id, sequence, revision, at, hash, status, deal, players, seats, over_sequence, sections)
            WHERE tables.table_id = row.table_id
            """,
            *map(list, zip(*old, strict=True)),
        )


def _changed(table: Table) -> tuple[object, ...]:
    """The columns that a table's later commits can change."""
    t = table
    return t.table_id, t.sequence, t.revision, t.at, t.hash, t.status, t.deal, t.players, " ".join(t.seats), t.over_sequence, t.sections


def _row(table: Table) -> tuple[object, ...]:
    """The table's columns, its seats as one text: unnest would take an array of arrays apart."""
    return tuple(" ".join(value) if isinstance(value, tuple) else value for value in msgspec.structs.astuple(table))


def _table(row: Sequence[object]) -> Table:
    return msgspec.convert(dict(zip(Table.__struct_fields__, row, strict=True)), Table)
