"""Who sits in a pulka and whether it goes on: a newcomer (3.1.2), a substitute (5.4.7, 5.4.25), leaving, adjourning, a demanded settlement
(5.4.18). State · evolve · decide; the cards are not touched by any of it.

What somebody asks for needs the consent of those who sit there. A substitute plays from the moment of the last consent. Everything else
waits until the deal in progress is over, since that is always finished (5.4.18): the newcomer sits down, the table adjourns, the pulka is
settled. In an adjourned pulka no clock runs and no deal begins, until all are ready.

A player who says that they leave is not asked any more. One who has let `AWAY` turns of this deal and the last run out counts as
away [conv]: their consent is not needed, but they may still object.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeGuard

import msgspec

from shared.rules.language.game_events import DealStarted, Event, TurnTimedOut
from shared.rules.language.member_events import (
    ConsentAnswered,
    ConsentAsked,
    NewcomerSeated,
    PlayerLeaves,
    PulkaAdjourned,
    PulkaResumed,
    SeatReady,
    SettlementDemanded,
    SubstituteSeated,
)
from shared.rules.language.moves import Answer, Join, Leave, Propose, Ready, Settle
from shared.rules.language.refusal import Refused

AWAY: Final = 3  # turns that ran out in this deal and the last: a slow player misses one, somebody who has gone all
GROWS_FROM: Final = 3  # players: with the fourth a dealer rests; a fifth is not advised (1.2), and two play another game (Decision 19)

MemberMove = Propose | Answer | Leave | Ready | Settle
MEMBER_MOVES: Final = (Leave, Ready, Settle)
ADJOURN: Final = "adjourn"  # of all that may be proposed, what is decided here; the rest is the deal's
#: Events that change nothing but members.
MEMBER_EVENTS: Final = (
    ConsentAsked,
    ConsentAnswered,
    PlayerLeaves,
    SettlementDemanded,
    SeatReady,
    PulkaAdjourned,
    PulkaResumed,
    TurnTimedOut,
)


class Motion(msgspec.Struct, frozen=True, gc=False):
    """What `player` asks for; `seat`: with `adjourn` their own, with `substitute` the one to take over. `waiting`: who must still agree."""

    what: str
    player: str
    seat: int | None
    waiting: tuple[int, ...]


class Members(msgspec.Struct, frozen=True, gc=False):
    """`newcomer`, `adjourning` and `demanded` are agreed and wait for the end of the deal; `ready` counts while the pulka is `adjourned`.

    `left`: seats whose players have said that they leave. `missed`: a seat for every turn that ran out in the present deal, `missed_before`
    in the one before.
    """

    motion: Motion | None = None
    newcomer: str | None = None
    adjourning: bool = False
    demanded: bool = False
    adjourned: bool = False
    ready: tuple[int, ...] = ()
    left: tuple[int, ...] = ()
    missed: tuple[int, ...] = ()
    missed_before: tuple[int, ...] = ()

    def away(self, seat: int) -> bool:
        """Whether the seat's player seems to have gone without a word."""
        return (*self.missed, *self.missed_before).count(seat) >= AWAY

    def absent(self, seat: int) -> bool:
        """Whether the seat's player has left or seems to."""
        return seat in self.left or self.away(seat)

    def all_ready(self, players: int) -> bool:
        """Whether everybody wants to go on, and nobody is leaving."""
        return not self.left and len(self.ready) == players

    def document(self, players: int) -> dict[str, Any]:
        """What everybody may see of it (deploy/docs/http.md: Table)."""
        motion = self.motion
        asked = motion and {"what": motion.what, "player": motion.player, "seat": motion.seat, "waiting": list(motion.waiting)}
        return {
            "consent": asked,
            "newcomer": self.newcomer,
            "adjourning": self.adjourning,
            "settling": self.demanded,
            "adjourned": self.adjourned,
            "ready": [seat in self.ready for seat in range(players)],
            "leaving": [seat in self.left for seat in range(players)],
            "away": [self.away(seat) for seat in range(players)],
        }


# ---- evolve ------------------------------------------------------------------------------------------------------------


def evolve(members: Members, event: Event) -> Members:
    """The members after `event`; the caller moves the sheet and the seats."""
    own = _EVOLVE.get(type(event))
    return members if own is None else own(members, event)


def _asked(members: Members, event: ConsentAsked) -> Members:
    return msgspec.structs.replace(members, motion=Motion(event.what, event.player, event.seat, event.asked))


def _leaves(members: Members, event: PlayerLeaves) -> Members:
    return msgspec.structs.replace(members, left=_with(members.left, event.seat), ready=_without(members.ready, event.seat))


def _demanded(members: Members, _: SettlementDemanded) -> Members:
    return msgspec.structs.replace(members, demanded=True)


def _adjourned(members: Members, _: PulkaAdjourned) -> Members:
    return msgspec.structs.replace(members, adjourned=True, adjourning=False, ready=())


def _resumed(members: Members, _: PulkaResumed) -> Members:
    return msgspec.structs.replace(members, adjourned=False, ready=(), motion=None)


def _missed(members: Members, event: TurnTimedOut) -> Members:
    return msgspec.structs.replace(members, missed=(*members.missed, event.seat))


def _deal_started(members: Members, _: DealStarted) -> Members:
    """What was asked and not agreed by now lapses."""
    return msgspec.structs.replace(members, motion=None, missed=(), missed_before=members.missed)


def _came_back(members: Members, event: SeatReady) -> Members:
    return _present(members, event.seat)


def _substituted(members: Members, event: SubstituteSeated) -> Members:
    return _present(msgspec.structs.replace(members, motion=None), event.seat)


def _newcomer_seated(members: Members, event: NewcomerSeated) -> Members:
    return _shifted(members, event.seat)


def _answered(members: Members, event: ConsentAnswered) -> Members:
    motion = members.motion
    if motion is None or not event.accept:
        return msgspec.structs.replace(members, motion=None)
    waiting = _without(motion.waiting, event.seat)
    if waiting:
        return msgspec.structs.replace(members, motion=msgspec.structs.replace(motion, waiting=waiting))
    return _agreed(msgspec.structs.replace(members, motion=None), motion)


def _agreed(members: Members, motion: Motion) -> Members:
    if motion.what == ADJOURN:
        return msgspec.structs.replace(members, adjourning=True)
    if motion.what == "newcomer":
        return msgspec.structs.replace(members, newcomer=motion.player)
    return members  # a substitute sits down by an event of their own


def _present(members: Members, seat: int) -> Members:
    """The player at `seat` is there, and wants to go on; a settlement that was demanded because they had gone is off."""
    left = _without(members.left, seat)
    missed = tuple(one for one in members.missed if one != seat)
    before = tuple(one for one in members.missed_before if one != seat)
    ready = _with(members.ready, seat) if members.adjourned else members.ready
    here = msgspec.structs.replace(members, left=left, missed=missed, missed_before=before, ready=ready)
    still_absent = any(here.absent(one) for one in {*left, *missed, *before})
    return msgspec.structs.replace(here, demanded=members.demanded and still_absent)


def _shifted(members: Members, seat: int) -> Members:
    """A newcomer has sat down at `seat`, and players from that seat on move one further; the newcomer is ready by sitting down."""

    def moved(seats: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(one + (one >= seat) for one in seats)

    ready = (*moved(members.ready), seat) if members.adjourned else ()
    return Members(
        adjourning=members.adjourning,
        demanded=members.demanded,
        adjourned=members.adjourned,
        ready=ready,
        left=moved(members.left),
        missed=moved(members.missed),
        missed_before=moved(members.missed_before),
    )


def _with(seats: tuple[int, ...], seat: int) -> tuple[int, ...]:
    return seats if seat in seats else (*seats, seat)


def _without(seats: tuple[int, ...], seat: int) -> tuple[int, ...]:
    return tuple(one for one in seats if one != seat)


_EVOLVE: dict[type[Event], Callable[[Members, Any], Members]] = {
    ConsentAsked: _asked,
    ConsentAnswered: _answered,
    PlayerLeaves: _leaves,
    SettlementDemanded: _demanded,
    SeatReady: _came_back,
    NewcomerSeated: _newcomer_seated,
    SubstituteSeated: _substituted,
    PulkaAdjourned: _adjourned,
    PulkaResumed: _resumed,
    TurnTimedOut: _missed,
    DealStarted: _deal_started,
}


# ---- decide ------------------------------------------------------------------------------------------------------------


def concerns(move: object, members: Members, *, in_deal: bool, deal_asks: bool) -> TypeGuard[Propose | Answer]:
    """Whether what is proposed or answered is about members. An answer is the deal's as long as the deal asks for one (`incidents.py`)."""
    match move:
        case Propose(what=what):
            return what == ADJOURN
        case Answer():
            return not deal_asks and (members.motion is not None or not in_deal)
    return False


Decision = tuple[Event, ...] | Refused


SEATED: Final = Refused("call_not_allowed", "3.1.2", "You have a seat at this table.")


def decide(members: Members, seats: tuple[str, ...], seat: int, move: MemberMove) -> Decision:
    """What the player at `seat` causes by it, without what follows between two deals."""
    match move:
        case Propose():
            return _ask(members, len(seats), ConsentAsked(ADJOURN, seats[seat], seat, ()))
        case Answer(accept=accept):
            return _answer(members, seats, seat, accept=accept)
        case Leave():
            if seat in members.left:
                return Refused("call_not_allowed", "5.4.18", "You have already said so; `ready` takes it back.")
            return (PlayerLeaves(seat),)
        case Ready():
            waited_for = (members.adjourned and seat not in members.ready) or members.absent(seat)
            if not waited_for:
                return Refused("call_not_allowed", "5.4.18", "Nobody waits for you to be ready.")
            return (SeatReady(seat),)
        case Settle():
            return _settle(members, len(seats), seat)


def decide_join(members: Members, seats: tuple[str, ...], player: str, move: Join) -> Decision:
    """`player`, who has no seat here, asks for one: a further one, or that of another."""
    if player in seats:
        return SEATED
    if move.seat is None:
        if len(seats) != GROWS_FROM or members.newcomer is not None:
            return Refused(
                "call_not_allowed", "3.1.2", f"A newcomer makes a pulka of {GROWS_FROM} one of {GROWS_FROM + 1}; no seat is added here."
            )
        return _ask(members, len(seats), ConsentAsked("newcomer", player, None, ()))
    if move.seat >= len(seats):
        return Refused("malformed", "5.4.7", f"This table has seats 0 to {len(seats) - 1}.")
    if player == members.newcomer:
        return Refused("call_not_allowed", "5.4.7", "You sit down as a newcomer when the deal is over.")
    return _ask(members, len(seats), ConsentAsked("substitute", player, move.seat, ()), seats)


def _ask(members: Members, players: int, asking: ConsentAsked, seats: tuple[str, ...] = ()) -> Decision:
    """Ask all who are there, but whoever asks."""
    if members.motion is not None:
        return Refused("call_not_allowed", "5.4.18", "Another request is open; all players must answer it first.")
    own = asking.seat if asking.what == ADJOURN else None
    if own is not None and (members.adjourned or members.adjourning):
        return Refused("call_not_allowed", "5.4.18", "This has already been agreed.")
    asked = tuple(seat for seat in range(players) if seat != own and not members.absent(seat))
    event = ConsentAsked(asking.what, asking.player, asking.seat, asked)
    if asked:
        return (event,)
    if event.what == "substitute" and event.seat is not None:
        return event, SubstituteSeated(event.seat, event.player, seats[event.seat])
    return Refused("call_not_allowed", "5.4.18", "No player is present who could give consent.")


def _answer(members: Members, seats: tuple[str, ...], seat: int, *, accept: bool) -> Decision:
    motion = members.motion
    if motion is None:
        return Refused("wrong_phase", "5.4.18", "Nothing waits for an answer.")
    own = motion.what == ADJOURN and motion.seat == seat
    if (accept and seat not in motion.waiting) or (not accept and seat in members.left and not own):
        return Refused("not_your_turn", "5.4.18", "You are not asked, or you have already answered.")
    event = ConsentAnswered(seat, accept)
    if accept and motion.waiting == (seat,) and motion.what == "substitute" and motion.seat is not None:
        return event, SubstituteSeated(motion.seat, motion.player, seats[motion.seat])
    return (event,)


def _settle(members: Members, players: int, seat: int) -> Decision:
    """Any player may demand it, when another has gone."""
    if members.demanded:
        return Refused("call_not_allowed", "5.4.18", "A settlement is already demanded; the pulka is settled when this deal is over.")
    if not any(members.absent(other) for other in range(players) if other != seat):
        return Refused("call_not_allowed", "5.4.18", "You can demand a settlement only if another player has gone; else all must consent.")
    return (SettlementDemanded(seat),)
