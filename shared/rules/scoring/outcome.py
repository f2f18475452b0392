"""What a finished deal leaves to be scored: the result at the table, not the cards that led to it."""

from __future__ import annotations

from typing import Literal

import msgspec

from shared.rules.deck.contract import ALL_PASS, MISERE
from shared.rules.language.amount import Amount

Call = Literal["whist", "pass", "half"]


class Infraction(msgspec.Struct, frozen=True, gc=False):
    """An irregularity with its consequence on the sheet. `seat` is the offender.

    `points`: of 3.2.17 and 3.2.21, None for the usual five. `proved`: undertricks (missing tricks of a whister) that the others proved
    under 3.4.6 and 3.9.18. `ruled`: what an arbiter or the players wrote instead, with `reason`: `whists` as `(i, j, n)`, i writes n on j;
    `mountain` and `pool` as `(seat, n)`.
    """

    rule: str
    seat: int
    points: Amount | None = None
    proved: int | None = None
    ruled: bool = False
    whists: tuple[tuple[int, int, Amount], ...] = ()
    mountain: tuple[tuple[int, Amount], ...] = ()
    pool: tuple[tuple[int, Amount], ...] = ()
    reason: str = ""


class DealOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one deal.

    * `contract`: "6S" ... "10NT", "misere", "all_pass"; the bid where it was given up `without_three`; None where the deal ended before it.
    * `declarer`: None on all-pass. `dealer`: rests with four players and more.
    * `calls`: each seat's last word by seat, None for seats that were not asked; empty where there were no calls (misere, all-pass, a
      checked ten). A half-whister whose whist was returned keeps "half"; a resting dealer who whisted has "whist".
    * `tricks`: really taken, by seat (open play by one whister: each hand's own); the resting dealer's are those that talon cards won on
      all-pass; two players: the defender's include the dummy's, but on all-pass and misere they need not. Empty where nothing was played.
    * `conceded`: the declarer admitted "without all" (3.5.4, also a refused order, 3.4.4); `tricks` are then disregarded.
    * `shared`: a misere halved with the resting dealer (3.6.9). `talon_tricks`: worth of the talon gift (3.4.11), 0 to 3.
      `talon_refused`: both talon cards were discarded (3.4.10). `dark`: the winning bid was dark; `dark_pass`: who passed dark (3.3.19).
    """

    dealer: int
    contract: str | None
    declarer: int | None = None
    calls: tuple[Call | None, ...] = ()
    tricks: tuple[int, ...] = ()
    conceded: bool = False
    without_three: bool = False
    shared: bool = False
    talon_tricks: int = 0
    talon_refused: bool = False
    dark: bool = False
    dark_pass: tuple[int, ...] = ()
    infractions: tuple[Infraction, ...] = ()

    @property
    def is_all_pass(self) -> bool:
        """Everybody passed (3.7.1)."""
        return self.contract == ALL_PASS

    @property
    def is_misere(self) -> bool:
        """The declarer undertook to take nothing (3.6.1)."""
        return self.contract == MISERE

    @property
    def is_game(self) -> bool:
        """A trick game (3.5.1)."""
        return self.contract is not None and not self.is_all_pass and not self.is_misere

    def offences(self, *rules: str) -> tuple[Infraction, ...]:
        """The infractions of these rules that follow the rule, not a ruling."""
        return tuple([one for one in self.infractions if one.rule in rules and not one.ruled]) if self.infractions else ()
