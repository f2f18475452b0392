"""Who looks at which cards: a player at their own, when calls are made in the dark (3.3.19); the resting dealer at a defender's (3.8.8)."""

from __future__ import annotations

from msgspec.structs import replace

from shared.rules.deal import auction, dark
from shared.rules.deal.position import NOBODY, Deal, bit
from shared.rules.deck.cards import hand_text
from shared.rules.deck.seats import defenders
from shared.rules.language.deal_events import DealEvent
from shared.rules.language.game_events import HandSeen
from shared.rules.language.moves import Look
from shared.rules.language.refusal import Refused

# ---- evolve ------------------------------------------------------------------------------------------------------------


def hand_seen(deal: Deal, event: HandSeen) -> Deal:
    """A player knows their own cards, or the resting dealer has had their look."""
    if event.seat == event.hand:
        return dark.own_hand_looked_at(deal, event)
    return replace(deal, game=replace(deal.game, looked=event.hand))


# ---- decide ------------------------------------------------------------------------------------------------------------


def decide_look(deal: Deal, seat: int, move: Look) -> tuple[DealEvent, ...] | Refused:
    """In the auction a player's own cards, else a defender's hand for the resting dealer."""
    if move.hand is not None and not 0 <= move.hand < deal.setup.players:
        return Refused("malformed", "3.8.8", f"There is no seat {move.hand}.")
    if deal.phase == "auction":
        return _own_hand(deal, seat, move)
    return _defenders_hand(deal, seat, move)


def _own_hand(deal: Deal, seat: int, move: Look) -> tuple[DealEvent, ...] | Refused:
    """Who looks calls with open eyes from then on; the winner of a dark auction who looks has won it like any other (3.3.19)."""
    if seat != deal.to_act:
        return Refused("not_your_turn", "3.3.19", f"It is seat {deal.to_act}'s turn.")
    if move.hand is not None:
        return Refused("call_not_allowed", "3.3.19", "In the auction you look at your own cards; leave `hand` out.")
    if not deal.auction.unseen & bit(seat):
        return Refused("call_not_allowed", "3.3.19", "You have already seen your cards.")
    seen = dark.own_hand_seen(deal, seat)
    if not dark.won(deal):
        return seen
    return (*seen, *auction.won_openly(hand_seen(deal, seen[0])))


def _defenders_hand(deal: Deal, seat: int, move: Look) -> tuple[DealEvent, ...] | Refused:
    """The resting dealer sees one defender's hand before their own word (3.8.8)."""
    setup = deal.setup
    if deal.phase != "whist":
        return Refused("wrong_phase", "3.8.8", "The resting dealer looks at a hand when they are asked to whist.")
    if seat != deal.to_act:
        return Refused("not_your_turn", "3.8.8", f"It is seat {deal.to_act}'s turn.")
    if seat != setup.resting:
        return Refused("call_not_allowed", "3.8.8", "Only the resting dealer may look at a hand.")
    if deal.game.looked != NOBODY:
        return Refused("call_not_allowed", "3.8.8", "The resting dealer looks at only one hand.")
    if move.hand not in defenders(setup.players, setup.dealer, deal.game.declarer):
        return Refused("call_not_allowed", "3.8.8", "The resting dealer must name the defender whose hand they look at.")
    return (HandSeen(seat, move.hand, hand_text(deal.held(move.hand))),)
