"""What a contract is worth to a declarer who expects so many tricks: in points of the pool, before it is played."""

from __future__ import annotations

from typing import Final

from shared.rules.deck.contract import GAMES, LEVEL, PRICE, RANK, STRAIN, STRAINS

#: An estimate misses by so much, each as often as the others: a bell of about one trick, narrower the fewer cards are left to lose.
_ERRORS: Final = (-1.4, -0.8, -0.3, 0.0, 0.3, 0.8, 1.4)
#: A missing trick costs its price in the mountain and as much to every opponent as consolation; whists follow on top (4.1.1, 3.8.1.1).
_UNDERTRICK: Final = 1.5
#: A defender's trick costs price whists; seven whists weigh about as much as a point (4.2.14).
_DEFENDERS_TRICK: Final = 0.12


def value(tricks: float, level: int) -> float:
    """Expected points of a game at `level` when `tricks` are expected, in units of its price."""
    total = 0.0
    spread = min(1.0, max(0.4, (11.5 - tricks) / 5))  # measured: 1.0 at six tricks, 0.7 at eight, 0.6 at nine
    for error in _ERRORS:
        taken = min(10, max(0, int(tricks + spread * error + 0.5)))
        total += 1.0 if taken >= level else -_UNDERTRICK * (level - taken)
        total -= _DEFENDERS_TRICK * (10 - taken)
    return total / len(_ERRORS)


def best_contract(tricks: tuple[float, ...], lowest: str) -> tuple[str, float]:
    """The best game not below the bid `lowest`, and its value in points; `tricks` are expected ones by strain, S C D H NT."""
    floor = RANK[lowest]
    return max(
        ((game, PRICE[game] * value(tricks[STRAINS.index(STRAIN[game])], LEVEL[game])) for game in GAMES if RANK[game] >= floor),
        key=lambda pair: pair[1],
    )


def misere_value(danger: float) -> float:
    """Expected points of a misere in which `danger` suits are expected to be caught: ten when made, ten a trick when not (4.2.1).

    Even one without a hole is caught now and then (its own lead, a talon that does not fit), and a suit that is caught may cost two tricks.
    """
    return 10.0 * max(0.0, 0.85 - danger) - 10.0 * (0.3 + 1.6 * danger)
