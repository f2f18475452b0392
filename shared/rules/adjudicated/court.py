"""Where an adjudicated deal stands: the lawful game, and what has happened to it besides. Records, and nothing that decides.

A `Court` shows the same face as a `Deal` (`phase`, `to_act`, `held`, …), so code that shows a table need not know which of the two it has.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

import msgspec

from shared.rules.deal.decider import Deal
from shared.rules.deal.incidents import Incidents, Pending
from shared.rules.deal.position import NOBODY, Auction, Game, Score, Setup, TrickPlay
from shared.rules.language.game_events import BidMade
from shared.rules.scoring.outcome import DealOutcome, Infraction

ARBITER: Final = "arbiter"
SERVER: Final = "server"
#: Who makes a move: a seat, the arbiter, or the server where it watches itself.
Maker: TypeAlias = int | str

DEFAULT_PAUSE_MS: Final = 10_000  # after the last trick, as IRREGULARITIES of the rule book's online table have it
DEFAULT_ORDER_PAUSE_MS: Final = 3_000  # within which a slip of the tongue may be corrected (3.4.8)


class CourtTerms(msgspec.Struct, frozen=True):
    """What an adjudicated table agrees on. `attention`: only seats and the arbiter call, or the server calls at once whatever it sees.

    `entries` by hand: each player writes their own columns (4.2.4). `pause_ms`: after the last trick, then the deal is scored;
    `order_pause_ms`: how long after a contract another may replace it freely (3.4.8). `recorded`: somebody wrote down a live table, whose
    dealer may have dealt wrongly (no server can); `dealer_warned`: this dealer has had their remark (3.2.17).
    `unchecked`: every call is heard that was heard before calls were checked, for whoever decides once more what an old log says.
    """

    attention: Literal["players", "server"] = "players"
    entries: Literal["automatic", "by_hand"] = "automatic"
    pause_ms: int = DEFAULT_PAUSE_MS
    order_pause_ms: int = DEFAULT_ORDER_PAUSE_MS
    recorded: bool = False
    dealer_warned: bool = False
    unchecked: bool = False


def court_terms(terms: dict[str, Any]) -> CourtTerms:
    """What `PulkaOpened.terms` say of it; `pause_s` is in seconds there."""
    return CourtTerms(
        attention=terms.get("attention", "players"),
        entries=terms.get("entries", "automatic"),
        pause_ms=1000 * terms.get("pause_s", DEFAULT_PAUSE_MS // 1000),
        order_pause_ms=1000 * terms.get("order_pause_s", DEFAULT_ORDER_PAUSE_MS // 1000),
    )


ActKind: TypeAlias = Literal[
    "peek_talon", "show_talon", "take", "early_call", "call", "contract", "count", "peek_discard", "turn", "surplus", "revoke",
    "expose", "peek_trick", "dealt",
]  # fmt: skip


class Act(msgspec.Struct, frozen=True, gc=False):
    """One irregular act. `rule` is the one that it breaks, `seat` whose cards or call it is, `by` who did it.

    `before` is the deal as it stood; `trick` the number of the trick, 0 before the play; `card` its card. `pretender` as in `Court`, before
    the act. `standing` is False once it was remedied, taken back or accepted: then nobody can call attention to it any more.
    """

    kind: ActKind
    rule: str
    seat: int
    by: int
    before: Deal
    trick: int = 0
    card: int = NOBODY
    bid: str = ""
    pretender: int = NOBODY
    standing: bool = True


#: What a question of this mode is about (`incidents.Question.about`), which says what follows of the answer; "exposed" is `exposed`'s.
TURN, NAMED_SUIT, TALON, DAMAGES, ADVICE, REPLAY, DEALING = "turn", "named_suit", "talon", "damages", "advice", "replay", "dealing"


class NamedSuit(msgspec.Struct, frozen=True, gc=False):
    """`seat` named `suit` (0..3) out of turn: if they defend, declarer may forbid or order it at their partner's first lead (3.3.18)."""

    seat: int
    suit: int
    act: int


class OwedTrick(msgspec.Struct, frozen=True, gc=False):
    """A late revoke of `seat`, called by `caller`: it costs a trick at the end (3.9.16.2)."""

    seat: int
    caller: Maker


class Dispute(msgspec.Struct, frozen=True, gc=False):
    """`seat` disputes the plan of defence, and is written the result of that: `tricks` by hand. `lot`: the declarer writes that too."""

    seat: int
    tricks: tuple[int, ...]
    lot: bool


class Replay(msgspec.Struct, frozen=True, gc=False):
    """Tricks are played again after a late revoke of `seat`: until `cards` have been played the opponents may name their cards (FN68)."""

    seat: int
    cards: int


class Court(msgspec.Struct, frozen=True, gc=False):
    """A deal of an adjudicated table.

    * `deal`: the game as it stands, everything that was taken back gone from it; a remedy that waits for a choice is its `pending`.
      `entropy`: secret text that a blind draw comes from.
    * `acts`: all irregular acts; `called`: the one that attention was called to last. `infractions`: what will be scored.
    * Auction: `calls`, those that count, "here" resolved; `early` calls that wait for their turn; `pretender`, whose insufficient bid
      nobody noticed; `excluded` (mask); `talon_with`, who took the talon early; `first_tricks_of`, who takes tricks 1 and 2 of an all-pass.
      `dealer_warned`: the dealer has had their remark in this deal (3.2.17).
    * Order: `contract_at`, when the contract was named (ms, 0 unknown); `wrong_orders`; `fixed_order`: the only contract that the declarer
      may name (3.4.12), "" for any.
    * Play: `tricks_shown` (mask of numbers), which all agreed to show (3.9.11.1); `shown`, cards exposed when it has begun;
      `named`, `owed`, `replay`, `dispute`; exposed cards and what binds
      the next card are the deal's `incidents`.
    * The end: `ended`, the result that waits for confirmation; `stopped`: a remedy brought it about; `confirmed` (mask of seats);
      `redealt`: the deal is void.
    * `results` among which claimants of damages choose, `heard` (mask) those who have; `answered`: what was asked last, as (cards played,
      hand, matter).
    """

    deal: Deal
    terms: CourtTerms = CourtTerms()
    entropy: str = ""
    acts: tuple[Act, ...] = ()
    called: int = NOBODY
    infractions: tuple[Infraction, ...] = ()
    calls: tuple[BidMade, ...] = ()
    early: tuple[tuple[int, str, int], ...] = ()
    pretender: int = NOBODY
    excluded: int = 0
    talon_with: int = NOBODY
    first_tricks_of: int = NOBODY
    dealer_warned: bool = False
    tricks_shown: int = 0
    contract_at: int = 0
    wrong_orders: int = 0
    fixed_order: str = ""
    shown: tuple[tuple[int, str], ...] = ()
    named: tuple[NamedSuit, ...] = ()
    owed: tuple[OwedTrick, ...] = ()
    replay: Replay | None = None
    dispute: Dispute | None = None
    ended: DealOutcome | None = None
    stopped: bool = False
    confirmed: int = 0
    redealt: bool = False
    results: tuple[dict[str, Any], ...] = ()
    heard: int = 0
    answered: tuple[int, int, str] = (0, NOBODY, "")

    @property
    def phase(self) -> str:
        """The deal's phase; `scored` when nothing more can happen, `between_deals` when the deal is void."""
        return "between_deals" if self.redealt else self.deal.phase

    @property
    def over(self) -> bool:
        """Nothing more can happen in this deal."""
        return self.redealt or self.deal.score is not None

    @property
    def to_act(self) -> int | None:
        """The seat that the table waits for; None too while the players confirm the result."""
        if self.redealt or (self.ended is not None and self.pending is None):
            return None
        return self.deal.to_act

    @property
    def awaits_confirmation(self) -> bool:
        """The deal is over, and is scored when all seats have confirmed it or the pause is over."""
        return self.ended is not None and self.pending is None and self.deal.score is None and not self.redealt

    @property
    def setup(self) -> Setup:
        """As in `Deal`."""
        return self.deal.setup

    @property
    def auction(self) -> Auction:
        """As in `Deal`."""
        return self.deal.auction

    @property
    def game(self) -> Game:
        """As in `Deal`."""
        return self.deal.game

    @property
    def play(self) -> TrickPlay | None:
        """As in `Deal`."""
        return self.deal.play

    @property
    def score(self) -> Score | None:
        """As in `Deal`."""
        return self.deal.score

    @property
    def incidents(self) -> Incidents | None:
        """As in `Deal`."""
        return self.deal.incidents

    @property
    def pending(self) -> Pending | None:
        """As in `Deal`."""
        return self.deal.pending

    @property
    def full_hands(self) -> tuple[int, ...]:
        """As in `Deal`."""
        return self.deal.full_hands

    @property
    def contract(self) -> str | None:
        """As in `Deal`."""
        return self.deal.contract

    @property
    def declarer(self) -> int | None:
        """As in `Deal`."""
        return self.deal.declarer

    @property
    def shared(self) -> bool:
        """As in `Deal`."""
        return self.deal.shared

    @property
    def tricks(self) -> tuple[int, ...]:
        """As in `Deal`."""
        return self.deal.tricks

    @property
    def laid(self) -> tuple[int, ...]:
        """As in `Deal`."""
        return self.deal.laid

    def held(self, seat: int) -> int:
        """The cards that `seat` holds now, a mask."""
        return self.deal.held(seat)


#: A deal of either mode, to whoever only shows it.
AnyDeal: TypeAlias = Deal | Court


def game_of(deal: AnyDeal) -> Deal:
    """The game itself."""
    return deal.deal if isinstance(deal, Court) else deal


def settled(acts: tuple[Act, ...], index: int, *, since: bool = False) -> tuple[Act, ...]:
    """The acts with number `index` remedied; with `since` all later acts of the play too, whose cards went back with it."""
    return tuple(
        msgspec.structs.replace(act, standing=False)
        if number == index or (since and number > index and act.kind in ("turn", "surplus", "revoke"))
        else act
        for number, act in enumerate(acts)
    )
