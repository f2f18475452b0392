"""The sheet as the players kept it themselves (4.2.4), beside the reckoned one: what was written otherwise than due stands (4.2.9)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from shared.rules.language.amount import exact
from shared.rules.scoring.sheet import Entry, Sheet

RULE: Final = "4.2.9"
STANDS: Final = "as it stands on the sheet that the players kept"  # frozen: stored in `PulkaRecorded`, and known again by it


def differences(kept: Sheet, reckoned: Sheet) -> tuple[Entry, ...]:
    """The entries that make the sheet `kept` by the players of the `reckoned` one; nobody is helped by them."""
    return tuple(_differences(kept, reckoned))


def due(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """What was due of a deal's `entries`, without those that made the kept sheet of it."""
    return tuple(one for one in entries if (one.rule, one.why) != (RULE, STANDS))


def _differences(kept: Sheet, reckoned: Sheet) -> Iterator[Entry]:
    for seat in range(kept.players):
        if change := exact(kept.pool[seat] - reckoned.pool[seat]):
            yield Entry(seat, "pool", None, change, RULE, STANDS)
        if change := exact(kept.mountain[seat] - reckoned.mountain[seat]):
            yield Entry(seat, "mountain", None, change, RULE, STANDS)
        for on in range(kept.players):
            if change := exact(kept.whists[seat][on] - reckoned.whists[seat][on]):
                yield Entry(seat, "whists", on, change, RULE, STANDS)
