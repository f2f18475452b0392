"""Who stands as whister when the calls are over (3.8): the last words of all seats, read once."""

from __future__ import annotations

from typing import Literal

import msgspec

from shared.rules.convention.options import Convention
from shared.rules.deck.seats import defenders
from shared.rules.scoring.outcome import DealOutcome
from shared.rules.scoring.whist_calls import is_checked


class Whisting(msgspec.Struct, frozen=True, gc=False):
    """`kind` and the seats it concerns.

    * `nobody`: all passed, the contract counts as made. `half`: so it does, and `first` writes half of the obligation (3.8.7).
    * `one`: `first` whists alone, `second` is the other defender (None with two players); `returned`: that one had gone for half (3.8.8).
    * `pair`: both whist, `first` spoke first. `dealer`: the resting dealer `first` whists for both defenders (3.8.8).
    * `checked`: a ten that is played without calls, each defender for themselves.
    """

    kind: Literal["nobody", "half", "one", "pair", "dealer", "checked"]
    first: int | None = None
    second: int | None = None
    returned: bool = False


def whisting(convention: Convention, players: int, outcome: DealOutcome) -> Whisting:
    """How the trick game of `outcome` was called."""
    assert outcome.declarer is not None  # noqa: S101 - a trick game has a declarer
    order = defenders(players, outcome.dealer, outcome.declarer)
    if not any(outcome.calls):
        checked = is_checked(convention, outcome.contract)
        return Whisting("checked", order[0], order[1] if len(order) > 1 else None) if checked else Whisting("nobody")
    if outcome.dealer not in order and outcome.calls[outcome.dealer] == "whist":
        return Whisting("dealer", outcome.dealer)
    whisters = [seat for seat in order if outcome.calls[seat] == "whist"]
    halves = [seat for seat in order if outcome.calls[seat] == "half"]
    if len(whisters) == 2:
        return Whisting("pair", whisters[0], whisters[1])
    if whisters:
        others = [seat for seat in order if seat != whisters[0]]
        return Whisting("one", whisters[0], others[0] if others else None, returned=bool(halves))
    return Whisting("half", halves[0]) if halves else Whisting("nobody")
