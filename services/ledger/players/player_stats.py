"""What each player did in each deal, and what it brought them: role, contract, success, tricks, whists. Sums are taken when they are read.

A row a deal, not a sum a table: a spectator sees a table whole deals late, and who sat where changes from deal to deal.

The *whists of a deal* are what it changed in the player's settlement (4.2.14), exactly. The settlement is linear in the sheet, so that is
the settlement of the deal's own entries; over the deals of a pulka they sum to what it is settled at, but for what stood on the sheet from
which a newcomer's section or a recorded pulka began. Where players keep the sheet themselves (4.2.4) they are of what was due.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from services.ledger.views.tables import Line
from services.ledger.views.who_played import seats_scored
from shared.projections.core.projection import Connection
from shared.rules.convention.options import Convention
from shared.rules.deal.ending import outcome_of
from shared.rules.deck.seats import active
from shared.rules.language.amount import written
from shared.rules.language.game_events import DealScored
from shared.rules.pulka.imported import PulkaRecorded
from shared.rules.scoring.game_result import game_result
from shared.rules.scoring.outcome import DealOutcome
from shared.rules.scoring.settlement import divisor, net_by_average, settled_mountain
from shared.rules.scoring.sheet import BySeat, empty_sheet, write

DDL: Final = """
CREATE TABLE IF NOT EXISTS player_deals (
    player text NOT NULL,
    table_id text NOT NULL,
    deal int NOT NULL,
    players int NOT NULL,
    role text NOT NULL,
    contract text NOT NULL,
    tricks int,
    undertricks int,
    whists text NOT NULL,
    PRIMARY KEY (player, table_id, deal)
);
CREATE INDEX IF NOT EXISTS player_deals_by_table ON player_deals (table_id);
"""

NO_CONTRACT: Final = "none"  # a deal that was over before one was named
ROLES: Final = ("declarer", "whister", "half_whister", "passer", "defender", "all_pass", "resting", "partner")

COLUMNS: Final = "player, table_id, deal, players, role, contract, tricks, undertricks, whists"


class PlayerDeal(msgspec.Struct, frozen=True):
    """One deal of one player, at a table of so many `players` then.

    `role`: `declarer`; a defender by their last word `whister`, `half_whister`, `passer`, or `defender` where nobody asked them; `all_pass`
    who played one; `resting`; `partner` who shared a misere while they rested (3.6.9). A resting dealer who whisted is a `whister`.
    `contract`: "6S" ... "10NT", `misere`, `all_pass`, `none`. `tricks`: those that they took, None where none were played. `undertricks`:
    of a declarer, 0 when they made it (of a misere the tricks they took); None for others. `whists`: exact, as text.
    """

    player: str
    table_id: str
    deal: int
    players: int
    role: str
    contract: str
    tricks: int | None
    undertricks: int | None
    whists: str


def deal_whists(convention: Convention, players: int, entries: Iterable[dict[str, Any]]) -> BySeat:
    """What `entries` of one deal change in everybody's settlement, by seat; sums to zero."""
    sheet = write(empty_sheet(players), entries)
    return net_by_average(settled_mountain(convention, 0, sheet), sheet, divisor(convention, players))


_BY_CALL: Final = {"whist": "whister", "half": "half_whister", "pass": "passer", None: "defender"}


def role_of(outcome: DealOutcome, players: int, seat: int) -> str:
    """What `seat` did in a deal with this `outcome`; the roles of `PlayerDeal`."""
    if seat == outcome.declarer:
        return "declarer"
    call = outcome.calls[seat] if outcome.calls else None
    if seat not in active(players, outcome.dealer) and call != "whist":
        return "partner" if outcome.shared and seat == outcome.dealer else "resting"
    return "all_pass" if outcome.is_all_pass else _BY_CALL[call]


def player_deals(lines: Iterable[Line]) -> list[PlayerDeal]:
    """What everybody did in the deals that `lines` scored."""
    return [row for line in lines for number, deal in _scored(line) for row in _of_deal(line, number, deal)]


def _scored(line: Line) -> Iterable[tuple[int, DealScored]]:
    """The deals that a commit scored, with their numbers: one, or all of a pulka that was played elsewhere by people with names."""
    for event in line.events:
        if isinstance(event, DealScored):
            yield line.table.deal, event
        elif isinstance(event, PulkaRecorded) and event.seats:
            for number, deal in enumerate(event.deals, start=1):
                yield number, DealScored(deal["outcome"], tuple(deal["entries"]))


def _of_deal(line: Line, number: int, scored: DealScored) -> Iterable[PlayerDeal]:
    seats, outcome = seats_scored(line), outcome_of(scored.outcome)
    players = len(seats)
    whists = deal_whists(line.table.rules, players, scored.entries)
    missing = game_result(outcome).undertricks if outcome.is_game or outcome.is_misere else None
    played = outcome.tricks and not outcome.conceded  # then they stand for what was given up (3.5.4)
    for seat, player in enumerate(seats):
        role = role_of(outcome, players, seat)
        yield PlayerDeal(
            player,
            line.table.table_id,
            number,
            players,
            role,
            outcome.contract or NO_CONTRACT,
            outcome.tricks[seat] if played and role not in ("resting", "partner") else None,
            missing if role == "declarer" else None,
            str(written(whists[seat])),
        )


async def apply(connection: Connection, lines: Sequence[Line]) -> None:
    """Write the deals that a batch scored."""
    if found := player_deals(lines):
        await connection.execute(
            f"""
            INSERT INTO player_deals ({COLUMNS})
            SELECT * FROM unnest($1::text[], $2::text[], $3::int[], $4::int[], $5::text[], $6::text[], $7::int[], $8::int[], $9::text[])
            """,  # noqa: S608 - a constant of ours
            *map(list, zip(*map(msgspec.structs.astuple, found), strict=True)),
        )


async def of_table(connection: Connection, table_id: str) -> list[PlayerDeal]:
    """The rows of one table, by deal, each deal's in the order of the seats."""
    rows = await connection.fetch(
        f"SELECT p.{COLUMNS.replace(', ', ', p.')} FROM player_deals p JOIN who_played w USING (player, table_id, deal)"  # noqa: S608 - constants of ours
        " WHERE table_id = $1 ORDER BY deal, seat",
        table_id,
    )
    return [PlayerDeal(*row) for row in rows]
