"""What waits for the end of a deal: the demanded settlement, a newcomer, an adjournment and its end (3.1.2, 5.4.18); and how seats change.

The records are `members.py`'s; here they meet the match, whose `evolve` comes in as an argument.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TypeAlias

import msgspec

from shared.rules.convention.options import to_document
from shared.rules.convention.rules_digest import rules_digest
from shared.rules.language.game_events import Event, PulkaClosed
from shared.rules.language.member_events import NewcomerSeated, PulkaAdjourned, PulkaResumed, SubstituteSeated
from shared.rules.language.refusal import Refused
from shared.rules.pulka import corrections, links, members, newcomer
from shared.rules.pulka.state import Pulka, settled_now

Evolve: TypeAlias = "Callable[[Pulka, Event], Pulka]"

SETTLED = "demanded"  # reason of a `PulkaClosed`: somebody had gone, and another wanted their money


def decided(pulka: Pulka, decision: tuple[Event, ...] | Refused, evolve: Evolve) -> tuple[Event, ...] | Refused:
    """What was decided about members, with all that follows from it at once where no deal goes on."""
    if pulka.status != "playing" or pulka.draw is not None or pulka.chains.dealer_due:
        return Refused("wrong_phase", "3.1.1", "Nobody can join, leave or adjourn before all players have their seats.")
    if isinstance(decision, Refused) or pulka.commitment:
        return decision
    return *decision, *due(reduce(evolve, decision, pulka), evolve)


def due(pulka: Pulka, evolve: Evolve) -> tuple[Event, ...]:
    """All that was agreed before and happens between two deals: settlement, or else newcomer and adjournment; its end, if all are ready.

    An annulment that was ordered ends it all.
    """
    if pulka.annulling is not None:
        return corrections.ended(pulka)
    done: list[Event] = []
    while (event := _next(pulka)) is not None:
        done.append(event)
        pulka = evolve(pulka, event)
    return tuple(done)


def _next(pulka: Pulka) -> Event | None:
    now = pulka.members
    if pulka.status != "playing":
        return None
    if now.demanded:
        return PulkaClosed(SETTLED, settled_now(pulka))
    if now.newcomer is not None:
        return _seated(pulka, now.newcomer)
    if not now.adjourned and (now.adjourning or now.left):
        return PulkaAdjourned("agreed" if now.adjourning else "left")
    return PulkaResumed() if now.adjourned and now.all_ready(pulka.players) else None


def _seated(pulka: Pulka, player: str) -> NewcomerSeated:
    """The newcomer left of whoever has just dealt, with their sheet (3.1.2)."""
    seat = newcomer.newcomers_seat(pulka.dealer)
    players = pulka.players + 1
    sheet, series = newcomer.sheet_with(pulka.sheet, seat), newcomer.series_with(pulka.series, seat)
    return NewcomerSeated(
        player=player,
        seat=seat,
        seats=(*pulka.seats[:seat], player, *pulka.seats[seat:]),
        moved=newcomer.moved_seats(pulka.players, seat),
        rules_digest=rules_digest(to_document(pulka.convention), players, pulka.target, pulka.terms),
        start=newcomer.start_document(pulka.convention, sheet, series, pulka.number),
    )


# ---- evolve ------------------------------------------------------------------------------------------------------------


def newcomer_seated(pulka: Pulka, event: NewcomerSeated) -> Pulka:
    """Seats, sheet and digest with one player more, who deals next."""
    return msgspec.structs.replace(
        pulka,
        members=members.evolve(pulka.members, event),
        players=len(event.seats),
        seats=event.seats,
        rules_digest=event.rules_digest,
        sheet=newcomer.sheet_with(pulka.sheet, event.seat),
        series=newcomer.series_with(pulka.series, event.seat),
        dealer=event.moved[pulka.dealer],
        next_dealer=event.seat,
        last_dealer=None,
        chains=links.evolve(pulka.chains, event, pulka.number),
        keys=(*pulka.keys[: event.seat], "", *pulka.keys[event.seat :]) if pulka.keys else (),
    )


def substitute_seated(pulka: Pulka, event: SubstituteSeated) -> Pulka:
    """Another player on the same seat; cards, sheet and turn stay with it."""
    seats = tuple(event.player if seat == event.seat else player for seat, player in enumerate(pulka.seats))
    chains = links.evolve(pulka.chains, event, pulka.number)  # a chain is its player's, not the seat's
    keys = tuple("" if seat == event.seat else key for seat, key in enumerate(pulka.keys))
    return msgspec.structs.replace(pulka, members=members.evolve(pulka.members, event), seats=seats, chains=chains, keys=keys)
