"""The end of an adjudicated deal: it is scored when all have confirmed it or the pause is over; what late revokes cost is settled first
(3.9.16.2, 3.9.17).
"""

from __future__ import annotations

from msgspec.structs import replace

from shared.rules.adjudicated.court import Court, OwedTrick
from shared.rules.adjudicated.disputes import written_by_their_plans
from shared.rules.adjudicated.play_acts import Decided
from shared.rules.deal.calling import PASS
from shared.rules.deal.decider import evolve as deal_after
from shared.rules.deal.ending import outcome_of, scored_as
from shared.rules.deal.position import bit
from shared.rules.deck.contract import ALL_PASS, MISERE
from shared.rules.deck.seats import defenders
from shared.rules.language.game_events import ActTakenBack, DealScored, Event
from shared.rules.language.irregular_events import Confirmed, DealEnded, FineWritten, TrickForfeited
from shared.rules.language.refusal import Refused
from shared.rules.scoring.infraction_document import infractions_of
from shared.rules.scoring.outcome import DealOutcome, Infraction

LATE_REVOKE = "3.9.16.2"

# ---- evolve ------------------------------------------------------------------------------------------------------------


def deal_ended(court: Court, event: DealEnded) -> Court:
    """Nothing more is played; the result waits to be confirmed."""
    deal, pending = court.deal, court.deal.pending
    over = replace(deal, to_act=None, pending=None, phase=deal.phase if pending is None else pending.phase)
    return replace(court, deal=over, ended=outcome_of(event.outcome), confirmed=0)


def deal_scored(court: Court, event: DealScored) -> Court:
    """Nothing in this deal can be called any more (3.9.17)."""
    return replace(court, deal=deal_after(court.deal, event))


def act_taken_back(court: Court, event: ActTakenBack) -> Court:
    """By everybody's consent (5.4.22); of a call, what it counted goes too."""
    calls = court.calls
    if court.deal.phase == "auction" and court.deal.auction.calls[-1].bid != PASS:
        calls = calls[:-1]
    return replace(court, deal=deal_after(court.deal, event), calls=calls)


def confirmed(court: Court, event: Confirmed) -> Court:
    """One more agrees."""
    return replace(court, confirmed=court.confirmed | bit(event.seat))


def fine_written(court: Court, event: FineWritten) -> Court:
    """It will be scored with the deal."""
    return replace(court, infractions=(*court.infractions, *infractions_of((event.infraction,))))


def trick_forfeited(court: Court, event: TrickForfeited) -> Court:
    """The trick changes hands, or only counts against its loser."""
    if event.to is None:
        return replace(court, infractions=(*court.infractions, Infraction(event.rule, event.seat)))
    ended = court.ended
    if ended is None or not ended.tricks:
        return court
    tricks = list(ended.tricks)
    tricks[event.seat] -= event.tricks
    tricks[event.to] += event.tricks
    noted = Infraction(event.rule, event.seat, ruled=True, reason=f"a trick goes to seat {event.to}")
    return replace(court, ended=replace(ended, tricks=tuple(tricks)), infractions=(*court.infractions, noted))


# ---- decide ------------------------------------------------------------------------------------------------------------


def decide_confirm(court: Court, seat: int) -> Decided:
    """One seat agrees; with the last one the deal is scored."""
    if not court.awaits_confirmation:
        return Refused("wrong_phase", "3.9.17", "There is no result to be confirmed.")
    if court.confirmed & bit(seat):
        return Refused("not_your_turn", "3.9.17", "You have already confirmed the result.")
    agreed = Confirmed(seat)
    after = confirmed(court, agreed)
    everybody = (1 << court.setup.players) - 1
    return (agreed, *settle(after)) if after.confirmed == everybody else (agreed,)


def settle(court: Court) -> tuple[Event, ...]:
    """The score of a deal that awaits confirmation, whoever has not confirmed it: what the pause's end brings."""
    if court.ended is None:
        return ()
    forfeits: list[Event] = []
    after = court
    for owed in court.owed:
        lost = _forfeit(after, owed)
        if lost is not None:
            forfeits.append(lost)
            after = trick_forfeited(after, lost)
    result = after.ended or court.ended
    if court.dispute is not None:
        result = replace(result, infractions=(*result.infractions, *written_by_their_plans(court.setup, court.dispute, result)))
    result = replace(result, infractions=(*result.infractions, *after.infractions))
    return *forfeits, scored_as(court.setup, result)


def _forfeit(court: Court, owed: OwedTrick) -> TrickForfeited | None:
    """What a late revoke costs (3.9.16.2): a trick, or where the offender's side has none, one more missing."""
    result = court.ended
    if result is None or not result.tricks:
        return None
    seat, tricks = owed.seat, result.tricks
    if result.contract == ALL_PASS:
        return TrickForfeited(LATE_REVOKE, seat, None, 1)
    declarer = result.declarer or 0
    if result.contract == MISERE:
        if seat == declarer:
            return TrickForfeited(LATE_REVOKE, seat, None, 1)
        return TrickForfeited(LATE_REVOKE, declarer, seat, 1) if tricks[declarer] else None  # the declarer has one less
    opposed = defenders(court.setup.players, court.setup.dealer, declarer)
    if seat == declarer:
        taker = _taker(result, opposed, owed)
        return TrickForfeited(LATE_REVOKE, seat, taker if tricks[declarer] else None, 1)
    loser = next((one for one in (seat, *opposed) if tricks[one]), None)
    if loser is not None:
        return TrickForfeited(LATE_REVOKE, loser, declarer, 1)
    return TrickForfeited(LATE_REVOKE, _answering(result, seat), None, 1)


def _taker(result: DealOutcome, opposed: tuple[int, ...], owed: OwedTrick) -> int:
    """Declarer's trick goes to the sole whister, of two to the caller, else left of the declarer."""
    whisters = [seat for seat in opposed if result.calls and result.calls[seat] == "whist"]
    if len(whisters) == 1:
        return whisters[0]
    return owed.caller if isinstance(owed.caller, int) and owed.caller in opposed else opposed[0]


def _answering(result: DealOutcome, seat: int) -> int:
    """The whister who answers for a defender's missing trick."""
    whisters = [one for one, call in enumerate(result.calls) if call == "whist"]
    return seat if seat in whisters or not whisters else whisters[0]
