"""What the declarer discards, and the contract they then name (3.4.2, 3.4.3)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from services.bots.hand_value import SPADES_TO_HEARTS, card_masks, declarer_tricks, misere_danger
from services.bots.prospects import best_contract
from shared.rules.deck.cards import SUIT_MASKS, card_numbers, hand_text, mask_of
from shared.rules.deck.contract import MISERE, RANK


def discard(view: dict[str, Any]) -> dict[str, Any]:
    """The two cards that leave the best hand for the bid that has to be kept."""
    hand = mask_of(view["hand"])
    pair = safest_pair(hand) if view["bid"] == MISERE else best_pair(hand, view["bid"])
    return {"type": "discard", "cards": hand_text(pair).split()}


def order(view: dict[str, Any]) -> dict[str, Any]:
    """The contract that ten cards are worth most in, among those that are legal."""
    legal = [move["contract"] for move in view["legal"] if move["type"] == "contract"]
    lowest = min(legal, key=RANK.__getitem__)
    contract, _ = best_contract(tricks_by_strain(mask_of(view["hand"])), lowest)
    return {"type": "contract", "contract": contract if contract in legal else lowest}


def tricks_by_strain(hand: int) -> tuple[float, ...]:
    """Expected tricks of ten cards in each strain."""
    return tuple(declarer_tricks(hand, strain) for strain in range(5))


def best_pair(hand: int, bid: str) -> int:
    """The discard from twelve cards that leaves the best contract not below `bid`."""
    return max(pairs(hand), key=lambda pair: (best_contract(tricks_by_strain(hand ^ pair), bid)[1], -pair.bit_length()))


def pairs(hand: int) -> Iterator[int]:
    """Discards worth a thought in a trick game: out of each suit the lowest go first."""
    low: list[int] = []
    for index in SPADES_TO_HEARTS:
        low += [1 << number for number in card_numbers(hand & SUIT_MASKS[index])[:2]]
    return (one | other for one, other in combinations(low, 2) if _lowest_first(hand, one | other))


def _lowest_first(hand: int, pair: int) -> bool:
    """Whether no card is put away before a lower one of its suit."""
    return all(pair & mask == 0 or hand & mask & ((pair & mask) - 1) & ~pair == 0 for mask in SUIT_MASKS)


def safest_pair(hand: int) -> int:
    """The discard from twelve cards that leaves the safest misere (3.6.6)."""
    return min((one | other for one, other in combinations(card_masks(hand), 2)), key=lambda pair: (misere_danger(hand ^ pair), -pair))
