"""What a hand is worth: tricks as declarer and as defender, and the risk of a misere; suit by suit, averaged over how each may lie.

A suit is an 8-bit mask, the seven at bit 0 and the ace at bit 7; a hand is the 32-bit mask of `shared.rules.deck.cards`. Tricks are floats.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from shared.rules.deck.cards import card_numbers

SPADES_TO_HEARTS = (0, 1, 2, 3)
ACE, KING, QUEEN = 0x80, 0x40, 0x20


class SuitTricks(NamedTuple):
    """Tricks of one suit when its holder plays on it, trumps apart.

    `honours` are won in rounds in which both opponents follow, `length` after one of them is void.
    """

    honours: float
    length: float


def suit(hand: int, index: int) -> int:
    """One suit of a hand, as an 8-bit mask."""
    return hand >> (8 * index) & 0xFF


@cache
def suit_tricks(held: int) -> SuitTricks:
    """What the suit `held` brings, averaged over every split of the missing cards and over who leads it."""
    missing = 0xFF & ~held
    honours = length = 0.0
    splits = 0
    left = missing
    while True:  # every subset of the missing cards is one way in which they may lie
        for attack in (_declarer_leads, _opponents_lead):
            rounds = attack(held, left, missing & ~left)
            honours += rounds.honours
            length += rounds.length
        splits += 2
        if not left:
            return SuitTricks(honours / splits, length / splits)
        left = (left - 1) & missing


def _declarer_leads(held: int, left: int, right: int) -> SuitTricks:
    """The holder cashes what is highest, forces with two that touch, and otherwise leads low."""
    honours = length = 0
    while held:
        top = _highest(held)
        higher = (left | right) & ~(2 * top - 1)
        both = bool(left and right)
        if not higher:
            card = top
        else:
            touching = held & (top >> 1)
            card = top if touching else _lowest(held)
        held ^= card
        beaten, left, right = _answered(card, left, right)
        if not beaten:
            honours, length = (honours + 1, length) if both else (honours, length + 1)
    return SuitTricks(honours, length)


def _opponents_lead(held: int, left: int, right: int) -> SuitTricks:
    """They lead low, third hand plays as high as it must, and the holder plays last."""
    honours = length = 0
    while held:
        both = bool(left and right)
        if left | right:
            leader, third = (left, right) if left.bit_count() >= right.bit_count() else (right, left)
            low = _lowest(leader)
            leader ^= low
            over = third & ~(2 * _highest(held) - 1)  # cards that even the holder's best does not beat
            reply = _lowest(over) if over else _lowest(third)
            third ^= reply
            left, right = leader, third
            best = max(low, reply)
        else:
            best = 0
        winners = held & ~(2 * best - 1) if best else held
        if winners:
            held ^= _lowest(winners)
            honours, length = (honours + 1, length) if both else (honours, length + 1)
        else:
            held ^= _lowest(held)
    return SuitTricks(honours, length)


def _answered(card: int, left: int, right: int) -> tuple[bool, int, int]:
    """Both opponents follow to `card`: one wins it as cheaply as possible, the other plays low. Whether it was beaten, and what is left."""
    over_left, over_right = left & ~(2 * card - 1), right & ~(2 * card - 1)
    if over_left and (not over_right or _lowest(over_left) < _lowest(over_right)):
        return True, left ^ _lowest(over_left), right ^ _lowest(right)
    if over_right:
        return True, left ^ _lowest(left), right ^ _lowest(over_right)
    return False, left ^ _lowest(left), right ^ _lowest(right)


def _lowest(mask: int) -> int:
    return mask & -mask


def _highest(mask: int) -> int:
    return 1 << (mask.bit_length() - 1) if mask else 0


# ---- The whole hand --------------------------------------------------------------------------------------------------

NO_TRUMP = 4  # index of "no trumps" after the four suits, as in the order of the auction (1.3.1)


def declarer_tricks(hand: int, trump: int) -> float:
    """Tricks that ten cards take with `trump` (0..3, or `NO_TRUMP`) against two defenders."""
    if trump == NO_TRUMP:
        return _without_trumps(hand)
    trumps = suit(hand, trump)
    own = suit_tricks(trumps)
    total = own.honours + own.length
    control = min(1.0, max(0.0, 0.3 * (trumps.bit_count() - 3)))  # long trumps draw theirs, and then side suits stand
    for index in SPADES_TO_HEARTS:
        if index != trump:
            side = suit_tricks(suit(hand, index))
            total += 0.95 * side.honours + control * side.length
    return total


def _without_trumps(hand: int) -> float:
    total = 0.0
    for index in SPADES_TO_HEARTS:
        held = suit(hand, index)
        side = suit_tricks(held)
        stopped = bool(held & ACE) or (bool(held & KING) and held.bit_count() > 1)
        total += side.honours + 0.7 * side.length - (0.0 if stopped else 0.8)  # an open suit runs against the declarer
    return total


#: A defender's tricks from guarded honours in a side suit: first rounds stand, third rounds are trumped.
_SIDE = {ACE: 0.9, KING: 0.5, QUEEN: 0.15, ACE | KING: 1.55, ACE | QUEEN: 1.2, KING | QUEEN: 0.95, ACE | KING | QUEEN: 1.8}


def defender_tricks(hand: int, trump: int) -> float:
    """Tricks that ten cards take against somebody else's contract with `trump`."""
    total = 0.0
    for index in SPADES_TO_HEARTS:
        held = suit(hand, index)
        cards = held.bit_count()
        if index == trump:
            total += _defending_trumps(held)
        else:
            honours = held & (ACE | KING | QUEEN)
            worth = _SIDE.get(honours, 0.0)
            if honours in (KING, QUEEN) and cards < (2 if honours == KING else 3):
                worth *= 0.3  # bare, it falls under a higher one
            if cards >= 5:
                worth *= 0.75  # the declarer is short in it
            total += worth if trump != NO_TRUMP else worth * 1.1
    return total


def _defending_trumps(held: int) -> float:
    """The ace is a trick, a guarded king and a twice guarded queen mostly; four trumps make one more likely than not."""
    cards = held.bit_count()
    total = 1.0 if held & ACE else 0.0
    if held & KING and cards >= 2:
        total += 0.8
    if held & QUEEN and cards >= 3:
        total += 0.6
    return total + (0.5 if cards == 3 and not total else 0.0) * 0.5 + max(0, cards - 3) * 0.6


# ---- Taking nothing --------------------------------------------------------------------------------------------------


@cache
def misere_risk(held: int) -> float:
    """Chance that opponents who see everything force a trick on the suit `held`, averaged over how the rest lies."""
    missing = 0xFF & ~held
    caught = splits = 0
    left = missing
    while True:
        caught += _caught(held, left, missing & ~left)
        splits += 1
        if not left:
            return caught / splits
        left = (left - 1) & missing


def _caught(held: int, left: int, right: int) -> bool:
    """They lead the suit as low as they can, round after round; the declarer answers with the highest card that stays below."""
    while held and left | right:
        low_left, low_right = _lowest(left), _lowest(right)
        best = max(low_left, low_right)
        below = held & (best - 1)
        if not below:
            return True
        held ^= _highest(below)
        left ^= low_left
        right ^= low_right
    return False


def misere_danger(hand: int) -> float:
    """Expected number of suits in which a misere is caught."""
    return sum(misere_risk(suit(hand, index)) for index in SPADES_TO_HEARTS)


def all_pass_tricks(hand: int) -> float:
    """Tricks that ten cards can be expected to take in all-pass: each card counts by how many of the missing ones lie below it."""
    total = 0.0
    for index in SPADES_TO_HEARTS:
        held = suit(hand, index)
        for place, rank in enumerate(card_numbers(held)):
            lower = rank - place  # missing cards below this one
            total += max(0.0, (lower - 1.5 * place) / 4)
    return total


def card_masks(hand: int) -> tuple[int, ...]:
    """The cards of a hand as one-bit masks."""
    return tuple(1 << number for number in card_numbers(hand))
