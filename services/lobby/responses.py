"""What the lobby answers: the shapes of its JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from services.lobby.projection import shown_status
from services.lobby.table_progress import RANK
from services.lobby.tables import Table
from services.lobby.terms import ADJUDICATED


class Person(msgspec.Struct, frozen=True):
    """A player; `name` null when they are erased, or when the names cannot be read now."""

    id: str
    name: str | None


class Erased(msgspec.Struct, frozen=True):
    """Who is erased; `revision` is that of the proof in the log, `position` for `?at_least=` of lists."""

    player: str
    revision: int
    position: str
    erased: bool = True


class SeatView(msgspec.Struct, frozen=True):
    """One seat: who sits there (null: free), whether they are ready, whether it is kept for a bot."""

    seat: int
    player: Person | None
    ready: bool
    for_bot: bool


class TableView(msgspec.Struct, frozen=True, kw_only=True):
    """A table. `status`: `open`, `full`, `starting`, `playing`, `over`, `annulled`, `refused`, `closed`.

    `convention` is the resolved record. `adjudication` holds the terms of an adjudicated table, null at others.
    `revision` counts the commits of the lobby's log of this table, not those of its pulka. `opened_at`: milliseconds since 1970.
    `position`, after a write: for `?at_least=` of the list.
    """

    id: str
    status: str
    revision: int
    host: Person
    convention: dict[str, Any]
    players: int
    target: int | None
    clock: dict[str, int]
    mode: str
    adjudication: dict[str, Any] | None
    visibility: str
    spectators: dict[str, Any]
    seating: str
    stake: int | str | None
    rated: bool
    bots: int
    seats: list[SeatView]
    opened_at: int
    position: str | None = None


class TableList(msgspec.Struct, frozen=True):
    """A page of tables, newest first. `cursor` goes on, null at the end; `as_of` is the time of the newest commit that the rows show."""

    tables: list[TableView]
    cursor: str | None
    as_of: int


class Seated(msgspec.Struct, frozen=True):
    """The seat that was taken, and the table."""

    seat: int
    table: TableView


class Readiness(msgspec.Struct, frozen=True):
    """The table's status after one was ready: `playing` or `refused` when all were, `starting` when that takes longer than 2 s."""

    status: str
    table: TableView


class SignedUp(msgspec.Struct, frozen=True):
    """A new player and their token."""

    player: Person
    token: str


class Token(msgspec.Struct, frozen=True):
    """A token; `expires` in milliseconds since 1970."""

    token: str
    scopes: list[str]
    expires: int


class Names(msgspec.Struct, frozen=True):
    """What players are called, by id; null who is erased, whom nobody knows, or while the names cannot be read."""

    names: dict[str, str | None]


class Me(msgspec.Struct, frozen=True):
    """Whom the token names, and what it allows until when (milliseconds since 1970)."""

    player: Person
    scopes: list[str]
    expires: int
    bot: bool


def status_of(table: Table, *progress: str | None) -> str:
    """The status by the highest rank that anybody knows of: the lobby's log, or any of `progress`, which come from the table's own."""
    known = [status for status in progress if status is not None]
    return max(known, key=RANK.__getitem__) if known else shown_status(table)


def view_of(table: Table, status: str, names: Mapping[str, str], position: str | None = None) -> TableView:
    """The table as anybody may see it; `names` of host and seated players, as far as they are known."""
    return TableView(
        id=table.id,
        status=status,
        revision=table.revision,
        host=Person(table.host, names.get(table.host)),
        convention=table.convention,
        players=table.players,
        target=table.target,
        clock=table.terms["clock"],
        mode=table.terms["mode"],
        adjudication=adjudication(table.terms),
        visibility=table.terms["visibility"],
        spectators=table.terms["spectators"],
        seating=table.terms.get("seating", "chosen"),  # tables of before there was a choice
        stake=table.terms.get("stake"),
        rated=table.terms.get("rated", True),
        bots=table.bots,
        seats=[
            SeatView(seat, None if player is None else Person(player, names.get(player)), table.ready[seat], table.for_bot(seat))
            for seat, player in enumerate(table.seats)
        ],
        opened_at=table.opened_at,
        position=position,
    )


def adjudication(terms: Mapping[str, Any]) -> dict[str, Any] | None:
    """What an adjudicated table has agreed on besides; None where the rules are enforced."""
    return {name: terms.get(name, usual) for name, usual in ADJUDICATED.items()} if terms["mode"] == "adjudicated" else None


def people_of(table: Table) -> list[str]:
    """Everybody whose name the view shows."""
    return [table.host, *(player for player in table.seats if player is not None)]
