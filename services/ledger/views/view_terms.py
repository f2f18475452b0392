"""Who may read a table's books, and how late: the table's own terms, the same ones that its view and its stream hold to."""

from __future__ import annotations

import msgspec

from services.ledger.views.tables import Table
from shared.web.auth import READ, Caller
from shared.web.viewing import viewing_seat


class Sight(msgspec.Struct, frozen=True):
    """What somebody may see of a table: deals and commits up to deal `last_deal` (0: what came before the first, -1: nothing yet)."""

    table: Table
    last_deal: int

    @property
    def whole(self) -> bool:
        """Whether that is all there is."""
        return self.last_deal >= self.table.deal


def sight_of(table: Table, caller: Caller | None) -> Sight:
    """What `caller` (None: without a token) may see of `table`: a player and the arbiter all of it, others whole deals late, everybody all
    once it is over.

    Raises as `viewing_seat`.
    """
    if caller is not None and caller.player == table.arbiter:
        caller.require(READ)
        return Sight(table, table.deal)
    seat = viewing_seat(caller, table.seats, open_to_all=table.open_to_all)
    late = seat is None and table.status != "over"
    return Sight(table, table.deal - table.delay_deals if late else table.deal)
