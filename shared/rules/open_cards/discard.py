"""The best discard with all hands open: what the declarer could have made of their twelve cards (3.3.16.3, 3.4.6; Decision 18)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

import msgspec

from shared.rules.deck.cards import SUIT_OF, card_numbers
from shared.rules.deck.contract import LEVEL, MISERE
from shared.rules.open_cards.declarer import GUESS_OF_MISERE, exact
from shared.rules.open_cards.search import Search, Three
from shared.rules.open_cards.seating import by_place, order_of_play


class BestDiscard(msgspec.Struct, frozen=True):
    """The declarer's tricks after the best discard, and its two cards as numbers: of discards as good the first in the order of cards."""

    tricks: int
    cards: tuple[int, int]


def best_discard(hands: Sequence[int], declarer: int, leader: int, contract: str, order: Three | None = None) -> BestDiscard:
    """Of all 66 discards from the declarer's twelve cards, the two defenders holding ten each, the one that gives them most tricks, on
    misere fewest; `hands` (the declarer's with the talon), `leader` and `order` as in `declarer.py`.

    Discards that differ in neighbouring cards alone are tried once; each but the first is only asked whether it beats the best so far.
    """
    seats = order or order_of_play(hands)
    place, misere = seats.index(declarer), contract == MISERE
    search = Search.of_declarer(contract, place)
    one, two, three = by_place(hands, seats)
    best: BestDiscard | None = None
    for cards in _different_discards(hands[declarer], one | two | three):
        thrown = 1 << cards[0] | 1 << cards[1]
        position = search.position((one & ~thrown, two & ~thrown, three & ~thrown), seats.index(leader))
        if best is None or (not search.takes(position, best.tricks) if misere else search.takes(position, best.tricks + 1)):
            guess = best.tricks if best else LEVEL.get(contract, GUESS_OF_MISERE)
            best = BestDiscard(exact(search, position, guess), cards)
    if best is None:
        raise ValueError("a declarer without two cards to discard")
    return best


def _different_discards(hand: int, present: int) -> Iterator[tuple[int, int]]:
    """Pairs of the hand's cards in order, of neighbours in the hand the lowest alone."""
    below = {  # by a card, its lower neighbour, when the hand has both
        upper: lower
        for lower, upper in pairwise(card_numbers(present))
        if SUIT_OF[lower] == SUIT_OF[upper] and hand >> lower & hand >> upper & 1
    }
    for pair in combinations(card_numbers(hand), 2):
        if all(below.get(card, pair[0]) in pair for card in pair):
            yield pair
