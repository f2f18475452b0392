"""From seats to places in the order of play, and back."""

from __future__ import annotations

from collections.abc import Sequence

from shared.rules.open_cards.search import Three


def order_of_play(hands: Sequence[int]) -> Three:
    """The three seats at play, clockwise: of more than three those that still have cards. `ValueError` when these are not three: in the
    last trick the caller must give the order.
    """
    seats = tuple(range(len(hands))) if len(hands) == 3 else tuple(seat for seat, hand in enumerate(hands) if hand)
    if len(seats) != 3:
        raise ValueError(f"{len(seats)} hands have cards: name the order of play")
    return seats[0], seats[1], seats[2]


def by_place(hands: Sequence[int], order: Three) -> Three:
    """The hands in the order of play."""
    return hands[order[0]], hands[order[1]], hands[order[2]]
