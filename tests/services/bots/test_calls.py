"""What the built-in player bids, discards, orders and answers, one hand at a time."""

import random

import pytest

from services.bots import hand_value
from services.bots.discarding import discard, order
from services.bots.player import choose
from services.bots.prospects import best_contract, value
from shared.rules.convention.options import PRESETS
from shared.rules.deck.cards import DECK, card_numbers, hand_text, mask_of
from tests.services.bots.offline import seen_by, with_cards

SOCHI = PRESETS["sochi"]


def spread(hand, players=3):
    """The deal in which first hand holds `hand` and the rest lies as it comes."""
    rest = list(card_numbers(DECK & ~mask_of(hand)))
    random.Random(4).shuffle(rest)
    masks = [sum(1 << card for card in rest[10 * place : 10 * place + 10]) for place in range(2)]
    talon = sum(1 << card for card in rest[20:])
    hands = (hand, *map(hand_text, masks)) if players == 3 else ("", hand, *map(hand_text, masks))
    return with_cards(SOCHI, hands, hand_text(talon), dealer=players - 1 if players == 3 else 0)


def call(hand, **changed):
    """The first call of `hand`."""
    return choose(seen_by(spread(hand), 0) | changed, random.Random(1))["bid"]


def test_a_strong_hand_bids_and_a_flat_one_passes():
    """Six long trumps and two aces are a bid, cards from all over are not."""
    assert call("AS KS QS JS 9S 8S AH KD 8D 7C") == "6S"
    assert call("JS 9S 8S QC TC 8C KD TD JH 9H") == "pass"


def test_a_hand_without_a_hole_goes_for_misere():
    """Sevens, eights and cards with small ones under them take nothing (3.6)."""
    assert call("7S 8S 9S 7C 9C JC 7D 8D 7H 9H") == "misere"


def test_a_safe_misere_is_bid_only_as_the_first_call():
    """Once he has called something else a misere is not offered, and he passes or bids a game (3.3.9)."""
    legal = [{"type": "bid", "bid": bid} for bid in ("pass", "7S", "7C")]
    assert call("7S 8S 9S 7C 9C JC 7D 8D 7H 9H", legal=legal) == "pass"


def test_here_holds_the_bid_that_he_would_make():
    """The senior holds the last bid rather than raise it when both are open to him (3.3.8)."""
    legal = [{"type": "bid", "bid": bid} for bid in ("pass", "here", "7S", "7C")]
    auction = [{"seat": 0, "bid": "6S"}, {"seat": 1, "bid": "6NT"}]
    assert call("AS KS QS JS 9S 8S AH KH AD 7C", legal=legal, auction=auction) == "here"


def test_a_series_of_all_pass_makes_bold():
    """The dearer the tricks of all-pass, the less passing is worth, so that no series goes on for ever (3.7.4)."""
    hand = "KC QC 7C JD 8D AH TH 9H 7H AS"
    assert call(hand, all_pass_in_row=0) == "pass"
    assert call(hand, all_pass_in_row=3) == "6S"


def test_he_discards_the_losers_and_keeps_what_he_bid():
    """Two lone small cards go, and no contract below the bid is ordered (3.4.3)."""
    twelve = "AS KS QS JS 9S 8S AH KH AD KD 8C 7C"
    assert set(discard({"hand": twelve, "bid": "6H"})["cards"]) == {"8C", "7C"}
    legal = [{"type": "contract", "contract": contract} for contract in ("9H", "9NT", "10S", "10H")]
    ordered = order({"hand": "AS KS QS JS 9S 8S AH KH AD KD", "legal": legal})
    assert ordered == {"type": "contract", "contract": "10S"}


def test_a_misere_is_relieved_of_its_holes():
    """The two cards that could be caught go (3.6.6)."""
    twelve = "7S 8S 9S 7C 9C JC 7D 8D 7H 9H AC AH"
    assert set(discard({"hand": twelve, "bid": "misere"})["cards"]) == {"AC", "AH"}


def test_contracts_follow_the_expected_tricks():
    """More expected tricks never lower the contract, and a game is worth playing only near its level."""
    ordered = [best_contract((tricks,) * 5, "6S")[0] for tricks in (5.0, 6.0, 7.5, 8.6, 9.6)]
    levels = [int(contract.rstrip("SCDHNT")) for contract in ordered]
    assert levels == sorted(levels)
    assert levels[0] == 6
    assert levels[-1] >= 9
    assert value(6.5, 6) > 0 > value(4.5, 6)


def whisting(hand, contract, calls, words, **changed):
    """His word on somebody's contract; he is seat 1, the declarer seat 0."""
    seen: dict = {
        "phase": "whist",
        "seat": 1,
        "declarer": 0,
        "hand": hand,
        "contract": contract,
        "calls": calls,
        "hands": [None, hand, None],
    }
    offered = [{"type": "whist", "call": word} for word in words]
    return choose(seen | {"legal": offered} | changed, random.Random(1))


STRONG, WEAK = "AS KS QH AC KC QC 9D 8D 7D 7H", "9S 8S 7S TC 9C 8C 9D 8D 7H 8H"


def test_he_whists_with_tricks_and_passes_without():
    """Who holds the defenders' share whists, who holds nothing passes (3.8.1)."""
    assert whisting(STRONG, "6D", [None] * 3, ["whist", "pass"])["call"] == "whist"
    assert whisting(WEAK, "6D", [None] * 3, ["whist", "pass"])["call"] == "pass"


def test_half_is_taken_when_it_is_offered_to_a_weak_hand():
    """After the first passed, half the obligation for nothing is better than a pass (3.8.7)."""
    assert whisting(WEAK, "6D", [None, None, "pass"], ["whist", "pass", "half"])["call"] == "half"


def test_the_resting_dealer_looks_before_he_whists():
    """He sees one defender's hand first, and whists only when it is strong (3.8.8)."""
    words = [{"type": "whist", "call": "pass"}, {"type": "whist", "call": "whist"}]
    table = {"seat": 3, "players": 4}
    looks = [{"type": "look", "hand": 1}, {"type": "look", "hand": 2}]
    assert whisting("", "8S", [None, "pass", "pass", None], [], **table, legal=[*words, *looks], hands=[None] * 4) == looks[0]
    strong, weak = [None, "AS KS AC KC AH KH QH 9D 8D 7D", None, None], [None, WEAK, None, None]
    assert whisting("", "8S", [None, "pass", "pass", None], [], **table, legal=words, hands=strong)["call"] == "whist"
    assert whisting("", "8S", [None, "pass", "pass", None], [], **table, legal=words, hands=weak)["call"] == "pass"


def test_the_only_whister_lays_the_hands_open():
    """Two hands in one head take more tricks than two heads (3.8.5)."""
    legal = [{"type": "lay", "open": False}, {"type": "lay", "open": True}]
    seen = {"phase": "lay", "seat": 1, "declarer": 0, "hand": STRONG, "contract": "6D", "legal": legal}
    assert choose(seen, random.Random(1)) == legal[1]


@pytest.mark.parametrize(
    ("held", "least", "most"),
    [("A", 0.99, 1.0), ("AK", 1.9, 2.0), ("AQ", 1.3, 1.7), ("K7", 0.4, 0.6), ("K", 0.1, 0.4), ("KQJT9", 3.9, 4.1), ("987", 0, 0.6)],
)
def test_suits_are_worth_what_players_say(held, least, most):
    """An ace is a trick, ace and queen one and a half, a guarded king half of one."""
    tricks = hand_value.suit_tricks(mask_of(" ".join(rank + "S" for rank in held)))
    assert least <= tricks.honours + tricks.length <= most


@pytest.mark.parametrize(
    ("held", "least", "most"), [("7", 0, 0), ("789", 0, 0), ("79J", 0, 0), ("8", 0.01, 0.1), ("9", 0.3, 0.7), ("A", 1, 1), ("7A", 0.9, 1)]
)
def test_a_suit_is_safe_when_small_cards_lie_under_the_high_ones(held, least, most):
    """Seven, nine and knave cannot be caught; a lone ace always is."""
    assert least <= hand_value.misere_risk(mask_of(" ".join(rank + "S" for rank in held))) <= most
