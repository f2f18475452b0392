"""What counts of a trick game or misere: tricks really taken, and what fines take away from them.

A fine's trick goes to nobody: pool, mountain and a whister's duty follow the counted tricks, whists and consolation those really taken
(3.9.12, 3.9.18 example 1); a whister's own fine costs them a trick of whists too.
"""

from __future__ import annotations

import msgspec

from shared.rules.deck.contract import LEVEL
from shared.rules.scoring.outcome import DealOutcome, Infraction

#: Looking into the discard or into tricks, and a late revoke of a side that has no trick to lose: one trick.
ONE_TRICK = ("3.4.9", "3.9.11.2", "3.9.16.2")
#: A wrong number of cards costs at least two tricks (3.9.18, 3.4.6).
TWO = 2


class GameResult(msgspec.Struct, frozen=True, gc=False):
    """`real` undertricks as played (tricks taken on a misere); `fines`: further ones, each with the infraction that adds them."""

    real: int
    surplus: int
    fines: tuple[tuple[Infraction, int], ...] = ()

    @property
    def undertricks(self) -> int:
        """Missing tricks that count, 0 when the game is made."""
        return self.real + sum(more for _, more in self.fines) if self.fines else self.real

    @property
    def made(self) -> bool:
        """The declarer's obligation is fulfilled, fines included."""
        return self.undertricks == 0


def game_result(outcome: DealOutcome) -> GameResult:
    """The declarer's result in a trick game or misere; an unplayed contract counts as made exactly (3.8.7)."""
    assert outcome.declarer is not None  # noqa: S101 - a trick game or misere has a declarer
    wrong_hand = outcome.offences("3.4.6")
    if wrong_hand:
        return GameResult(0, 0, ((wrong_hand[0], (wrong_hand[0].proved or 0) + TWO),))
    if outcome.without_three:
        return GameResult(3, 0)
    level = 0 if outcome.is_misere else LEVEL[outcome.contract or ""]
    if outcome.conceded:
        return GameResult(level, 0)
    if not outcome.tricks:
        return GameResult(0, 0)
    taken = outcome.tricks[outcome.declarer]
    margin = -taken if outcome.is_misere else taken - level
    return _with_fines(outcome, margin)


def _with_fines(outcome: DealOutcome, margin: int) -> GameResult:
    """`margin` is overtricks, or minus undertricks. Overtricks are used up by fines of one trick first (3.4.9), but not by 3.9.18."""
    real, surplus = max(0, -margin), max(0, margin)
    if not outcome.infractions:
        return GameResult(real, surplus)
    fines: list[tuple[Infraction, int]] = []
    missing = real
    for infraction in outcome.infractions:
        if infraction.ruled or infraction.seat != outcome.declarer or infraction.rule != "3.9.18":
            continue
        more = max(real + TWO, infraction.proved or 0) - missing
        surplus = 0
        if more > 0:
            fines.append((infraction, more))
            missing += more
    for infraction in outcome.infractions:
        if infraction.ruled or infraction.seat != outcome.declarer or infraction.rule not in ONE_TRICK:
            continue
        if surplus:
            surplus -= 1
        else:
            fines.append((infraction, 1))
    return GameResult(real, surplus, tuple(fines))


def lost_tricks(outcome: DealOutcome, seat: int) -> int:
    """Tricks that `seat` has lost by looking where they may not (3.9.11.2)."""
    return sum(one.seat == seat for one in outcome.offences(*ONE_TRICK)) if outcome.infractions else 0


def least_missing(outcome: DealOutcome, whister: int) -> int:
    """How many tricks a whister misses at the least, because they played with a wrong number of cards (3.9.18 examples 2 and 3)."""
    if not outcome.infractions:
        return 0
    return max((max(TWO, one.proved or 0) for one in outcome.offences("3.9.18") if one.seat == whister), default=0)
