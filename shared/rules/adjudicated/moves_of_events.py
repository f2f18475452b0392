"""From the log back to moves: which move of an adjudicated table a commit's first event stands for. The inverse of deciding, for records
of deals and for whoever checks a log by the rules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from shared.rules.adjudicated.court import ARBITER, Maker
from shared.rules.language.game_events import Event, RemedyChosen
from shared.rules.language.irregular_events import (
    AttentionCalled,
    CardsShown,
    Confirmed,
    EntryWritten,
    LateEntryAsked,
    Peeked,
    Ruled,
    TalonTakenEarly,
)
from shared.rules.language.moves import CallAttention, Confirm, CourtMove, Expose, Peek, Remedy, RuledEntry, Ruling, Take, WriteEntry

#: Events that a commit begins with when the pause after a deal is over, and nobody moved.
PAUSE_OVER: Final = ("TrickForfeited", "DealScored")


def move_behind(event: Event) -> tuple[Maker, CourtMove] | None:
    """Who moved, and what, when a commit's first event is `event`; None where it is none that only this mode has.

    The event may be the stored one, whose cards are in a box: what of it makes the move is open.
    """
    make = _BY_NAME.get(event.__struct_config__.tag)
    return None if make is None else make(event)


_MOVES: Final[dict[type[Event], Callable[[Any], tuple[Maker, CourtMove]]]] = {
    Peeked: lambda event: (event.seat, Peek(event.what, event.trick or None, event.show)),
    CardsShown: lambda event: (event.seat, Expose(tuple(event.cards.split()))),
    TalonTakenEarly: lambda event: (event.seat, Take()),
    AttentionCalled: lambda event: (event.by, CallAttention(event.rule, event.seat, event.card or None)),
    RemedyChosen: lambda event: (event.seat, Remedy(event.choice, event.suit, event.card, event.hand)),
    Confirmed: lambda event: (event.seat, Confirm()),
    EntryWritten: lambda event: (event.seat, WriteEntry(event.column, event.amount, event.on)),
    LateEntryAsked: lambda event: (event.seat, WriteEntry(event.column, event.amount, event.on)),
    Ruled: lambda event: (
        ARBITER,
        Ruling(
            event.rule,
            event.seat,
            event.reason,
            tuple(msgspec.convert(entry, RuledEntry) for entry in event.entries) or None,
            event.tricks or None,
            event.redeal,
        ),
    ),
}
_BY_NAME: Final = {kind.__struct_config__.tag: make for kind, make in _MOVES.items()}
