"""The match: who sits, whose deal it is, the sheet, and the deal in progress. State · evolve · decide; the cards are `deal`'s.

A pulka is opened once, then deal follows deal: started (commitment), seeded, cut, dealt, played, scored, revealed; until the convention
says that it is over (4.2.2-4.2.3). Entropy and ids come in with the commands; nothing here looks at a clock.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import msgspec

from shared.rules import between_deals, cutting, members, revealing, seat_draw, shuffle
from shared.rules import deal as deals
from shared.rules.convention import PRESETS, Convention, from_record, record
from shared.rules.deal import Deal
from shared.rules.game_events import (
    CardsDealt,
    CardsDiscarded,
    DarkTalonTaken,
    DealRevealed,
    DealScored,
    DealStarted,
    DeckCut,
    Event,
    HandSeen,
    NewcomerSeated,
    PulkaClosed,
    PulkaOpened,
    PulkaRefused,
    SeatCardDrawn,
    SeatDrawStarted,
    SeatsDrawn,
    SeedAdded,
    StopAgreed,
    SubstituteSeated,
)
from shared.rules.members import MEMBER_EVENTS, Members
from shared.rules.moves import AnyMove, Cut, Draw, Join, Seed
from shared.rules.refusal import Refused
from shared.rules.seat_draw import SeatDraw
from shared.rules.series import Series, is_forced, next_dealer, series_of
from shared.rules.settlement import closed_reason, settlement
from shared.rules.sheet import Sheet, empty_sheet, write
from shared.rules.shuffle import ABSENT_CUT
from shared.rules.stakes import agreed_stake

BY_CONSENT = "by_consent"  # why a pulka closed before its own end (5.4.18)


class Secrets(msgspec.Struct, frozen=True, gc=False):
    """What of the present deal nobody may know before it is revealed, as text."""

    server_seed: str = ""
    hands: tuple[str, ...] = ()
    talon: str = ""
    discard: str | None = None
    seen: tuple[int, ...] = ()


class Pulka(msgspec.Struct, frozen=True):
    """A match as its events left it. `status` is `waiting`, `playing`, `over` or `refused`; `number` counts deals from 1.

    `dealer` deals the present deal, `next_dealer` the one after it. `series` is what the last deal left to this one: all-pass deals in a
    row, bombs. `commitment` is "" between two deals. What was agreed (convention, players, target, seats, terms) means nothing before the
    pulka is opened. `stopping`: it ends with this deal.
    """

    table_id: str
    status: str = "waiting"
    convention: Convention = PRESETS["code"]
    rules_digest: str = ""
    players: int = 0
    target: int | None = None
    seats: tuple[str, ...] = ()
    terms: dict[str, Any] = {}
    sheet: Sheet = empty_sheet(0)
    dealer: int = 0
    next_dealer: int = 0
    number: int = 0
    series: Series = Series()
    commitment: str = ""
    seeds: tuple[tuple[int, str], ...] = ()
    cut_at: int | None = None
    secrets: Secrets = Secrets()
    deal: Deal | None = None
    draw: SeatDraw | None = None
    members: Members = Members()
    settlement: dict[str, Any] | None = None
    stopping: bool = False


# ---- Commands of the service itself; a seat's are moves. ---------------------------------------------------------------


class OpenPulka(msgspec.Struct, frozen=True):
    """Begin a match on resolved terms, which `rules_digest` covers; `lot` is a random number that draws the first dealer (3.2.1).

    Where the terms say `"seating": "drawn"`, `draw_seed` (64 hex digits, the server's secret) is what the draw for seats begins with.
    """

    convention: Convention
    rules_digest: str
    players: int
    target: int | None
    seats: tuple[str, ...]
    terms: dict[str, Any]
    lot: int
    draw_seed: str = ""


class StartDeal(msgspec.Struct, frozen=True):
    """Begin deal `number` with the server's secret `seed` (64 hex digits)."""

    number: int
    seed: str


def phase(pulka: Pulka) -> str:
    """`waiting`, `draw`, `between_deals`, `cut`, the deal's own phase, or `over`."""
    if pulka.status != "playing":
        return "over" if pulka.status == "over" else "waiting"
    if pulka.deal is not None:
        return pulka.deal.phase
    if pulka.draw is not None:
        return "draw"
    return "cut" if pulka.commitment else "between_deals"


def deal_is_due(pulka: Pulka) -> bool:
    """Whether the next deal is to begin: not while the pulka is adjourned."""
    return phase(pulka) == "between_deals" and not pulka.members.adjourned


def cutter(pulka: Pulka) -> int:
    """The dealer's right neighbour (3.2.5)."""
    return (pulka.dealer - 1) % pulka.players


def to_act(pulka: Pulka) -> int | None:
    """The seat whose move the table waits for, if it waits for a seat."""
    if pulka.deal is not None:
        return pulka.deal.to_act
    if pulka.draw is not None:
        return pulka.draw.to_act
    return cutter(pulka) if phase(pulka) == "cut" else None


def waits_for_answer(pulka: Pulka) -> bool:
    """Whether somebody must answer before the game goes on (`incidents.py`)."""
    return pulka.deal is not None and pulka.deal.pending is not None


def legal_moves(pulka: Pulka, seat: int) -> tuple[AnyMove, ...]:
    """Every move that `seat` may make now; of the cuts, and of the cards to draw, one."""
    if pulka.deal is not None:
        return deals.legal_moves(pulka.deal, seat)
    return (default_move(pulka),) if to_act(pulka) == seat else ()


def offer(pulka: Pulka, seat: int) -> list[dict[str, Any]]:
    """`legal_moves` as documents; a discard without its cards, which are free (docs/formats.md: Deal record)."""
    if pulka.deal is not None:
        return deals.offer(pulka.deal, seat)
    return [msgspec.to_builtins(move) for move in legal_moves(pulka, seat)]


def default_move(pulka: Pulka) -> AnyMove:
    """The move that is made for the seat on turn when its time runs out."""
    if pulka.draw is not None:
        return Draw(pulka.draw.free)
    return deals.default_move(pulka.deal) if pulka.deal is not None else Cut(ABSENT_CUT)


# ---- evolve ------------------------------------------------------------------------------------------------------------


def evolve(pulka: Pulka, event: Event) -> Pulka:
    """The match after `event`; total, never refuses."""
    own = _EVOLVE.get(type(event))
    return _played(pulka, event) if own is None else own(pulka, event)


def _played(pulka: Pulka, event: Event) -> Pulka:
    """The deal in progress goes on."""
    return pulka if pulka.deal is None else msgspec.structs.replace(pulka, deal=deals.evolve(pulka.deal, event))


def _of_members(pulka: Pulka, event: Event) -> Pulka:
    return msgspec.structs.replace(pulka, members=members.evolve(pulka.members, event))


def _opened(pulka: Pulka, event: PulkaOpened) -> Pulka:
    return Pulka(
        table_id=pulka.table_id,
        status="playing",
        convention=from_record(event.convention),
        rules_digest=event.rules_digest,
        players=event.players,
        target=event.target,
        seats=event.seats,
        terms=event.terms,
        sheet=empty_sheet(event.players),
        dealer=event.first_dealer,
        next_dealer=event.first_dealer,
    )


def _drawing(pulka: Pulka, event: SeatDrawStarted | SeatCardDrawn) -> Pulka:
    return msgspec.structs.replace(pulka, draw=seat_draw.evolve(pulka.draw, event))


def _seats_drawn(pulka: Pulka, event: SeatsDrawn) -> Pulka:
    return msgspec.structs.replace(pulka, seats=event.seats, draw=None, members=Members())


def _started(pulka: Pulka, event: DealStarted) -> Pulka:
    return msgspec.structs.replace(
        _of_members(pulka, event),
        number=event.number,
        dealer=event.dealer,
        commitment=event.commitment,
        seeds=(),
        cut_at=None,
        secrets=Secrets(server_seed=event.server_seed or ""),
    )


def _seeded(pulka: Pulka, event: SeedAdded) -> Pulka:
    return msgspec.structs.replace(pulka, seeds=(*pulka.seeds, (event.seat, event.seed)))


def _cut(pulka: Pulka, event: DeckCut) -> Pulka:
    return msgspec.structs.replace(pulka, cut_at=event.at)


def _dealt(pulka: Pulka, event: CardsDealt) -> Pulka:
    hands, talon = tuple(hand or "" for hand in event.hands), event.talon or ""
    series = pulka.series
    opened = deals.open_deal(
        pulka.convention,
        pulka.players,
        pulka.target,
        pulka.dealer,
        pulka.sheet,
        series.all_pass_in_row,
        hands,
        talon,
        series.bombs,
        dark_in_row=series.dark_in_row,
        forced=is_forced(pulka.convention, pulka.number),
    )
    return msgspec.structs.replace(pulka, deal=opened, secrets=msgspec.structs.replace(pulka.secrets, hands=hands, talon=talon))


def _discarded(pulka: Pulka, event: CardsDiscarded) -> Pulka:
    secrets = msgspec.structs.replace(pulka.secrets, discard=event.cards)
    return msgspec.structs.replace(_played(pulka, event), secrets=secrets)


def _seen(pulka: Pulka, event: HandSeen) -> Pulka:
    secrets = msgspec.structs.replace(pulka.secrets, seen=(*pulka.secrets.seen, event.hand))
    return msgspec.structs.replace(_played(pulka, event), secrets=secrets)


def _scored(pulka: Pulka, event: DealScored) -> Pulka:
    return msgspec.structs.replace(
        _played(pulka, event),
        sheet=write(pulka.sheet, event.entries),
        next_dealer=next_dealer(pulka.convention, pulka.players, pulka.dealer, event.outcome["contract"]),
        series=series_of(event.outcome),
    )


def _stopping(pulka: Pulka, _: StopAgreed) -> Pulka:
    return msgspec.structs.replace(pulka, stopping=True)


def _revealed(pulka: Pulka, _: DealRevealed) -> Pulka:
    return msgspec.structs.replace(pulka, deal=None, commitment="", secrets=Secrets())


def _closed(pulka: Pulka, event: PulkaClosed) -> Pulka:
    return msgspec.structs.replace(pulka, status="over", settlement=event.settlement)


def _refused(pulka: Pulka, _: PulkaRefused) -> Pulka:
    return msgspec.structs.replace(pulka, status="refused")


# ---- decide ------------------------------------------------------------------------------------------------------------


def open_pulka(pulka: Pulka, command: OpenPulka) -> tuple[Event, ...] | Refused:
    """Begin the match; on a table that has begun it decides to nothing."""
    if pulka.status != "waiting":
        return ()
    frozen = record(command.convention)
    opened = PulkaOpened(
        convention=frozen,
        rules_digest=command.rules_digest,
        players=command.players,
        target=command.target,
        seats=command.seats,
        first_dealer=command.lot % command.players,
        terms=command.terms,
    )
    return opened, *seat_draw.opened(pulka.table_id, opened, command.draw_seed)


def start_deal(pulka: Pulka, command: StartDeal) -> tuple[Event, ...]:
    """Bind the server to its seed before the cut; nothing when the deal has been started already."""
    if not deal_is_due(pulka) or command.number != pulka.number + 1:
        return ()
    promise = shuffle.commitment(command.seed, pulka.table_id, command.number, pulka.rules_digest)
    return (DealStarted(command.number, pulka.next_dealer, promise, shuffle.ALGORITHM, command.seed),)


def decide(pulka: Pulka, seat: int, move: AnyMove, *, time_up: bool = False) -> tuple[Event, ...] | Refused:
    """What `seat`'s move causes, to the last consequence: the trick, the score, the reveal, the end of the match.

    `time_up`: the agreed time of a pulka that is played to one is over at this move, so that the deal that it ends is the last (5.4.4).
    """
    if pulka.status == "over":
        return Refused("pulka_over", "4.2.15", "The pulka is over; its sheet is settled.")
    if pulka.status != "playing":
        return Refused("wrong_phase", "3.1.1", "The pulka has not begun; it begins when all seats are taken and ready.")
    if isinstance(move, Join):
        return members.SEATED
    if isinstance(move, members.MEMBER_MOVES) or members.concerns(
        move, pulka.members, in_deal=pulka.deal is not None, deal_asks=waits_for_answer(pulka)
    ):
        return between_deals.decided(pulka, members.decide(pulka.members, pulka.seats, seat, move), evolve)
    if pulka.deal is None:
        return _before_the_deal(pulka, seat, move)
    if isinstance(move, (Draw, Seed, Cut)):
        return Refused("wrong_phase", "3.2.5", "The cards are dealt; draws, seeds and the cut come before the deal.")
    events = deals.decide(pulka.deal, seat, move)
    return events if isinstance(events, Refused) else _finished(pulka, events, time_up=time_up)


def decide_join(pulka: Pulka, player: str, move: Join) -> tuple[Event, ...] | Refused:
    """What it causes that somebody who has no seat asks for one (3.1.2, 5.4.7)."""
    if pulka.status == "over":
        return Refused("pulka_over", "4.2.15", "The pulka is over; its sheet is settled.")
    return between_deals.decided(pulka, members.decide_join(pulka.members, pulka.seats, player, move), evolve)


def _before_the_deal(pulka: Pulka, seat: int, move: AnyMove) -> tuple[Event, ...] | Refused:
    if pulka.draw is not None or isinstance(move, Draw):
        return seat_draw.decide(pulka.draw, pulka.table_id, pulka.rules_digest, pulka.seats, seat, move)
    if not pulka.commitment:
        return Refused("wrong_phase", "3.2.2", "The next deal has not started yet.")
    events = cutting.decide(pulka, cutter(pulka), seat, move)
    return events if isinstance(events, Refused) or not isinstance(move, Cut) else _dealt_and_begun(pulka, events)


def _dealt_and_begun(pulka: Pulka, dealt: tuple[Event, ...]) -> tuple[Event, ...]:
    """The cut and the cards, and what follows from them by itself."""
    begun = reduce(evolve, dealt, pulka).deal
    return dealt if begun is None else (*dealt, *deals.first_events(begun))


def _finished(pulka: Pulka, events: tuple[Event, ...], *, time_up: bool) -> tuple[Event, ...]:
    """Put deal number and salts to secret events; after the score, reveal, and close the match if that was its last deal."""
    if not any(isinstance(event, (CardsDiscarded, DarkTalonTaken, HandSeen, DealScored)) for event in events):
        return events
    done = revealing.with_salts(pulka, events)
    if isinstance(events[-1], DealScored):
        after = reduce(evolve, done, pulka)
        done.append(revealing.reveal(after))
        ending = after.convention.ends_when if time_up else closed_reason(after.convention, after.target, after.sheet, after.number)
        reason = ending or (BY_CONSENT if after.stopping else None)
        if reason is None:
            return (*done, *between_deals.due(reduce(evolve, done, pulka), evolve))
        done.append(PulkaClosed(reason, settlement(after.convention, after.target, after.sheet, agreed_stake(after.terms))))
    return tuple(done)


_EVOLVE: dict[type[Event], Callable[[Pulka, Any], Pulka]] = {
    PulkaOpened: _opened,
    PulkaRefused: _refused,
    SeatDrawStarted: _drawing,
    SeatCardDrawn: _drawing,
    SeatsDrawn: _seats_drawn,
    DealStarted: _started,
    SeedAdded: _seeded,
    DeckCut: _cut,
    CardsDealt: _dealt,
    CardsDiscarded: _discarded,
    HandSeen: _seen,
    DealScored: _scored,
    DealRevealed: _revealed,
    StopAgreed: _stopping,
    **dict.fromkeys(MEMBER_EVENTS, _of_members),
    NewcomerSeated: between_deals.newcomer_seated,
    SubstituteSeated: between_deals.substitute_seated,
    PulkaClosed: _closed,
}
