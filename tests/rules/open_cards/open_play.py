"""Open cards without any cleverness: every card of every trick is tried. Positions for tests, and what a line of cards comes to."""

from __future__ import annotations

from hypothesis import strategies as st

from shared.rules.deck.cards import card_numbers
from shared.rules.deck.contract import MISERE, STRAIN
from shared.rules.deck.trick import BEATING, SUIT_OF_CARD, TRUMPS, playable


def winner_of(trick, strain):
    """Who takes a full trick of (owner, card) pairs; an owner may be None, whom any follower beats."""
    owner, best = trick[0]
    holds = BEATING[strain][best] if owner is not None else SUIT_OF_CARD[best]
    for seat, card in trick[1:]:
        if holds >> card & 1:
            owner, best, holds = seat, card, BEATING[strain][card]
    return owner


def after(hands, trick, seat, card):
    """Hands and trick when the seat has played."""
    return tuple(hand & ~(1 << card) if owner == seat else hand for owner, hand in enumerate(hands)), (*trick, (seat, card))


def legal(hands, trick, seat, strain):
    led = SUIT_OF_CARD[trick[0][1]] if trick else 0
    return card_numbers(playable(hands[seat], led, TRUMPS[strain]))


def declarer_takes(hands, declarer, turn, contract, trick=()):
    """The declarer's tricks by trying everything."""
    strain = STRAIN[contract]
    if len(trick) == 3:
        winner = winner_of(trick, strain)
        return (winner == declarer) + declarer_takes(hands, declarer, winner, contract)
    if not trick and not any(hands):
        return 0
    found = [
        declarer_takes(*_turned(after(hands, trick, turn, card), declarer, turn, contract)) for card in legal(hands, trick, turn, strain)
    ]
    return max(found) if (turn == declarer) != (contract == MISERE) else min(found)


def _turned(moved, declarer, turn, contract):
    hands, trick = moved
    return hands, declarer, (turn + 1) % 3, contract, trick


def all_pass_takes(hands, turn, trick=(), talon=(), dealer=None, first=0, dummy=None):
    """The tricks of seats 0, 1, 2 and the dealer when each in turn takes the card that leaves him fewest, of equal ones the lowest. A
    talon card lies in the trick like a played one; without a dealer its owner is None. A dummy's card is chosen by the seat before it,
    its lead by the first hand.
    """
    talon_leads = bool(trick) and trick[0][0] in (None, 3)
    if len(trick) == 3 + talon_leads:
        winner = winner_of(trick, "NT")
        rest = all_pass_takes(hands, first if talon_leads else winner, (), talon, dealer, first, dummy)
        return tuple(count + (seat == winner) for seat, count in enumerate(rest))
    if not trick and talon:
        return all_pass_takes(hands, first, ((dealer, talon[0]),), talon[1:], dealer, first, dummy)
    if not any(hands):
        return 0, 0, 0, 0
    chooser = turn if turn != dummy else (turn - 1) % 3 if trick else first
    results = []
    for card in legal(hands, trick, turn, "NT"):
        left, lying = after(hands, trick, turn, card)
        results.append(all_pass_takes(left, (turn + 1) % 3, lying, talon, dealer, first, dummy))
    return min(results, key=lambda tricks: tricks[chooser])


@st.composite
def endings(draw, most=4):
    """Three hands of equal length, and the cards left over."""
    size = draw(st.integers(1, most))
    cards = draw(st.permutations(range(32)))
    hands = tuple(sum(1 << card for card in cards[seat * size : (seat + 1) * size]) for seat in range(3))
    return hands, tuple(cards[3 * size :])
