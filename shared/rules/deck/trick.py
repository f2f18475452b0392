"""One trick: which cards a hand may play to it, and which card takes it (2.1.1-2.1.4, 3.9.3, 3.9.4).

Cards are numbers, sets of cards are masks (`cards.py`). What does not change from deal to deal is worked out once, in tables.
"""

from __future__ import annotations

from typing import Final

from shared.rules.deck.cards import CARDS, DECK, SUIT_MASKS, SUIT_OF
from shared.rules.deck.contract import TRICKS
from shared.rules.language.game_events import CardPlayed, TrickWon

MOST_SEATS: Final = 5  # of a table; with five players two rest (3.2.10)

#: The mask of a card's whole suit, by card.
SUIT_OF_CARD: Final = tuple(SUIT_MASKS[SUIT_OF[card]] for card in range(32))

#: The mask of trumps, by strain; none in no trump, misere and all-pass (3.6.7, 3.7.5).
TRUMPS: Final[dict[str, int]] = {"S": SUIT_MASKS[0], "C": SUIT_MASKS[1], "D": SUIT_MASKS[2], "H": SUIT_MASKS[3], "NT": 0}


def _beating(card: int, trumps: int) -> int:
    """The cards that take a trick from `card`, which holds it: higher ones of its suit, and any trump when it is none (3.9.4)."""
    higher = SUIT_OF_CARD[card] & ~((2 << card) - 1) & DECK
    return higher if SUIT_OF_CARD[card] == trumps else higher | trumps


#: By strain and card: the mask of cards that take the trick from it. A card of a third suit is in none, so the suit led need not be known.
BEATING: Final[dict[str, tuple[int, ...]]] = {
    strain: tuple(_beating(card, trumps) for card in range(32)) for strain, trumps in TRUMPS.items()
}

#: By player, owner and card: the event of that play, alone. Events are values, so one of each serves every deal.
PLAYED: Final = tuple(
    tuple(tuple((CardPlayed(owner, card, player),) for card in CARDS) for owner in range(MOST_SEATS)) for player in range(MOST_SEATS)
)
#: By winner and number of the trick (from 1; nothing stands at 0).
WON: Final = tuple(tuple(TrickWon(seat, number) for number in range(TRICKS + 1)) for seat in range(MOST_SEATS))


def playable(held: int, led: int, trumps: int) -> int:
    """Of the cards `held` those that may be played: the suit led; void of it, trumps; void of both, any (3.9.3). `led` is 0 on the lead."""
    return (held & led or held & trumps or held) if led else held
