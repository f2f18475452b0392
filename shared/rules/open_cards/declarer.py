"""One declarer against two defenders, all hands open: what they take when both sides play best, and how (Decision 18).

Everywhere: `hands` are masks by seat, a resting seat's is 0; `leader` leads the trick, and `trick` are the cards (numbers) already on the
table, from the leader on and no longer in the hands; any number of cards, but each hand as many as its turn in the trick leaves it. `order`
are the three seats at play in the order of play, needed only where `hands` alone do not tell: with more than three seats when a hand is
empty, or with two players, whose dummy sits third (Decision 19). Results count the tricks still open, the one on the table among them.
"""

from __future__ import annotations

from collections.abc import Sequence

from shared.rules.deck.cards import card_numbers
from shared.rules.deck.contract import LEVEL, MISERE
from shared.rules.open_cards.search import Position, Search, Three
from shared.rules.open_cards.seating import by_place, order_of_play

GUESS_OF_MISERE = 1  # where the count begins: a misere is mostly made or misses by little


def declarer_tricks(
    hands: Sequence[int], declarer: int, leader: int, contract: str, trick: Sequence[int] = (), order: Three | None = None
) -> int:
    """The tricks that the declarer takes: in a trick game the most that they can be sure of, on misere the fewest."""
    search, position = asked(hands, declarer, leader, contract, trick, order)
    return exact(search, position, LEVEL.get(contract, GUESS_OF_MISERE))


def can_make(
    hands: Sequence[int],
    declarer: int,
    leader: int,
    contract: str,
    target: int,
    trick: Sequence[int] = (),
    order: Three | None = None,
) -> bool:
    """Whether the declarer is sure of at least `target` tricks, on misere of at most `target`. A fraction of the work of the number."""
    search, position = asked(hands, declarer, leader, contract, trick, order)
    return not search.takes(position, target + 1) if contract == MISERE else search.takes(position, target)


def best_line(
    hands: Sequence[int], declarer: int, leader: int, contract: str, trick: Sequence[int] = (), order: Three | None = None
) -> tuple[int, ...]:
    """One best play to the last card, as numbers: of a player's best cards always the lowest, suits S C D H, then rank."""
    search, position = asked(hands, declarer, leader, contract, trick, order)
    place = (order or order_of_play(hands)).index(declarer)
    open_tricks = exact(search, position, LEVEL.get(contract, GUESS_OF_MISERE))
    line: list[int] = []
    while position[0][0]:
        raises = (position[1][0] == place) != (contract == MISERE)  # whether the hand on turn wants the declarer to take tricks
        for card in card_numbers(search.legal(position)):
            after, winner = search.after(position, card)
            left = open_tricks - (winner == place)
            if search.takes(after, left) if raises else not search.takes(after, left + 1):
                line.append(card)
                position, open_tricks = after, left
                break
    return tuple(line)


def asked(
    hands: Sequence[int], declarer: int, leader: int, contract: str, trick: Sequence[int], order: Three | None
) -> tuple[Search, Position]:
    """The question that these arguments put."""
    seats = order or order_of_play(hands)
    search = Search.of_declarer(contract, seats.index(declarer))
    return search, search.position(by_place(hands, seats), seats.index(leader), trick)


def exact(search: Search, position: Position, guess: int) -> int:
    """The declarer's tricks, found from `guess` by steps: the memo makes each step after the first cheap."""
    if search.takes(position, guess):
        while search.takes(position, guess + 1):
            guess += 1
        return guess
    while not search.takes(position, guess - 1):
        guess -= 1
    return guess - 1
