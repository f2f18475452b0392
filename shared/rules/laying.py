"""Hands that lie open on the table: a whister's open play, a whisting dealer's (3.8.5, 3.8.8), misere (3.6.6), a checked ten (FN39)."""

from __future__ import annotations

from msgspec.structs import replace

from shared.rules.cards import hand_text
from shared.rules.game_events import HandsLaid
from shared.rules.position import Deal, bit
from shared.rules.seats import defenders


def hands_laid(deal: Deal, event: HandsLaid) -> Deal:
    """From now on everybody sees these hands."""
    seats = sum(bit(seat) for seat, hand in enumerate(event.hands) if hand is not None)
    return replace(deal, game=replace(deal.game, laid=deal.game.laid | seats))


def defenders_laid(deal: Deal) -> HandsLaid:
    """Both defenders lay their hands; they hold ten cards each, since it happens before their first card."""
    opposed = defenders(deal.setup.players, deal.setup.dealer, deal.game.declarer)
    return HandsLaid(tuple(hand_text(hand) if seat in opposed else None for seat, hand in enumerate(deal.full_hands)))
