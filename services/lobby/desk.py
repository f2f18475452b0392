"""What the lobby's handlers use once the service has started."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from services.lobby.players import Players
from services.lobby.queries import Reads
from services.lobby.tables import Tables
from shared.eventlog.port import EventLog
from shared.leases.port import LeaseStore
from shared.projections.core.at_least import AtLeast
from shared.web.auth import Tokens
from shared.web.problems import unavailable


class Desk(msgspec.Struct, frozen=True):
    """`clock()` is milliseconds since 1970; `at_least` waits for the read tables."""

    log: EventLog
    players: Players
    tables: Tables
    reads: Reads
    at_least: AtLeast
    tokens: Tokens
    bot_leases: LeaseStore
    clock: Callable[[], int]

    def require_log(self) -> None:
        """Raises 503 at once while the log is away: an append would wait for it, and so would its client."""
        if not self.log.connected():
            raise unavailable("The log cannot be reached; nothing was decided.")
