"""The cards: how many, in which order, and how they are written (1.3)."""

from __future__ import annotations

import pytest

from shared.rules.deal.decider import legal_moves
from shared.rules.deck.cards import CARDS, SUIT_MASKS, card_numbers, hand_text, mask_of
from shared.rules.deck.contract import GAMES, PRICE
from shared.rules.deck.seats import active, resting
from shared.rules.deck.trick import BEATING, TRUMPS
from shared.rules.language.moves import Declare, Discard, Play
from tests.rules.words import after, table
from tests.spec import given

UPWARD = ["7", "8", "9", "T", "J", "Q", "K", "A"]


@pytest.mark.parametrize(
    ("players", "dealer", "playing", "rest"), [(3, 1, (2, 0, 1), ()), (4, 1, (2, 3, 0), (1,)), (5, 1, (2, 3, 0), (1, 4))]
)
def test_1_2_who_plays_and_who_rests(players, dealer, playing, rest):
    """Three play every deal; of four the dealer rests, of five also the player two to his right (1.2, 3.2.10)."""
    assert active(players, dealer) == playing
    assert resting(players, dealer) == rest


def test_1_3_1_the_deck_and_the_order_of_suits():
    """There are 32 cards, eight a suit; bids of one level rise spades, clubs, diamonds, hearts, no trump (1.3.1)."""
    assert len(CARDS) == len(set(CARDS)) == 32
    assert {suit: sum(card[1] == suit for card in CARDS) for suit in "SCDH"} == {"S": 8, "C": 8, "D": 8, "H": 8}
    assert [game for game in GAMES if game.startswith("8")] == ["8S", "8C", "8D", "8H", "8NT"]


@pytest.mark.parametrize("strain", ["S", "C", "D", "H", "NT"])
def test_1_3_2_the_order_of_a_suit(strain):
    """Within a suit A K Q J 10 9 8 7 beat each other in this order, in every strain alike (1.3.2, 1.3.4)."""
    for suit in "SCDH":
        for place, rank in enumerate(UPWARD):
            beaten_by = BEATING[strain][CARDS.index(rank + suit)] & SUIT_MASKS["SCDH".index(suit)]
            assert hand_text(beaten_by).split() == [higher + suit for higher in reversed(UPWARD[place + 1 :])]


def test_1_3_2_cards_carry_no_points():
    """A trick of sevens counts as much as one of aces: only the number of tricks is written (1.3.2)."""
    high = after(table(), "6S pass pass 7C/8C 6S whist whist AS 7S 7D")
    low = after(table(), "6S pass pass 7C/8C 6S whist whist 9S 7S 7D")
    assert high.tricks == low.tricks == (1, 0, 0)


@pytest.mark.parametrize("trump", ["S", "C", "D", "H"])
def test_1_3_3_any_trump_beats_any_plain_card(trump):
    """The seven of trumps takes a trick from a plain ace; trumps among each other keep the order of a suit (1.3.3)."""
    trumps = card_numbers(TRUMPS[trump])
    assert [CARDS[card] for card in trumps] == [rank + trump for rank in UPWARD]
    for plain in (card for card in range(32) if card not in trumps):
        assert BEATING[trump][plain] & TRUMPS[trump] == TRUMPS[trump]
    for card in trumps:
        assert card_numbers(BEATING[trump][card]) == tuple(higher for higher in trumps if higher > card)


def test_1_3_4_no_card_of_a_third_suit_takes_a_trick():
    """The order of cards never changes: a discarded suit's ace takes nothing, whatever was led (1.3.4, 2.1.4)."""
    for strain, trumps in TRUMPS.items():
        for card in range(32):
            takes = BEATING[strain][card]
            assert takes & ~(SUIT_MASKS[card >> 3] | trumps) == 0


@pytest.mark.parametrize("text", ["1S", "as", "ASX", "10S", "", "TX", "Т♠"])
def test_1_3_5_what_is_no_card(text):
    """A card is rank and suit, "TS" the ten of spades; anything else is malformed wherever a card is asked for (1.3.5)."""
    with pytest.raises(KeyError):
        mask_of(f"AS {text or '?'}")
    given(table(), "6S pass pass").when(0, Discard(("AS", text))).then_refused("malformed", "1.3.5")
    given(table(), "6S pass pass 7C/8C 6S whist whist").when(0, Play(text)).then_refused("malformed", "1.3.5")


def test_1_3_5_how_hands_are_written():
    """A hand is written suit by suit, each from the ace down, and read in any order (1.3.5)."""
    assert hand_text(mask_of("7H TS AC AS 9H")) == "AS TS AC 9H 7H"


def test_1_3_5_a_contract_is_level_and_strain():
    """A contract is a level from 6 to 10 and a strain; a step that is none is malformed (1.3.5, 3.3.7)."""
    assert len(PRICE) == 26
    given(table(), "6S pass pass 7C/8C").when(0, Declare("5S")).then_refused("malformed", "3.3.7")
    assert {move.contract for move in legal_moves(after(table(), "6S pass pass 7C/8C"), 0) if isinstance(move, Declare)} == set(GAMES)
