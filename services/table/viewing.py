"""Who may see a table, and how late: terms of the table, held to alike by view, stream and history (FORMATS: Public tables)."""

from __future__ import annotations

import msgspec

from services.table.table import Table, seat_of
from shared.web.auth import READ, Caller
from shared.web.problems import Problem


class Viewer(msgspec.Struct, frozen=True):
    """Somebody looking at one table: his seat, if he has one, and by how many whole deals what he sees is delayed."""

    seat: int | None
    delay_deals: int = 0


def viewer_of(table: Table, caller: Caller | None) -> Viewer:
    """What `caller` (None: without a token) may see of `table`.

    Raises 401 or 403 `not_seated` where only the seated may look, 403 when his token does not carry `read`.
    """
    if caller is not None:
        caller.require(READ)
    seat = None if caller is None else seat_of(table, caller.player)
    if seat is not None:
        return Viewer(seat)
    if table.terms.open_to_all:
        return Viewer(None, table.terms.spectators.delay_deals)
    if caller is None:
        raise Problem(
            401, "token_missing", "Only its players may look at this table.", headers={"WWW-Authenticate": 'Bearer realm="pulka"'}
        )
    raise Problem(403, "not_seated", "Only its players may look at this table.", rule="5.5")
