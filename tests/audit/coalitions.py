"""What server and players could do together against one honest player, played out: `python -m tests.audit.coalitions --deals 100000`.

The coalition is the server and all players but one. It knows all seeds and links but those of the honest player, chooses the cut, and is
last in everything. Its wish: the best hand for one of its own, counted in tricks that it surely takes.

* Algorithm 1 (a seed of one's own before the cut): the last of the coalition tries seeds until it likes the deck.
* Algorithm 2 (chains): it may grind the cut before the honest link is known, and keep links back afterwards.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from typing import Final, NamedTuple

from shared.rules.deck import shuffle
from shared.rules.deck.cards import CARDS
from shared.rules.deck.chain import link_at
from tests.load.figures import tell

TABLE: Final = "0-coalition"
DIGEST: Final = "00" * 32
HIGHEST: Final = 4  # cards of a suit from the top down that count as sure tricks as long as none is missing


class Deal(NamedTuple):
    """A deal as it came out: the friend's and the honest player's hand, and who kept their link back."""

    friend: str
    honest: str
    silent: int


def sure_tricks(hand: str) -> int:
    """Tricks that `hand` takes whatever the others have: in each suit its cards from the ace down without a gap."""
    held = set(hand.split())
    found = 0
    for suit in "SCDH":
        for rank in "AKQJT987":
            if rank + suit not in held:
                break
            found += 1
    return found


def dealt(
    links: tuple[tuple[int, str], ...] | None, seeds: tuple[tuple[int, str], ...], server: str, cut: int, players: int
) -> tuple[str, ...]:
    """The hands of deal 1, dealer at the last seat."""
    return shuffle.deal_cards(server, TABLE, 1, DIGEST, seeds, cut, players, players - 1, links)[0]


def friend_of(honest: int, players: int) -> int:
    """The one who is to get the good hand: the first who plays, and is not the honest player."""
    return next(seat for seat in shuffle.seats_dealt(players, players - 1) if seat not in (honest, 2 if players == 2 else -1))


def by_seeds(lot: random.Random, players: int, honest: int, tries: int) -> Deal:
    """Algorithm 1: all honest seeds are in; the coalition's last one is chosen among `tries`."""
    server, friend = lot.randbytes(32).hex(), friend_of(honest, players)
    seeds = ((honest, lot.randbytes(8).hex()),)
    found = (dealt(None, (*seeds, (friend, f"{number:x}")), server, 16, players) for number in range(1, tries + 1))
    best = max(found, key=lambda hands: sure_tricks(hands[friend]))
    return Deal(best[friend], best[honest], 0)


def by_chains(lot: random.Random, players: int, honest: int, *, silence: bool) -> Deal:
    """Algorithm 2: everything is promised; the cut is the one whose deck without the honest link is the best, and then, with `silence`,
    that set of links is opened which gives the best deck.
    """
    server, friend = lot.randbytes(32).hex(), friend_of(honest, players)
    own = [(seat, link_at(TABLE, lot.randbytes(32).hex(), 1)) for seat in range(players) if seat != honest]
    cut = (
        max(range(4, 29), key=lambda at: sure_tricks(dealt(tuple(own), (), server, at, players)[friend])) if silence else lot.randint(4, 28)
    )
    opened = (honest, lot.randbytes(32).hex())  # the honest player's, which comes when nothing is left to choose but silence
    sets = range(1 << len(own)) if silence else (0,)

    def result(kept_back: int) -> tuple[str, ...]:
        links = (opened, *(pair for number, pair in enumerate(own) if not kept_back >> number & 1))
        return dealt(links, (), server, cut, players)

    chosen = max(sets, key=lambda kept_back: (sure_tricks(result(kept_back)[friend]), -kept_back.bit_count()))
    hands = result(chosen)
    return Deal(hands[friend], hands[honest], chosen.bit_count())


def by_omission(lot: random.Random, players: int, honest: int) -> Deal:
    """Algorithm 2, and the server leaves out the honest link, which its player notices: the best of the 25 cuts."""
    server, friend = lot.randbytes(32).hex(), friend_of(honest, players)
    own = tuple((seat, lot.randbytes(32).hex()) for seat in range(players) if seat != honest)
    hands = max((dealt(own, (), server, at, players) for at in range(4, 29)), key=lambda found: sure_tricks(found[friend]))
    return Deal(hands[friend], hands[honest], 1)


def best_of(lot: random.Random, players: int, honest: int, decks: int) -> int:
    """The most sure tricks of the friend among so many decks at random: what silence could give at best."""
    friend = friend_of(honest, players)
    return max(sure_tricks(dealt((), (), lot.randbytes(32).hex(), 16, players)[friend]) for _ in range(decks))


def chi_squared(hands: Iterator[str]) -> tuple[float, int]:
    """How far the cards of the honest hands are from equally likely, over all 32 cards: the statistic, with 31 degrees of freedom (a hand
    has ten different cards, which makes it smaller by 22/31), and how many hands there were.
    """
    counts, number = dict.fromkeys(CARDS, 0), 0
    for hand in hands:
        number += 1
        for card in hand.split():
            counts[card] += 1
    expected = 10 * number / len(CARDS)
    return sum((count - expected) ** 2 / expected for count in counts.values()) * 31 / 22, number


def main() -> None:
    """Run and print, as JSON lines."""
    options = argparse.ArgumentParser()
    options.add_argument("--deals", type=int, default=100_000)
    deals = options.parse_args().deals
    lot = random.Random(1)
    for players in (2, 3, 4, 5):
        for honest in sorted(set(shuffle.seats_dealt(players, players - 1)) & set(range(players))):
            count = deals // 10
            plain = sum(best_of(lot, players, honest, 1) for _ in range(count)) / count
            chains = [by_chains(lot, players, honest, silence=True) for _ in range(count // 20)]
            bound = sum(best_of(lot, players, honest, 2 ** (players - 1)) for _ in range(count // 20)) / (count // 20)
            left_out = [by_omission(lot, players, honest) for _ in range(count // 20)]
            seeds = [by_seeds(lot, players, honest, 1000) for _ in range(max(1, count // 2000))]
            name = f"coalition_{players}_players_honest_seat_{honest}"
            tell(f"{name}_fair", "sure tricks", [plain])
            tell(f"{name}_algorithm_1_thousand_seeds", "sure tricks", [sum(sure_tricks(one.friend) for one in seeds) / len(seeds)])
            tell(f"{name}_algorithm_2_silence", "sure tricks", [sum(sure_tricks(one.friend) for one in chains) / len(chains)])
            tell(f"{name}_best_of_{2 ** (players - 1)}_decks", "sure tricks", [bound])
            tell(f"{name}_algorithm_2_left_out", "sure tricks", [sum(sure_tricks(one.friend) for one in left_out) / len(left_out)])
            tell(f"{name}_named_a_deal", "missed links", [sum(one.silent for one in chains) / len(chains)])
    statistic, number = chi_squared(by_chains(lot, 3, 0, silence=False).honest for _ in range(deals))
    tell("honest_hands_chi_squared_31", "", [statistic], deals=str(number))


if __name__ == "__main__":
    main()
