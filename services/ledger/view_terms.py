"""Who may read a table's books, and how late: the table's own terms, the same ones that its view and its stream hold to."""

from __future__ import annotations

import msgspec

from services.ledger.tables import Table
from shared.web.auth import READ, Caller
from shared.web.problems import Problem


class Sight(msgspec.Struct, frozen=True):
    """What somebody may see of a table: deals and commits up to deal `last_deal` (0: what came before the first, -1: nothing yet)."""

    table: Table
    last_deal: int

    @property
    def whole(self) -> bool:
        """Whether that is all there is."""
        return self.last_deal >= self.table.deal


def sight_of(table: Table, caller: Caller | None) -> Sight:
    """What `caller` (None: without a token) may see of `table`: a player all of it, others whole deals late, everybody all once it is over.

    Raises 401 or 403 `not_seated` where only the seated may look, 403 when his token does not carry `read`.
    """
    if caller is not None:
        caller.require(READ)
    if caller is not None and caller.player in table.seats:
        return Sight(table, table.deal)
    if table.open_to_all:
        return Sight(table, table.deal if table.status == "over" else table.deal - table.delay_deals)
    if caller is None:
        challenge = {"WWW-Authenticate": 'Bearer realm="pulka"'}
        raise Problem(401, "token_missing", "Only its players may read this table's books.", headers=challenge)
    raise Problem(403, "not_seated", "Only its players may read this table's books.", rule="5.5")
