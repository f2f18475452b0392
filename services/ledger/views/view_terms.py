"""Who may read a table's rows, and with what delay: the table's own terms, the same ones that its view and its stream hold to."""

from __future__ import annotations

import msgspec

from services.ledger.views.tables import Table
from shared.web.auth import Caller
from shared.web.viewing import reading, viewing_seat


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
    once it is over. An operator, who corrects results, looks at every table as a spectator looks at a public one.

    Raises as `viewing_seat`.
    """
    reader = reading(caller)
    if reader is not None and reader.player == table.arbiter:
        return Sight(table, table.deal)
    seat = viewing_seat(caller, table.seats, open_to_all=table.open_to_all or (caller is not None and caller.is_operator))
    late = seat is None and table.status != "over"
    return Sight(table, table.deal - table.delay_deals if late else table.deal)
