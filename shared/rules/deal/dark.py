"""Calls in the dark (3.3.19, Decision 21): one's own cards stay covered until one looks or calls with open eyes.

When the auction is over everybody takes up their cards [conv]. A winner who has not looked first takes the talon, which the others do
not see, or bids misere, for which it is open.
"""

from __future__ import annotations

from msgspec.structs import replace

from shared.rules.deal.calling import standing_step, step
from shared.rules.deal.laying import defenders_laid
from shared.rules.deal.position import NOBODY, Auction, Deal, bit
from shared.rules.deck.cards import CARDS, hand_text, mask_of
from shared.rules.deck.contract import MISERE
from shared.rules.deck.seats import active, defenders
from shared.rules.language.deal_events import DealEvent
from shared.rules.language.game_events import AuctionWon, DarkTalonTaken, HandSeen, WhistCalled
from shared.rules.language.moves import Bid, Take
from shared.rules.language.refusal import Refused
from shared.rules.scoring.whist_calls import must_whist_dark

# ---- evolve ------------------------------------------------------------------------------------------------------------


def own_hand_looked_at(deal: Deal, event: HandSeen) -> Deal:
    """The player knows their cards from now on."""
    return replace(deal, auction=replace(deal.auction, unseen=deal.auction.unseen & ~bit(event.seat)))


def talon_taken_dark(deal: Deal, event: DarkTalonTaken) -> Deal:
    """The declarer holds twelve cards, and only they know the two new ones."""
    hand = deal.full_hands[event.seat] | mask_of(event.cards or "")
    return replace(deal, full_hands=(*deal.full_hands[: event.seat], hand, *deal.full_hands[event.seat + 1 :]))


# ---- decide ------------------------------------------------------------------------------------------------------------


def won(deal: Deal) -> bool:
    """Whether the auction is over, won in the dark, and its winner has neither taken the talon nor said misere yet."""
    return deal.phase == "auction" and deal.auction.holder == deal.to_act != NOBODY


def objection_to_bid(auction: Auction, move: Bid) -> Refused | None:
    """Why the winner in the dark may not say this; misere is their only other call, where it is higher than the winning bid."""
    if move.bid != MISERE or move.dark or move.no_talon:
        return Refused("call_not_allowed", "3.3.11", "The auction is won: its winner takes the talon, or first bids misere (3.3.19).")
    if step(MISERE, no_talon=False) <= standing_step(auction):
        return Refused("bid_too_low", "3.6.4", f"Misere is not higher than {auction.standing}.")
    return None


def decide_take(deal: Deal, seat: int, _: Take) -> tuple[DealEvent, ...] | Refused:
    """The winner of a dark auction takes up their cards and the talon (3.3.19)."""
    if deal.phase != "auction" or not won(deal):
        return Refused("wrong_phase", "3.3.19", "Only the winner of an auction in the dark takes the talon unseen.")
    if seat != deal.to_act:
        return Refused("not_your_turn", "3.3.19", f"The auction is won by seat {deal.to_act}.")
    talon = " ".join(CARDS[card] for card in deal.setup.talon)
    return (AuctionWon(seat, deal.auction.standing, dark=True), *all_look(deal), DarkTalonTaken(seat, talon))


def own_hand_seen(deal: Deal, seat: int) -> tuple[HandSeen]:
    """`seat` looks at the ten cards that it was dealt."""
    return (HandSeen(seat, seat, hand_text(deal.setup.dealt[seat])),)


def all_look(deal: Deal) -> tuple[HandSeen, ...]:
    """Players who have not looked before the end of the auction take up their cards now."""
    unseen = deal.auction.unseen
    if not unseen:
        return ()
    seats = active(deal.setup.players, deal.setup.dealer)
    return tuple(seen for seat in seats if unseen & bit(seat) for seen in own_hand_seen(deal, seat))


def obliged_to_whist(deal: Deal) -> tuple[DealEvent, ...]:
    """A six that was bought in the dark both whist, closed, without being asked (3.3.19); of two players the dummy's hand is laid."""
    setup, game = deal.setup, deal.game
    if not must_whist_dark(game.contract, dark=game.dark):
        return ()
    whists = tuple(WhistCalled(seat, "whist") for seat in defenders(setup.players, setup.dealer, game.declarer))
    return (*whists, defenders_laid(deal)) if setup.has_dummy else whists
