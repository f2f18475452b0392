"""The trick on the table as one player sees it: which cards they know to be where, and how likely a card of theirs is to be beaten.

Built from the public view and from what they remember; hands are masks. Odds treat every card that they cannot see as lying equally likely
at any hidden place (the other hands, and the two cards put away).
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from services.bots.recollection import Memory
from shared.rules.deck.cards import CARD_NUMBER, DECK, SUIT_MASKS, SUITS, mask_of
from shared.rules.deck.contract import STRAIN, STRAINS
from shared.rules.deck.seats import hands_at_play

HIGHER: Final = tuple(SUIT_MASKS[card >> 3] & ~((2 << card) - 1) for card in range(32))
LOWER: Final = tuple(SUIT_MASKS[card >> 3] & ((1 << card) - 1) for card in range(32))
NO_TRUMP: Final = 4


class Sight(msgspec.Struct, frozen=True):
    """`seat` is the hand to play from, not always the player's own, `me`. `hands[s]` is a mask where known, else `None`.

    `hidden` are the cards that lie unseen. `played` is the trick so far, `(seat, card)`; `led` its suit or `None`; `later` the seats that
    still follow after `seat`, in order.
    `declarer` is `None` in all-pass. `voids` are (seat, suit number) pairs. `trick` counts from 1.
    """

    seat: int
    me: int
    order: tuple[int, ...]
    declarer: int | None
    trump: int
    legal: tuple[int, ...]
    hands: tuple[int | None, ...]
    counts: tuple[int, ...]
    hidden: int
    played: tuple[tuple[int, int], ...]
    led: int | None
    later: tuple[int, ...]
    voids: frozenset[tuple[int, int]]
    trick: int

    @property
    def for_nobody(self) -> bool:
        """The hand is a dummy's in all-pass: whoever plays it wants the trick anywhere but in their own (Decision 19)."""
        return self.declarer is None and self.seat != self.me

    @property
    def hand(self) -> int:
        """The hand to play from."""
        return self.hands[self.seat] or 0

    def rivals(self) -> tuple[int, ...]:
        """The seats that play against `seat`: the declarer's defenders, the defenders' declarer; in all-pass everybody else."""
        if self.declarer is None or self.seat == self.declarer:
            return tuple(seat for seat in self.order if seat != self.seat)
        return (self.declarer,)

    def beats(self, card: int, other: int) -> bool:
        """Whether `card`, played later, takes the trick from `other`, which holds it."""
        if card >> 3 == other >> 3:
            return card > other
        return card >> 3 == self.trump

    def winning(self) -> tuple[int, int] | None:
        """Who holds the trick so far, and with which card."""
        best: tuple[int, int] | None = None
        for seat, card in self.played:
            if best is None or self.beats(card, best[1]):
                best = (seat, card)
        return best

    def could_hold(self, seat: int) -> int:
        """Cards that may be in a hand: all of a known one, else the hidden ones but for the suits it is void in."""
        known = self.hands[seat]
        if known is not None:
            return known
        held = self.hidden
        for other, suit in self.voids:
            if other == seat:
                held &= ~SUIT_MASKS[suit]
        return held

    def against(self) -> int:
        """Cards that rivals may hold."""
        held = 0
        for seat in self.rivals():
            held |= self.could_hold(seat)
        return held

    def density(self, seat: int) -> float:
        """Chance that a certain hidden card, not excluded, is in the hidden hand of `seat`."""
        places = self.could_hold(seat).bit_count()
        return min(1.0, self.counts[seat] / places) if places else 0.0

    def beaten_by(self, card: int, seat: int) -> float:
        """Chance that `seat`, following, can beat `card`, which leads or holds the trick."""
        led = card >> 3 if self.led is None else self.led
        could = self.could_hold(seat)
        follow, trumps = could & SUIT_MASKS[led], could & SUIT_MASKS[self.trump] if self.trump != NO_TRUMP else 0
        higher = could & HIGHER[card]
        if self.hands[seat] is not None:
            if follow:
                return 1.0 if card >> 3 == led and higher else 0.0
            return 1.0 if trumps and (card >> 3 != self.trump or higher) else 0.0
        missing = 1.0 - self.density(seat)
        void = missing ** follow.bit_count()
        over = 1.0 - missing ** higher.bit_count() if card >> 3 == led else 0.0
        ruffs = trumps if card >> 3 != self.trump else (higher if led != self.trump else 0)
        ruff = void * (1.0 - missing ** ruffs.bit_count()) if led != self.trump else 0.0
        return min(1.0, over + ruff)

    def holds(self, card: int, against: tuple[int, ...]) -> float:
        """Chance that `card` survives those of `against` who still play to this trick."""
        chance = 1.0
        for seat in self.later:
            if seat in against:
                chance *= 1.0 - self.beaten_by(card, seat)
        return chance


def read(view: dict[str, Any], memory: Memory) -> Sight:
    """What the view and the memory of the deal show to the player who has to play a card now."""
    plays = [move for move in view["legal"] if move["type"] == "play"]
    seat = plays[0].get("hand", view["seat"])
    trick = view["trick"] or {"number": sum(view["tricks"]) + 1, "cards": [], "talon": None}
    played = tuple((owner, CARD_NUMBER[card]) for owner, card in trick["cards"])
    talon = trick.get("talon")
    if talon is not None and view["players"] >= 4:  # it is the resting dealer's lead; with three players it only names the suit (3.7.6)
        played = ((view["dealer"], CARD_NUMBER[talon]), *played)
    led = CARD_NUMBER[talon] >> 3 if talon is not None else played[0][1] >> 3 if played else None
    hands = [None if text is None else mask_of(text) for text in view["hands"]]
    if view["hand"] is not None:
        hands[view["seat"]] = mask_of(view["hand"])
    order = hands_at_play(view["players"], view["dealer"])
    return Sight(
        seat=seat,
        me=view["seat"],
        order=order,
        declarer=view["declarer"],
        trump=STRAINS.index(STRAIN[view["contract"]]),
        legal=tuple(CARD_NUMBER[move["card"]] for move in plays),
        hands=tuple(hands),
        counts=tuple(view["counts"]),
        hidden=DECK & ~_seen(view, memory, hands),
        played=played,
        led=led,
        later=_later(order, seat, {owner for owner, _ in trick["cards"]}),
        voids=frozenset((owner, SUITS.index(suit)) for owner, suit in memory.voids),
        trick=trick["number"],
    )


def _seen(view: dict[str, Any], memory: Memory, hands: list[int | None]) -> int:
    """Every card whose place is known: played, laid, in hand, put away by oneself, or turned from the talon in all-pass."""
    seen = 0
    for hand in hands:
        seen |= hand or 0
    for card in memory.out:
        seen |= 1 << CARD_NUMBER[card]
    for trick in (view["trick"], view["last_trick"]):
        if trick:
            for _, card in trick["cards"]:
                seen |= 1 << CARD_NUMBER[card]
            if trick.get("talon"):
                seen |= 1 << CARD_NUMBER[trick["talon"]]
    return seen | mask_of(view["discard"] or "")


def _later(order: tuple[int, ...], seat: int, done: set[int]) -> tuple[int, ...]:
    """The seats that play to this trick after `seat`, in order."""
    place = order.index(seat)
    return tuple(other for other in (*order[place + 1 :], *order[:place]) if other not in done)
