"""Cards, and hands as 32-bit masks inside, text outside.

A card is a number 0..31, `suit * 8 + rank`: suits S C D H in the order of the auction (1.3.1), ranks 7 8 9 T J Q K A upward (1.3.2). A
hand is a mask with one bit a card. Outside the rules a card is two letters, `"TH"`, and a hand is cards with a space between them, `"AS
KS"`.
"""

from __future__ import annotations

from typing import Final

SUITS: Final = "SCDH"
RANKS: Final = "789TJQKA"
CARDS: Final[tuple[str, ...]] = tuple(rank + suit for suit in SUITS for rank in RANKS)
CARD_NUMBER: Final[dict[str, int]] = {name: number for number, name in enumerate(CARDS)}
DECK: Final = (1 << 32) - 1
SUIT_MASKS: Final[tuple[int, ...]] = tuple(0xFF << (8 * suit) for suit in range(4))
SUIT_OF: Final[tuple[int, ...]] = tuple(number >> 3 for number in range(32))


def card_numbers(mask: int) -> tuple[int, ...]:
    """The numbers of the cards in `mask`, upward."""
    numbers = []
    while mask:
        lowest = mask & -mask
        numbers.append(lowest.bit_length() - 1)
        mask ^= lowest
    return tuple(numbers)


def mask_of(text: str) -> int:
    """The mask of cards written with spaces between them.

    Raises `KeyError` with the word that is no card, and `ValueError` with the card that stands twice.
    """
    mask = 0
    for word in text.split():
        bit = 1 << CARD_NUMBER[word]
        if mask & bit:
            raise ValueError(word)
        mask |= bit
    return mask


def hand_text(mask: int) -> str:
    """The cards of `mask` as text: suit by suit S C D H, each from the ace down."""
    return " ".join(CARDS[number] for suit in range(4) for number in reversed(card_numbers(mask & SUIT_MASKS[suit])))
