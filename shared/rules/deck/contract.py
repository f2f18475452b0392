"""Contracts as the game writes them: "6S" to "10NT", "misere", "all_pass"; their ladder and prices (2.2.2, 3.3.5, 3.8.2).

A contract is a plain string; everything about it is looked up. Bids are the 26 steps of `LADDER`; `all_pass` is no bid.
"""

from __future__ import annotations

from typing import Final

MISERE: Final = "misere"
ALL_PASS: Final = "all_pass"  # noqa: S105 - a contract, no password

TRICKS: Final = 10  # of a deal
LEVELS: Final = (6, 7, 8, 9, 10)
#: From low to high: hearts over diamonds over clubs over spades, no trump over all (1.3.1).
STRAINS: Final = ("S", "C", "D", "H", "NT")

#: The trick games, low to high.
GAMES: Final = tuple(f"{level}{strain}" for level in LEVELS for strain in STRAINS)
#: All bids, low to high: misere stands between the eights and the nines (3.6.4).
LADDER: Final = (*GAMES[:15], MISERE, *GAMES[15:])
#: A bid's step, from 1 (6S) to 26 (10NT).
RANK: Final[dict[str, int]] = {bid: step for step, bid in enumerate(LADDER, start=1)}
#: Everything a deal can be played as.
CONTRACTS: Final = (*LADDER, ALL_PASS)

#: Level of a trick game, 6 to 10; misere and all-pass have none.
LEVEL: Final[dict[str, int]] = {f"{level}{strain}": level for level in LEVELS for strain in STRAINS}
#: Trump suit or "NT" of a trick game; misere and all-pass are played without trumps (3.6.7, 3.7.5).
STRAIN: Final[dict[str, str]] = {f"{level}{strain}": strain for level in LEVELS for strain in STRAINS} | {MISERE: "NT", ALL_PASS: "NT"}
#: Points into the pool for a game made, by level (2.2.2).
PRICE_OF_LEVEL: Final[dict[int, int]] = {6: 2, 7: 4, 8: 6, 9: 8, 10: 10}
#: Price of a contract: into the pool when made, and the unit of mountain and whists (4.1.1).
PRICE: Final[dict[str, int]] = {game: PRICE_OF_LEVEL[level] for game, level in LEVEL.items()} | {MISERE: 10}
#: Tricks that the defenders owe together, by level (3.8.2).
OBLIGATION: Final[dict[int, int]] = {6: 4, 7: 2, 8: 1, 9: 1, 10: 1}


def is_game(contract: str) -> bool:
    """Whether it is a trick game (3.5.1), not misere or all-pass."""
    return contract in LEVEL
