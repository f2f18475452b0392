"""Who plays and who rests: seats are 0 ... n-1 clockwise (3.2.10; Decisions 19 and 20)."""

from __future__ import annotations

from functools import cache
from typing import Final

FEWEST, MOST = 2, 5
DEALER_RESTS: Final = 4  # players of whom the dealer alone rests; of five another rests too, and the dealer takes no part (Decision 20)
DUMMY: Final = 2  # of two players: the third hand, which nobody sits behind; cards are dealt to it and played from it (Decision 19)


@cache
def active(players: int, dealer: int) -> tuple[int, ...]:
    """The seats that play the deal, first hand first; with two players (hussar) the dummy that sits third is no seat and not among them."""
    if players <= 3:
        return tuple((dealer + step) % players for step in range(1, players + 1))
    if players == 4:
        return tuple((dealer + step) % 4 for step in (1, 2, 3))
    return (dealer + 1) % 5, (dealer + 2) % 5, (dealer + 4) % 5


@cache
def hands_at_play(players: int, dealer: int) -> tuple[int, ...]:
    """The three hands that are dealt and played, first hand first: those of the active seats, of two players the dummy's third."""
    return (*active(players, dealer), DUMMY) if players == 2 else active(players, dealer)


def hand_count(players: int) -> int:
    """How many hands a deal of so many players keeps apart: one a seat, empty for who rests, and of two players the dummy's after them."""
    return max(players, DUMMY + 1)


@cache
def resting(players: int, dealer: int) -> tuple[int, ...]:
    """The seats that sit the deal out: with four the dealer, with five also the player two to the dealer's right."""
    playing = active(players, dealer)
    return tuple(seat for seat in range(players) if seat not in playing)


@cache
def defenders(players: int, dealer: int, declarer: int) -> tuple[int, ...]:
    """The declarer's opponents at play, in the order in which they speak: left of the declarer first (3.8.1)."""
    playing = active(players, dealer)
    return tuple(seat for seat in clockwise_from(players, declarer) if seat in playing)


@cache
def clockwise_from(players: int, seat: int) -> tuple[int, ...]:
    """The other seats, beginning with the left neighbour."""
    return tuple((seat + step) % players for step in range(1, players))
