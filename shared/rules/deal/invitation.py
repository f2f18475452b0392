"""A misere shared with the resting dealer (3.6.9): the invitation, a look at the hand, and the dealer's answer.

Accepted, the misere is bid at once, and halves win and loss unless it is outbid; refused, the inviter still has their call. The dealer has
seen that hand either way: nobody else can invite them, and they look at no other before they whist.
"""

from __future__ import annotations

from msgspec.structs import replace

from shared.rules.deal.calling import objection as objection_to_call
from shared.rules.deal.incidents import Invitation
from shared.rules.deal.position import NOBODY, Deal, bit
from shared.rules.deck.cards import hand_text
from shared.rules.deck.contract import MISERE
from shared.rules.language.deal_events import DealEvent
from shared.rules.language.game_events import HandSeen, InvitationAnswered, MisereInvited
from shared.rules.language.moves import Bid, Invite
from shared.rules.language.refusal import Refused
from shared.rules.scoring.misere import objection_to_sharing

# ---- evolve ------------------------------------------------------------------------------------------------------------


def misere_invited(deal: Deal, event: MisereInvited) -> Deal:
    """The resting dealer is to answer."""
    dealer = deal.setup.resting
    return replace(deal, phase="claim", to_act=dealer, pending=Invitation(event.seat, (dealer,), "auction", event.seat))


def invitation_answered(deal: Deal, event: InvitationAnswered) -> Deal:
    """The inviter is on turn again."""
    invited = deal.pending
    if not isinstance(invited, Invitation):
        return deal
    shared = invited.seat if event.accept else deal.auction.shared
    return replace(deal, phase="auction", to_act=invited.turn, pending=None, auction=replace(deal.auction, shared=shared))


# ---- decide ------------------------------------------------------------------------------------------------------------


def objection(deal: Deal, seat: int) -> Refused | None:
    """Why the seat on turn may not invite, if it may not: as for the misere itself, and the dealer must rest and have seen no hand."""
    setup = deal.setup
    refused = objection_to_sharing(setup.convention, setup.players)
    if refused is not None:
        return refused
    if deal.game.looked != NOBODY:
        return Refused("call_not_allowed", "3.6.9", "The dealer has seen another hand, so they cannot share a misere in this deal.")
    if deal.auction.holder == seat:
        return Refused("call_not_allowed", "3.6.9", "The auction is won; the dealer is invited before one's first call.")
    return objection_to_call(setup, deal.auction, seat, Bid(MISERE))


def decide_invite(deal: Deal, seat: int, _: Invite) -> tuple[DealEvent, ...] | Refused:
    """The dealer looks at the inviter's hand, which the inviter has seen by then."""
    if deal.phase != "auction":
        return Refused("wrong_phase", "3.6.9", "A misere is shared on one's first call.")
    if seat != deal.to_act:
        return Refused("not_your_turn", "3.6.9", f"It is seat {deal.to_act}'s turn.")
    refused = objection(deal, seat)
    if refused is not None:
        return refused
    hand = hand_text(deal.setup.dealt[seat])
    own = (HandSeen(seat, seat, hand),) if deal.auction.unseen & bit(seat) else ()
    return (MisereInvited(seat), *own, HandSeen(deal.setup.resting, seat, hand))
