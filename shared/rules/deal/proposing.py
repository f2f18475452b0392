"""Proposals: what the players may agree on among themselves (3.8.5.1, 3.9.11.1, 3.9.22, 5.4.18, 5.4.22). Evolve, decide.

One player proposes at any time in a deal, the others are asked clockwise, and the first who refuses ends it; the game goes on where it was.
What is agreed stands as an event of its own behind the last answer.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from shared.rules.deal import insurance, taking_back
from shared.rules.deal.claiming import left, shared_out, taken_as
from shared.rules.deal.ending import scored
from shared.rules.deal.incidents import NONE, Bargain, Proposal
from shared.rules.deal.position import Deal
from shared.rules.deck.contract import ALL_PASS, TRICKS
from shared.rules.deck.seats import clockwise_from
from shared.rules.language.deal_events import DealEvent
from shared.rules.language.game_events import (
    ActTakenBack,
    BargainStruck,
    PauseAgreed,
    ProposalAnswered,
    ProposalMade,
    StopAgreed,
    TalonCardOpened,
    TrickShown,
)
from shared.rules.language.moves import Propose
from shared.rules.language.refusal import Refused

MOST: Final = 5  # proposals of a seat in a deal: nearly one of each kind, and nobody stops the clocks by asking for ever (5.4.11) [conv]
PAUSE: Final = 300  # seconds for which an agreed pause stops the clock at most: a cup of tea, and no table sleeps for ever [conv]
RULE: Final = {
    "settle_contract": "3.9.22",
    "older_trick": "3.9.11.1",
    "bargain": "3.8.5.1",
    "pause": "5.4.11",
    "takeback": "5.4.22",
    "stop_pulka": "5.4.18",
}

# ---- evolve ------------------------------------------------------------------------------------------------------------


def proposal_made(deal: Deal, event: ProposalMade) -> Deal:
    """The deal waits for all others, one after the other."""
    if event.what not in RULE:
        return deal  # a later version's; it goes on without
    incidents = deal.incidents or NONE
    waiting = asked(deal, event.seat, event.what)
    pending = Proposal(event.seat, event.what, waiting, deal.phase, deal.to_act, event.tricks, event.trick)  # type: ignore[arg-type]  # looked up above
    made = replace(incidents, proposals=(*incidents.proposals, (event.seat, event.what)))
    return replace(deal, phase="claim", to_act=waiting[0] if waiting else None, incidents=made, pending=pending)


def proposal_answered(deal: Deal, event: ProposalAnswered) -> Deal:
    """The next is asked; after the last, or a refusal, the game goes on where it was, or is settled and the score follows."""
    proposal = deal.pending
    if not isinstance(proposal, Proposal):
        return deal
    if event.accept and len(proposal.waiting) > 1:
        waiting = proposal.waiting[1:]
        return replace(deal, to_act=waiting[0], pending=replace(proposal, waiting=waiting))
    back = replace(deal, phase=proposal.phase, to_act=proposal.turn, pending=None)
    settled = event.accept and proposal.what == "settle_contract"
    return replace(back, to_act=None, play=taken_as(deal, proposal.tricks)) if settled else back


def bargain_struck(deal: Deal, event: BargainStruck) -> Deal:
    """From now on `seat` plays both defenders' hands by their plan (3.8.5.1)."""
    incidents = deal.incidents or NONE
    agreed = replace(deal, incidents=replace(incidents, bargain=Bargain(event.seat, event.tricks, event.acceptors)))
    if deal.play is None:
        return agreed
    course = deal.play.course
    player_of = tuple(player if hand == deal.game.declarer else event.seat for hand, player in enumerate(course.player_of))
    play = replace(deal.play, course=replace(course, player_of=player_of, lead_of=player_of))
    return replace(agreed, play=play, to_act=player_of[play.turn])


# ---- decide ------------------------------------------------------------------------------------------------------------


def asked(deal: Deal, seat: int, what: str) -> tuple[int, ...]:
    """Who must agree: all others, clockwise; to a bargain not the declarer, with whom nothing is bargained [conv]."""
    others = clockwise_from(deal.setup.players, seat)
    return tuple(one for one in others if what != "bargain" or one != deal.game.declarer)


def decide_proposal(deal: Deal, seat: int, move: Propose) -> tuple[DealEvent, ...] | Refused:
    """A proposal that could be carried out if all agreed; one at a time, and not more than `MOST` of one seat in a deal."""
    rule = RULE[move.what]
    tricks = _figures(deal, move)
    if isinstance(tricks, Refused):
        return tricks
    if deal.phase == "scored":
        return Refused("wrong_phase", rule, "The deal is over.")
    made = (deal.incidents or NONE).proposals
    if sum(proposer == seat for proposer, _ in made) >= MOST:
        return Refused("call_not_allowed", "5.4.11", f"A player makes at most {MOST} proposals in a deal.")
    refused = _objection(deal, seat, move, tricks)
    return refused or (ProposalMade(seat, move.what, tricks, move.trick or 0),)


def _figures(deal: Deal, move: Propose) -> tuple[int, ...] | Refused:
    """The tricks that are proposed, by seat; the declarer's alone are shared out as for a claim. Other proposals have none."""
    needs = move.what in ("settle_contract", "bargain")
    if needs != (move.tricks is not None) or (move.what == "older_trick") != (move.trick is not None):
        return Refused("malformed", RULE[move.what], "Send `tricks` only with settle_contract and bargain, `trick` only with older_trick.")
    if isinstance(move.tricks, tuple) and len(move.tricks) != deal.setup.players:
        return Refused("malformed", RULE[move.what], f"`tricks` is one number for each of {deal.setup.players} seats, or the declarer's.")
    if move.tricks is None:
        return ()
    if isinstance(move.tricks, tuple):
        return move.tricks
    declarer = deal.game.declarer
    possible = declarer >= 0 and deal.tricks[declarer] <= move.tricks <= deal.tricks[declarer] + left(deal)
    return shared_out(deal, move.tricks) if possible else (move.tricks,)  # what cannot be is refused when its turn comes


def _objection(deal: Deal, seat: int, move: Propose, tricks: tuple[int, ...]) -> Refused | None:
    """Why it could not be carried out even if all agreed."""
    match move.what:
        case "settle_contract":
            if deal.play is None or deal.game.contract in ("", ALL_PASS):
                return Refused("wrong_phase", "3.9.22", "A contract is called made or failed while it is played.")
            return _inconsistent(deal, tricks, "3.9.22")
        case "older_trick":
            if deal.play is None or not 1 <= (move.trick or 0) <= len(deal.play.closed):
                return Refused("call_not_allowed", "3.9.11.1", "Only a closed trick can be looked at.")
        case "bargain":
            return insurance.objection(deal, seat) or _inconsistent(deal, tricks, "3.8.5.1")
        case "takeback":
            if taking_back.before(deal, seat) is None:
                return Refused("call_not_allowed", "5.4.22", "You can take back only your own last act, with nothing done or shown since.")
    return None


def _inconsistent(deal: Deal, tricks: tuple[int, ...], rule: str) -> Refused | None:
    """Ten tricks, none of those already taken lost, none for a seat that rests."""
    resting = [seat for seat in range(deal.setup.players) if seat not in deal.setup.order]
    fits = len(tricks) == deal.setup.players and sum(tricks) == TRICKS and all(map(int.__ge__, tricks, deal.tricks))
    if fits and not any(tricks[seat] for seat in resting):
        return None
    return Refused("claim_out_of_range", rule, f"The tricks sum to ten, {list(deal.tricks)} of them taken; seats that rest take none.")


def decide_answer(deal: Deal, proposal: Proposal, seat: int, accept: bool) -> tuple[DealEvent, ...] | Refused:  # noqa: FBT001 - the answer
    """The first refusal ends it; the last agreement brings about what was proposed."""
    answered = ProposalAnswered(seat, accept)
    if not accept or len(proposal.waiting) > 1:
        return (answered,)
    after, by = proposal_answered(deal, answered), proposal.seat
    match proposal.what:
        case "settle_contract":
            return answered, scored(after, after.play.taken if after.play is not None else ())
        case "older_trick":
            return answered, shown_trick(deal, proposal.trick)
        case "bargain":
            return answered, BargainStruck(by, proposal.tricks, asked(deal, by, "bargain"))
        case "pause":
            return answered, PauseAgreed(PAUSE)
        case "takeback":
            return answered, ActTakenBack(by)
        case "stop_pulka":
            return answered, StopAgreed()


def shown_trick(deal: Deal, number: int) -> TrickShown:
    """The cards of a closed trick in order, with whose they were; a talon card is nobody's (3.9.11.1, 5.4.10)."""
    assert deal.play is not None  # noqa: S101 - the proposal was decided in the play
    cards = deal.play.closed[number - 1]
    return TrickShown(
        number, " ".join(one.card for one in cards), tuple(None if isinstance(one, TalonCardOpened) else one.seat for one in cards)
    )
