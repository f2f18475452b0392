"""The prices of one deal: what goes into pool, mountain and whists under this convention, with dark and bomb factors (4.1)."""

from __future__ import annotations

import msgspec

from shared.rules.convention.options import Convention, Fixed
from shared.rules.deck.contract import PRICE
from shared.rules.language.amount import Amount, divided
from shared.rules.scoring.outcome import DealOutcome
from shared.rules.scoring.sheet import Entry, Sheet


def undertrick_price(convention: Convention, price: int) -> int:
    """Points into a mountain for a missing trick of a game at `price`, before a whister's share is taken of it (4.1.1, Decision 1)."""
    return price * convention.remise_factor


def is_direct(convention: Convention) -> bool:
    """Whether a failed trick game leaves the declarer's mountain alone and is paid in whists (Decision 6)."""
    return convention.declarer_remise == "direct"


def price_on_whist(convention: Convention, price: int) -> int:
    """Whists for a trick against a game at `price` (3.8.1.1, FN53)."""
    return price * convention.whist_factor


def consolation_price(convention: Convention, price: int, factor: int = 1) -> int:
    """Whists that every opponent writes for an undertrick of a game at `price`; an agreed number knows only the `factor` (FN36, FN54)."""
    consolation = convention.consolation
    if isinstance(consolation, Fixed):
        return consolation.fixed * factor
    return price_on_whist(convention, price) if consolation == "price" else 0


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
        if self.outcome.is_game and is_direct(self.convention):
            return 0
        return undertrick_price(self.convention, self.price)

    @property
    def whist_price(self) -> int:
        """Whists per trick of a whister (3.8.1.1)."""
        return price_on_whist(self.convention, self.price)

    @property
    def consolation_price(self) -> int:
        """Whists that every opponent writes per undertrick (3.8.1.2, FN36)."""
        return consolation_price(self.convention, self.price, self.factor)

    def whister_answers_half(self, whister: int) -> bool:
        """Whether a missing trick costs `whister` half its price (3.8.12); with `half_until_closed` only before their pool is closed."""
        share = self.convention.whister_remise
        if share == "half_until_closed":
            return self.target is None or self.sheet.pool[whister] < self.target
        return share == "half"

    def whister_price(self, whister: int) -> Amount:
        """Points into a whister's mountain per missing trick (3.8.11, 3.8.12)."""
        if self.convention.whister_remise == "none":
            return 0
        full = undertrick_price(self.convention, self.price)
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
