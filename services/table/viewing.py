"""From which seat somebody looks at a table, and how late: the table's own terms, for view, stream and history alike."""

from __future__ import annotations

import msgspec

from services.table.table import Table, seat_of
from shared.web.auth import Caller
from shared.web.viewing import viewing_seat


class Viewer(msgspec.Struct, frozen=True):
    """Somebody looking at one table: his seat, if he has one, and by how many whole deals what he sees is delayed."""

    seat: int | None
    delay_deals: int = 0


def viewer_of(table: Table, caller: Caller | None) -> Viewer:
    """What `caller` (None: without a token) may see of `table` as it is now. Raises as `viewing_seat`."""
    seat = viewing_seat(caller, table.pulka.seats, open_to_all=table.terms.open_to_all)
    return Viewer(None, table.terms.spectators.delay_deals) if seat is None else Viewer(seat)


def seat_at(table: Table, caller: Caller | None) -> int | None:
    """From which seat `caller` saw a table as it was then: who draws, comes or is replaced has another seat before than after."""
    return None if caller is None else seat_of(table, caller.player)
