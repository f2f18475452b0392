"""Counted trees: how many auctions and plays of fixed deals the rules allow, to a depth. A second, naive count came to the same."""

from __future__ import annotations

import pytest

from shared.rules.deal import decide, evolve, legal_moves
from shared.rules.moves import Concede
from tests.rules.words import after, table

#: Every hand holds every suit; the talon AS QS.
HANDS = ("KS TS 9S 7S AC 7C KD 8D AH 7H", "JS KC TC 8C QD TD 7D KH JH 8H", "8S QC JC 9C AD JD 9D QH TH 9H")
STEPS = {"preset": "sochi", "step_by_step": True}


def leaves(deal, depth):
    """Lines of `depth` moves from `deal` within its phase, shorter ones that end it included; nobody gives up."""
    if depth == 0:
        return 1
    count = 0
    for move in legal_moves(deal, deal.to_act):
        if isinstance(move, Concede):
            continue
        after_it = deal
        for event in decide(deal, deal.to_act, move):
            after_it = evolve(after_it, event)
        count += leaves(after_it, depth - 1) if after_it.phase == deal.phase else 1
    return count


@pytest.mark.parametrize(
    ("convention", "in_row", "counts"),
    [
        ("sochi", 0, (27, 378, 3654, 25604)),
        ("leningrad", 0, (27, 378, 3654, 25604)),
        ("rostov", 3, (27, 378, 3654, 25604)),
        ("code", 0, (27, 378, 3654, 27604)),
        ("federation", 2, (22, 253, 2024, 11609)),
        ({"preset": "sochi", "here": "off"}, 0, (27, 378, 3654, 24704)),
        ({"preset": "sochi", "silent_take": True}, 0, (27, 378, 3655, 25605)),
        (STEPS, 0, (3, 8, 20, 31, 41, 57, 78, 113)),
    ],
)
def test_3_3_auctions(convention, in_row, counts):
    """The calls of an auction to each depth (3.3)."""
    deal = table(convention, in_row=in_row)
    assert tuple(leaves(deal, depth) for depth in range(1, len(counts) + 1)) == counts


@pytest.mark.parametrize(
    ("convention", "in_row", "counts"),
    [
        ("sochi", 0, (27, 378, 3128, 18078)),
        ("code", 0, (27, 378, 3128, 18078)),
        ("federation", 2, (22, 253, 1683, 7668)),
        ({"preset": "sochi", "here": "off"}, 0, (27, 378, 2828, 15478)),
        (STEPS, 0, (3, 8, 11, 13, 17)),
    ],
)
def test_decision_19_auctions_of_two(convention, in_row, counts):
    """The calls of an auction of two to each depth (3.3, Decision 19)."""
    deal = table(convention, players=2, in_row=in_row)
    assert tuple(leaves(deal, depth) for depth in range(1, len(counts) + 1)) == counts


@pytest.mark.parametrize(
    ("convention", "players", "words", "counts"),
    [
        ("sochi", 3, "6S pass pass AS/QS 6D whist whist", {4: 522, 6: 2619, 8: 42390}),
        ("sochi", 3, "6S pass pass AS/QS 6NT whist whist", {4: 522, 6: 2835, 8: 52272}),
        ("sochi", 3, "misere pass pass AS/QS", {4: 522, 6: 2835, 8: 52272}),
        ("sochi", 3, "pass pass pass", {4: 12, 6: 972, 8: 31104}),
        ("leningrad", 4, "pass pass pass", {4: 12, 6: 972, 8: 31104}),
        ("rostov", 4, "pass pass pass", {4: 522, 6: 2835, 8: 52272}),
        ("sochi", 2, "6S pass AS/QS 6D whist", {4: 522, 6: 2619, 8: 42390}),
        ("sochi", 2, "misere pass AS/QS", {4: 522, 6: 2835, 8: 52272}),
        ("leningrad", 2, "pass pass", {4: 522, 6: 2835, 8: 52272}),
        ("sochi", 5, "pass pass pass", {4: 12, 6: 972, 8: 31104}),
    ],
)
def test_3_9_plays(convention, players, words, counts):
    """The plays of one deal to each depth: a trump game, no trump, misere, all-pass with its talon and without (3.9, 3.6.7, 3.7.6)."""
    deal = after(table(convention, players=players, hands=HANDS, talon="AS QS"), words)
    assert {depth: leaves(deal, depth) for depth in counts} == counts
