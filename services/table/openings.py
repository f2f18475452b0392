"""From the lobby to the table: a table that the lobby has filled becomes a pulka, once, under the same id.

A projection whose effect is the table's first commit; its row only says that the clocks shall look after it. Running it twice over the same
commits changes nothing, since a table begins only once, and a row too many goes when the clocks find that the pulka is over.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence

import structlog

from services.table import running_tables
from services.table.table import shortest_turn
from services.table.tables import Result, Tables
from shared.eventlog.port import Stored
from shared.events.commit import decode
from shared.events.lobby_events import TableFilled
from shared.events.terms import read as read_terms
from shared.events.upcast import stored_lobby_events
from shared.projections.core.projection import Connection
from shared.rules.convention.options import from_document
from shared.rules.deck.seats import FEWEST, MOST
from shared.rules.language.refusal import Malformed, Refused
from shared.rules.pulka.decider import OpenPulka

log = structlog.get_logger(__name__)


class Openings:
    """Opens the pulka of every table that the lobby filled."""

    name = "openings"
    version = 2
    ddl = running_tables.DDL

    def __init__(self, tables: Tables, clock: Callable[[], int], opened: Callable[[Result], None]) -> None:
        self._tables = tables
        self._clock = clock
        self._opened = opened

    async def apply(self, connection: Connection, batch: Sequence[Stored]) -> None:
        """Open what `batch` filled; the log's errors pass through, and the batch comes again."""
        for stored in batch:
            if stored.address.kind == "table":
                await self._apply(connection, stored)

    async def _apply(self, connection: Connection, stored: Stored) -> None:
        for event in stored_lobby_events(decode(stored.data)):
            if isinstance(event, TableFilled):
                table_id, cause = stored.address.id, stored.position
                terms = opening(event, secrets.randbits(64), secrets.token_hex(32))
                if isinstance(terms, Refused):
                    log.warning("pulka_refused", table=table_id, code=terms.code)
                    await self._tables.refuse(table_id, terms, self._clock(), cause)
                else:
                    promised = self._tables.promised(table_id, terms, event.ends or ("",) * terms.players)
                    self._opened(await self._tables.open(table_id, promised, self._clock(), cause))
                    await running_tables.runs(connection, table_id, shortest_turn(read_terms(event.terms)))


def opening(filled: TableFilled, lot: int, draw_seed: str = "") -> OpenPulka | Refused:
    """The command that the lobby's terms amount to; `lot` draws the first dealer (3.2.1), `draw_seed` shuffles for the seats (3.1.1)."""
    try:
        convention = from_document(filled.convention)
    except Malformed as malformed:
        return Refused("malformed", "5.4.4", str(malformed))
    if not FEWEST <= filled.players <= MOST or len(filled.seats) != filled.players or len(set(filled.seats)) != filled.players:
        return Refused("malformed", "1.2", f"{len(set(filled.seats))} players at a table for {filled.players}.")
    return OpenPulka(
        convention, filled.rules_digest, filled.players, filled.target, filled.seats, filled.terms, lot, draw_seed, keys=filled.keys
    )
