"""The service's outages, and the time that a turn gets back for them: in the sweep that ends it, in the view and in the stream, by one sum.

They are written down in Postgres once, by whoever sweeps, and struck out when a clock that was ahead had made them up. Every instance reads
them again with every sweep, whether it leads or stands by.
"""

from __future__ import annotations

from typing import Final

from shared.projections.core.projection import Connection

LATEST: Final = 100  # outages that are kept at hand: of more than three seconds each, far more than any turn has lived through

_LATEST = "SELECT began, ended FROM outage ORDER BY ended DESC LIMIT $1"


class Outages:
    """The outages that are known here, the latest first. They do not overlap: each ends where a sweep began again."""

    def __init__(self) -> None:
        self._known: list[tuple[int, int]] = []

    async def read(self, connection: Connection) -> None:
        """Learn what is written down now."""
        self._known = [(row["began"], row["ended"]) for row in await connection.fetch(_LATEST, LATEST)]

    def credit(self, since: int) -> int:
        """For how long nobody could move since a time; both in milliseconds, the time since 1970."""
        lost = 0
        for began, ended in self._known:
            if ended <= since:
                break
            lost += ended - max(began, since)
        return lost
