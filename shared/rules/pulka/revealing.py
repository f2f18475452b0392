"""What of a deal is secret, and how it is told: salts with every hidden card, and all of them when the deal is over (3.2.8)."""

from __future__ import annotations

import msgspec

from shared.rules.deck import shuffle
from shared.rules.deck.shuffle import DISCARD, RETURNED_HAND, RETURNED_TALON, TALON, hand_label, seen_label
from shared.rules.language.game_events import CardsDiscarded, DarkTalonTaken, DealRevealed, Event, HandSeen
from shared.rules.language.irregular_events import Peeked, TalonReturned, TalonTakenEarly
from shared.rules.pulka.state import Pulka


def with_salts(pulka: Pulka, events: tuple[Event, ...]) -> list[Event]:
    """The events with deal number and salts put to those that hold hidden cards."""
    return [_with_salt(pulka, event) for event in events]


def _with_salt(pulka: Pulka, event: Event) -> Event:
    number, seed = pulka.number, pulka.secrets.server_seed
    talon = RETURNED_TALON if pulka.secrets.returned else TALON
    match event:
        case CardsDiscarded():
            return msgspec.structs.replace(event, deal=number, salt=shuffle.salt(seed, DISCARD))
        case DarkTalonTaken():
            return msgspec.structs.replace(event, deal=number, salt=shuffle.salt(seed, talon))
        case HandSeen(hand=hand):
            return msgspec.structs.replace(event, deal=number, salt=shuffle.salt(seed, seen_label(hand)))
        case Peeked(what="talon" | "discard" as what, show=False):
            return msgspec.structs.replace(event, deal=number, salt=shuffle.salt(seed, DISCARD if what == "discard" else talon))
        case TalonTakenEarly():
            return msgspec.structs.replace(event, deal=number, salt=shuffle.salt(seed, talon))
        case TalonReturned():
            salts = (shuffle.salt(seed, RETURNED_HAND), shuffle.salt(seed, RETURNED_TALON))
            return msgspec.structs.replace(event, deal=number, salts=salts)
    return event


def reveal(pulka: Pulka) -> DealRevealed:
    """Everything that was hidden in the deal that `pulka` has just scored, or found void."""
    secrets = pulka.secrets
    labels = [*map(hand_label, range(len(secrets.hands))), TALON, *map(seen_label, secrets.seen)]
    labels += [] if secrets.discard is None else [DISCARD]
    labels += [RETURNED_HAND, RETURNED_TALON] if secrets.returned else []
    salts = {label: shuffle.salt(secrets.server_seed, label) for label in labels}
    return DealRevealed(pulka.number, secrets.server_seed, secrets.hands, secrets.talon, secrets.discard, salts, secrets.returned)
