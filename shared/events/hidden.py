"""Which hidden thing an event carries, who may see it and until when: one table, read by sealing, opening, redaction, the table's view and
the audit. A new secret is one row of `ROWS` here, beside the event's stored form in `catalogue`.

"Until when" is the event that tells it to everybody. What a commit shows does not change then: each viewer always sees what they
could see of it when it was stored (deploy/docs/events.md: What is sealed).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, Literal, TypeAlias

import msgspec

from shared.events import catalogue as stored
from shared.rules.adjudicated.court import ARBITER, Maker
from shared.rules.deck.shuffle import DISCARD, RETURNED_HAND, RETURNED_TALON, SERVER_SEED, TALON
from shared.rules.language import chain_events as chained
from shared.rules.language import game_events as game
from shared.rules.language import irregular_events as irregular
from shared.rules.language import member_events as member
from shared.rules.language.game_events import Event
from shared.rules.pulka.seat_draw import NO_DEAL

NO_SEAT: Final = -1  # of a box that belongs to no seat
HAND: Final = "hand"
SEEN: Final = "seen"
PEEKED: Final = "peeked"

Thing: TypeAlias = Literal["seed", "hand", "talon", "discard", "trick", "mark"]


class Who(msgspec.Struct, frozen=True):
    """Who may see a hidden thing; `may(event, owner, eye)` for the seat that owns it, `words` as the documents say it."""

    words: str
    may: Callable[[Any, int, Maker | None], bool]


class Only(msgspec.Struct, frozen=True):
    """When a field of an event is hidden at all; where it is not, everybody sees it."""

    words: str
    hides: Callable[[Any], bool]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One field of one event that holds something hidden.

    `event` is the event as the rules know it, `form` as it is stored; `kind` names the box in its place and never changes, "" for what is
    stored in the open and only kept from the viewers, who get `blank`. `owner` says whose the box is: of the event's `seat`, of the place
    in a list (one box a hand), or nobody's. `thing` is what is hidden, of the hand that the field `hand` names (None: its owner's).
    `anew`: what anybody knew of the thing before does not hold for this one. `until` is the event that tells it to all.
    """

    event: type[Event]
    form: type[Event]
    field: str
    kind: str
    owner: Literal["seat", "place", "nobody"]
    who: Who
    until: type[Event]
    thing: Thing | Literal["what"]  # "what": the event's field of that name says it
    hand: str | None = None
    anew: bool = False
    only: Only | None = None
    blank: str | None = None


NOBODY: Final = Who("nobody", lambda _event, _owner, _eye: False)
THE_ARBITER: Final = Who("the arbiter", lambda _event, _owner, eye: eye == ARBITER)
ITS_SEAT: Final = Who("its seat, the arbiter", lambda _event, owner, eye: eye in (owner, ARBITER))
ITS_SEAT_UNLESS_DARK: Final = Who(
    "its seat, unless `dark`; the arbiter", lambda event, owner, eye: eye == ARBITER or (eye == owner and not event.dark)
)
NOT_SHOWN: Final = Only("unless `show`, or a trick", lambda event: not event.show and event.what != "trick")
A_REVOKE: Final = Only(
    f"where it is `{irregular.REVOKE}`, the mark of a revoke", lambda event: event.irregular.startswith(irregular.REVOKE)
)

ROWS: Final = (
    Row(
        event=member.SeatDrawStarted, form=stored.SealedSeatDrawStarted, field="server_seed", kind=SERVER_SEED, owner="nobody",
        who=NOBODY, until=member.SeatsDrawn, thing="seed",
    ),
    Row(
        event=chained.DealerDrawStarted, form=stored.SealedDealerDrawStarted, field="server_seed", kind=SERVER_SEED, owner="nobody",
        who=NOBODY, until=chained.DealerDrawn, thing="seed",
    ),
    Row(
        event=game.DealStarted, form=stored.SealedDealStarted, field="server_seed", kind=SERVER_SEED, owner="nobody",
        who=NOBODY, until=game.DealRevealed, thing="seed",
    ),
    Row(
        event=game.CardsDealt, form=stored.SealedCardsDealt, field="hands", kind=HAND, owner="place",
        who=ITS_SEAT_UNLESS_DARK, until=game.DealRevealed, thing="hand",
    ),
    Row(
        event=game.CardsDealt, form=stored.SealedCardsDealt, field="talon", kind=TALON, owner="nobody",
        who=THE_ARBITER, until=game.DealRevealed, thing="talon",
    ),
    Row(
        event=game.DarkTalonTaken, form=stored.SealedDarkTalonTaken, field="cards", kind=TALON, owner="seat",
        who=ITS_SEAT, until=game.DealRevealed, thing="talon",
    ),
    Row(
        event=game.CardsDiscarded, form=stored.SealedCardsDiscarded, field="cards", kind=DISCARD, owner="seat",
        who=ITS_SEAT, until=game.DealRevealed, thing="discard", anew=True,
    ),
    Row(
        event=game.HandSeen, form=stored.SealedHandSeen, field="cards", kind=SEEN, owner="seat",
        who=ITS_SEAT, until=game.DealRevealed, thing="hand", hand="hand",
    ),
    Row(
        event=irregular.Peeked, form=stored.SealedPeeked, field="cards", kind=PEEKED, owner="seat",
        who=ITS_SEAT, until=game.DealRevealed, thing="what", only=NOT_SHOWN,
    ),
    Row(
        event=irregular.TalonTakenEarly, form=stored.SealedTalonTakenEarly, field="cards", kind=PEEKED, owner="seat",
        who=ITS_SEAT, until=game.DealRevealed, thing="talon",
    ),
    Row(
        event=irregular.TalonReturned, form=stored.SealedTalonReturned, field="hand", kind=RETURNED_HAND, owner="seat",
        who=ITS_SEAT, until=game.DealRevealed, thing="hand",
    ),
    Row(
        event=irregular.TalonReturned, form=stored.SealedTalonReturned, field="talon", kind=RETURNED_TALON, owner="nobody",
        who=THE_ARBITER, until=game.DealRevealed, thing="talon", anew=True,
    ),
    Row(
        event=game.CardPlayed, form=game.CardPlayed, field="irregular", kind="", owner="seat",
        who=THE_ARBITER, until=game.DealRevealed, thing="mark", only=A_REVOKE, blank="",
    ),
)  # fmt: skip
"""Of two rows of one event the boxes, and their salts, stand in this order."""


def _by_type(rows: tuple[Row, ...]) -> dict[type[Event], tuple[Row, ...]]:
    kinds = dict.fromkeys(kind for row in rows for kind in (row.event, row.form))
    return {kind: tuple(row for row in rows if kind in (row.event, row.form)) for kind in kinds}


BOXED: Final = _by_type(tuple(row for row in ROWS if row.kind))
"""The rows of an event with boxes, by its type, stored or not."""
HIDING: Final = _by_type(ROWS)
"""The rows of every event that hides something."""
BOXED_NAMES: Final = frozenset(row.event.__name__ for row in ROWS if row.kind)
HIDDEN_UNTIL: Final = {row.event.__name__: row.until.__name__ for row in ROWS if row.kind}
"""By the name of an event with boxes the name of the one that tells what is in them."""
MARKS: Final = (f'"irregular":"{irregular.REVOKE}'.encode(), b'"type":"ChainsCommitted"')
"""What stands in the stored bytes of every event that hides something and has no row with a box."""
_ENDS: Final = frozenset(row.until for row in ROWS)


def may_see(row: Row, event: Event, owner: int, eye: Maker | None) -> bool:
    """Whether a seat, the arbiter or a spectator (None) may see what `row` hides of `event`, stored or not; `owner` as `Row.owner` says."""
    return (row.only is not None and not row.only.hides(event)) or row.who.may(event, owner, eye)


def parts(row: Row, event: Event) -> Iterator[tuple[int, Any]]:
    """Owner and content of each hidden thing in the field: one, or one a hand."""
    content = getattr(event, row.field)
    if row.owner == "place":
        yield from enumerate(content)
    else:
        yield getattr(event, "seat", NO_SEAT) if row.owner == "seat" else NO_SEAT, content


def deal_of(event: Event) -> int:
    """The deal that the boxes of `event` belong to."""
    number: int = getattr(event, "deal", getattr(event, "number", NO_DEAL))
    return number


# ---- What was hidden so far --------------------------------------------------------------------------------------------


def remembered(before: tuple[Event, ...], event: Event) -> tuple[Event, ...]:
    """The events whose boxes are not told to all yet, after `event`: what `knows` is asked about."""
    kind = type(event)
    if kind in BOXED:
        return (*before, event)
    return tuple(one for one in before if BOXED[type(one)][0].until is not kind) if kind in _ENDS else before


def knows(eye: Maker | None, thing: Thing, hidden: tuple[Event, ...], hand: int | None = None) -> bool:
    """Whether somebody was shown `thing`, of `hand` if it is one, as it is now, by the events in `hidden`."""
    for event in reversed(hidden):
        for row in BOXED[type(event)]:
            for owner, _ in parts(row, event):
                if _is(row, event, owner, thing, hand):
                    if may_see(row, event, owner, eye):
                        return True
                    if row.anew:
                        return False
    return False


def _is(row: Row, event: Event, owner: int, thing: Thing, hand: int | None) -> bool:
    told = getattr(event, "what", None) if row.thing == "what" else row.thing
    return told == thing and (thing != "hand" or hand == (owner if row.hand is None else getattr(event, row.hand)))
