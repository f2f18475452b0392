"""What a seat can ask for: one struct a move, told apart by `type` (deploy/docs/moves.md). A move is not yet anything that happened.

Every struct refuses unknown fields, and leaves fields at their default out when it is written.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from shared.rules.language.documents import text_like

#: What a document may hold; whatever else is malformed before the rules are asked. `$` alone would let a line break follow.
Card = Annotated[str, text_like(r"^[789TJQKA][SCDH]$(?!\n)", "must be a card, rank and suit: 7S, TD, AH")]
Step = Annotated[str, text_like(r"^((6|7|8|9|10)(S|C|D|H|NT)|misere)$(?!\n)", "must be a contract, 6S to 10NT, or misere")]
Call = Annotated[
    str, text_like(r"^((6|7|8|9|10)(S|C|D|H|NT)|misere|pass|here|take)$(?!\n)", "must be a bid, 6S to 10NT, or misere, pass, here, take")
]
Hex = Annotated[str, text_like(r"^[0-9a-fA-F]{1,64}$(?!\n)", "must be 1 to 64 hexadecimal digits")]
Link = Annotated[str, text_like(r"^[0-9a-f]{64}$(?!\n)", "must be 64 hexadecimal digits, small letters")]
Depth = Annotated[int, msgspec.Meta(ge=4, le=28)]  # of a cut: at least four cards lie in each part (3.2.6)
Place = Annotated[int, msgspec.Meta(ge=1, le=32)]  # of a card that lies spread out
Seat = Annotated[int, msgspec.Meta(ge=0, le=4)]  # of the largest table
Count = Annotated[int, msgspec.Meta(ge=-99, le=99)]  # of tricks: what lies between is a figure, and the rules say whether it can be
Line = Annotated[tuple[Card, ...], msgspec.Meta(max_length=20)]  # two hands, the most that one player plays


class Move(msgspec.Struct, frozen=True, tag_field="type", forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """One request of a seat to the game."""


class Seed(Move, frozen=True, tag="seed"):
    """Adds up to 32 bytes of a player's own randomness to the shuffle, before the cut."""

    seed: Hex


class CommitChain(Move, frozen=True, tag="commit"):
    """Promises a hash chain by its `end`, for the deals whose deck has not been cut yet (3.2.3)."""

    end: Link


class OpenLink(Move, frozen=True, tag="link"):
    """Opens the link of the present round, once it is asked for (3.2.3)."""

    link: Link


class Cut(Move, frozen=True, tag="cut"):
    """The dealer's right neighbour cuts: `at` cards, 4..28, are lifted (3.2.5, 3.2.6)."""

    at: Depth


class Draw(Move, frozen=True, tag="draw"):
    """One card of those spread out to draw for seats: `place` 1..32 (3.1.1)."""

    place: Place


class Bid(Move, frozen=True, tag="bid"):
    """A call in the auction: a step of the ladder, `pass`, `here` or `take` (3.3); `dark` before one has looked at one's cards (3.3.19),
    `no_talon` for a misere or a nine that leaves the talon where it lies (FN41).
    """

    bid: Call
    dark: bool = False
    no_talon: bool = False


class Look(Move, frozen=True, tag="look"):
    """Without `hand` a player looks at their own cards before a call (3.3.19); with it the resting dealer sees one defender's hand before
    their whist (3.8.8).
    """

    hand: Seat | None = None


class Invite(Move, frozen=True, tag="invite"):
    """Ask the resting dealer to share a misere (3.6.9)."""


class Take(Move, frozen=True, tag="take"):
    """The winner of a dark auction takes the talon, unseen by the others (3.3.19)."""


class Discard(Move, frozen=True, tag="discard"):
    """The declarer puts two cards away (3.4.2)."""

    cards: tuple[Card, ...]


class WithoutThree(Move, frozen=True, tag="without_three"):
    """The declarer gives up after seeing the talon, where the convention allows it (FN40)."""


class Declare(Move, frozen=True, tag="contract"):
    """The declarer names the contract, not below the bid (3.4.3)."""

    contract: Step


class Whist(Move, frozen=True, tag="whist"):
    """A defender's call on the contract (3.8.1-3.8.8)."""

    call: Literal["whist", "pass", "half"]


class Lay(Move, frozen=True, tag="lay"):
    """The only whister chooses open or closed play (3.8.5)."""

    open: bool


class Play(Move, frozen=True, tag="play"):
    """One card to the trick; `hand` is the seat whose card it is, when it is not the player's own (3.9.2)."""

    card: Card
    hand: Seat | None = None


class Concede(Move, frozen=True, tag="concede"):
    """The declarer admits "without all" (3.5.4)."""


class Claim(Move, frozen=True, tag="claim"):
    """Declarer or whister on turn takes `tricks` of the rest, and shows their hand; `line`: their intended order of play (3.9.14.4)."""

    tricks: Count
    line: Line | None = None


class Answer(Move, frozen=True, tag="answer"):
    """Yes or no to a claim, a proposal or an invitation, by the seat that is asked."""

    accept: bool


class Propose(Move, frozen=True, tag="propose"):
    """Something that all players must agree to; one of them at a time is asked, and the first refusal ends it.

    `settle_contract` (3.9.22) and `bargain` (3.8.5.1) need `tricks`, of the whole deal: one number a seat, or the declarer's alone;
    `older_trick` (3.9.11.1) needs `trick`, from 1.
    """

    what: Literal["settle_contract", "older_trick", "bargain", "pause", "takeback", "stop_pulka", "adjourn"]
    tricks: Count | tuple[Count, ...] | None = None
    trick: Count | None = None


class Remedy(Move, frozen=True, tag="remedy"):
    """The choice of the seat that a remedy asks (3.9.14): `card` names one that must be played, `forbid` none of the exposed ones,
    `pass` leaves it to the next or to the holder.
    """

    choice: Literal["accept", "forbid", "order", "card", "redeal", "give", "result", "talon", "pass"]
    suit: Literal["S", "C", "D", "H"] | None = None
    card: Card | None = None
    seat: Seat | None = None


class Join(Move, frozen=True, tag="join"):
    """Somebody without a seat asks for one: a further one as a newcomer (3.1.2), or that of another as their substitute (5.4.7)."""

    seat: Seat | None = None


class Leave(Move, frozen=True, tag="leave"):
    """The player has to leave in the middle of the pulka (5.4.18)."""


class Ready(Move, frozen=True, tag="ready"):
    """The player is there: ready to go on with an adjourned pulka, or back before they were missed (5.4.18)."""


class Settle(Move, frozen=True, tag="settle"):
    """Another has gone, and the player demands the settlement (5.4.18)."""


# ---- What only an adjudicated table takes ------------------------------------------------------------------------------

Rule = Annotated[str, msgspec.Meta(min_length=1, max_length=40)]  # "3.9.16.2", "FN72": the longest citations are far shorter
TrickNumber = Annotated[int, msgspec.Meta(ge=1, le=10)]
Reason = Annotated[str, msgspec.Meta(min_length=1, max_length=1_000)]  # a sentence or a few
Number = int | str  # exact, as everywhere on the sheet (`amount.read`)
MOST_ENTRIES = 100  # of one ruling: every column of every seat several times


class Peek(Move, frozen=True, tag="peek"):
    """Looks by their own act where they may not, or turns it up for all (3.2.19, 3.4.9, 3.9.11.2)."""

    what: Literal["talon", "discard", "trick"]
    trick: TrickNumber | None = None
    show: bool = False


class Expose(Move, frozen=True, tag="expose"):
    """Shows cards of their own without playing them (3.9.15)."""

    cards: Annotated[tuple[Card, ...], msgspec.Meta(min_length=1, max_length=12)]  # as many as a hand can hold


class WriteEntry(Move, frozen=True, tag="entry"):
    """What a player writes after a deal, where each keeps their own columns (4.2.4): `amount`, whists `on` another."""

    column: Literal["pool", "mountain", "whists"]
    amount: Number
    on: Seat | None = None


class CallAttention(Move, frozen=True, tag="call_attention"):
    """Points out that `seat` broke `rule`; without `seat` whoever broke it last. `card`: the card in question."""

    rule: Rule
    seat: Seat | None = None
    card: Card | None = None


class Confirm(Move, frozen=True, tag="confirm"):
    """Agrees that the deal may be scored."""


class RuledEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One writing that a ruling orders: `amount` into `seat`'s column, whists `on` another."""

    seat: Seat
    column: Literal["pool", "mountain", "whists"]
    amount: Number
    on: Seat | None = None


class Ruling(Move, frozen=True, tag="ruling"):
    """The arbiter decides about `seat`: what it writes, or how many tricks each has won, or that the cards are dealt anew."""

    rule: Rule
    seat: Seat
    reason: Reason
    entries: Annotated[tuple[RuledEntry, ...], msgspec.Meta(max_length=MOST_ENTRIES)] | None = None
    tricks: tuple[Annotated[int, msgspec.Meta(ge=0, le=10)], ...] | None = None
    redeal: bool = False


DealMove = Bid | Look | Invite | Take | Discard | WithoutThree | Declare | Whist | Lay | Play | Concede | Claim | Answer | Propose | Remedy
IrregularMove = Peek | Expose | WriteEntry | CallAttention | Confirm | Ruling
#: A move of an adjudicated deal: an ordinary one, against the rules or not, or one that only this mode knows.
CourtMove = DealMove | IrregularMove
AnyMove = Draw | Seed | CommitChain | OpenLink | Cut | CourtMove | Join | Leave | Ready | Settle
