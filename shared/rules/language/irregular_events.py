"""What happens at an adjudicated table besides the game itself: irregular acts, calls of attention, and how the Code remedies them.

Past tense, part of the storage contract like `game_events`. Calls, discards, contracts and cards that break a rule are the ordinary
events, with the rule in `irregular`. Nothing is ever taken out of the log: what is taken back stands there twice, once as it happened, once
as taken back. `act` counts a deal's irregular acts from 0, in the order in which they happened.
"""

from __future__ import annotations

from typing import Any, Final

from shared.rules.language.game_events import Event

#: The mark of a card that does not follow though its hand could; every viewer's copy is without it, since it tells what the hand holds.
REVOKE: Final = "3.9.16"


class Peeked(Event, frozen=True, tag="Peeked", omit_defaults=True):
    """`seat` looked by their own act at the `talon`, the `discard` or trick number `trick`; with `show` they turned it up for all.

    `cards` are what they saw. `irregular` is the rule that forbids it, "" where it is allowed (3.9.8). A trick lay open when it was played,
    so its cards are not secret.
    """

    seat: int
    what: str
    cards: str | None
    trick: int = 0
    show: bool = False
    irregular: str = ""
    deal: int = 0
    salt: str = ""


class CardsShown(Event, frozen=True, tag="CardsShown"):
    """`seat` showed cards of their own without playing them (3.9.15)."""

    seat: int
    cards: str
    irregular: str


class TalonTakenEarly(Event, frozen=True, tag="TalonTakenEarly", omit_defaults=True):
    """`seat` took the talon into their hand before the auction was over (3.2.20); `cards` are known to them alone."""

    seat: int
    cards: str | None
    irregular: str
    deal: int = 0
    salt: str = ""


class AttentionCalled(Event, frozen=True, tag="AttentionCalled", omit_defaults=True):
    """Somebody pointed out that `seat` broke `rule`: seat `by`, "arbiter" or "server". `act` is the irregular act, -1 where it is none of
    those recorded (a dealing fault, an outsider's advice); `card` is its card, where it has one.
    """

    rule: str
    seat: int
    by: int | str
    act: int = -1
    card: str = ""


class CardGiven(Event, frozen=True, tag="CardGiven"):
    """Where a live table is recorded: who had been dealt a card too many gave `card` to `to`, who was short (3.2.16)."""

    seat: int
    to: int
    card: str
    rule: str


class CallTakenBack(Event, frozen=True, tag="CallTakenBack"):
    """The call of `act` is void; `seat` calls anew (3.3.8, FN22)."""

    seat: int
    rule: str
    act: int


class BidderExcluded(Event, frozen=True, tag="BidderExcluded"):
    """`seat` has no more say in the auction and all their bids are void (3.2.19, 3.3.16.1)."""

    seat: int
    rule: str


class TalonReturned(Event, frozen=True, tag="TalonReturned", omit_defaults=True):
    """The twelve cards of `seat` were shuffled and two drawn blind are the new talon (3.3.17); `hand` is known to them, `talon` to nobody.

    `salts` are the hand's and the talon's.
    """

    seat: int
    hand: str | None
    talon: str | None
    deal: int = 0
    salts: tuple[str, ...] = ()


class ContractTakenBack(Event, frozen=True, tag="ContractTakenBack"):
    """The contract of `act` may not be ordered; the declarer names another, and every word on it is void (3.4.4)."""

    seat: int
    rule: str
    act: int


class OrderRefused(Event, frozen=True, tag="OrderRefused"):
    """A second wrong order: the declarer is "without all" at the level of the bid (3.4.4)."""

    seat: int


class TricksTakenBack(Event, frozen=True, tag="TricksTakenBack"):
    """The card of `act` and all that were played after it go back to the hands: `cards` in the order of play, of `seats` (3.9.14, 3.9.16).

    `to` is the number of the trick that goes on.
    """

    act: int
    rule: str
    to: int
    cards: tuple[str, ...]
    seats: tuple[int, ...]


class LeadRestricted(Event, frozen=True, tag="LeadRestricted"):
    """`choice` of the declarer about the lead of `seat`: `forbid` or `order` the suit; void if the hand has only, or none, of it."""

    seat: int
    choice: str
    suit: str
    rule: str


class CardNamed(Event, frozen=True, tag="CardNamed"):
    """An opponent named the `card` that `seat` plays next (3.9.20, FN68)."""

    seat: int
    card: str
    rule: str


class PlansDisputed(Event, frozen=True, tag="PlansDisputed"):
    """`seat` is written the result of their own plan of defence: `tricks` by hand, of best play (3.8.5.1). `lot`: which result the declarer
    writes, the `disputed` or the `played` one.
    """

    seat: int
    tricks: tuple[int, ...]
    lot: str


class TrickForfeited(Event, frozen=True, tag="TrickForfeited"):
    """`seat` loses `tricks` under `rule`: to seat `to`, or to nobody (None), and then they only count against `seat`."""

    rule: str
    seat: int
    to: int | None
    tricks: int


class FineWritten(Event, frozen=True, tag="FineWritten"):
    """The fine of `seat` under `rule`. `infraction` is as a score file has it (deploy/docs/score-file.md: Infractions); it counts when the
    deal is scored. `entries` are what it writes by itself, none where it changes how tricks count.
    """

    rule: str
    seat: int
    entries: tuple[dict[str, Any], ...]
    infraction: dict[str, Any]


class RestForfeited(Event, frozen=True, tag="RestForfeited", omit_defaults=True):
    """The deal ends: every trick that was still to be won is `seat`'s (3.9.14.3, 3.2.19). `tricks` by seat.

    `results` are what a better line would have been worth, one object a player who may claim it.
    """

    rule: str
    seat: int
    tricks: tuple[int, ...]
    results: tuple[dict[str, Any], ...] = ()


class DealStopped(Event, frozen=True, tag="DealStopped", omit_defaults=True):
    """The deal ends unplayed; what it writes follows from the fines alone, or from a contract that counts as failed (3.3.16.3, 3.4.6).

    `results` are what open cards prove, if they are to prove something: one object a declarer that was tried.
    """

    rule: str
    seat: int
    results: tuple[dict[str, Any], ...] = ()


class DealEnded(Event, frozen=True, tag="DealEnded"):
    """Nothing more is to be played; the deal is scored when all have confirmed it. `outcome` as in `DealScored`, before fines."""

    outcome: dict[str, Any]


class Redealt(Event, frozen=True, tag="Redealt"):
    """The deal is void and `dealer` deals anew (3.2.9-3.2.16)."""

    rule: str
    seat: int
    dealer: int


class Confirmed(Event, frozen=True, tag="Confirmed"):
    """`seat` agrees that the deal may be scored."""

    seat: int


class Ruled(Event, frozen=True, tag="Ruled", omit_defaults=True):
    """The arbiter decided about `seat` under `rule`. It stands instead of every fine of that rule and seat, and of a remedy that waits.

    `entries`: what it writes (`seat`, `column`, `on`, `amount`); `tricks`: the deal ends with these, by seat; `redeal`: it is void.
    """

    rule: str
    by: str
    reason: str
    seat: int
    entries: tuple[dict[str, Any], ...] = ()
    tricks: tuple[int, ...] = ()
    redeal: bool = False


class EntryWritten(Event, frozen=True, tag="EntryWritten"):
    """`seat` wrote `amount` for deal `deal` into a column of their own, whists `on` another (4.2.4); exact, as text where not whole."""

    seat: int
    column: str
    on: int | None
    amount: int | str
    deal: int


class EntryCorrected(Event, frozen=True, tag="EntryCorrected"):
    """What `seat` had written for deal `deal` was changed by `amount` to what is due (4.2.7-4.2.9)."""

    seat: int
    column: str
    on: int | None
    amount: int | str
    deal: int
    rule: str


class EntryFined(Event, frozen=True, tag="EntryFined"):
    """A wrong entry cost as much as it was wrong: `amount` into `seat`'s column, whists `on` the offender (4.2.7)."""

    seat: int
    column: str
    on: int | None
    amount: int | str
    rule: str


class WarningGiven(Event, frozen=True, tag="WarningGiven"):
    """The first wrong entry of `seat` in this pulka was corrected and no more (4.2.7)."""

    seat: int
    rule: str


class LateEntryAsked(Event, frozen=True, tag="LateEntryAsked"):
    """`seat` would enter what they had forgotten for deal `deal`; all others must agree (4.2.10)."""

    seat: int
    column: str
    on: int | None
    amount: int | str
    deal: int


class EntriesClosed(Event, frozen=True, tag="EntriesClosed"):
    """The time to write and to correct deal `deal` is over (4.2.9, 4.2.10)."""

    deal: int
