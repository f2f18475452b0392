"""What interrupts a turn, and what of it binds the deal from then on: records, and nothing that decides.

Two fields of a `Deal` hold it, both None in a deal that nobody interrupted:

* `pending`: somebody must answer before the game goes on. `to_act` is that seat; the phase is `claim` while an `OpenClaim`, a `Proposal` or
  an `Invitation` waits for an `answer`, `remedy` while a `Question` waits for a `remedy`. Nothing but that move is taken then
  (`claim_pending`). Every pending record says in `phase` and `turn` where the deal returns to.
* `incidents`: what has happened besides calls and cards and still counts: which cards lie exposed and who commands them, a line of play
  that a seat is held to, what was proposed and agreed.

A deal with either goes through `interrupting.py`, so that calls and cards of all other deals do not pay for it.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

#: Phases to which an interruption returns; as `position.Phase`, which cannot be imported from here.
Resumed: TypeAlias = str

#: How the holder's opponents command exposed cards (3.9.14).
#:
#: * `forbid`: a card led or played out of turn, shown, or left by a revoke. At each turn of its holder where it may be played it must be,
#:   unless the asked opponent forbids it for that trick; not when its holder leads, and not where no other card may be played. Of several
#:   they name one.
#: * `demand`: a declarer's, out of turn (3.9.14.2): it must be played only when an asked opponent demands it.
#: * `name`: the whole hand, shown without a plan (3.9.14.4): an asked opponent names each card, not absurdly; if all pass, it is free.
Command: TypeAlias = Literal["forbid", "demand", "name"]

#: What a seat may propose (`moves.Propose`).
Matter: TypeAlias = Literal["settle_contract", "older_trick", "bargain", "pause", "takeback", "stop_pulka"]


class OpenClaim(msgspec.Struct, frozen=True, gc=False):
    """`seat` claims `tricks` of the rest and shows `hand` (a mask, 3.9.15); `line` are cards in the order in which they would play them.

    `waiting` are the seats that have still to agree, in order.
    """

    seat: int
    tricks: int
    line: tuple[int, ...]
    hand: int
    waiting: tuple[int, ...]
    phase: Resumed
    turn: int


class Proposal(msgspec.Struct, frozen=True, gc=False):
    """`seat` proposes something to all others, of whom `waiting` have still to agree; the first refusal ends it.

    `tricks` by seat with `settle_contract` and `bargain`, `trick` (from 1) with `older_trick`.
    """

    seat: int
    what: Matter
    waiting: tuple[int, ...]
    phase: Resumed
    turn: int | None
    tricks: tuple[int, ...] = ()
    trick: int = 0


class Invitation(msgspec.Struct, frozen=True, gc=False):
    """`seat` invites the resting dealer, alone in `waiting`, to share their misere (3.6.9)."""

    seat: int
    waiting: tuple[int, ...]
    phase: Resumed
    turn: int


class Question(msgspec.Struct, frozen=True, gc=False):
    """A remedy that needs a choice (`moves.Remedy`): the first of `waiting` is asked; who declines (`pass`) leaves it to the next.

    `about` says what kind of question it is, and with it who evolves the choice: `exposed` is how exposed cards are played, asked again at
    each turn of theirs (`exposed.py`). `of` is the seat whose act or cards it is about, `choices` the words that may be chosen, `cards` the
    mask of those that may be named with `card`, `rule` the Code's.
    """

    about: str
    of: int
    choices: tuple[str, ...]
    cards: int
    rule: str
    waiting: tuple[int, ...]
    phase: Resumed
    turn: int


Pending: TypeAlias = OpenClaim | Proposal | Invitation | Question


class Exposure(msgspec.Struct, frozen=True, gc=False):
    """Cards of `seat` that lie face up until they are played and never go back into the hand (3.9.14).

    `cards` is a mask; those that were played since stay in it and mean nothing. `command` says how, and `commanders` who in turn may
    command them. `rule` is the Code's that exposed them.
    """

    seat: int
    cards: int
    command: Command
    commanders: tuple[int, ...]
    rule: str


class Line(msgspec.Struct, frozen=True, gc=False):
    """`seat` is held to the line of play that they stated (3.9.14.4): of `cards`, at each of their turns, the first that may be played."""

    seat: int
    cards: tuple[int, ...]


class Bound(msgspec.Struct, frozen=True, gc=False):
    """What the opponents decided about the card that `hand` plays next: one of the mask `cards`.

    It holds while `played` is the mask of all played cards, so it ends by itself with that card.
    """

    hand: int
    cards: int
    played: int
    rule: str


class Bargain(msgspec.Struct, frozen=True, gc=False):
    """`seat` plays the defence by their plan and guarantees `tricks` (by seat) to `acceptors` (3.8.5.1)."""

    seat: int
    tricks: tuple[int, ...]
    acceptors: tuple[int, ...]


class Incidents(msgspec.Struct, frozen=True, gc=False):
    """Everything of the kind in one deal. `proposals` are (seat, what) of all proposals made, `refused_claims` a mask of seats."""

    exposures: tuple[Exposure, ...] = ()
    lines: tuple[Line, ...] = ()
    bound: Bound | None = None
    proposals: tuple[tuple[int, str], ...] = ()
    refused_claims: int = 0
    bargain: Bargain | None = None


NONE: Final = Incidents()
