"""The sheet where players keep their own columns (4.2.4): what was written, corrected and fined, entry by entry, and what it sums to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from services.ledger.views import sections
from services.ledger.views.sections import Section
from services.ledger.views.tables import Line, Table
from shared.projections.core.projection import Connection
from shared.rules.language import amount as amounts
from shared.rules.language.amount import written
from shared.rules.language.irregular_events import EntryCorrected, EntryFined, EntryWritten
from shared.rules.scoring.sheet import Column, Entry, Sheet, write

DDL: Final = """
CREATE TABLE IF NOT EXISTS own_entries (
    table_id text NOT NULL,
    revision bigint NOT NULL,
    place int NOT NULL,
    deal int NOT NULL,
    seat int NOT NULL,
    sheet_column text NOT NULL,
    on_seat int,
    amount text NOT NULL,
    PRIMARY KEY (table_id, revision, place)
);
"""


class Own(msgspec.Struct, frozen=True):
    """One change of a column: the event number `place` of its commit; `deal` was going on; whists `on_seat`; `amount` exact, as text."""

    table_id: str
    revision: int
    place: int
    deal: int
    seat: int
    sheet_column: Column
    on_seat: int | None
    amount: str


def own(lines: Iterable[Line]) -> list[Own]:
    """What `lines` wrote by hand."""
    return [
        Own(
            line.table.table_id,
            line.commit.revision,
            place,
            line.table.deal,
            event.seat,
            event.column,  # type: ignore[arg-type]  # the rules write only the columns that there are
            event.on,
            str(event.amount),
        )
        for line in lines
        for place, event in enumerate(line.events)
        if isinstance(event, EntryWritten | EntryCorrected | EntryFined)
    ]


async def apply(connection: Connection, lines: Sequence[Line]) -> None:
    """Write what a batch wrote by hand."""
    if not (found := own(lines)):
        return
    await connection.execute(
        """
        INSERT INTO own_entries (table_id, revision, place, deal, seat, sheet_column, on_seat, amount)
        SELECT * FROM unnest($1::text[], $2::bigint[], $3::int[], $4::int[], $5::int[], $6::text[], $7::int[], $8::text[])
        """,
        *map(list, zip(*map(msgspec.structs.astuple, found), strict=True)),
    )


async def read(connection: Connection, table_id: str, last_deal: int, *, before: int | None = None) -> list[Own]:
    """A table's changes while deals up to `last_deal` went on, in order; with `before` those of earlier revisions only."""
    rows = await connection.fetch(
        """
        SELECT table_id, revision, place, deal, seat, sheet_column, on_seat, amount FROM own_entries
        WHERE table_id = $1 AND deal <= $2 AND ($3::bigint IS NULL OR revision < $3) ORDER BY revision, place
        """,
        table_id,
        last_deal,
        before,
    )
    return [Own(*row) for row in rows]


def paper(start: Sheet, found: Iterable[Own]) -> Sheet:
    """The sheet that these changes make of the one that there was before them."""
    entries = (Entry(one.seat, one.sheet_column, one.on_seat, amounts.read(one.amount, "amount"), "4.2.4", "") for one in found)
    return write(start, entries)


async def kept(connection: Connection, table: Table, section: Section, last_deal: int, *, before: int | None = None) -> Sheet | None:
    """The sheet of a section that the players kept, None where the server writes it; `before` as for `read`."""
    found = await by_hand(connection, table, section, last_deal, before=before)
    return None if found is None else paper(section.sheet, found)


async def by_hand(connection: Connection, table: Table, section: Section, last_deal: int, *, before: int | None = None) -> list[Own] | None:
    """What the players wrote into their columns while a section lasted, in order; None where the server writes the sheet."""
    if not table.by_hand:
        return None
    later = await sections.written(connection, [table.table_id]) if table.sections else []
    ends = next((one.revision for one in later if one.revision > section.revision), None)  # what is due is written on the newcomer's paper
    found = await read(connection, table.table_id, last_deal, before=before)
    return [one for one in found if one.revision > section.revision and (ends is None or one.revision < ends)]


def documents(found: Iterable[Own]) -> list[dict[str, Any]]:
    """The changes as the sheet shows them: `deal`, `seat`, `column`, whists `on`, `amount`."""
    return [
        {"deal": one.deal, "seat": one.seat, "column": one.sheet_column}
        | ({} if one.on_seat is None else {"on": one.on_seat})
        | {"amount": written(amounts.read(one.amount, "amount"))}
        for one in found
    ]
