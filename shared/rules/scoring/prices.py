"""The prices of one deal: what goes into pool, mountain and whists under this convention, with dark and bomb factors (4.1)."""

from __future__ import annotations

import msgspec

from shared.rules.convention.options import Convention, Fixed
from shared.rules.deck.contract import PRICE
from shared.rules.language.amount import Amount, divided
from shared.rules.scoring.outcome import DealOutcome
from shared.rules.scoring.sheet import Entry, Sheet


class Reckoning(msgspec.Struct, frozen=True, gc=False):
    """A deal to be scored: the convention, the sheet before it, its outcome, and `factor` of dark calls and bombs on everything (4.1.2).

    `target` is the pool to play to, or None. Counts are tricks; every price below is per trick.
    """

    convention: Convention
    players: int
    target: int | None
    sheet: Sheet
    outcome: DealOutcome
    factor: int = 1

    @property
    def price(self) -> int:
        """Points into the pool for a game made (4.1.1)."""
        return PRICE[self.outcome.contract or ""] * self.factor

    @property
    def mountain_price(self) -> int:
        """Points into the declarer's mountain per undertrick (4.1.1); nothing for trick games where a remise is direct."""
        if self.convention.declarer_remise == "direct" and self.outcome.is_game:
            return 0
        return self.price * self.convention.remise_factor

    @property
    def whist_price(self) -> int:
        """Whists per trick of a whister (3.8.1.1)."""
        return self.price * self.convention.whist_factor

    @property
    def consolation_price(self) -> int:
        """Whists that every opponent writes per undertrick (3.8.1.2, FN36)."""
        consolation = self.convention.consolation
        if isinstance(consolation, Fixed):
            return consolation.fixed * self.factor
        return self.whist_price if consolation == "price" else 0

    def whister_answers_half(self, whister: int) -> bool:
        """Whether a missing trick costs `whister` half its price (3.8.12); with `half_until_closed` only before his own pool is closed."""
        share = self.convention.whister_remise
        if share == "half_until_closed":
            return self.target is None or self.sheet.pool[whister] < self.target
        return share == "half"

    def whister_price(self, whister: int) -> Amount:
        """Points into a whister's mountain per missing trick (3.8.11, 3.8.12)."""
        if self.convention.whister_remise == "none":
            return 0
        full = self.price * self.convention.remise_factor
        return divided(full, 2) if self.whister_answers_half(whister) else full

    def opponents(self) -> tuple[int, ...]:
        """Everybody but the declarer, resting players too."""
        return tuple(seat for seat in range(self.players) if seat != self.outcome.declarer)


def pool(seat: int, amount: Amount, rule: str, why: str) -> Entry:
    """Points that `seat` has won; where they go is settled when all of the deal are known (4.2.3)."""
    return Entry(seat, "pool", None, amount, rule, why)


def mountain(seat: int, amount: Amount, rule: str, why: str) -> Entry:
    """Points into `seat`'s mountain, or off it."""
    return Entry(seat, "mountain", None, amount, rule, why)


def whists(seat: int, on: int, amount: Amount, rule: str, why: str) -> Entry:
    """Whists that `seat` writes on `on`."""
    return Entry(seat, "whists", on, amount, rule, why)


def counted(tricks: Amount, price: Amount) -> str:
    """Tricks and their price as an entry says it: "4 tricks at 2"."""
    return f"{tricks} trick{'' if tricks == 1 else 's'} at {price}"


def without(undertricks: int) -> str:
    """How far a game failed, as an entry says it: "without 2"."""
    return f"without {undertricks}"
