"""The stretches of a pulka in which the same number of people sat there: each begins with a sheet of its own (3.1.2).

Nearly every pulka has one. A newcomer begins the next: seats, sheet and score file are those of a section.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from services.ledger.views.tables import Line, Table
from services.ledger.views.view_terms import Sight
from shared.projections.core.projection import Connection
from shared.rules.convention.options import Convention
from shared.rules.language.member_events import NewcomerSeated
from shared.rules.pulka.imported import PulkaRecorded
from shared.rules.score_files.score_file import StartDocument, standing_at
from shared.rules.score_files.standing import Standing
from shared.rules.scoring.sheet import Sheet, empty_sheet
from shared.rules.scoring.sheet_document import read_sheet
from shared.web.problems import malformed

DDL: Final = """
CREATE TABLE IF NOT EXISTS sections (
    table_id text NOT NULL,
    first_deal int NOT NULL,
    revision bigint NOT NULL,
    players int NOT NULL,
    start text NOT NULL,
    PRIMARY KEY (table_id, first_deal)
);
"""

_encode: Final = msgspec.json.Encoder(order="deterministic").encode
_start: Final = msgspec.json.Decoder(StartDocument).decode


class Section(msgspec.Struct, frozen=True):
    """Deals from number `first_deal` on, with `players` seats. `start`: JSON text as a score file has it, "" for the empty sheet."""

    table_id: str
    first_deal: int
    revision: int
    players: int
    start: str

    @property
    def sheet(self) -> Sheet:
        """What stood on the paper before the section's first deal."""
        return read_sheet(_start(self.start), self.players, "start") if self.start else empty_sheet(self.players)

    def standing(self, convention: Convention) -> Standing:
        """Where the pulka stood before the section's first deal."""
        standing = standing_at(_start(self.start) if self.start else None, self.players, convention)
        return msgspec.structs.replace(standing, deals=self.played_before)

    @property
    def deals_before(self) -> int:
        """How many deals the pulka had before it."""
        return self.first_deal - 1

    @property
    def played_before(self) -> int:
        """How many count towards the end of the pulka; a recorded one may have begun on another sheet."""
        return _start(self.start).deals if self.start and self.first_deal == 1 else self.deals_before


def sections(lines: Iterable[Line]) -> list[Section]:
    """The sections that `lines` began, but for each pulka's first, unless that was recorded from a sheet on which something stood."""
    found: list[Section] = []
    for line in lines:
        table_id, revision = line.table.table_id, line.commit.revision
        for event in line.events:
            if isinstance(event, NewcomerSeated):
                found.append(Section(table_id, line.table.deal + 1, revision, len(event.seats), _encode(event.start).decode()))
            elif isinstance(event, PulkaRecorded) and "start" in event.score_file:
                found.append(Section(table_id, 1, revision, event.players, _encode(event.score_file["start"]).decode()))
    return found


async def apply(connection: Connection, lines: Sequence[Line]) -> None:
    """Write the sections that a batch began."""
    if found := sections(lines):
        await connection.execute(
            """
            INSERT INTO sections (table_id, first_deal, revision, players, start)
            SELECT * FROM unnest($1::text[], $2::int[], $3::bigint[], $4::int[], $5::text[])
            """,
            *map(list, zip(*map(msgspec.structs.astuple, found), strict=True)),
        )


async def written(connection: Connection, table_ids: Sequence[str]) -> list[Section]:
    """The rows of these tables, in order: every section but the first."""
    rows = await connection.fetch(
        """
        SELECT table_id, first_deal, revision, players, start FROM sections WHERE table_id = ANY($1) ORDER BY table_id, first_deal
        """,
        table_ids,
    )
    return [Section(*row) for row in rows]


async def read(connection: Connection, table: Table, last_deal: int) -> list[Section]:
    """A table's sections in order, the first too, as far as somebody sees who sees the deals up to `last_deal`."""
    later = await written(connection, [table.table_id]) if table.sections else []
    if later and later[0].first_deal == 1:
        return later  # a recorded pulka, seen whole or not at all
    players = later[0].players - 1 if later else table.players  # a newcomer is one more
    seen = [section for section in later if section.first_deal <= last_deal or last_deal >= table.deal]
    return [Section(table.table_id, 1, 0, players, ""), *seen]


class Chosen(msgspec.Struct, frozen=True):
    """One section of a table, and all that the reader may know of: `number` counts from 1, `last_deal` is the last that they see of it."""

    all: Sequence[Section]
    number: int
    last_deal: int

    @property
    def section(self) -> Section:
        """The one that is shown."""
        return self.all[self.number - 1]

    @property
    def marks(self) -> dict[str, Any]:
        """What an answer says of sections, where there is more than one: the `section` that it shows, and all of them."""
        if len(self.all) == 1:
            return {}
        listed = [{"section": place, "first_deal": one.first_deal, "players": one.players} for place, one in enumerate(self.all, 1)]
        return {"section": self.number, "sections": listed}


async def chosen(connection: Connection, sight: Sight, wanted: int | None = None) -> Chosen:
    """Section `wanted`, or the last one that is seen. Raises 400 for one that is not there."""
    found = await read(connection, sight.table, sight.last_deal)
    number = len(found) if wanted is None else wanted
    if not 1 <= number <= len(found):
        raise malformed("section", f"must be 1 to {len(found)}")
    last = sight.last_deal if number == len(found) else min(sight.last_deal, found[number].first_deal - 1)
    return Chosen(found, number, last)


async def section_of(connection: Connection, sight: Sight, deal: int) -> Section:
    """The section that a deal belongs to."""
    return [one for one in await read(connection, sight.table, sight.last_deal) if one.first_deal <= deal][-1]
