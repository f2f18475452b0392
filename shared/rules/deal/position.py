"""Where a deal stands: its records, and nothing that decides. Seats are 0..n-1 clockwise, sets of cards are masks (`cards.py`).

A `Deal` is built anew for every event, so it is cut by how often its parts change: `Setup` never, `Auction` and `Game` before the play,
`TrickPlay` with every card.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

import msgspec

from shared.rules.convention.options import Convention
from shared.rules.deal.incidents import Incidents, Pending
from shared.rules.deck.cards import DECK
from shared.rules.deck.contract import MISERE
from shared.rules.deck.seats import DUMMY
from shared.rules.language.game_events import BidMade, CardPlayed, TalonCardOpened
from shared.rules.scoring.all_pass import talon_leads
from shared.rules.scoring.series import Series
from shared.rules.scoring.sheet import Sheet

Phase: TypeAlias = Literal["auction", "discard", "contract", "whist", "lay", "play", "claim", "remedy", "scored"]

#: Cards on the table, in order, as the events that laid them.
Cards: TypeAlias = tuple[CardPlayed | TalonCardOpened, ...]

NOBODY: Final = -1  # where a seat is kept as a number for speed


def bit(seat: int) -> int:
    """The mask of one seat."""
    return 1 << seat


class Setup(msgspec.Struct, frozen=True, gc=False):
    """What was fixed when the cards were dealt.

    `order` holds first, second and third hand (3.3.2), `resting` the dealer of four or five (3.2.10) or `NOBODY`, `after` the next hand at
    play, by hand. `dealt` are the hands as dealt, `talon` its two cards as they lie (dealt wrongly, one or three). `target` (points of a
    pool, or None), `sheet` and `series` are the pulka's state before the deal. `forced`: nobody is asked for a call, it is one of the
    all-pass deals that begin a pulka (3.7.9).

    A hand has the number of its seat. With two players there is a third, `seats.DUMMY`, that no seat has: what is kept by hand (`after`,
    `dealt`, `Deal.full_hands`, `TrickPlay.taken`) then has three values, what is kept by seat (`Game.calls`) two (Decision 19).
    """

    convention: Convention
    players: int
    target: int | None
    dealer: int
    sheet: Sheet
    series: Series
    order: tuple[int, int, int]
    resting: int
    after: tuple[int, ...]
    dealt: tuple[int, ...]
    talon: tuple[int, ...]
    forced: bool = False

    @property
    def has_dummy(self) -> bool:
        """Two play (hussar, Decision 19): there is a third hand, and one defender."""
        return self.players == DUMMY

    @property
    def talon_leads(self) -> bool:
        """Whether the talon opens the first two tricks of an all-pass (3.7.6); with two players it stays closed (3.7.6.4)."""
        return talon_leads(self.convention, self.players)


class Auction(msgspec.Struct, frozen=True, gc=False):
    """What was called: `calls` in order. `standing` is the last bid ("" before any), `dark` and `no_talon` how it was said, `holder` its
    seat; the rest are masks of seats.

    `out` have no more say: they passed, or a misere was outbid (`over_misere`) that they had bid or before which they had called (FN41).
    `unseen` have not seen their own cards yet, `dark_passed` passed like that (3.3.19). `shared` is the seat whose misere the resting
    dealer shares (3.6.9), or `NOBODY`.
    """

    calls: tuple[BidMade, ...] = ()
    standing: str = ""
    holder: int = NOBODY
    called: int = 0
    passed: int = 0
    out: int = 0
    over_misere: bool = False
    dark: bool = False
    no_talon: bool = False
    unseen: int = 0
    dark_passed: int = 0
    shared: int = NOBODY


class Game(msgspec.Struct, frozen=True, gc=False):
    """What the deal is played as. `contract` is "" until it is named; `bid` is what the declarer won with.

    `calls` are the seats' last words on the contract, `history` every word in turn (`whist.py`). `whister` is the only whister, or the
    resting dealer who whists. `laid` is the mask of seats whose hands lie open (3.8.5, 3.6.6), `looked` the hand that the resting dealer
    saw (3.8.8, 3.6.9). `dark`: the auction was won without having looked (3.3.19); `no_talon`: the talon stays where it lies (FN41).
    """

    declarer: int = NOBODY
    bid: str = ""
    contract: str = ""
    discarded: int = 0
    calls: tuple[str | None, ...] = ()
    history: str = ""
    whister: int = NOBODY
    laid: int = 0
    looked: int = NOBODY
    gave_up: Literal["", "concede", "without_three"] = ""
    dark: bool = False
    no_talon: bool = False


class Course(msgspec.Struct, frozen=True, gc=False):
    """What stays the same while the cards are played.

    `leader` leads first (3.9.1); `player_of` says who plays each hand's cards, `lead_of` who plays them when that hand leads; `beating` and
    `trumps` are the strain's tables (`trick.py`). In all-pass `talon_tricks` tricks are led from the talon; `talon_seat` takes those that
    its card wins (`NOBODY`: it only names the suit, 3.7.6.3).
    """

    leader: int
    after: tuple[int, ...]
    player_of: tuple[int, ...]
    lead_of: tuple[int, ...]
    trumps: int
    beating: tuple[int, ...]
    talon_tricks: int = 0
    talon_seat: int = NOBODY


class TrickPlay(msgspec.Struct, frozen=True, gc=False):
    """The trick on the table and those that are closed.

    `turn` is the seat whose card comes next and `left` how many are still to come; `led` is the mask of the suit led (0 before the lead),
    `beating` of the cards that would take the trick from `winner`, `played` of all cards played. `trick` are the cards of this trick
    in order, as the events that laid them, and `closed` those of each closed one. `taken` counts tricks by hand; `number` counts from 1.
    """

    course: Course
    turn: int
    trick: Cards
    left: int
    led: int
    beating: int
    winner: int
    played: int
    taken: tuple[int, ...]
    number: int
    closed: tuple[Cards, ...] = ()

    @property
    def previous(self) -> Cards:
        """The last closed trick, which anybody may ask to see (3.9.8); empty in the first."""
        return self.closed[-1] if self.closed else ()


class Score(msgspec.Struct, frozen=True, gc=False):
    """How it ended: `outcome` and `entries` of DealScored."""

    outcome: dict[str, Any]
    entries: tuple[dict[str, Any], ...]


class Deal(msgspec.Struct, frozen=True, gc=False):
    """One deal. `to_act` is the seat that it waits for, None when it is scored. For what a seat holds now ask `held`.

    `incidents` and `pending` are None in a deal that nobody interrupted (`incidents.py`).
    """

    setup: Setup
    phase: Phase
    to_act: int | None
    full_hands: tuple[int, ...]  # with talon and discard, without regard to what was played
    auction: Auction
    game: Game
    play: TrickPlay | None
    score: Score | None
    incidents: Incidents | None = None
    pending: Pending | None = None

    def held(self, seat: int) -> int:
        """The cards that `seat`, or the dummy, holds now."""
        return self.full_hands[seat] & ~self.play.played if self.play is not None else self.full_hands[seat]

    @property
    def contract(self) -> str | None:
        """The contract, "misere" and "all_pass" included, once it is known."""
        return self.game.contract or None

    @property
    def declarer(self) -> int | None:
        """Who won the auction, if anybody."""
        return self.game.declarer if self.game.declarer != NOBODY else None

    @property
    def shared(self) -> bool:
        """Whether it is a misere halved with the resting dealer (3.6.9)."""
        return self.game.bid == MISERE and self.auction.shared == self.game.declarer != NOBODY

    @property
    def tricks(self) -> tuple[int, ...]:
        """Tricks taken so far, by seat; the resting dealer's are those of the talon (3.7.6.1), a dummy's are with the defender's."""
        return self.counted(self.play.taken) if self.play is not None else (0,) * self.setup.players

    def counted(self, taken: tuple[int, ...]) -> tuple[int, ...]:
        """Tricks `taken` by hand as they count by seat: a dummy's are its defender's, on all-pass nobody's (Decision 19).

        Tricks that are by seat already stay as they are.
        """
        if len(taken) == self.setup.players:
            return taken
        own, declarer = taken[:DUMMY], self.game.declarer
        return own if declarer == NOBODY else tuple(tricks + (taken[DUMMY] if seat != declarer else 0) for seat, tricks in enumerate(own))

    @property
    def laid(self) -> tuple[int, ...]:
        """The hands that lie open for all."""
        return tuple(hand for hand in range(len(self.full_hands)) if self.game.laid >> hand & 1)


def fresh_trick(course: Course, turn: int, played: int, taken: tuple[int, ...], number: int, closed: tuple[Cards, ...] = ()) -> TrickPlay:
    """Trick `number` before its first card: whatever `turn` leads holds it at first."""
    return TrickPlay(course, turn, (), 3, 0, DECK, NOBODY, played, taken, number, closed)
