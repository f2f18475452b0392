"""A table's commit as one viewer may see it: every event, and of what is hidden only what is his. It depends on commit and viewer, never on
when he asks.

Until `DealRevealed`, or `SeatsDrawn` after a draw for seats, a hand is known to its owner, where calls are made in the dark once he has
looked (3.3.19), a discard and a talon taken in the dark to its declarer, a hand that the resting dealer looked at to him (3.8.8), what
somebody peeked at or took to him (3.2.19-3.2.21), and the talon to nobody. That a card is a revoke is shown to nobody: it would tell what
its hand holds. The arbiter of an adjudicated table sees all of that [conv]; the server's seed nobody does, nor salts: with one, a guess
could be tried on its digest.
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
from shared.events.sealing import HAND, NO_SEAT, PEEKED, SEEN, Boxes, has_boxes
from shared.events.upcast import stored_table_events
from shared.rules.adjudicated.court import ARBITER, Maker
from shared.rules.deck.shuffle import DISCARD, RETURNED_HAND, RETURNED_TALON, TALON
from shared.rules.language import game_events as game
from shared.rules.language import irregular_events as irregular
from shared.rules.language import member_events as member
from shared.rules.language.game_events import Event
from shared.rules.language.irregular_events import REVOKE

_REVOKED: Final = f'"irregular":"{REVOKE}'.encode()


class PublicCodec:
    """Makes what may be shown. Without keys it serves spectators, who are shown the content of no box."""

    def __init__(self, keys: MasterKeys | None = None) -> None:
        self._keys = keys

    def redacted(self, commit: Commit, eye: Maker | None) -> list[dict[str, Any]]:
        """The events as JSON objects for the player at a seat, the arbiter, or a spectator (`None`); `None` in them: not for him to know.

        Raises `ValueError` without keys for anybody but a spectator, `UnknownKey`, `TamperedBox`, `NewerSchema`, `msgspec.ValidationError`.
        """
        viewer = _Viewer(self._keys, commit.aggregate, eye)
        return [_shown(event, viewer) for event in stored_table_events(commit)]

    def encoded(self, commit: Commit, eye: Maker | None) -> tuple[msgspec.Raw, ...]:
        """`redacted` as JSON text. Events of today's schema that have no boxes hide nothing and are shown as they are stored, but for the
        mark of a revoke: it would tell what its hand holds (3.9.19).
        """
        if commit.schema == SCHEMA and not has_boxes(commit) and not any(_REVOKED in event for event in map(bytes, commit.events)):
            return commit.events
        return tuple(msgspec.Raw(encode_event(event)) for event in self.redacted(commit, eye))


class _Viewer:
    """Whoever looks at a table: a seat, the arbiter, or nobody in particular."""

    def __init__(self, keys: MasterKeys | None, aggregate: str, eye: Maker | None) -> None:
        if eye is not None and keys is None:
            raise ValueError("a player's own cards cannot be shown without keys")
        self._boxes = None if keys is None else Boxes(keys, aggregate)
        self._eye = eye
        self.judges = eye == ARBITER

    def sees(self, box: Sealed, deal: int, kind: str, owner: int) -> str | None:
        """What is in the box of its `owner`, if it is he who looks, or the arbiter, who sees all cards [conv]."""
        if self._boxes is None or not (self.judges or owner == self._eye):
            return None
        return self._boxes.opened(box, deal, kind, owner).text


def _shown(event: StoredTableEvent, viewer: _Viewer) -> dict[str, Any]:
    match event:
        case SealedSeatDrawStarted():
            return _object(member.SeatDrawStarted(event.commitment, event.algorithm, None))
        case SealedDealStarted():
            return _object(game.DealStarted(event.number, event.dealer, event.commitment, event.algorithm, None))
        case SealedCardsDealt(deal=deal):
            hands = [box if isinstance(box, str) else _own_hand(event, seat, viewer) for seat, box in enumerate(event.hands)]
            return _object(game.CardsDealt(tuple(hands), viewer.sees(event.talon, deal, TALON, NO_SEAT), deal, dark=event.dark))
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
            hand, talon = viewer.sees(event.hand, deal, RETURNED_HAND, seat), viewer.sees(event.talon, deal, RETURNED_TALON, NO_SEAT)
            return _object(irregular.TalonReturned(seat, hand, talon, deal))
        case game.CardPlayed(irregular=str() as rule) if rule.startswith(REVOKE) and not viewer.judges:
            return _object(msgspec.structs.replace(event, irregular=""))
        case _:
            return _object(event)


def _own_hand(dealt: SealedCardsDealt, seat: int, viewer: _Viewer) -> str | None:
    """A hand that was just dealt, to its owner; where calls are made in the dark he has not looked either (3.3.19)."""
    box = dealt.hands[seat]
    return None if (dealt.dark and not viewer.judges) or isinstance(box, str) else viewer.sees(box, dealt.deal, HAND, seat)


def _object(event: Event) -> dict[str, Any]:
    shown: dict[str, Any] = msgspec.json.decode(encode_event(event))
    if not isinstance(event, game.DealRevealed):  # its salts are what it reveals; elsewhere they are empty here
        shown.pop("salts", None)
        shown.pop("salt", None)
    return shown
