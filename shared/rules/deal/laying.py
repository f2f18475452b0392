"""Hands that lie open on the table: a whister's open play, a whisting dealer's (3.8.5, 3.8.8), misere (3.6.6), a checked ten (FN39)."""

from __future__ import annotations

from msgspec.structs import replace

from shared.rules.deal.position import Deal, bit
from shared.rules.deck.cards import hand_text
from shared.rules.deck.seats import DUMMY, defenders
from shared.rules.language.game_events import HandsLaid
from shared.rules.scoring import whist_calls


def hands_laid(deal: Deal, event: HandsLaid) -> Deal:
    """From now on everybody sees these hands."""
    seats = sum(bit(seat) for seat, hand in enumerate(event.hands) if hand is not None)
    return replace(deal, game=replace(deal.game, laid=deal.game.laid | seats))


def defenders_laid(deal: Deal) -> HandsLaid:
    """Both defenders lay their hands; they hold ten cards each, since it happens before their first card.

    With two players only the dummy's hand is laid (Decision 19), but on a checked ten the defender's too, as anybody's [conv].
    """
    opposed = defenders(deal.setup.players, deal.setup.dealer, deal.game.declarer)
    if deal.setup.has_dummy:
        opposed = (*opposed, DUMMY) if is_checked(deal) else (DUMMY,)
    return HandsLaid(tuple(hand_text(hand) if seat in opposed else None for seat, hand in enumerate(deal.full_hands)))


def catchers_laid(deal: Deal) -> tuple[HandsLaid, ...]:
    """What is laid when a misere is caught (3.6.6): on a dark one nothing (3.6.5) but the dummy, which its defender has to play [conv]."""
    return () if deal.game.dark and not deal.setup.has_dummy else (defenders_laid(deal),)


def dummy_laid(deal: Deal) -> HandsLaid:
    """The dummy's hand is laid after the first card of an all-pass of two (Decision 19)."""
    return HandsLaid((None, None, hand_text(deal.full_hands[DUMMY])))


def is_checked(deal: Deal) -> bool:
    """A ten that is played without whist calls (FN39)."""
    return whist_calls.is_checked(deal.setup.convention, deal.game.contract)
