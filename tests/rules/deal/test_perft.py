"""Counted trees: how many auctions and plays of fixed deals the rules allow, to a depth. A second, naive count came to the same."""

from __future__ import annotations

import pytest

from shared.rules.deal.decider import decide, default_move, evolve, legal_moves
from shared.rules.deck.cards import CARDS, card_numbers
from shared.rules.language.moves import Concede
from tests.rules.words import after, table

pytestmark = pytest.mark.slow

#: Every hand holds every suit; the talon AS QS.
HANDS = ("KS TS 9S 7S AC 7C KD 8D AH 7H", "JS KC TC 8C QD TD 7D KH JH 8H", "8S QC JC 9C AD JD 9D QH TH 9H")
STEPS = {"preset": "sochi", "step_by_step": True}


PART = {"auction": "auction", "claim": "auction", "play": "play"}  # an invitation waits for its answer inside of the auction


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
        count += leaves(after_it, depth - 1) if PART.get(after_it.phase) == PART.get(deal.phase) else 1
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
        ("classic", 0, (55, 1578, 31458)),
        ("classic", 2, (35, 648, 8468)),
        ({"preset": "classic", "version": 1}, 0, (55, 1588, 32023)),
        ({"preset": "classic", "version": 1}, 2, (35, 658, 8833)),
        ({"preset": "sochi", "misere_no_talon": True}, 0, (33, 561, 6545)),
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
    ("convention", "in_row", "counts"),
    [
        ({"preset": "sochi", "shared_misere": True}, 0, (28, 396, 3860)),
        ({"preset": "classic", "shared_misere": True, "misere_no_talon": True, "silent_take": True}, 4, (17, 155, 1109, 3867)),
    ],
)
def test_3_6_9_auctions_with_invitations(convention, in_row, counts):
    """The calls, looks, invitations and answers of an auction of four to each depth (3.6.9, 3.3.19)."""
    deal = table(convention, players=4, in_row=in_row)
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
        ("classic", 3, "dark:6S pass pass taken AS/QS 6D", {4: 522, 6: 2619, 8: 42390}),
        ("classic", 3, "dark:misere pass pass taken AS/QS", {4: 522, 6: 2835, 8: 52272}),
        ("federation", 3, "6S pass pass AS/QS 6NT whist whist", {4: 522, 6: 2835, 8: 52272}),
        ("code", 4, "pass pass pass", {4: 12, 6: 972, 8: 31104}),
        ("sochi", 2, "6S pass AS/QS 6D whist", {4: 522, 6: 2619, 8: 42390}),
        ("sochi", 2, "misere pass AS/QS", {4: 522, 6: 2835, 8: 52272}),
        ("leningrad", 2, "pass pass", {4: 522, 6: 2835, 8: 52272}),
        ("sochi", 5, "pass pass pass", {4: 12, 6: 972, 8: 31104}),
        ("code", 3, "6S pass pass AS/QS 6C whist pass open", {4: 522, 6: 2619, 8: 42276}),
        ("federation", 4, "6S pass pass AS/QS 7H pass pass look:1 whist", {4: 522, 6: 2619, 8: 42270}),
        ("leningrad", 3, "pass 7D pass AS/QS 7D whist pass closed", {4: 522, 6: 2619, 8: 42390}),
    ],
)
def test_3_9_plays(convention, players, words, counts):
    """The plays of one deal to each depth: a trump game, no trump, misere, all-pass with its talon and without (3.9, 3.6.7, 3.7.6)."""
    deal = after(table(convention, players=players, hands=HANDS, talon="AS QS"), words)
    assert {depth: leaves(deal, depth) for depth in counts} == counts


def whole_lines(deal):
    """Every way in which the defenders can answer the contract, to the first lead or to the score."""
    if deal.phase not in ("whist", "lay"):
        return 1
    count = 0
    for move in legal_moves(deal, deal.to_act):
        after_it = deal
        for event in decide(deal, deal.to_act, move):
            after_it = evolve(after_it, event)
        count += whole_lines(after_it)
    return count


@pytest.mark.parametrize("contract", ["6S", "7D", "8H", "9NT", "10C"])
@pytest.mark.parametrize(
    ("convention", "players", "low", "high"),
    [
        # ww 1, wp 2 (open, closed), pw 2, pp 1, phw 2, php 1; from eight up without the half-whist
        ("sochi", 3, 9, 6),
        # pp and php go on to the dealer: whist, pass, and each after a look at one hand or the other, 6
        ("sochi", 4, 19, 11),
        ("rostov", 3, 9, 6),
        ("rostov", 4, 19, 11),
        ("classic", 3, 9, 6),
        ("classic", 4, 19, 11),
        ("code", 3, 9, 6),
        ("code", 4, 19, 11),
        # wp also goes down to half, then the return, 2, or the pass, 1 (with four the dealer's 6)
        ("leningrad", 3, 12, 6),
        ("leningrad", 4, 27, 11),
        ("federation", 3, 12, 6),
        ("federation", 4, 27, 11),
        ({"preset": "sochi", "dealer_whist": "off"}, 4, 9, 6),
        ({"preset": "sochi", "half_whist": []}, 3, 6, 6),
        ({"preset": "sochi", "pass_return": []}, 3, 7, 6),
    ],
)
def test_3_8_answers(convention, players, low, high, contract):
    """The answers to a contract, counted by hand (3.8)."""
    deal = after(table(convention, players=players), f"6S pass pass 7C/8C {contract}")
    assert whole_lines(deal) == (low if contract[0] in "67" else high)


def naive_lines(hands, turn, trumps, trick=()):
    """All ways to play `hands` (sets of cards by seat, equal in number) to the end, counted without the engine."""
    if len(trick) == 3:
        led = trick[0][1][1]
        strength = {card: (card[1] == trumps, card[1] == led, "789TJQKA".index(card[0])) for _, card in trick}
        turn, trick = max(trick, key=lambda played: strength[played[1]])[0], ()
    hand = hands[turn]
    if not hand and not trick:
        return 1
    suits = [{card for card in hand if card[1] == suit} for suit in (trick[0][1][1], trumps)] if trick else []
    playable = next((cards for cards in suits if cards), hand)
    return sum(naive_lines([own - {card} for own in hands], (turn + 1) % 3, trumps, (*trick, (turn, card))) for card in sorted(playable))


@pytest.mark.parametrize(
    ("convention", "players", "words", "trumps", "count"),
    [
        ("sochi", 3, "6S pass pass AS/QS 6D whist whist", "D", 96),
        ("sochi", 3, "6S pass pass AS/QS 6NT whist whist", None, 2352),
        ("leningrad", 3, "6S pass pass AS/QS 7H whist pass open", "H", 880),
        ("code", 3, "misere pass pass AS/QS", None, 2352),
        ("federation", 4, "pass pass pass", None, 2388),
        ("rostov", 3, "pass pass pass", None, 2352),
    ],
)
def test_3_9_endings(convention, players, words, trumps, count):
    """All plays of the last four tricks, after six of the lowest legal cards each; a count that knows no engine says the same (3.9)."""
    deal = after(table(convention, players=players, hands=HANDS, talon="AS QS"), words)
    for _ in range(18):
        for event in decide(deal, deal.to_act, default_move(deal)):
            deal = evolve(deal, event)
    hands = [{CARDS[card] for card in card_numbers(deal.held(seat))} for seat in range(3)]
    assert naive_lines(hands, deal.play.turn, trumps) == count
    assert leaves(deal, 12) == count
