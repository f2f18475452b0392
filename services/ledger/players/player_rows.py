"""The rows of players' figures and of results that one table has made, for whoever holds them against its log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from services.ledger.players import player_stats, pulka_results
from services.ledger.players.player_stats import PlayerDeal
from services.ledger.players.pulka_results import PulkaResult
from services.ledger.views.tables import Line
from shared.events.chain import Finding
from shared.projections.core.projection import Connection


class PlayerRows(msgspec.Struct, frozen=True):
    """What `player_deals` and `pulka_results` hold about one table."""

    deals: Sequence[PlayerDeal]
    results: Sequence[PulkaResult]

    def until(self, revision: int, last_deal: int) -> PlayerRows:
        """Those that commits up to `revision` wrote, which scored deals up to `last_deal`."""
        return PlayerRows([one for one in self.deals if one.deal <= last_deal], [one for one in self.results if one.revision <= revision])

    def differences(self, written: Sequence[Line]) -> Iterator[Finding]:
        """Where they are not what the commits `written` make; nothing where there are none."""
        if not written:
            return
        head = written[-1].commit.revision
        if player_stats.player_deals(written) != list(self.deals):
            yield Finding(head, "rows_differ", "What the players did in the deals is not what the commits say.")
        if pulka_results.of_lines(written) != list(self.results):
            yield Finding(head, "rows_differ", "How the pulka ended is not what the commits say.")


async def read(connection: Connection, table_id: str) -> PlayerRows:
    """The rows of one table."""
    return PlayerRows(await player_stats.of_table(connection, table_id), await pulka_results.of_table(connection, table_id))
