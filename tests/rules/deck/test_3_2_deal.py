"""The provable deal (3.2.3-3.2.10): what it promises to players who distrust the server."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.rules.deck import shuffle
from shared.rules.deck.cards import CARDS, mask_of

VECTORS = json.loads((Path(__file__).parents[2] / "corpus" / "shuffle_vectors.json").read_text())
SERVER_SEED = hashlib.sha256(b"server").hexdigest()
TABLE = "3-" + "a" * 26
RULES = "d" * 64
SEED_TEXTS = st.text("0123456789abcdef", min_size=1, max_size=64)
DEALS = {
    "server_seed": st.binary(min_size=32, max_size=32).map(bytes.hex),
    "seeds": st.lists(st.tuples(st.integers(0, 4), SEED_TEXTS), max_size=4).map(tuple),
    "cut_at": st.integers(4, 28),
    "players_dealer": st.sampled_from([(players, dealer) for players in (2, 3, 4, 5) for dealer in range(players)]),
}


def deal(server_seed=SERVER_SEED, table=TABLE, number=1, rules=RULES, seeds=(), cut_at=16, players=3, dealer=0):  # noqa: PLR0917  # a deal's inputs
    return shuffle.deal_cards(server_seed, table, number, rules, seeds, cut_at, players, dealer)


@pytest.mark.parametrize("vector", VECTORS["deals"], ids=lambda vector: vector["why"])
def test_published_vectors(vector):
    """Whoever implements algorithm 1 from its description gets these commitments, cards and salts; they never change."""
    asked = vector["given"]
    seeds = tuple((seat, seed) for seat, seed in asked["seeds"])
    fixed = asked["server_seed"], asked["table"], asked["deal"], asked["rules_digest"]
    hands, talon = shuffle.deal_cards(*fixed, seeds, asked["cut_at"], asked["players"], asked["dealer"])
    assert VECTORS["algorithm"] == shuffle.ALGORITHM
    assert vector["gives"] == {
        "commitment": shuffle.commitment(*fixed),
        "hands": list(hands),
        "talon": talon,
        "salts": {label: shuffle.salt(asked["server_seed"], label) for label in vector["gives"]["salts"]},
    }


@given(**DEALS)
def test_3_2_8_every_card_is_dealt_once(server_seed, seeds, cut_at, players_dealer):
    """Three hands of ten and two cards in the talon are the whole deck (3.2.8); who rests has none (3.2.10); of two one is a dummy's."""
    players, dealer = players_dealer
    hands, talon = deal(server_seed, seeds=seeds, cut_at=cut_at, players=players, dealer=dealer)
    assert mask_of(" ".join([*(hand for hand in hands if hand), talon])) == (1 << 32) - 1
    assert sorted(len(hand.split()) for hand in hands) == [0] * max(0, players - 3) + [10, 10, 10]
    assert len(talon.split()) == 2


@pytest.mark.parametrize(
    ("players", "dealer", "order"),
    [
        (2, 0, (1, 0, 2)),
        (2, 1, (0, 1, 2)),
        (3, 0, (1, 2, 0)),
        (3, 2, (0, 1, 2)),
        (4, 0, (1, 2, 3)),
        (4, 3, (0, 1, 2)),
        (5, 0, (1, 2, 4)),
        (5, 3, (4, 0, 2)),
    ],
)
def test_3_2_10_who_gets_cards(players, dealer, order):
    """Clockwise from the dealer's left; of four the dealer rests, of five also the player two to his right; of two a dummy is third."""
    assert shuffle.seats_dealt(players, dealer) == order


def test_3_2_8_two_at_a_time_and_the_talon_after_the_first_round():
    """The fourth pair is the talon, every other pair goes to the next player clockwise (3.2.8)."""
    hands, talon = shuffle._dealt(tuple(range(32)), 4, shuffle.seats_dealt(4, dealer=3))
    first = [place for pair in (0, 8, 14, 20, 26) for place in (pair, pair + 1)]
    assert mask_of(hands[0]) == sum(1 << place for place in first)
    assert talon == f"{CARDS[6]} {CARDS[7]}"
    assert hands[3] == ""


def test_3_2_5_the_cut_lifts_cards_from_the_top(monkeypatch):
    """After a cut of 5 the card that lay sixth is dealt first (3.2.5)."""
    monkeypatch.setattr(shuffle, "shuffled", lambda _key: tuple(range(32)))
    hands, _ = deal(cut_at=5, players=3, dealer=2)
    assert {CARDS[5], CARDS[6]} <= set(hands[0].split())
    assert {CARDS[3], CARDS[4]} <= set(hands[2].split())


CHANGED = {
    "server_seed": {"server_seed": hashlib.sha256(b"other").hexdigest()},
    "table": {"table": "4-" + "a" * 26},
    "number": {"number": 2},
    "rules": {"rules": "e" * 64},
    "a seed": {"seeds": ((0, "ab"),)},
    "another seat's seed": {"seeds": ((1, "ab"),)},
    "two seeds": {"seeds": ((0, "a"), (0, "b"))},
    "their order": {"seeds": ((0, "b"), (0, "a"))},
    "cut": {"cut_at": 17},
}


def test_everything_counts():
    """Server seed, table, deal, rules, each player's seed and the cut: to change any of them gives other cards."""
    deals = [deal(), *(deal(**changed) for changed in CHANGED.values())]
    assert len(set(deals)) == len(deals)


def test_the_cut_is_more_than_a_rotation():
    """Nobody can prepare a deck and know what each cut makes of it: the cut is part of the shuffle's key."""
    monotone = [deal(cut_at=at, dealer=2) for at in range(4, 29)]
    talons = {talon for _, talon in monotone}
    assert len(talons) > 20


def test_no_two_inputs_frame_alike():
    """Text moved from one input to the next, or bytes that look like a length, make another message."""
    assert shuffle.framed("1", "23") != shuffle.framed("12", "3")
    assert shuffle.framed("a") != shuffle.framed("a", "")
    assert shuffle.framed(shuffle.framed("a")) != shuffle.framed("a")
    fixed = SERVER_SEED, TABLE
    assert shuffle.commitment(*fixed, 1, "2" + RULES) != shuffle.commitment(*fixed, 12, RULES)


@pytest.mark.parametrize("cut_at", [-1, 0, 3, 29, 32])
def test_3_2_6_a_cut_leaves_four_cards_in_each_part(cut_at):
    """A cut outside 4..28 is no cut (3.2.6)."""
    with pytest.raises(ValueError, match="cut"):
        deal(cut_at=cut_at)


@pytest.mark.parametrize("seed", ["", "ab", "zz" * 32, "ab" * 31 + " a", "ab" * 33, " ".join(["ab"] * 32)])
def test_a_servers_seed_is_32_bytes(seed):
    """A seed that could be guessed, or be written in two ways, is refused."""
    with pytest.raises(ValueError, match=r"32 bytes|fromhex"):
        shuffle.commitment(seed, TABLE, 1, RULES)


def test_draws_are_even():
    """Each of n numbers is drawn equally often, for every n that the shuffle draws below (chi-square, 5 standard deviations)."""
    stream = shuffle._stream(b"even")
    for below in range(2, 33):
        counts = Counter(shuffle._drawn(stream, below) for _ in range(200 * below))
        assert set(counts) == set(range(below))
        chi_square = sum((count - 200) ** 2 / 200 for count in counts.values())
        assert chi_square < below - 1 + 5 * (2 * (below - 1)) ** 0.5 + 10


def test_every_card_is_equally_likely_at_every_place():
    """Over 8,000 keys all 1,024 pairs of card and place come up as often as chance allows (chi-square, 961 degrees of freedom)."""
    keys = 8000
    counts = Counter(
        (card, place) for number in range(keys) for place, card in enumerate(shuffle.shuffled(hashlib.sha256(b"key %d" % number).digest()))
    )
    expected = keys / 32
    chi_square = sum((counts[card, place] - expected) ** 2 / expected for card in range(32) for place in range(32))
    assert 961 - 5 * 43.8 < chi_square < 961 + 5 * 43.8


def test_neighbours_in_the_deck_are_independent():
    """No card likes to lie on another: over 8,000 keys the 992 ordered pairs of neighbours are as even as chance allows."""
    keys = 8000
    counts = Counter(pair for number in range(keys) for pair in pairwise(shuffle.shuffled(hashlib.sha256(b"pair %d" % number).digest())))
    expected = keys * 31 / 992
    chi_square = sum((counts[first, second] - expected) ** 2 / expected for first in range(32) for second in range(32) if first != second)
    assert 991 - 5 * 44.5 < chi_square < 991 + 5 * 44.5


def test_salts_tell_nothing_of_each_other():
    """Every label has a salt of its own, and so has every deal."""
    labels = ["server_seed", "talon", "discard", *(f"hand:{seat}" for seat in range(5)), *(f"seen:{seat}" for seat in range(5))]
    salts = {shuffle.salt(seed, label) for label in labels for seed in (SERVER_SEED, "ab" * 32)}
    assert len(salts) == 2 * len(labels)
    assert {len(salt) for salt in salts} == {32}
