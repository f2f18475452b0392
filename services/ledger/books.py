"""All read tables of the ledger as one projection of the tables' streams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from services.ledger.players import player_stats, pulka_results, rating_rows
from services.ledger.views import audit_trail, deal_history, kept_entries, score_sheet, sections, tables, who_played
from services.ledger.whists import statement
from shared.eventlog.port import Stored
from shared.projections.core.projection import Connection

# Each a question with its own rows; in this order, since the results are told by who played.
VIEWS: Final = (score_sheet, sections, who_played, kept_entries, deal_history, audit_trail, statement, player_stats, pulka_results)


class Books:
    """The ledger's `Projection`; what each view writes stands in its own file."""

    name = "ledger"
    version = 5
    ddl = tables.DDL + "".join(view.DDL for view in VIEWS) + rating_rows.DDL

    async def apply(self, connection: Connection, batch: Sequence[Stored]) -> None:
        """Write a batch. Raises what a commit that is no table's, or of a newer version, makes of it."""
        known = await tables.load(connection, list({stored.address.id for stored in batch}))
        before = frozenset(known)
        lines = tables.lines(batch, known)
        await tables.write(connection, before, known.values())
        for view in VIEWS:
            await view.apply(connection, lines)
