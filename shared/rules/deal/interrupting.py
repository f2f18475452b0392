"""What a deal that somebody interrupted does with a move: while an answer is awaited it takes no other, and exposed cards bind the play.

`deal.decide` comes here only for a deal with something in `pending` or `incidents` (`incidents.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from shared.rules.deal import auction, claiming, exposed, proposing
from shared.rules.deal.incidents import Invitation, OpenClaim, Proposal, Question
from shared.rules.deal.position import Deal
from shared.rules.language.deal_events import DealEvent
from shared.rules.language.game_events import Event
from shared.rules.language.moves import Answer, DealMove, Play, Remedy
from shared.rules.language.refusal import Refused

Decided = tuple[DealEvent, ...] | Refused


def decided(deal: Deal, move: DealMove, ordinary: Decided, evolve: Callable[[Deal, Event], Deal]) -> Decided:
    """What `move` causes where the deal's phases alone would decide `ordinary`: refused while something is pending or against exposed
    cards, else with the question that must be asked about the next card.
    """
    if isinstance(ordinary, Refused) and ordinary.code == "malformed":
        return ordinary
    waits = None if deal.pending is None else _objection(deal, move)
    if waits is not None or isinstance(ordinary, Refused):
        return waits or ordinary
    if isinstance(move, Play):
        against = exposed.objection(deal, move)
        if against is not None:
            return against
    after: Deal = reduce(evolve, ordinary, deal)
    question = exposed.question(after)
    return ordinary if question is None else (*ordinary, question)


def _objection(deal: Deal, move: DealMove) -> Refused | None:
    """Only what is asked for is taken while it is pending (C-02)."""
    if isinstance(deal.pending, Question):
        if isinstance(move, Remedy):
            return None
        return Refused("wrong_phase", "3.9.14", f"Seat {deal.to_act} is asked how exposed cards are played; nothing else goes on before.")
    if isinstance(move, Answer):
        return None
    return Refused("claim_pending", "3.9.14.4", f"A claim, proposal or invitation waits for the answer of seat {deal.to_act}.")


def decide_answer(deal: Deal, seat: int, move: Answer) -> Decided:
    """Yes or no of the seat that is asked."""
    pending = deal.pending
    if pending is None or isinstance(pending, Question):
        return Refused("wrong_phase", "3.9.14.4", "Nothing waits for an answer.")
    if seat != deal.to_act:
        return Refused("not_your_turn", "3.9.14.4", f"It is seat {deal.to_act} that is asked.")
    match pending:
        case OpenClaim():
            return claiming.decide_answer(deal, pending, seat, move.accept)
        case Proposal():
            return proposing.decide_answer(deal, pending, seat, move.accept)
        case Invitation():
            return auction.decide_answer(deal, pending, seat, move.accept)
