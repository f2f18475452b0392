"""One table as its own log tells it: the pulka, and since when the present turn waits. State and fold · decide.

The game itself is `shared.rules.pulka`; what stands here is what only a served table has: revisions, turns that began at a time, players
instead of seats.
"""

from __future__ import annotations

from typing import Final

import msgspec

from shared.eventlog.aggregates.aggregates import Loaded
from shared.eventlog.aggregates.packing import Packing
from shared.events.address import Address
from shared.events.commit import Commit
from shared.events.hidden import BOXED, remembered
from shared.events.sealing import TableCodec, name_of
from shared.events.terms import Terms
from shared.events.terms import read as read_terms
from shared.rules.adjudicated.court import ARBITER, Maker
from shared.rules.convention.options import Convention
from shared.rules.language.chain_events import ChainCommitted, LinkOpened
from shared.rules.language.correction_events import AnnulmentOrdered
from shared.rules.language.game_events import (
    CardExposed,
    ClaimAnswered,
    ClaimMade,
    DealRevealed,
    Event,
    HandSeen,
    HeldToLine,
    InvitationAnswered,
    MisereInvited,
    PauseAgreed,
    ProposalAnswered,
    ProposalMade,
    PulkaOpened,
    RemedyAsked,
    RemedyChosen,
    SeedAdded,
    StopAgreed,
    TrickShown,
    TurnTimedOut,
)
from shared.rules.language.irregular_events import (
    AttentionCalled,
    CardsShown,
    Confirmed,
    EntryCorrected,
    EntryWritten,
    FineWritten,
    Peeked,
    WarningGiven,
)
from shared.rules.language.member_events import ConsentAnswered, ConsentAsked, PlayerLeaves, SeatReady, SettlementDemanded
from shared.rules.language.moves import AnyMove, Join
from shared.rules.language.refusal import Refused
from shared.rules.pulka import decider as match
from shared.rules.pulka.decider import Pulka
from shared.rules.pulka.imported import PulkaArchived, PulkaRecorded
from shared.rules.scoring.settlement import is_time_up

# ---- State and fold ----------------------------------------------------------------------------------------------------


class Stopped(msgspec.Struct, frozen=True):
    """A turn whose clock stands while others answer: the commit that began it, and the milliseconds that it had used."""

    revision: int
    spent: int


class Table(msgspec.Struct, frozen=True):
    """`turn_revision` is the commit that began the present turn, `turn_began` its time in milliseconds since 1970, later by as long as its
    clock stood; `stopped` the turn that a claim or a proposal interrupts. `opened` is the time of the pulka's first commit. `recorded`: it
    was played elsewhere; `archived`: its history lies in an archive. `hidden` are the events that hide something as yet, oldest first.
    `runs_since` is the time of the commit since which the turn's clock runs: an agreed pause makes it run up to a later `turn_began`.
    """

    pulka: Pulka
    terms: Terms = Terms()
    revision: int = 0
    turn_revision: int = 0
    turn_began: int = 0
    opened: int = 0
    stopped: Stopped | None = None
    recorded: bool = False
    archived: bool = False
    hidden: tuple[Event, ...] = ()
    runs_since: int = 0


class Turn(msgspec.Struct, frozen=True):
    """A turn that ran out: the revision that began it, its deadline (milliseconds since 1970), and what was added for outages of ours."""

    revision: int
    deadline: int
    credit: int = 0


#: Whoever was to act still is, and their time runs on.
KEEPS_THE_TURN: Final = (
    SeedAdded,
    ChainCommitted,
    LinkOpened,
    HandSeen,
    Peeked,
    CardsShown,
    AttentionCalled,
    FineWritten,
    Confirmed,
    EntryWritten,
    EntryCorrected,
    WarningGiven,
    ConsentAsked,
    ConsentAnswered,
    PlayerLeaves,
    SettlementDemanded,
    SeatReady,
    AnnulmentOrdered,
)
LINKS_S: Final = 5  # seconds in which links are opened, by programs and not by people; as long as the usual time for a cut
WAITS_FOR_ITS_TURN: Final = "3.3.18"  # the mark of a call out of turn, which leaves the turn where it is
STOPS_THE_CLOCK: Final = (ClaimMade, ProposalMade, MisereInvited)  # as a commit's first event: others are asked, and the turn waits
GIVES_BACK: Final = (
    ClaimAnswered,
    CardExposed,
    HeldToLine,
    RemedyAsked,
    RemedyChosen,
    TurnTimedOut,
    ProposalAnswered,
    InvitationAnswered,
    TrickShown,
    PauseAgreed,
    StopAgreed,
)  # the same turn goes on (Decision 24)
_KEEPS_THE_TURN: Final = frozenset(KEEPS_THE_TURN)  # asked after every move
_EARLY: Final = f'"irregular":"{WAITS_FOR_ITS_TURN}"'.encode()
_KEPT_BY: Final = frozenset(kind.__name__ for kind in (*KEEPS_THE_TURN, *GIVES_BACK))  # the names under which they are stored


FOLD: Final = 1  # raise it when `fold` makes another state of the same commits: then no program reads what an older one has kept
PACKING: Final = Packing(Table, shared=(Convention,), kinds=BOXED)


def initial(where: Address) -> Table:
    """A table of which nothing is known yet."""
    return Table(Pulka(table_id=where.id))


def fold(table: Table, commit: Commit, events: tuple[Event, ...]) -> Table:
    """The table after one commit; `events` are its events, opened."""
    pulka, terms, hidden = table.pulka, table.terms, table.hidden
    for event in events:
        pulka, hidden = match.evolve(pulka, event), remembered(hidden, event)
        if isinstance(event, PulkaOpened | PulkaRecorded):
            terms = read_terms(event.terms)
    opened = table.opened if table.revision else commit.at
    if events and isinstance(events[-1], PulkaRecorded | PulkaArchived):
        recorded, archived = table.recorded or isinstance(events[-1], PulkaRecorded), isinstance(events[-1], PulkaArchived)
        return Table(pulka, terms, commit.revision, commit.revision, commit.at, opened, None, recorded, archived)
    if _keeps_the_turn(pulka, events):
        return msgspec.structs.replace(table, pulka=pulka, terms=terms, revision=commit.revision, opened=opened, hidden=hidden)
    stopped = table.stopped
    if events and isinstance(events[0], STOPS_THE_CLOCK):
        stopped = Stopped(table.turn_revision, commit.at - table.turn_began)
    elif stopped is not None and not all(isinstance(event, GIVES_BACK) for event in events):
        stopped = None
    if stopped is not None and not match.waits_for_answer(pulka):
        pause = sum(event.seconds for event in events if isinstance(event, PauseAgreed))
        began = commit.at - stopped.spent + 1000 * pause
        return Table(pulka, terms, commit.revision, stopped.revision, began, opened, hidden=hidden, runs_since=commit.at)
    return Table(pulka, terms, commit.revision, commit.revision, commit.at, opened, stopped, hidden=hidden, runs_since=commit.at)


class TableBooks:
    """How a table closes its books: after a deal its state is kept, so that nobody folds that deal again; and when it is pushed out of an
    instance's memory, in the middle of one too. What is kept is sealed.
    """

    version = f"{FOLD}-{PACKING.fingerprint}"

    def __init__(self, codec: TableCodec) -> None:
        self._codec = codec

    def closes(self, loaded: Loaded[Table], events: tuple[Event, ...]) -> bool:
        """A deal is over and revealed, and the next one has not begun."""
        return loaded.state.pulka.deal is None and not loaded.state.hidden and any(isinstance(event, DealRevealed) for event in events)

    def pack(self, where: Address, state: Table) -> bytes:
        """See `Books.pack`."""
        return self._codec.seal_state(where, PACKING.pack(state))

    def unpack(self, where: Address, data: bytes) -> Table:
        """See `Books.unpack`."""
        return PACKING.unpack(self._codec.open_state(where, data))


def stands_alone(events: tuple[Event, ...]) -> bool:
    """Whether what came before a commit with these events may have left the log."""
    return bool(events) and isinstance(events[-1], PulkaArchived)


def time_up(table: Table, at: int) -> bool:
    """Whether a pulka that is played to a time has come to it at the commit of time `at` (5.4.4)."""
    return is_time_up(table.pulka.convention, table.opened, at)


def _keeps_the_turn(pulka: Pulka, events: tuple[Event, ...]) -> bool:
    """Whether the turn goes on after `events`; a result that is called into question gets its pause anew."""
    if match.awaits_confirmation(pulka) and any(isinstance(event, AttentionCalled) for event in events):
        return False
    return all(type(event) in _KEEPS_THE_TURN or getattr(event, "irregular", "") == WAITS_FOR_ITS_TURN for event in events)


def deadline(table: Table) -> int | None:
    """When the present turn is over without a move, in milliseconds since 1970; `None` when nothing is waited for.

    Between two deals it is the service itself that is late, at once; an adjourned pulka waits for its players as long as they like.
    """
    match match.phase(table.pulka):
        case "waiting" | "over":
            return None
        case "between_deals":
            if not match.deal_is_due(table.pulka):
                return None
            return table.turn_began + (1000 * table.terms.pause_s if match.settles_next(table.pulka) else 0)
        case "cut" | "draw":
            return table.turn_began + 1000 * table.terms.clock.cut_s
        case "links":
            return table.turn_began + 1000 * LINKS_S
        case "scored":
            return table.turn_began + 1000 * table.terms.pause_s
    return table.turn_began + 1000 * table.terms.clock.move_s


def begins_a_turn(commit: Commit) -> bool:
    """Whether surely a new turn began with `commit`; it is told by the names of its events."""
    return not all(name_of(event) in _KEPT_BY or _EARLY in bytes(event) for event in commit.events)


def shortest_turn(terms: Terms) -> int:
    """The least that a turn can last when it runs out, in milliseconds; what `deadline` may add to it is not in it."""
    shortest = min(terms.clock.move_s, terms.clock.cut_s, LINKS_S)
    return 1000 * (min(shortest, terms.pause_s) if terms.mode == "adjudicated" else shortest)


# ---- decide ------------------------------------------------------------------------------------------------------------


ARCHIVED: Final = Refused("archived", "", "This pulka is settled and archived; read it from the ledger.")
RECORDED: Final = Refused("pulka_recorded", "", "This pulka was played elsewhere and imported; nobody can move in it.")


def seat_of(table: Table, player: str | None) -> int | None:
    """The seat of a player, by the pulka's own events and by nothing they say."""
    return table.pulka.seats.index(player) if player in table.pulka.seats else None


def maker_of(table: Table, player: str | None) -> Maker | None:
    """As whom a player may move: their seat, the arbiter, or nobody."""
    if player is not None and player == table.terms.arbiter and table.pulka.seats:
        return ARBITER
    return seat_of(table, player)


def move(table: Table, player: str, wanted: AnyMove, if_match: int | None, at: int) -> tuple[Event, ...] | Refused:
    """A move of a player or the arbiter at the time `at` of its commit; refused when they have no part in this table, or when the turn that
    they think of is over (`stale_revision`): so for moves out of turn too, if they say what they have seen.
    """
    if table.archived:
        return ARCHIVED
    if table.recorded:
        return RECORDED
    maker = maker_of(table, player)
    if maker is None and isinstance(wanted, Join):
        return match.decide_join(table.pulka, player, wanted)
    if maker is None:
        return Refused("not_seated", "5.5", "Only the players of this table can move; you have no seat here.")
    if if_match is not None and if_match < table.turn_revision:
        return Refused(
            "stale_revision", "3.9.2", f"The present turn began at revision {table.turn_revision}; read the table and decide again."
        )
    return match.decide(table.pulka, maker, wanted, at, time_up=time_up(table, at))


def time_out(table: Table, turn: Turn, at: int) -> tuple[Event, ...] | Refused:
    """The default move of whoever let their turn pass, or the score at the end of the pause after a deal.

    Nothing when that turn is over: of a late move and a time-out exactly one wins.
    """
    if table.turn_revision != turn.revision or deadline(table) != turn.deadline:  # or its clock stood since
        return ()
    if match.awaits_confirmation(table.pulka):
        return match.pause_over(table.pulka, time_up=time_up(table, at))
    if match.phase(table.pulka) == "links":
        return match.links_over(table.pulka)
    seat = match.to_act(table.pulka)
    if seat is None:
        return ()
    events = match.decide(table.pulka, seat, match.default_move(table.pulka), time_up=time_up(table, at))
    return events if isinstance(events, Refused) else (TurnTimedOut(seat, turn.deadline, turn.credit), *events)


def next_deal(table: Table) -> int | None:
    """The number of the deal that is to be started now, if one is; a pulka that is settled next waits until its players have written."""
    return table.pulka.number + 1 if match.deal_is_due(table.pulka) and not match.settles_next(table.pulka) else None
