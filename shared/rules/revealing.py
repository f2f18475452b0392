"""What of a deal is secret, and how it is told: salts with every hidden card, and all of them when the deal is over (3.2.8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from shared.rules import shuffle
from shared.rules.game_events import CardsDiscarded, DarkTalonTaken, DealRevealed, Event, HandSeen
from shared.rules.shuffle import DISCARD, TALON, hand_label, seen_label

if TYPE_CHECKING:  # `pulka` imports this file
    from shared.rules.pulka import Pulka


def with_salts(pulka: Pulka, events: tuple[Event, ...]) -> list[Event]:
    """The events with deal number and salts put to those that hold hidden cards."""
    seed = pulka.secrets.server_seed
    done: list[Event] = []
    for event in events:
        match event:
            case CardsDiscarded():
                done.append(msgspec.structs.replace(event, deal=pulka.number, salt=shuffle.salt(seed, DISCARD)))
            case DarkTalonTaken():
                done.append(msgspec.structs.replace(event, deal=pulka.number, salt=shuffle.salt(seed, TALON)))
            case HandSeen(hand=hand):
                done.append(msgspec.structs.replace(event, deal=pulka.number, salt=shuffle.salt(seed, seen_label(hand))))
            case _:
                done.append(event)
    return done


def reveal(pulka: Pulka) -> DealRevealed:
    """Everything that was hidden in the deal that `pulka` has just scored."""
    secrets = pulka.secrets
    labels = [*map(hand_label, range(len(secrets.hands))), TALON, *map(seen_label, secrets.seen)]
    if secrets.discard is not None:
        labels.append(DISCARD)
    salts = {label: shuffle.salt(secrets.server_seed, label) for label in labels}
    return DealRevealed(pulka.number, secrets.server_seed, secrets.hands, secrets.talon, secrets.discard, salts)
