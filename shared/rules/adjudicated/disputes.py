"""Two plans of defence (3.8.5.1): who disputes the one before the defence plays ends as their own would have ended them, as the search has
it; the whister plays, and is scored by what they play; whose result the declarer writes is drawn by lot (Decision 26).

The players may bargain instead (`propose`); a call of attention under this rule means that they have not agreed.
"""

from __future__ import annotations

import hashlib
from typing import Final

from msgspec.structs import replace

from shared.rules.adjudicated.court import Court, Dispute, Maker
from shared.rules.adjudicated.damages import rightly_dealt
from shared.rules.adjudicated.play_acts import Decided
from shared.rules.deal.insurance import RULE, objection
from shared.rules.deal.position import Deal, Setup
from shared.rules.deck.cards import CARD_NUMBER, card_numbers
from shared.rules.deck.contract import STRAIN
from shared.rules.deck.seats import defenders
from shared.rules.deck.trick import BEATING
from shared.rules.language.amount import Amount, divided, exact
from shared.rules.language.game_events import CardPlayed
from shared.rules.language.irregular_events import AttentionCalled, PlansDisputed
from shared.rules.language.refusal import Refused
from shared.rules.open_cards.declarer import best_line
from shared.rules.scoring.outcome import DealOutcome, Infraction
from shared.rules.scoring.score import score_deal
from shared.rules.scoring.settlement import settle
from shared.rules.scoring.sheet import Entry, empty_sheet, write

OWN_PLAN: Final = "the result of his own plan of defence"

# ---- evolve ------------------------------------------------------------------------------------------------------------


def plans_disputed(court: Court, event: PlansDisputed) -> Court:
    """It counts when the deal is scored."""
    return replace(court, dispute=Dispute(event.seat, event.tricks, event.lot == "disputed"))


# ---- decide ------------------------------------------------------------------------------------------------------------


def disputed(court: Court, maker: Maker, seat: int) -> Decided:
    """Over open hands, before the defence has played; by a passer, the other defender of a misere, or who rests."""
    deal = court.deal
    refused = objection(deal, seat)
    if refused is not None:
        return refused
    if not court.terms.unchecked and (court.ended is not None or seat == deal.game.whister or not 0 <= seat < deal.setup.players):
        return Refused("call_not_allowed", RULE, "A whister cannot dispute their own plan, and nobody can after the deal is over.")
    if court.dispute is not None or not rightly_dealt(deal):
        return Refused("call_not_allowed", RULE, "A plan is disputed once in a deal, and only if the cards were dealt correctly.")
    lot = hashlib.sha256(f"{court.entropy} plans".encode()).digest()[0] & 1
    return AttentionCalled(RULE, seat, maker), PlansDisputed(seat, best_tricks(deal), "disputed" if lot else "played")


def best_tricks(deal: Deal) -> tuple[int, ...]:
    """Tricks by hand when both sides play best from here on."""
    play, game, setup = deal.play, deal.game, deal.setup
    assert play is not None  # noqa: S101 - the dispute was allowed in the play
    table = tuple(CARD_NUMBER[one.card] for one in play.trick if isinstance(one, CardPlayed))
    leader = play.trick[0].seat if play.trick and isinstance(play.trick[0], CardPlayed) else play.turn
    held = tuple(deal.held(seat) for seat in range(len(deal.full_hands)))
    line = (*table, *best_line(held, game.declarer, leader, game.contract, table, setup.order))
    owner = {card: seat for seat in setup.order for card in card_numbers(deal.full_hands[seat])}
    taken, beating = list(play.taken), BEATING[STRAIN[game.contract]]
    for start in range(0, len(line), 3):
        best = line[start]
        for card in line[start + 1 : start + 3]:
            best = card if beating[best] >> card & 1 else best
        taken[owner[best]] += 1
    return tuple(taken)


# ---- the score ---------------------------------------------------------------------------------------------------------


def written_by_their_plans(setup: Setup, dispute: Dispute, played: DealOutcome) -> tuple[Infraction, ...]:
    """What must be written besides the played result, so that the disputer ends as by their own plan, and the declarer as the lot has it.

    Where the declarer writes the disputed result the disputer has a share of it, and gets their own columns. Where the declarer writes
    the played one, whoever played it answers for the difference; in version 1 nobody answered for the disputer's share (Decision 26).
    """
    if played.conceded or not played.tricks:
        return ()
    other = replace(played, tricks=dispute.tricks[: setup.players])
    if not dispute.lot and setup.convention.version > 1:
        return _answered_for(setup, dispute.seat, played, other)
    changes = _difference(setup, played, other, dispute.seat, ("whists", "mountain"))
    found = [_infraction(dispute.seat, changes, OWN_PLAN)] if changes else []
    if dispute.lot and played.declarer is not None:
        changes = _difference(setup, played, other, played.declarer, ("pool", "mountain"))
        found += [_infraction(played.declarer, changes, "by lot the result of the disputed plan")] if changes else []
    return tuple(found)


def _answered_for(setup: Setup, seat: int, played: DealOutcome, other: DealOutcome) -> tuple[Infraction, ...]:
    """What the disputer writes on the whister, or the whister on them: the disputer's whists and consolation, and their share of the
    declarer's pool or mountain, by their plan against what was played, in whists (4.2.14). What the whister fails in is the whister's own.

    On misere the other defender's plan was played; of two whose plan a resting player disputes each answers for half [conv].
    """
    whisters = [one for one, call in enumerate(played.calls) if call == "whist"]
    defending = defenders(setup.players, setup.dealer, played.declarer or 0)
    answering = whisters or [one for one in defending if one != seat]
    apart = frozenset(answering) - {seat}
    missed = exact(_won(setup, seat, other, apart) - _won(setup, seat, played, apart))
    share = divided(missed, len(answering))
    whists = tuple((seat, one, share) if share > 0 else (one, seat, exact(-share)) for one in answering)
    return (Infraction(RULE, seat, ruled=True, whists=whists, reason=OWN_PLAN),) if missed else ()


def _won(setup: Setup, seat: int, outcome: DealOutcome, apart: frozenset[int]) -> Amount:
    """Whists of `seat` by this deal alone, what the seats `apart` write left out."""
    sheet = write(empty_sheet(setup.players), [entry for entry in _entries(setup, outcome) if entry.seat not in apart])
    return settle(setup.convention, None, sheet).net[seat]


Changes = dict[tuple[str, int | None], Amount]


def _difference(setup: Setup, played: DealOutcome, other: DealOutcome, seat: int, columns: tuple[str, ...]) -> Changes:
    total: Changes = {}
    for outcome, sign in ((other, 1), (played, -1)):
        for entry in _entries(setup, outcome):
            if entry.seat == seat and entry.column in columns:
                place = entry.column, entry.on
                total[place] = exact(total.get(place, 0) + sign * entry.amount)
    return {place: number for place, number in total.items() if number}


def _entries(setup: Setup, outcome: DealOutcome) -> tuple[Entry, ...]:
    return score_deal(setup.convention, setup.players, None, empty_sheet(setup.players), outcome, setup.series)


def _infraction(seat: int, changes: Changes, reason: str) -> Infraction:
    return Infraction(
        RULE,
        seat,
        ruled=True,
        whists=tuple((seat, on, number) for (_, on), number in changes.items() if on is not None),
        mountain=tuple((seat, number) for (column, _), number in changes.items() if column == "mountain"),
        pool=tuple((seat, number) for (column, _), number in changes.items() if column == "pool"),
        reason=reason,
    )
