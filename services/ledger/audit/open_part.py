"""How much of a table may be handed out byte by byte: all up to the commit before a deal, or a draw for seats, that is not revealed yet."""

from __future__ import annotations

from collections.abc import Sequence

from shared.eventlog.port import Stored
from shared.events.commit import decode
from shared.events.hidden import HIDDEN_UNTIL
from shared.events.sealing import name_of


def open_part(commits: Sequence[Stored]) -> list[Stored]:
    """The first of a table's commits, up to the last one after which nothing is hidden. Raises msgspec's errors for what is no commit."""
    hidden: set[str] = set()
    end = 0
    for place, stored in enumerate(commits, 1):
        for name in map(name_of, decode(stored.data).events):
            hidden.discard(name)
            hidden |= {HIDDEN_UNTIL[name]} if name in HIDDEN_UNTIL else set()
        if not hidden:
            end = place
    return list(commits[:end])
