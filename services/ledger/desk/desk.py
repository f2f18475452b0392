"""What the ledger's handlers work with, and the steps that every read has in common."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from services.ledger.desk.readers import Readers
from services.ledger.views import audit_trail, tables
from services.ledger.views.view_terms import Sight, sight_of
from shared.eventlog.port import EventLog
from shared.events.address import is_id
from shared.projections.core.at_least import AtLeast, UnknownPosition
from shared.projections.core.projection import Connection
from shared.projections.parking.parking import Parked
from shared.web.auth import Caller
from shared.web.problems import Problem, malformed, unavailable
from shared.web.viewing import reading


class Seen(msgspec.Struct, frozen=True):
    """A table as a reader may see it. `revision`, `at` (milliseconds since 1970) and `position` are those of the newest commit they see.

    `parked`: the commit at which the books stopped, since it could not be applied; what is shown is the state before it.
    """

    sight: Sight
    revision: int
    at: int
    position: str
    parked: Parked | None = None

    @property
    def headers(self) -> dict[str, str]:
        """For answers whose body has no room for them."""
        stopped = {} if self.parked is None else {"Pulka-Parked": self.parked.reason}
        return {"Pulka-As-Of": str(self.at), "Pulka-Position": self.position, **stopped}

    @property
    def marks(self) -> dict[str, Any]:
        """`as_of` and `position` of a body, and `parked` where the books stopped; whoever sees deals late is not told how far play is."""
        stopped: dict[str, Any] = {}
        if self.parked is not None:
            stopped["parked"] = {"revision": self.parked.revision if self.sight.whole else None, "reason": self.parked.reason}
        return {"as_of": self.at, "position": self.position, **stopped}


class Desk:
    """The log, the rows, and who waits for them."""

    def __init__(self, log: EventLog, readers: Readers, at_least: AtLeast) -> None:
        self.log = log
        self.readers = readers
        self._at_least = at_least

    @asynccontextmanager
    async def table(self, table_id: str, caller: Caller | None, at_least: str | None) -> AsyncIterator[tuple[Connection, Seen]]:
        """The rows as of one moment, and what of this table `caller` may see in them.

        Raises 400 for a position that is none, 503 when the rows have not reached it in time or stopped before the table's first commit,
        404 `no_such_table`, 401 and 403.
        """
        if not is_id(table_id):
            raise no_such_table()
        await self.reached(at_least)
        async with self.readers.reading() as connection:
            table, parked = await tables.read(connection, table_id)
            if table is None and parked is not None:
                raise Problem(503, "table_parked", "The ledger cannot read this table's first commit; an operator must look at it.")
            if table is None or table.status == "refused":
                raise no_such_table()
            yield connection, await _seen(connection, sight_of(table, caller), parked)

    async def reached(self, at_least: str | None) -> None:
        """Wait until the rows show the position `at_least`, for a bounded time. Raises 400, 503."""
        if at_least is None:
            return
        try:
            arrived = await self._at_least.wait(at_least)
        except UnknownPosition:
            raise malformed("at_least", "not a position of a table's log") from None
        if not arrived:
            raise unavailable("The books do not show that position yet.")


async def _seen(connection: Connection, sight: Sight, parked: Parked | None) -> Seen:
    table = sight.table
    if sight.whole:
        return Seen(sight, table.revision, table.at, f"{table.stream}:{table.sequence}", parked)
    last = await audit_trail.last(connection, table.table_id, sight.last_deal)
    if last is None:
        return Seen(sight, 0, 0, f"{table.stream}:0", parked)
    return Seen(sight, last.revision, last.at, f"{table.stream}:{last.sequence}", parked)


def reader_of(caller: Caller | None) -> str | None:
    """The player that a token with `read` names; with any other token, or none, one reads what everybody may."""
    reader = reading(caller)
    return None if reader is None else reader.player


async def as_of(connection: Connection) -> int:
    """The time of the newest commit in the rows, milliseconds since 1970."""
    newest: int = await connection.fetchval("SELECT coalesce(max(at), 0) FROM checkpoint")
    return newest


def no_such_table() -> Problem:
    """404: the books have nothing of it; a table whose pulka has not begun is the lobby's."""
    return Problem(404, "no_such_table", "The ledger knows no pulka with that id.")
