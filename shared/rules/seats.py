"""Who plays and who rests: seats are 0 ... n-1 clockwise (3.2.10; Decisions 19 and 20)."""

from __future__ import annotations

from functools import cache

FEWEST, MOST = 2, 5


@cache
def active(players: int, dealer: int) -> tuple[int, ...]:
    """The seats that play the deal, first hand first; with two players (hussar) the dummy that sits third is no seat and not among them."""
    if players <= 3:
        return tuple((dealer + step) % players for step in range(1, players + 1))
    if players == 4:
        return tuple((dealer + step) % 4 for step in (1, 2, 3))
    return (dealer + 1) % 5, (dealer + 2) % 5, (dealer + 4) % 5


@cache
def resting(players: int, dealer: int) -> tuple[int, ...]:
    """The seats that sit the deal out: with four the dealer, with five also the player two to his right."""
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
