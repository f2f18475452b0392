"""What stands on the sheet, and which deal wrote it: every entry with its rule, the sheet after every deal, the settlement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from services.ledger.views import sections
from services.ledger.views.sections import Section
from services.ledger.views.tables import Line, Table
from services.ledger.views.who_played import seats_scored
from shared.projections.core.projection import Connection
from shared.rules.language.game_events import DealScored
from shared.rules.language.member_events import NewcomerSeated
from shared.rules.pulka.imported import PulkaRecorded, sheet_before
from shared.rules.scoring.settlement import closed_reason, settlement
from shared.rules.scoring.sheet import Sheet, empty_sheet
from shared.rules.scoring.sheet import write as written_on
from shared.rules.scoring.sheet_document import SheetDocument, read_sheet

DDL: Final = """
CREATE TABLE IF NOT EXISTS scores (
    table_id text NOT NULL,
    deal int NOT NULL,
    revision bigint NOT NULL,
    at bigint NOT NULL,
    outcome text NOT NULL,
    written text NOT NULL,
    sheet text NOT NULL,
    PRIMARY KEY (table_id, deal)
);
"""

COLUMNS: Final = ("pool", "mountain", "whists")
_encode: Final = msgspec.json.Encoder(order="deterministic").encode
_read_document: Final = msgspec.json.Decoder(SheetDocument).decode


class Score(msgspec.Struct, frozen=True):
    """One deal on the sheet. As JSON text: `outcome` of the event, `written` as `deals[k]` of `pulka score`, `sheet` after the deal."""

    table_id: str
    deal: int
    revision: int
    at: int
    outcome: str
    written: str
    sheet: str


def sheet_of(text: str) -> Sheet:
    """The sheet that a row holds."""
    document = _read_document(text)
    return read_sheet(document, len(document.pool or ()), "sheet")


def scores(lines: Iterable[Line], sheets: Mapping[str, str]) -> list[Score]:
    """The deals that `lines` scored; `sheets` are their tables' sheets before, as text, where there was a deal or a newcomer before."""
    latest = dict(sheets)
    found: list[Score] = []
    for line in lines:
        for event in line.events:
            table = line.table
            if isinstance(event, PulkaRecorded):
                found += _of_another(line, event)
            if isinstance(event, NewcomerSeated):
                latest[table.table_id] = _encode({column: event.start[column] for column in COLUMNS}).decode()
            if not isinstance(event, DealScored):
                continue
            empty = empty_sheet(len(seats_scored(line)))
            before = latest.get(table.table_id)
            sheet = written_on(empty if before is None else sheet_of(before), event.entries)
            latest[table.table_id] = _encode(sheet.document()).decode()
            written = written_on(empty, event.entries).document() | {"entries": event.entries}
            found.append(
                Score(
                    table.table_id,
                    table.deal,
                    line.commit.revision,
                    line.commit.at,
                    _encode(event.outcome).decode(),
                    _encode(written).decode(),
                    latest[table.table_id],
                )
            )
    return found


def _of_another(line: Line, event: PulkaRecorded) -> list[Score]:
    """The deals of a pulka that was played elsewhere."""
    sheet, empty = sheet_before(event), empty_sheet(event.players)
    found: list[Score] = []
    for number, deal in enumerate(event.deals, start=1):
        entries = deal["entries"]
        sheet = written_on(sheet, entries)
        texts = (deal["outcome"], written_on(empty, entries).document() | {"entries": entries}, sheet.document())
        encoded = (_encode(text).decode() for text in texts)
        found.append(Score(line.table.table_id, number, line.commit.revision, line.commit.at, *encoded))
    return found


async def apply(connection: Connection, lines: Sequence[Line]) -> None:
    """Write the deals that a batch scored."""
    ids = {line.table.table_id for line in lines if any(isinstance(event, DealScored | PulkaRecorded) for event in line.events)}
    if not ids:
        return
    rows = await connection.fetch(
        """
        SELECT table_id, deal, sheet FROM unnest($1::text[]) AS asked (id)
        CROSS JOIN LATERAL (SELECT table_id, deal, sheet FROM scores WHERE table_id = asked.id ORDER BY deal DESC LIMIT 1) newest
        """,
        list(ids),
    )
    sheets, scored = {row["table_id"]: row["sheet"] for row in rows}, {row["table_id"]: row["deal"] for row in rows}
    parted = {line.table.table_id for line in lines if line.table.sections and line.table.table_id in ids}
    for section in await sections.written(connection, list(parted)) if parted else []:
        if section.first_deal > scored.get(section.table_id, 0):
            sheets[section.table_id] = _encode(section.sheet.document()).decode()
    found = scores(lines, sheets)
    if not found:  # recorded without deals
        return
    await connection.execute(
        """
        INSERT INTO scores (table_id, deal, revision, at, outcome, written, sheet)
        SELECT * FROM unnest($1::text[], $2::int[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[])
        """,
        *map(list, zip(*map(msgspec.structs.astuple, found), strict=True)),
    )


async def read(connection: Connection, table_id: str, last_deal: int, *, after: int = 0, limit: int | None = None) -> list[Score]:
    """A table's deals `after` < number <= `last_deal`, in order, at most `limit`."""
    rows = await connection.fetch(
        """
        SELECT table_id, deal, revision, at, outcome, written, sheet FROM scores
        WHERE table_id = $1 AND deal > $2::bigint AND deal <= $3 ORDER BY deal LIMIT $4
        """,
        table_id,
        after,
        last_deal,
        limit,
    )
    return [Score(*row) for row in rows]


async def latest(connection: Connection, table_id: str, last_deal: int, limit: int) -> list[Score]:
    """The last deals that were scored with a number up to `last_deal`, in order: a deal that was void has a number and no score."""
    rows = await connection.fetch(
        """
        SELECT table_id, deal, revision, at, outcome, written, sheet FROM scores
        WHERE table_id = $1 AND deal <= $2 ORDER BY deal DESC LIMIT $3
        """,
        table_id,
        last_deal,
        limit,
    )
    return [Score(*row) for row in reversed(rows)]


def _dealer(played: Sequence[Score]) -> int | None:
    """Who dealt the last of these deals."""
    return msgspec.json.decode(played[-1].outcome)["dealer"] if played else None


async def last_dealers(connection: Connection, table_ids: Sequence[str]) -> dict[str, int]:
    """By table, who dealt the last deal that stands on its sheet; none where none does, on a newcomer's neither."""
    rows = await connection.fetch(
        """
        SELECT newest.table_id, newest.outcome FROM unnest($1::text[]) AS asked (id)
        CROSS JOIN LATERAL (SELECT table_id, deal, outcome FROM scores WHERE table_id = asked.id ORDER BY deal DESC LIMIT 1) newest
        WHERE NOT EXISTS (SELECT FROM sections s WHERE s.table_id = newest.table_id AND s.first_deal > newest.deal)
        """,
        table_ids,
    )
    return {row["table_id"]: msgspec.json.decode(row["outcome"])["dealer"] for row in rows}


def last_dealers_in(lines: Iterable[Line]) -> dict[str, int]:
    """The same of all commits of some tables."""
    found: dict[str, int] = {}
    for line in lines:
        for event in line.events:
            if isinstance(event, DealScored):
                found[line.table.table_id] = event.outcome["dealer"]
            elif isinstance(event, PulkaRecorded) and event.deals:
                found[line.table.table_id] = event.deals[-1]["outcome"]["dealer"]
            elif isinstance(event, NewcomerSeated):
                found.pop(line.table.table_id, None)
    return found


def score_sheet(table: Table, section: Section, played: Sequence[Score], kept: Sheet | None = None) -> dict[str, Any]:
    """The object of `pulka score` after the deals `played` of `section`: `deals`, `sheet`, `closed`, `settlement` (as if it were now).

    `recorded` stands there, true, for a pulka that was played elsewhere; whether that is over its sheet alone tells.
    `kept` is the sheet that the players kept themselves, where they do; `deals` then tell what was due.
    """
    sheet = kept if kept is not None else sheet_of(played[-1].sheet) if played else section.sheet
    closed = closed_reason(table.rules, table.target, sheet, section.played_before + len(played)) is not None
    return {
        "deals": [msgspec.Raw(score.written.encode()) for score in played],
        "sheet": sheet.document(),
        "closed": closed or (table.status == "over" and not table.recorded),
        "settlement": settlement(table.rules, table.target, sheet, table.whist_stake, _dealer(played)),
        **({"recorded": True} if table.recorded else {}),
    }
