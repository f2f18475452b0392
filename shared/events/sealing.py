"""Between the events that the rules know, in which every card is plain, and those in the log, in which cards are sealed until they may be
known.

A box belongs to one place: table, deal, kind (`server_seed`, `hand`, `talon`, `discard`, `seen`, `peeked`, `returned_hand`,
`returned_talon`) and seat. Taken to another place it does not open.
"""

from __future__ import annotations

from typing import Final

import msgspec

from shared.events.address import Address
from shared.events.catalogue import (
    SealedCardsDealt,
    SealedCardsDiscarded,
    SealedDarkTalonTaken,
    SealedDealStarted,
    SealedEvent,
    SealedHandSeen,
    SealedPeeked,
    SealedSeatDrawStarted,
    SealedTalonReturned,
    SealedTalonTakenEarly,
    SecretEvent,
    encode_event,
)
from shared.events.commit import Commit
from shared.events.keys import MasterKeys
from shared.events.ledger_events import AnyLedgerEvent
from shared.events.lobby_events import AnyLobbyEvent
from shared.events.sealed import Opened, Sealed, nonce_from
from shared.events.upcast import stored_ledger_events, stored_lobby_events, stored_table_events
from shared.rules.deck.shuffle import DISCARD, RETURNED_HAND, RETURNED_TALON, SERVER_SEED, TALON, framed, salt
from shared.rules.language import game_events as game
from shared.rules.language import irregular_events as irregular
from shared.rules.language import member_events as member
from shared.rules.language.game_events import Event
from shared.rules.pulka.seat_draw import NO_DEAL

SEALED: Final[frozenset[type]] = frozenset(SealedEvent.__args__)
NO_SEAT: Final = -1  # of a box that belongs to no seat
HAND: Final = "hand"
SEEN: Final = "seen"
PEEKED: Final = "peeked"


class TableCodec:
    """Seals what a table decided, and opens what its log holds."""

    def __init__(self, keys: MasterKeys) -> None:
        self._keys = keys

    def seal(self, address: Address, events: tuple[Event, ...], entropy: bytes) -> tuple[msgspec.Raw, ...]:
        """The events in stored form. `entropy` is fresh for every decision, at least 16 bytes.

        Raises `ValueError` for an event whose secret or salt is missing: what the log does not hold can never be revealed.
        """
        sealing = _Sealing(self._keys, address.subject, entropy)
        return tuple([msgspec.Raw(encode_event(_sealed(event, sealing, index))) for index, event in enumerate(events)])

    def open(self, commit: Commit) -> tuple[Event, ...]:
        """The events of `commit` in today's form, all boxes open. Raises `UnknownKey`, `TamperedBox`, `NewerSchema`,
        `msgspec.ValidationError`.
        """
        stored = stored_table_events(commit)
        if SEALED.isdisjoint(map(type, stored)):
            return stored  # nearly every commit: nothing in it was ever secret
        boxes = Boxes(self._keys, commit.aggregate)
        return tuple([_opened(event, boxes) for event in stored])


class LobbyCodec:
    """The lobby's events are stored as they are: what is personal in them is sealed before they are decided, under a key that may be
    destroyed.
    """

    def seal(self, address: Address, events: tuple[AnyLobbyEvent, ...], entropy: bytes) -> tuple[msgspec.Raw, ...]:  # noqa: ARG002  # the port of all codecs
        """The events in stored form."""
        return tuple([msgspec.Raw(encode_event(event)) for event in events])

    def open(self, commit: Commit) -> tuple[AnyLobbyEvent, ...]:
        """The events of `commit` in today's form. Raises `NewerSchema`, `msgspec.ValidationError`."""
        return stored_lobby_events(commit)


class LedgerCodec:
    """The ledger's own events are stored as they are: nothing in them is anybody's secret."""

    def seal(self, address: Address, events: tuple[AnyLedgerEvent, ...], entropy: bytes) -> tuple[msgspec.Raw, ...]:  # noqa: ARG002  # the port of all codecs
        """The events in stored form."""
        return tuple([msgspec.Raw(encode_event(event)) for event in events])

    def open(self, commit: Commit) -> tuple[AnyLedgerEvent, ...]:
        """The events of `commit` in today's form. Raises `NewerSchema`, `msgspec.ValidationError`."""
        return stored_ledger_events(commit)


class Boxes:
    """Opens the boxes of one table."""

    def __init__(self, keys: MasterKeys, aggregate: str) -> None:
        self._keys = keys
        self._aggregate = aggregate

    def opened(self, box: Sealed, deal: int, kind: str, seat: int = NO_SEAT) -> Opened:
        """What is in the box of that place. Raises `UnknownKey`, `TamperedBox`."""
        return self._keys.box_key(self._aggregate, box.key).open(box, _place(self._aggregate, deal, kind, seat))


class _Named(msgspec.Struct):
    """The name of a stored event, the rest passed over."""

    type: str


_name = msgspec.json.Decoder(_Named).decode
_SECRETS: Final[frozenset[type]] = frozenset(SecretEvent.__args__)  # events that are stored with boxes
_SECRET: Final = frozenset(kind.__name__ for kind in _SECRETS)


def name_of(event: msgspec.Raw) -> str:
    """The name of a stored event, which no schema ever changed."""
    return _name(event).type


def has_boxes(commit: Commit) -> bool:
    """Whether something in a table's commit is sealed; tells it by the events' names, under any schema so far."""
    return any(_name(event).type in _SECRET for event in commit.events)


class _Sealing:
    """Makes the boxes of one commit."""

    def __init__(self, keys: MasterKeys, aggregate: str, entropy: bytes) -> None:
        self._keys = keys
        self._aggregate = aggregate
        self._entropy = entropy

    def box(self, content: Opened, deal: int, kind: str, seat: int, index: int) -> Sealed:
        """The box of `content` for its place; `index` is the event's in the commit."""
        place = _place(self._aggregate, deal, kind, seat)
        return self._keys.box_key(self._aggregate).seal(content, nonce_from(self._entropy, place, index), place)


def _place(aggregate: str, deal: int, kind: str, seat: int) -> bytes:
    return framed("pulka box 1", aggregate, deal, kind, seat)


def _sealed(event: Event, sealing: _Sealing, index: int) -> Event:
    if type(event) not in _SECRETS:
        return event
    match event:
        case member.SeatDrawStarted(server_seed=str() as seed):
            box = sealing.box(Opened(seed, salt(seed, SERVER_SEED)), NO_DEAL, SERVER_SEED, NO_SEAT, index)
            return SealedSeatDrawStarted(event.commitment, event.algorithm, box)
        case game.DealStarted(number=number, server_seed=str() as seed):
            box = sealing.box(Opened(seed, salt(seed, SERVER_SEED)), number, SERVER_SEED, NO_SEAT, index)
            return SealedDealStarted(number, event.dealer, event.commitment, event.algorithm, box)
        case game.CardsDealt(deal=deal, talon=str() as talon):
            *salts, talons = event.salts or ("",)
            hands = tuple(
                _required(hand) and sealing.box(Opened(_required(hand), hidden), deal, HAND, seat, index)
                for seat, (hand, hidden) in enumerate(zip(event.hands, salts, strict=True))
            )
            return SealedCardsDealt(hands, sealing.box(Opened(talon, talons), deal, TALON, NO_SEAT, index), deal, event.dark)
        case game.DarkTalonTaken(seat=seat, deal=deal, cards=str() as cards):
            return SealedDarkTalonTaken(seat, sealing.box(Opened(cards, event.salt), deal, TALON, seat, index), deal)
        case game.CardsDiscarded(seat=seat, deal=deal, cards=str() as cards):
            return SealedCardsDiscarded(seat, sealing.box(Opened(cards, event.salt), deal, DISCARD, seat, index), deal, event.irregular)
        case game.HandSeen(seat=seat, deal=deal, cards=str() as cards):
            return SealedHandSeen(seat, event.hand, sealing.box(Opened(cards, event.salt), deal, SEEN, seat, index), deal)
        case irregular.Peeked() | irregular.TalonTakenEarly() | irregular.TalonReturned():
            return _sealed_irregular(event, sealing, index)
    raise ValueError(f"{type(event).__name__} without its secret")


def _sealed_irregular(event: Event, sealing: _Sealing, index: int) -> Event:
    """What an adjudicated table hides besides: looks at the talon or the discard, a talon that was taken too early."""
    match event:
        case irregular.Peeked(seat=seat, deal=deal, cards=str() as cards):
            hidden = not event.show and event.what != "trick"
            looked = sealing.box(Opened(cards, event.salt), deal, PEEKED, seat, index) if hidden else cards
            return SealedPeeked(seat, event.what, looked, event.trick, event.show, event.irregular, deal)
        case irregular.TalonTakenEarly(seat=seat, deal=deal, cards=str() as cards):
            box = sealing.box(Opened(cards, event.salt), deal, PEEKED, seat, index)
            return SealedTalonTakenEarly(seat, box, event.irregular, deal)
        case irregular.TalonReturned(seat=seat, deal=deal, hand=str() as hand, talon=str() as talon):
            own, under = event.salts or ("", "")
            kept = sealing.box(Opened(hand, own), deal, RETURNED_HAND, seat, index)
            return SealedTalonReturned(seat, kept, sealing.box(Opened(talon, under), deal, RETURNED_TALON, NO_SEAT, index), deal)
    raise ValueError(f"{type(event).__name__} without its secret")


def _required(hand: str | None) -> str:
    if hand is None:
        raise ValueError("CardsDealt without its secret")
    return hand


def _opened(event: Event, boxes: Boxes) -> Event:
    match event:
        case SealedSeatDrawStarted():
            seed = boxes.opened(event.server_seed, NO_DEAL, SERVER_SEED).text
            return member.SeatDrawStarted(event.commitment, event.algorithm, seed)
        case SealedDealStarted(number=number):
            seed = boxes.opened(event.server_seed, number, SERVER_SEED).text
            return game.DealStarted(number, event.dealer, event.commitment, event.algorithm, seed)
        case SealedCardsDealt(deal=deal):
            hands = [box if isinstance(box, str) else boxes.opened(box, deal, HAND, seat) for seat, box in enumerate(event.hands)]
            talon = boxes.opened(event.talon, deal, TALON)
            return game.CardsDealt(
                hands=tuple(hand if isinstance(hand, str) else hand.text for hand in hands),
                talon=talon.text,
                deal=deal,
                salts=(*("" if isinstance(hand, str) else hand.salt for hand in hands), talon.salt),
                dark=event.dark,
            )
        case SealedDarkTalonTaken(seat=seat, deal=deal):
            taken = boxes.opened(event.cards, deal, TALON, seat)
            return game.DarkTalonTaken(seat, taken.text, deal, taken.salt)
        case SealedCardsDiscarded(seat=seat, deal=deal):
            discard = boxes.opened(event.cards, deal, DISCARD, seat)
            return game.CardsDiscarded(seat, discard.text, deal, discard.salt, event.irregular)
        case SealedHandSeen(seat=seat, deal=deal):
            seen = boxes.opened(event.cards, deal, SEEN, seat)
            return game.HandSeen(seat, event.hand, seen.text, deal, seen.salt)
        case SealedPeeked(seat=seat, deal=deal, cards=cards):
            looked = Opened(cards, "") if isinstance(cards, str) else boxes.opened(cards, deal, PEEKED, seat)
            return irregular.Peeked(seat, event.what, looked.text, event.trick, event.show, event.irregular, deal, looked.salt)
        case SealedTalonTakenEarly(seat=seat, deal=deal):
            taken = boxes.opened(event.cards, deal, PEEKED, seat)
            return irregular.TalonTakenEarly(seat, taken.text, event.irregular, deal, taken.salt)
        case SealedTalonReturned(seat=seat, deal=deal):
            kept = boxes.opened(event.hand, deal, RETURNED_HAND, seat)
            under = boxes.opened(event.talon, deal, RETURNED_TALON)
            return irregular.TalonReturned(seat, kept.text, under.text, deal, (kept.salt, under.salt))
        case _:
            return event
