"""One question about open cards: a position, and the compiled search with its memo. The compiled code is loaded by the first question.

Inside, seats are *places*: 0, 1 and 2 in the order of play. A resting dealer whose talon cards may take tricks is place 3.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import cache
from typing import Any, TypeAlias

from shared.rules.deck.contract import MISERE, STRAIN
from shared.rules.deck.trick import SUIT_OF_CARD, TRUMPS, playable

Three: TypeAlias = tuple[int, int, int]
Position: TypeAlias = tuple[Three, tuple[int, ...]]  # as `kernel.py` describes it
NOBODY = -1
RESTING_DEALER = 3

GAME_MEMO = 1 << 17  # numbers, two a position: 1 MB; whole random deals visit 24 000 positions at most
ALL_PASS_MEMO = 1 << 20  # 8 MB; the same, 150 000


@cache
def _kernel() -> Any:
    """The compiled searches. Loading them takes half a second, the first time on a machine ten: so they wait until somebody asks."""
    return importlib.import_module("shared.rules.open_cards.kernel")


class Search:
    """Terms of play, and all that has been found out under them: any number of positions may be asked about."""

    def __init__(self, terms: tuple[int, ...], memo: int) -> None:
        self._kernel = _kernel()
        self._terms = terms
        self._memo = self._kernel.new_memo(memo)
        self.first, self.dummy = terms[self._kernel.FIRST], terms[self._kernel.DUMMY]

    @classmethod
    def of_declarer(cls, contract: str, declarer: int) -> Search:
        """One against two: a trick game or misere; `declarer` is a place."""
        trumps = TRUMPS[STRAIN[contract]]
        lowest = (trumps & -trumps).bit_length() - 1 if trumps else 0
        return cls((trumps, lowest, declarer, int(contract == MISERE), 0, NOBODY, NOBODY), GAME_MEMO)

    @classmethod
    def of_all_pass(cls, first: int, *, talon_takes: bool, dummy: int = NOBODY) -> Search:
        """Each for themselves. `first` is the place of the first hand, `talon_takes` whether a talon card may take the trick that it leads,
        `dummy` the place of the hand that nobody owns (3.7.6).
        """
        return cls((0, 0, NOBODY, 0, first, RESTING_DEALER if talon_takes else NOBODY, dummy), ALL_PASS_MEMO)

    def position(self, hands: Three, leader: int, trick: Sequence[int] = (), talon: Sequence[int] = ()) -> Position:
        """`hands` by place, without the cards of `trick`, which lie there from the leader on. `talon`: the cards that lead this trick and
        the next, if they do.
        """
        for card, place in zip(trick, _places_from(leader), strict=False):
            hands = _three(hand | 1 << card if owner == place else hand for owner, hand in enumerate(hands))
        state: tuple[int, ...] = (leader, 0, 0, -1, NOBODY, 0, 0, 0)
        if talon:
            card, takes = talon[0], self._terms[self._kernel.TALON_HOLDER]
            suit = SUIT_OF_CARD[card]
            higher = suit & -(2 << card)
            pending = 1 << talon[1] if len(talon) > 1 else 0
            state = (leader, 0, suit, suit if takes == NOBODY else higher, takes, 1 << card, pending, 1)
        position: Position = _three(hands[place] for place in _places_from(leader)), state
        for card in trick:
            position, _ = self.after(position, card)
        return position

    def legal(self, position: Position) -> int:
        """The mask of cards that may be played."""
        hands, trick = position
        return playable(hands[0], trick[2], self._terms[self._kernel.TRUMPS])

    def after(self, position: Position, card: int) -> tuple[Position, int]:
        """The position after this card, and the place that takes the trick with it, or -1."""
        hands, trick = self._kernel.play(*position, 1 << card, self._terms[self._kernel.TRUMPS])
        if trick[1] < 3:
            return (hands, trick), NOBODY
        return self._kernel.close(hands, trick, self._terms), trick[4]

    def takes(self, position: Position, need: int) -> bool:
        """Whether the declarer takes at least `need` of the tricks still open, with the misere or game played best by both sides."""
        return bool(self._kernel.takes(*position, need, self._terms, self._memo))

    def result(self, position: Position) -> tuple[int, int, int, int]:
        """The tricks still open by place, of an all-pass; the last are the resting dealer's."""
        packed, bits = int(self._kernel.result(*position, self._terms, self._memo)), self._kernel.SEAT_BITS
        one, two, three, dealer = (packed >> bits * place & 15 for place in range(4))
        return one, two, three, dealer


def _places_from(leader: int) -> Three:
    return leader, (leader + 1) % 3, (leader + 2) % 3


def _three(values: Any) -> Three:
    one, two, three = values
    return one, two, three
