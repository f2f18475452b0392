"""What was dealt and played, deal by deal: the deal record, and the score file of a pulka. Cards stand here once they are revealed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from services.ledger.views import audit_trail, kept_entries, score_sheet
from services.ledger.views.score_sheet import Score
from services.ledger.views.sections import Section
from services.ledger.views.tables import Line, Table
from shared.projections.core.projection import Connection
from shared.rules.adjudicated.sheet_entries import ON_THE_SHEET
from shared.rules.deal.ending import outcome_of
from shared.rules.language.amount import written
from shared.rules.language.game_events import DealRevealed
from shared.rules.score_files.deal_document import deal_document
from shared.rules.score_files.tournament_column import contract_and_result
from shared.rules.scoring.series import is_forced
from shared.rules.scoring.sheet import Sheet

DDL: Final = """
CREATE TABLE IF NOT EXISTS revealed (
    table_id text NOT NULL,
    deal int NOT NULL,
    revision bigint NOT NULL,
    server_seed text NOT NULL,
    hands text NOT NULL,
    talon text NOT NULL,
    discard text,
    PRIMARY KEY (table_id, deal)
);
"""

BETWEEN_HANDS: Final = "|"  # in the column `hands`; a resting player's is empty


class Revealed(msgspec.Struct, frozen=True):
    """The cards of one deal: `hands` by seat with `|` between them, talon as it lies, the discard if there was one, the server's seed."""

    table_id: str
    deal: int
    revision: int
    server_seed: str
    hands: str
    talon: str
    discard: str | None


def revealed(lines: Iterable[Line]) -> list[Revealed]:
    """The deals that `lines` revealed."""
    return [
        Revealed(
            line.table.table_id,
            event.number,
            line.commit.revision,
            event.server_seed,
            BETWEEN_HANDS.join(event.hands),
            event.talon,
            event.discard,
        )
        for line in lines
        for event in line.events
        if isinstance(event, DealRevealed)
    ]


async def apply(connection: Connection, lines: Sequence[Line]) -> None:
    """Write the deals that a batch revealed."""
    found = revealed(lines)
    if not found:
        return
    await connection.execute(
        """
        INSERT INTO revealed (table_id, deal, revision, server_seed, hands, talon, discard)
        SELECT * FROM unnest($1::text[], $2::int[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[])
        """,
        *map(list, zip(*map(msgspec.structs.astuple, found), strict=True)),
    )


async def read(connection: Connection, table_id: str, last_deal: int) -> list[Revealed]:
    """The revealed deals up to `last_deal`, in order."""
    rows = await connection.fetch(
        """
        SELECT table_id, deal, revision, server_seed, hands, talon, discard FROM revealed
        WHERE table_id = $1 AND deal <= $2 ORDER BY deal
        """,
        table_id,
        last_deal,
    )
    return [Revealed(*row) for row in rows]


async def revealed_deals(connection: Connection, table_id: str) -> frozenset[int]:
    """The numbers of the deals whose cards everybody may know."""
    rows = await connection.fetch("SELECT deal FROM revealed WHERE table_id = $1", table_id)
    return frozenset(row["deal"] for row in rows)


async def deal_record(connection: Connection, table: Table, section: Section, deal: int) -> dict[str, Any] | None:
    """Deal `deal` of `section` card by card (deploy/docs/deal-record.md), as `pulka replay` takes it; None while it is not scored and
    revealed.
    """
    row = await connection.fetchrow(
        """
        SELECT table_id, deal, revision, server_seed, hands, talon, discard FROM revealed WHERE table_id = $1 AND deal = $2
        """,
        table.table_id,
        deal,
    )
    played = await score_sheet.latest(connection, table.table_id, deal, 2)
    if row is None or not played or played[-1].deal != deal:
        return None
    cards = Revealed(*row)
    moves = await audit_trail.moves_of(connection, table.table_id, deal, of_the_sheet=not table.by_hand)
    for move in moves:
        if move["type"] == "discard":
            move["cards"] = (cards.discard or "").split()
    outcome = msgspec.json.decode(played[-1].outcome)
    record: dict[str, Any] = {
        "format": 1,
        "convention": msgspec.Raw(table.convention.encode()),
        "players": section.players,
        "dealer": outcome["dealer"],
        "hands": cards.hands.split(BETWEEN_HANDS),
        "talon": cards.talon,
        "moves": moves,
    }
    if table.target is not None:
        record["target"] = table.target
    if (court := table.court) is not None:
        record |= {
            "mode": "adjudicated",
            "attention": court["attention"],
            "order_pause_s": court["order_pause_s"],
            "entropy": cards.server_seed,
        }
    if table.by_hand:
        record |= _noted(outcome, moves)
    if section.start and section.first_deal == deal:
        record |= await _at_the_start(connection, table, section)
    elif played[0].deal < deal:
        record |= await _before(connection, table, section, deal, played[0])
    if is_forced(table.rules, deal):
        record["forced"] = True
    return record


async def _at_the_start(connection: Connection, table: Table, section: Section) -> dict[str, Any]:
    """Where the pulka stood before the first deal of a section that begins with a sheet of its own."""
    start = msgspec.json.decode(section.start)
    dealt = await audit_trail.dealt_at(connection, table.table_id, section.first_deal)
    kept = await kept_entries.kept(connection, table, section, section.first_deal, before=dealt)
    state: dict[str, Any] = {"sheet": {column: start[column] for column in score_sheet.COLUMNS} if kept is None else kept.document()}
    return state | {name: start[name] for name in ("all_pass_in_row", "dark_in_row", "bombs") if name in start}


async def _before(connection: Connection, table: Table, section: Section, deal: int, last: Score) -> dict[str, Any]:
    """Where the pulka stood before `deal`, of which `last` was the last one scored."""
    past = msgspec.json.decode(last.outcome)
    dealt = await audit_trail.dealt_at(connection, table.table_id, deal)
    kept = await kept_entries.kept(connection, table, section, deal, before=dealt)
    state: dict[str, Any] = {
        "sheet": msgspec.Raw(last.sheet.encode()) if kept is None else kept.document(),
        "all_pass_in_row": past.get("all_pass_in_row", 0),
    }
    dark_in_row = past.get("dark_in_row", 0)
    if table.rules.dark and dark_in_row != state["all_pass_in_row"]:
        state["dark_in_row"] = dark_in_row
    if past.get("bombs"):
        state["bombs"] = past["bombs"]
    return state


def _noted(outcome: dict[str, Any], moves: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What a record says where the players keep the sheet: what of that of the deal before was noted in it, and no arbiter ruled."""
    ruled = {(move["rule"], move["seat"], move["reason"]) for move in moves if move["type"] == "ruling"}
    noted = [
        one
        for one in outcome.get("infractions", ())
        if one["rule"] in ON_THE_SHEET and (one["rule"], one["seat"], one.get("reason")) not in ruled
    ]
    return {"entries": "by_hand"} | ({"infractions": noted} if noted else {})


def score_file(table: Table, section: Section, played: Sequence[Score], kept: Sequence[Sheet] | None = None) -> dict[str, Any]:
    """A section of the pulka as a score file (deploy/docs/score-file.md) that `pulka score` brings to the same sheet.

    `kept`, where the players keep the sheet: as it stood before the deals `played`, and after each of them (`kept_sheets`).
    """
    file: dict[str, Any] = {
        "format": 1,
        "convention": msgspec.Raw(table.convention.encode()),
        "players": section.players,
        "deals": [_deal_document(score, section.players) for score in played],
    }
    if table.target is not None:
        file["target"] = table.target
    if section.start:
        start = msgspec.json.decode(section.start)
        file["start"] = start if kept is None else start | kept[0].document()
    if table.whist_stake is not None:
        file["stake"] = written(table.whist_stake)
    for document, sheet in zip(file["deals"], kept[1:] if kept else (), strict=False):  # none where the server keeps it
        document["kept"] = sheet.document()
    return file


def _deal_document(score: Score, players: int) -> dict[str, Any]:
    """A deal as a score file has it; of a pulka that was played elsewhere with the sheet that its players kept, where its file had that."""
    outcome = msgspec.json.decode(score.outcome)
    return deal_document(outcome_of(outcome), players) | ({"kept": outcome["kept"]} if "kept" in outcome else {})


async def kept_sheets(
    connection: Connection, table: Table, section: Section, played: Sequence[Score], last_deal: int, *, before: int | None = None
) -> list[Sheet] | None:
    """The sheet of a section as its players kept it before the deals `played` and after each of them; None where the server writes it.

    As it stood when the next one was dealt, since that one was scored on it; the last with all written while deals up to `last_deal`
    went on, `before` as for `kept_entries.read`.
    """
    own = await kept_entries.by_hand(connection, table, section, last_deal, before=before)
    if own is None:
        return None
    dealt = await audit_trail.all_dealt(connection, table.table_id)
    sheet, begin, sheets = section.sheet, 0, []
    for following in [*played, None]:
        end = (
            len(own) if following is None else bisect_left(own, dealt.get(following.deal, following.revision), key=lambda one: one.revision)
        )
        sheet, begin = kept_entries.paper(sheet, own[begin:end]), end
        sheets.append(sheet)
    return sheets


def summary(score: Score) -> dict[str, Any]:
    """One deal in a list: its number, when it was scored, the outcome's own words, the tournament's column (4.2.11), and what it wrote."""
    outcome: dict[str, Any] = msgspec.json.decode(score.outcome)
    shown = {name: outcome.get(name) for name in ("dealer", "declarer", "contract", "calls", "tricks")}
    shown["column"] = contract_and_result(outcome_of(outcome))
    return {"number": score.deal, "at": score.at, **shown, "written": msgspec.Raw(score.written.encode())}
