"""The match: who sits, whose deal it is, the sheet, and the deal in progress. State · evolve · decide; the cards are `deal`'s.

A pulka is opened once, then deal follows deal: started (commitment), seeded, cut, dealt, played, scored, revealed; until the convention
says that it is over (4.2.2-4.2.3). Entropy and ids come in with the commands; nothing here looks at a clock.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import msgspec

from shared.rules.adjudicated import decider as courts
from shared.rules.adjudicated import sheet_entries
from shared.rules.adjudicated.court import Court, Maker, court_terms
from shared.rules.adjudicated.sheet_entries import KeptSheet
from shared.rules.convention.options import from_document, to_document
from shared.rules.deal import decider as deals
from shared.rules.deal.decider import Deal
from shared.rules.language.correction_events import AnnulmentOrdered, PulkaAnnulled, ResultCorrected
from shared.rules.language.game_events import (
    AllPassed,
    AuctionWon,
    CardsDealt,
    CardsDiscarded,
    DealRevealed,
    DealScored,
    DealStarted,
    DeckCut,
    Event,
    HandSeen,
    PulkaClosed,
    PulkaOpened,
    PulkaRefused,
    SeedAdded,
    StopAgreed,
)
from shared.rules.language.irregular_events import Redealt, TalonReturned
from shared.rules.language.member_events import NewcomerSeated, SeatCardDrawn, SeatDrawStarted, SeatsDrawn, SubstituteSeated
from shared.rules.language.moves import AnyMove, Cut, Draw, IrregularMove, Join, Seed
from shared.rules.language.refusal import Refused
from shared.rules.pulka import between_deals, corrections, cutting, links, members, revealing, rounds, seat_draw
from shared.rules.pulka.imported import PulkaArchived, PulkaRecorded, evolve_archived, evolve_imported
from shared.rules.pulka.members import MEMBER_EVENTS, Members
from shared.rules.pulka.state import OpenPulka, Pulka, Secrets, StartDeal, settled_now
from shared.rules.pulka.turns import (
    awaits_confirmation,
    cutter,
    deal_is_due,
    default_move,
    entries_due,
    legal_moves,
    offer,
    phase,
    to_act,
    waits_for_answer,
)
from shared.rules.scoring.series import is_forced, next_dealer, series_of
from shared.rules.scoring.settlement import agreed_ending, closed_reason
from shared.rules.scoring.sheet import empty_sheet, write

__all__ = [
    "OpenPulka", "Pulka", "Secrets", "StartDeal", "awaits_confirmation", "cutter", "deal_is_due", "decide", "decide_join",
    "default_move", "entries_due", "evolve", "legal_moves", "links_over", "offer", "open_links", "open_pulka", "pause_over", "phase",
    "settles_next", "start_deal", "to_act", "waits_for_answer",
]  # fmt: skip

BY_CONSENT = "by_consent"  # why a pulka closed before its own end (5.4.18)


def settles_next(pulka: Pulka) -> bool:
    """Whether the pulka is settled instead of dealt on, once the players have had the time to write what is due (4.2.9)."""
    return pulka.kept_sheet is not None and bool(pulka.kept_sheet.deal) and phase(pulka) == "between_deals" and bool(_closing(pulka))


# ---- evolve ------------------------------------------------------------------------------------------------------------


def evolve(pulka: Pulka, event: Event) -> Pulka:
    """The match after `event`; total, never refuses."""
    own = _EVOLVE.get(type(event))
    if pulka.kept_sheet is not None:
        return _with_kept_sheet(pulka, pulka.kept_sheet, event, own or _played)
    return _played(pulka, event) if own is None else own(pulka, event)


def _with_kept_sheet(pulka: Pulka, kept: KeptSheet, event: Event, own: Callable[[Pulka, Any], Pulka]) -> Pulka:
    """Where the players write for themselves: what is the sheet's alone does not concern the deal (4.2.4)."""
    after = pulka if sheet_entries.concerns(kept, event) else own(pulka, event)
    if isinstance(event, DealScored):
        after_deal = sheet_entries.deal_scored(kept, pulka.number, event.entries)
        return msgspec.structs.replace(after, sheet=pulka.sheet, kept_sheet=after_deal)
    return msgspec.structs.replace(after, sheet=sheet_entries.on_sheet(after.sheet, event), kept_sheet=sheet_entries.evolve(kept, event))


def _played(pulka: Pulka, event: Event) -> Pulka:
    """The deal in progress goes on."""
    if pulka.deal is None:
        return pulka
    after = courts.evolve(pulka.deal, event) if isinstance(pulka.deal, Court) else deals.evolve(pulka.deal, event)
    return msgspec.structs.replace(pulka, deal=after)


def _of_members(pulka: Pulka, event: Event) -> Pulka:
    return msgspec.structs.replace(pulka, members=members.evolve(pulka.members, event))


def _opened(pulka: Pulka, event: PulkaOpened) -> Pulka:
    return Pulka(
        table_id=pulka.table_id,
        status="playing",
        convention=from_document(event.convention),
        rules_digest=event.rules_digest,
        players=event.players,
        target=event.target,
        seats=event.seats,
        terms=event.terms,
        sheet=empty_sheet(event.players),
        dealer=event.first_dealer,
        next_dealer=event.first_dealer,
        kept_sheet=sheet_entries.kept_sheet_of(event.terms),
    )


def _drawing(pulka: Pulka, event: SeatDrawStarted | SeatCardDrawn) -> Pulka:
    draw = seat_draw.evolve(pulka.draw, event)
    drawn = draw is not None and len(draw.drawn) == pulka.players
    return msgspec.structs.replace(pulka, draw=draw, chains=links.asked(pulka.chains) if drawn else pulka.chains)


def _seats_drawn(pulka: Pulka, event: SeatsDrawn) -> Pulka:
    chains, own = links.reseated(pulka.chains, pulka.seats, event.seats), dict(zip(pulka.seats, pulka.keys, strict=False))
    keys = tuple(own[player] for player in event.seats) if own else ()
    return msgspec.structs.replace(pulka, seats=event.seats, draw=None, members=Members(), chains=chains, keys=keys)


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
    return msgspec.structs.replace(pulka, cut_at=event.at, chains=links.asked(pulka.chains))


def _dealt(pulka: Pulka, event: CardsDealt) -> Pulka:
    hands, talon = tuple(hand or "" for hand in event.hands), event.talon or ""
    pulka, series = msgspec.structs.replace(pulka, chains=links.dealt(pulka.chains)), pulka.series
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
    if pulka.terms.get("mode") == "adjudicated":
        court = courts.open_court(opened, court_terms(pulka.terms), pulka.secrets.server_seed)
        return msgspec.structs.replace(pulka, deal=court, secrets=msgspec.structs.replace(pulka.secrets, hands=hands, talon=talon))
    return msgspec.structs.replace(pulka, deal=opened, secrets=msgspec.structs.replace(pulka.secrets, hands=hands, talon=talon))


def _discarded(pulka: Pulka, event: CardsDiscarded) -> Pulka:
    secrets = msgspec.structs.replace(pulka.secrets, discard=event.cards)
    return msgspec.structs.replace(_played(pulka, event), secrets=secrets)


def _seen(pulka: Pulka, event: HandSeen) -> Pulka:
    secrets = msgspec.structs.replace(pulka.secrets, seen=(*pulka.secrets.seen, event.hand))
    return msgspec.structs.replace(_played(pulka, event), secrets=secrets)


def _talon_returned(pulka: Pulka, event: TalonReturned) -> Pulka:
    earlier = pulka.secrets.returned  # two players in one deal can have taken the talon, one after the other
    kept = {name if " " in name else f"{name} {len(earlier) // 2}": text for name, text in earlier.items()}
    returned = {"hand": event.hand or "", "talon": event.talon or ""} | kept
    return msgspec.structs.replace(_played(pulka, event), secrets=msgspec.structs.replace(pulka.secrets, returned=returned))


def _redealt(pulka: Pulka, event: Redealt) -> Pulka:
    """The deal is void, and does not count; the same cards are revealed, and new ones dealt by `dealer`."""
    return msgspec.structs.replace(_played(pulka, event), next_dealer=event.dealer, void=pulka.void + 1)


def _scored(pulka: Pulka, event: DealScored) -> Pulka:
    return msgspec.structs.replace(
        _played(pulka, event),
        sheet=write(pulka.sheet, event.entries),
        next_dealer=next_dealer(pulka.convention, pulka.players, pulka.dealer, event.outcome["contract"]),
        series=series_of(event.outcome),
        last_dealer=pulka.dealer,
    )


def _stopping(pulka: Pulka, _: StopAgreed) -> Pulka:
    return msgspec.structs.replace(pulka, stopping=True)


def _revealed(pulka: Pulka, event: DealRevealed) -> Pulka:
    chains = links.closed(pulka.chains, event.server_seed, event.number)
    return msgspec.structs.replace(pulka, deal=None, commitment="", secrets=Secrets(), chains=chains)


def _closed(pulka: Pulka, event: PulkaClosed) -> Pulka:
    return msgspec.structs.replace(pulka, status="over", settlement=event.settlement)


def _refused(pulka: Pulka, _: PulkaRefused) -> Pulka:
    return msgspec.structs.replace(pulka, status="refused")


# ---- decide ------------------------------------------------------------------------------------------------------------


def open_pulka(pulka: Pulka, command: OpenPulka) -> tuple[Event, ...] | Refused:
    """Begin the match; on a table that has begun it decides to nothing."""
    if pulka.status != "waiting":
        return ()
    frozen = to_document(command.convention)
    opened = PulkaOpened(
        convention=frozen,
        rules_digest=command.rules_digest,
        players=command.players,
        target=command.target,
        seats=command.seats,
        first_dealer=command.lot % command.players,
        terms=command.terms,
    )
    return opened, *rounds.opened(pulka.table_id, opened, command.draw_seed, command.chains, command.keys)


def start_deal(pulka: Pulka, command: StartDeal) -> tuple[Event, ...]:
    """Bind the server to its seed before the cut; nothing when the deal has been started already."""
    if not deal_is_due(pulka) or command.number != pulka.number + 1:
        return ()
    if pulka.annulling is not None:  # ordered while seats were drawn for
        return corrections.ended(pulka)
    if pulka.kept_sheet is not None and pulka.kept_sheet.deal:
        closed = _closing(pulka)
        if closed:
            return closed
    return rounds.start(pulka, command)


def links_over(pulka: Pulka) -> tuple[Event, ...]:
    """What follows when the time to open links is over: who did not is named, and the round goes on without them."""
    return rounds.with_what_follows(pulka, links.missing(pulka.chains), evolve) if pulka.chains.asked else ()


def open_links(pulka: Pulka, opened: links.Opened) -> tuple[Event, ...] | Refused:
    """What it causes that seats open their links, and the cards when they are the last; nothing where all were opened before."""
    return rounds.open_links(pulka, opened, evolve)


def decide(pulka: Pulka, seat: Maker, move: AnyMove, now: int | None = None, *, time_up: bool = False) -> tuple[Event, ...] | Refused:
    """What `seat`'s move causes, to the last consequence: the trick, the score, the reveal, the end of the match.

    `time_up`: the agreed time of a pulka that is played to one is over at this move, so that the deal that it ends is the last (5.4.4). At
    an adjudicated table the arbiter moves too (`court.ARBITER`), and `now`, milliseconds since 1970, tells a slip from a change of mind.
    """
    if pulka.status == "over":
        return Refused("pulka_over", "4.2.15", "The pulka is over; its sheet is settled.")
    if pulka.status != "playing":
        return Refused("wrong_phase", "3.1.1", "The pulka has not begun; it begins when all seats are taken and ready.")
    if isinstance(move, (Join, *rounds.CHAIN_MOVES)):
        return members.SEATED if isinstance(move, Join) else rounds.decide(pulka, seat, move, evolve)
    if isinstance(seat, int) and (
        isinstance(move, members.MEMBER_MOVES)
        or members.concerns(move, pulka.members, in_deal=pulka.deal is not None, deal_asks=waits_for_answer(pulka))
    ):
        return between_deals.decided(pulka, members.decide(pulka.members, pulka.seats, seat, move), evolve)
    if pulka.kept_sheet is not None:
        about = sheet_entries.decide(pulka.kept_sheet, pulka.players, seat, move)
        if about is not None:
            return about
    if pulka.deal is None:
        return _before_the_deal(pulka, seat, move)
    events = _in_the_deal(pulka.deal, seat, move, now)
    if isinstance(events, Refused):
        return events
    if pulka.kept_sheet is not None and any(isinstance(event, (AuctionWon, AllPassed)) for event in events):
        events = (*events, *sheet_entries.closing(pulka.kept_sheet, pulka.players))
    return _finished(pulka, events, time_up=time_up)


def _in_the_deal(deal: Deal | Court, seat: Maker, move: AnyMove, now: int | None) -> tuple[Event, ...] | Refused:
    if isinstance(move, (Draw, Seed, Cut, *rounds.CHAIN_MOVES)):
        return Refused("wrong_phase", "3.2.5", "The cards are dealt; draws, seeds and the cut come before the deal.")
    if isinstance(move, (Join, *members.MEMBER_MOVES)):
        return Refused("wrong_phase", "5.4.18", "The players decide who sits here, not the arbiter.")
    if isinstance(deal, Court):
        return courts.decide(deal, seat, move, now)
    if isinstance(move, IrregularMove) or not isinstance(seat, int):
        return deals.PREVENTED
    return deals.decide(deal, seat, move)


def decide_join(pulka: Pulka, player: str, move: Join) -> tuple[Event, ...] | Refused:
    """What it causes that somebody who has no seat asks for one (3.1.2, 5.4.7)."""
    if pulka.status == "over":
        return Refused("pulka_over", "4.2.15", "The pulka is over; its sheet is settled.")
    return between_deals.decided(pulka, members.decide_join(pulka.members, pulka.seats, player, move), evolve)


def pause_over(pulka: Pulka, *, time_up: bool = False) -> tuple[Event, ...]:
    """The score of a deal whose result nobody called into question during the pause after it; `time_up` as in `decide`."""
    if not isinstance(pulka.deal, Court) or not pulka.deal.awaits_confirmation:
        return ()
    return _finished(pulka, courts.pause_over(pulka.deal), time_up=time_up)


def _before_the_deal(pulka: Pulka, seat: Maker, move: AnyMove) -> tuple[Event, ...] | Refused:
    if not isinstance(seat, int):
        return Refused("wrong_phase", "3.2.2", "The next deal has not started yet.")
    if phase(pulka) == "links":
        return Refused("wrong_phase", links.RULE, "The players are opening their links; the cards come after that.")
    if pulka.draw is not None or isinstance(move, Draw):
        drawn = seat_draw.decide(pulka.draw, pulka.table_id, pulka.rules_digest, pulka.seats, seat, move)
        return drawn if isinstance(drawn, Refused) else rounds.drawn(pulka, drawn, evolve)
    if not pulka.commitment:
        return Refused("wrong_phase", "3.2.2", "The next deal has not started yet.")
    events = cutting.decide(pulka, cutter(pulka), seat, move)
    return events if isinstance(events, Refused) or not isinstance(move, Cut) else rounds.dealt_and_begun(pulka, events, evolve)


def _finished(pulka: Pulka, events: tuple[Event, ...], *, time_up: bool) -> tuple[Event, ...]:
    """Put deal number and salts to secret events; after the score, or a deal that is void, reveal; close the match if that was its last
    deal, else let in whoever is to play from the next one on.
    """
    done = revealing.with_salts(pulka, events)
    if not events or not isinstance(events[-1], (DealScored, Redealt)):
        return tuple(done)
    after = reduce(evolve, done, pulka)  # the one fold of a decision: sheet, secrets and members as this move leaves them
    revealed = revealing.reveal(after)
    closed = () if isinstance(events[-1], Redealt) or after.kept_sheet is not None else _closing(after, time_up=time_up)
    return (*done, revealed, *(closed or between_deals.due(evolve(after, revealed), evolve)))


def _closing(pulka: Pulka, *, time_up: bool = False) -> tuple[Event, ...]:
    """The end of the match, if its sheet, its deals, its time or its players have brought it about; where all write their columns,
    only when the next deal would start.
    """
    if pulka.annulling is not None:
        return corrections.ended(pulka)
    ending = closed_reason(pulka.convention, pulka.target, pulka.sheet, pulka.number - pulka.void)
    reason = (agreed_ending(pulka.convention) if time_up else ending) or (BY_CONSENT if pulka.stopping else None)
    if reason is None:
        return ()
    return (PulkaClosed(reason, settled_now(pulka)),)


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
    TalonReturned: _talon_returned,
    Redealt: _redealt,
    DealScored: _scored,
    DealRevealed: _revealed,
    StopAgreed: _stopping,
    **rounds.EVOLVE,
    **dict.fromkeys(MEMBER_EVENTS, _of_members),
    NewcomerSeated: between_deals.newcomer_seated,
    SubstituteSeated: between_deals.substitute_seated,
    PulkaClosed: _closed,
    ResultCorrected: corrections.result_corrected,
    AnnulmentOrdered: corrections.annulment_ordered,
    PulkaAnnulled: corrections.pulka_annulled,
    PulkaRecorded: evolve_imported,
    PulkaArchived: evolve_archived,
}
