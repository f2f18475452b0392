"""From which seat a viewer looks at a table, and with what delay: the table's own terms, for view, stream and history alike."""

from __future__ import annotations

import msgspec

from services.table.table import Table, maker_of
from shared.rules.adjudicated.court import ARBITER, Maker
from shared.web.auth import Caller
from shared.web.viewing import reading, viewing_seat


class Viewer(msgspec.Struct, frozen=True):
    """Somebody looking at one table: their seat, the arbiter, or None; and by how many whole deals their view is delayed."""

    eye: Maker | None
    delay_deals: int = 0

    @property
    def seat(self) -> int | None:
        """Their seat, if they have one."""
        return self.eye if isinstance(self.eye, int) else None


def viewer_of(table: Table, caller: Caller | None) -> Viewer:
    """What `caller` (None: without a token) may see of `table` as it is now. Raises as `viewing_seat`."""
    if is_arbiter(table, caller):
        return Viewer(ARBITER)
    seat = viewing_seat(caller, table.pulka.seats, open_to_all=table.terms.open_to_all)
    return Viewer(None, table.terms.spectators.delay_deals) if seat is None else Viewer(seat)


def sees_now(table: Table, player: str) -> bool:
    """Whether a player may see of `table` whatever has just happened: nothing of it is kept from them for a time, or for good. Of an
    archived one nobody knows any more who might.
    """
    if table.archived:
        return False
    return maker_of(table, player) is not None or (table.terms.open_to_all and not table.terms.spectators.delay_deals)


def eye_at(table: Table, caller: Caller | None) -> Maker | None:
    """As whom `caller` saw a table as it was then: who draws, comes or is replaced has another seat before than after."""
    reader = reading(caller)
    return None if reader is None else maker_of(table, reader.player)


def is_arbiter(table: Table, caller: Caller | None) -> bool:
    """Whether `caller` judges at this table, and their token may read: then all cards lie open to them [conv]."""
    reader = reading(caller)
    return reader is not None and reader.player == table.terms.arbiter and bool(table.pulka.seats)
