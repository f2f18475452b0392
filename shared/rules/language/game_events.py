"""What happened at a table, as the rules say it: past tense, names and fields are part of the storage contract (frozen, additive).

Seats are 0..n-1 clockwise. Cards are text (`"TH"`, hands `"AS KS"`), `None` where a reader may not know them. `None` never stands in an
event that the rules themselves fold: the log keeps such cards sealed and opens them first.
"""

from __future__ import annotations

from typing import Any

import msgspec


class Event(msgspec.Struct, frozen=True, tag_field="type", gc=False):
    """One thing that happened."""


class PulkaOpened(Event, frozen=True, tag="PulkaOpened"):
    """A match began. `convention` is the resolved record, frozen for this pulka; `seats` are player ids; `terms` what the table agreed on
    besides the rules.

    `rules_digest` (hex) covers convention and terms and stands in every deal's commitment. `first_dealer` was drawn by lot (3.2.1).
    """

    convention: dict[str, Any]
    rules_digest: str
    players: int
    target: int | None
    seats: tuple[str, ...]
    first_dealer: int
    terms: dict[str, Any]


class PulkaRefused(Event, frozen=True, tag="PulkaRefused"):
    """The table could not be opened on these terms."""

    code: str
    message: str


class DealStarted(Event, frozen=True, tag="DealStarted"):
    """Deal `number` (from 1) began; `commitment` binds the server to its seed before the cut, `algorithm` is the shuffle's version."""

    number: int
    dealer: int
    commitment: str
    algorithm: int
    server_seed: str | None


class SeedAdded(Event, frozen=True, tag="SeedAdded"):
    """A seated player added their own randomness, hex."""

    seat: int
    seed: str


class DeckCut(Event, frozen=True, tag="DeckCut"):
    """The dealer's right neighbour lifted `at` cards (3.2.5)."""

    seat: int
    at: int


class CardsDealt(Event, frozen=True, tag="CardsDealt", omit_defaults=True):
    """Ten cards to each player, `""` for a resting one, two to the talon in the order they lie (3.2.8).

    `salts` (hex, one a seat and the talon's last) go with the cards into their sealed boxes; the shuffle derives them from the server's
    seed. `dark`: nobody has looked at their own hand yet either (3.3.19); who does gets a `HandSeen`.
    """

    hands: tuple[str | None, ...]
    talon: str | None
    deal: int = 0
    salts: tuple[str, ...] = ()
    dark: bool = False


class MisereInvited(Event, frozen=True, tag="MisereInvited"):
    """`seat` invites the resting dealer to share a misere, and hands over their own cards to look at (3.6.9)."""

    seat: int


class InvitationAnswered(Event, frozen=True, tag="InvitationAnswered"):
    """The resting dealer shares the misere that they were invited to, or does not (3.6.9)."""

    seat: int
    accept: bool


class BidMade(Event, frozen=True, tag="BidMade", omit_defaults=True):
    """A call in the auction: a step of the ladder, `pass`, `here` or `take` (3.3); `dark` without having looked at one's cards (3.3.19),
    `no_talon` of a game or misere that leaves the talon where it lies (FN41). `irregular`: the rule that it breaks, "" for none.
    """

    seat: int
    bid: str
    dark: bool = False
    no_talon: bool = False
    irregular: str = ""


class AuctionWon(Event, frozen=True, tag="AuctionWon", omit_defaults=True):
    """One player is left, who declares from `bid` (3.3.11). `dark`: without a look (3.3.19); `no_talon`: without the talon (FN41)."""

    seat: int
    bid: str
    dark: bool = False
    no_talon: bool = False


class AllPassed(Event, frozen=True, tag="AllPassed", omit_defaults=True):
    """Nobody bid (3.3.12); `forced`: nobody was asked, and all count as having passed dark (3.7.9)."""

    forced: bool = False


class TalonTaken(Event, frozen=True, tag="TalonTaken"):
    """The talon was shown to all and went to the declarer (3.4.1)."""

    seat: int
    cards: str


class DarkTalonTaken(Event, frozen=True, tag="DarkTalonTaken"):
    """The winner of a dark auction took the talon, which nobody else sees (3.3.19)."""

    seat: int
    cards: str | None
    deal: int = 0
    salt: str = ""


class CardsDiscarded(Event, frozen=True, tag="CardsDiscarded", omit_defaults=True):
    """Two cards were put away face down (3.4.2); another number where it is `irregular`, then the rule that it breaks."""

    seat: int
    cards: str | None
    deal: int = 0
    salt: str = ""
    irregular: str = ""


class GaveUpWithoutThree(Event, frozen=True, tag="GaveUpWithoutThree"):
    """The declarer gave up after the talon (FN40)."""

    seat: int


class ContractDeclared(Event, frozen=True, tag="ContractDeclared", omit_defaults=True):
    """The contract is named (3.4.3). `irregular`: the rule that it breaks. `at`: when, where a second one may be timed (3.4.8), in
    milliseconds since 1970.
    """

    seat: int
    contract: str
    irregular: str = ""
    at: int = 0


class HandSeen(Event, frozen=True, tag="HandSeen"):
    """`seat` looked at the hand of `hand`; its cards are shown to `seat` alone: the resting dealer at a defender's (3.8.8) or at the
    inviter's (3.6.9), or a player who had called in the dark at their own (3.3.19).
    """

    seat: int
    hand: int
    cards: str | None
    deal: int = 0
    salt: str = ""


class WhistCalled(Event, frozen=True, tag="WhistCalled"):
    """A defender's call (3.8)."""

    seat: int
    call: str


class PlayChosen(Event, frozen=True, tag="PlayChosen"):
    """The only whister chose open or closed play (3.8.5)."""

    seat: int
    open: bool


class HandsLaid(Event, frozen=True, tag="HandsLaid"):
    """Hands lie open on the table; `hands` has a text for each laid seat, `None` for the others (3.8.5, 3.6.6)."""

    hands: tuple[str | None, ...]


class Conceded(Event, frozen=True, tag="Conceded"):
    """The declarer admitted "without all" (3.5.4)."""

    seat: int


class ClaimMade(Event, frozen=True, tag="ClaimMade"):
    """`seat` claimed `tricks` of the rest and showed their `hand` to all (3.9.15); `line`: cards in order of play, "" without a plan."""

    seat: int
    tricks: int
    line: str
    hand: str


class ClaimAnswered(Event, frozen=True, tag="ClaimAnswered"):
    """`seat` agreed to the claim or did not; the last agreement ends the deal, the first refusal the claim (3.9.14.4)."""

    seat: int
    accept: bool


class HeldToLine(Event, frozen=True, tag="HeldToLine"):
    """A claim was refused: `seat` must follow the `line` that they stated (3.9.14.4)."""

    seat: int
    line: str


class ProposalMade(Event, frozen=True, tag="ProposalMade"):
    """`seat` proposed something that the others must agree to. `tricks` by seat of the whole deal with `settle_contract` and `bargain`,
    `trick` (from 1) with `older_trick`.
    """

    seat: int
    what: str
    tricks: tuple[int, ...] = ()
    trick: int = 0


class ProposalAnswered(Event, frozen=True, tag="ProposalAnswered"):
    """`seat` agreed or did not; the last agreement brings about what stands behind it, the first refusal ends the proposal."""

    seat: int
    accept: bool


class TrickShown(Event, frozen=True, tag="TrickShown"):
    """Nobody objected to a look at closed trick `number` (3.9.11.1): its cards in order, and whose they were, None for a talon card."""

    number: int
    cards: str
    seats: tuple[int | None, ...]


class BargainStruck(Event, frozen=True, tag="BargainStruck"):
    """`seat` plays the defence by their plan and guarantees `tricks` (by seat) to `acceptors` (3.8.5.1)."""

    seat: int
    tricks: tuple[int, ...]
    acceptors: tuple[int, ...]


class PauseAgreed(Event, frozen=True, tag="PauseAgreed"):
    """The clock stands for at most `seconds`, or until the next move."""

    seconds: int


class ActTakenBack(Event, frozen=True, tag="ActTakenBack"):
    """`seat`'s last call, order, word or card is undone by everybody's consent (5.4.22)."""

    seat: int


class StopAgreed(Event, frozen=True, tag="StopAgreed"):
    """The pulka ends with this deal (5.4.18)."""


class CardExposed(Event, frozen=True, tag="CardExposed"):
    """`cards` of `seat` lie face up until they are played. `command`, `commanders`: how, and by whom in turn, they are commanded (3.9.14).

    `forbid`: played at the first chance unless forbidden for that trick. `demand`: only if demanded. `name`: each card is named.
    """

    seat: int
    cards: str
    command: str
    commanders: tuple[int, ...]
    rule: str


class RemedyAsked(Event, frozen=True, tag="RemedyAsked"):
    """A remedy needs a choice that concerns `of`: `seats`, the first now, the next if the first leaves it to them, choose of `choices`.

    `cards` are those that `card` may name. `about`: `exposed`, how the exposed cards of `of` are played at this turn (3.9.14).
    """

    about: str
    seats: tuple[int, ...]
    of: int
    choices: tuple[str, ...]
    cards: str
    rule: str


class RemedyChosen(Event, frozen=True, tag="RemedyChosen"):
    """`seat` chose; what follows of it stands behind this event. `card`, `suit`, `hand` (a seat) as far as the choice has them."""

    seat: int
    choice: str
    card: str | None = None
    suit: str | None = None
    hand: int | None = None


class TalonCardOpened(Event, frozen=True, tag="TalonCardOpened"):
    """A talon card leads or names the suit of a trick in all-pass (3.7.6)."""

    card: str


class CardPlayed(Event, frozen=True, tag="CardPlayed", omit_defaults=True):
    """`card` of seat `seat` was played by seat `by`. `irregular`: the rule that it breaks; a revoke's is shown to nobody (3.9.16)."""

    seat: int
    card: str
    by: int
    irregular: str = ""


class TrickWon(Event, frozen=True, tag="TrickWon"):
    """Trick `number` (from 1) is complete and belongs to `seat` (3.9.4)."""

    seat: int
    number: int


class DealScored(Event, frozen=True, tag="DealScored"):
    """The deal is over: the result, and what it wrote, each entry with its rule. Whole numbers as ints, others as exact fractions."""

    outcome: dict[str, Any]
    entries: tuple[dict[str, Any], ...]


class TurnTimedOut(Event, frozen=True, tag="TurnTimedOut"):
    """`seat` did not move by `deadline` (milliseconds since 1970); the default move follows in the same commit.

    `credit` is what was added to the deadline for outages of ours since the turn began, in milliseconds.
    """

    seat: int
    deadline: int
    credit: int = 0


class DealRevealed(Event, frozen=True, tag="DealRevealed", omit_defaults=True):
    """Everything that was hidden: the server's seed, the hands as dealt, the talon, the discard, and the salts (hex) that open their
    digests.

    `salts` is keyed `hand:<seat>`, `talon`, `discard`, `seen:<seat>`. `returned`: the `hand` and the `talon` that were made of the cards of
    somebody who had taken the talon too early (3.3.17), with salts of their own.
    """

    number: int
    server_seed: str
    hands: tuple[str, ...]
    talon: str
    discard: str | None
    salts: dict[str, str]
    returned: dict[str, str] = {}


class PulkaClosed(Event, frozen=True, tag="PulkaClosed"):
    """The match is over and settled (4.2.14)."""

    reason: str
    settlement: dict[str, Any]
