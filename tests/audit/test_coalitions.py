"""Server and players against one: what they gain by algorithm 1, and that algorithm 2 leaves them silence alone (3.2.3).

The seeds are fixed, so that a bound which holds once holds always; `python -m tests.audit.coalitions` plays more.
"""

from __future__ import annotations

import random

import pytest

from shared.rules.deck import shuffle
from tests.audit.coalitions import best_of, by_chains, by_seeds, chi_squared, sure_tricks

SEATS = [(players, seat) for players in (2, 3, 4, 5) for seat in range(players) if seat in shuffle.seats_dealt(players, players - 1)]
CRITICAL = 61.1  # of chi-squared with 31 degrees of freedom: passed by one fair deck in a thousand
DEALS = 150


def mean(values):
    values = list(values)
    return sum(values) / len(values)


@pytest.mark.parametrize(("players", "honest"), SEATS)
def test_by_algorithm_1_the_last_seed_chooses_the_deck(players, honest):
    """The attack that was found: a thousand seeds are tried in a tenth of a second, and the friend takes six tricks and more."""
    assert sure_tricks(by_seeds(random.Random(1), players, honest, 1000).friend) >= 6


@pytest.mark.parametrize(("players", "honest"), SEATS)
def test_by_algorithm_2_a_coalition_gains_nothing_but_by_silence(players, honest):
    """All links opened, the friend's hand is a fair one, whatever was ground before; with silence it is the best of as many decks as there
    are sets of links, and no better.
    """
    lot = random.Random(2)
    fair = mean(best_of(lot, players, honest, 1) for _ in range(4 * DEALS))
    open_ = mean(sure_tricks(by_chains(lot, players, honest, silence=False).friend) for _ in range(4 * DEALS))
    assert abs(open_ - fair) < 0.3
    silent = mean(sure_tricks(by_chains(lot, players, honest, silence=True).friend) for _ in range(DEALS))
    bound = mean(best_of(lot, players, honest, 2 ** (players - 1)) for _ in range(DEALS))
    assert silent < bound + 0.5


@pytest.mark.slow
def test_by_algorithm_2_the_honest_hands_are_fair():
    """Each card comes to the honest seat equally often."""
    lot = random.Random(3)
    statistic, hands = chi_squared(by_chains(lot, 3, 0, silence=False).honest for _ in range(20_000))
    assert hands == 20_000
    assert statistic < CRITICAL


def test_chi_squared_finds_a_deck_that_is_not_fair():
    """The check can fail: hands that got one card too often."""
    lot = random.Random(4)
    hands = [by_chains(lot, 3, 0, silence=False).honest for _ in range(4000)]
    loaded = [hand if number % 8 or "AS" in hand else " ".join(["AS", *hand.split()[1:]]) for number, hand in enumerate(hands)]
    assert chi_squared(iter(hands))[0] < CRITICAL < chi_squared(iter(loaded))[0]
