"""A table's commit as one viewer may see it: every event, and of what is hidden only what is his. It depends on commit and viewer, never on
when he asks.

Until `DealRevealed`, or `SeatsDrawn` after a draw for seats, a hand is known to its owner, where calls are made in the dark once he has
looked (3.3.19), a discard and a talon taken in the dark to its declarer, a hand that the resting dealer looked at to him (3.8.8), what
somebody peeked at or took to him (3.2.19-3.2.21), and talon and server's seed to nobody. Salts are not shown before: with one, a guess
could be tried on its digest. That a card is a revoke is shown to nobody: it would tell what its hand holds.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from shared.events.catalogue import (
    SealedCardsDealt,
    SealedCardsDiscarded,
    SealedDarkTalonTaken,
    SealedDealStarted,
    SealedHandSeen,
    SealedPeeked,
    SealedSeatDrawStarted,
    SealedTalonReturned,
    SealedTalonTakenEarly,
    StoredTableEvent,
    encode_event,
)
from shared.events.commit import SCHEMA, Commit
from shared.events.keys import MasterKeys
from shared.events.sealed import Sealed
from shared.events.sealing import HAND, PEEKED, SEEN, Boxes, has_boxes
from shared.events.upcast import stored_table_events
from shared.rules import game_events as game
from shared.rules import irregular_events as irregular
from shared.rules.game_events import Event
from shared.rules.irregular_events import REVOKE
from shared.rules.shuffle import DISCARD, RETURNED_HAND, TALON

_REVOKED: Final = f'"irregular":"{REVOKE}'.encode()


class PublicCodec:
    """Makes what may be shown. Without keys it serves spectators, who are shown the content of no box."""

    def __init__(self, keys: MasterKeys | None = None) -> None:
        self._keys = keys

    def redacted(self, commit: Commit, seat: int | None) -> list[dict[str, Any]]:
        """The events as JSON objects for the player at `seat`, or for a spectator (`None`); `None` in them is what he may not know.

        Raises `ValueError` for a seat when there are no keys, `UnknownKey`, `TamperedBox`, `NewerSchema`, `msgspec.ValidationError`.
        """
        viewer = _Viewer(self._keys, commit.aggregate, seat)
        return [_shown(event, viewer) for event in stored_table_events(commit)]

    def encoded(self, commit: Commit, seat: int | None) -> tuple[msgspec.Raw, ...]:
        """`redacted` as JSON text. Events of today's schema that have no boxes hide nothing and are shown as they are stored, but for the
        mark of a revoke: it would tell what its hand holds (3.9.19).
        """
        if commit.schema == SCHEMA and not has_boxes(commit) and not any(_REVOKED in event for event in map(bytes, commit.events)):
            return commit.events
        return tuple(msgspec.Raw(encode_event(event)) for event in self.redacted(commit, seat))


class _Viewer:
    """Whoever looks at a table: a seat, or nobody in particular."""

    def __init__(self, keys: MasterKeys | None, aggregate: str, seat: int | None) -> None:
        if seat is not None and keys is None:
            raise ValueError("a player's own cards cannot be shown without keys")
        self._boxes = None if keys is None else Boxes(keys, aggregate)
        self._seat = seat

    def sees(self, box: Sealed, deal: int, kind: str, owner: int) -> str | None:
        """What is in the box of its `owner`, if it is he who looks."""
        return self._boxes.opened(box, deal, kind, owner).text if self._boxes is not None and owner == self._seat else None


def _shown(event: StoredTableEvent, viewer: _Viewer) -> dict[str, Any]:
    match event:
        case SealedSeatDrawStarted():
            return _object(game.SeatDrawStarted(event.commitment, event.algorithm, None))
        case SealedDealStarted():
            return _object(game.DealStarted(event.number, event.dealer, event.commitment, event.algorithm, None))
        case SealedCardsDealt(deal=deal):
            hands = [box if isinstance(box, str) else _own_hand(event, seat, viewer) for seat, box in enumerate(event.hands)]
            return _object(game.CardsDealt(tuple(hands), None, deal, dark=event.dark))
        case SealedDarkTalonTaken(seat=seat, deal=deal):
            return _object(game.DarkTalonTaken(seat, viewer.sees(event.cards, deal, TALON, seat), deal))
        case SealedCardsDiscarded(seat=seat, deal=deal):
            return _object(game.CardsDiscarded(seat, viewer.sees(event.cards, deal, DISCARD, seat), deal, irregular=event.irregular))
        case SealedHandSeen(seat=seat, deal=deal):
            return _object(game.HandSeen(seat, event.hand, viewer.sees(event.cards, deal, SEEN, seat), deal))
        case _:
            return _shown_irregular(event, viewer)


def _shown_irregular(event: StoredTableEvent, viewer: _Viewer) -> dict[str, Any]:
    """What an adjudicated table hides besides."""
    match event:
        case SealedPeeked(seat=seat, deal=deal, cards=cards):
            seen = cards if isinstance(cards, str) else viewer.sees(cards, deal, PEEKED, seat)
            return _object(irregular.Peeked(seat, event.what, seen, event.trick, event.show, event.irregular, deal))
        case SealedTalonTakenEarly(seat=seat, deal=deal):
            return _object(irregular.TalonTakenEarly(seat, viewer.sees(event.cards, deal, PEEKED, seat), event.irregular, deal))
        case SealedTalonReturned(seat=seat, deal=deal):
            return _object(irregular.TalonReturned(seat, viewer.sees(event.hand, deal, RETURNED_HAND, seat), None, deal))
        case game.CardPlayed(irregular=str() as rule) if rule.startswith(REVOKE):
            return _object(msgspec.structs.replace(event, irregular=""))
        case _:
            return _object(event)


def _own_hand(dealt: SealedCardsDealt, seat: int, viewer: _Viewer) -> str | None:
    """A hand that was just dealt, to its owner; where calls are made in the dark he has not looked either (3.3.19)."""
    box = dealt.hands[seat]
    return None if dealt.dark or isinstance(box, str) else viewer.sees(box, dealt.deal, HAND, seat)


def _object(event: Event) -> dict[str, Any]:
    shown: dict[str, Any] = msgspec.json.decode(encode_event(event))
    if not isinstance(event, game.DealRevealed):  # its salts are what it reveals; elsewhere they are empty here
        shown.pop("salts", None)
        shown.pop("salt", None)
    return shown
