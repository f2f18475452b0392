"""Moves as documents: the type of each, its fields, and what is refused before the rules are asked (deploy/docs/moves.md)."""

from __future__ import annotations

import msgspec
import pytest

from shared.rules.language.moves import AnyMove, Bid, Concede, Cut, Declare, Discard, Lay, Look, Play, Seed, Whist, WithoutThree

MOVES = [
    ({"type": "seed", "seed": "c0FFEE"}, Seed("c0FFEE")),
    ({"type": "cut", "at": 16}, Cut(16)),
    ({"type": "bid", "bid": "10NT"}, Bid("10NT")),
    ({"type": "bid", "bid": "misere", "dark": True}, Bid("misere", dark=True)),
    ({"type": "bid", "bid": "misere", "no_talon": True}, Bid("misere", no_talon=True)),
    ({"type": "look", "hand": 2}, Look(2)),
    ({"type": "look"}, Look()),
    ({"type": "discard", "cards": ["TS", "7H"]}, Discard(("TS", "7H"))),
    ({"type": "without_three"}, WithoutThree()),
    ({"type": "contract", "contract": "6S"}, Declare("6S")),
    ({"type": "whist", "call": "half"}, Whist("half")),
    ({"type": "lay", "open": False}, Lay(open=False)),
    ({"type": "play", "card": "AH"}, Play("AH")),
    ({"type": "play", "card": "AH", "hand": 4}, Play("AH", 4)),
    ({"type": "concede"}, Concede()),
]


@pytest.mark.parametrize(("document", "move"), MOVES, ids=lambda one: str(one)[:40])
def test_a_move_is_read_and_written(document, move):
    """Each move is read from its document and written to it again, with what is at its default left out."""
    assert msgspec.convert(document, AnyMove) == move
    assert msgspec.to_builtins(move) == document | ({"cards": ("TS", "7H")} if "cards" in document else {})


@pytest.mark.parametrize(
    "document",
    [
        {"type": "cut", "at": 3},
        {"type": "cut", "at": 29},
        {"type": "seed", "seed": ""},
        {"type": "seed", "seed": "g"},
        {"type": "seed", "seed": "a" * 65},
        {"type": "seed", "seed": "a\n"},
        {"type": "bid", "bid": "5S"},
        {"type": "bid", "bid": "6s"},
        {"type": "bid", "bid": "11S"},
        {"type": "bid", "bid": "6S\n"},
        {"type": "bid", "bid": "whist"},
        {"type": "contract", "contract": "pass"},
        {"type": "contract", "contract": "6S "},
        {"type": "whist", "call": "here"},
        {"type": "lay", "open": 1},
        {"type": "play", "card": "10S"},
        {"type": "play", "card": "AS\n"},
        {"type": "play", "card": "AS", "hand": 5},
        {"type": "play", "card": "AS", "hand": -1},
        {"type": "look", "hand": 5},
        {"type": "discard", "cards": ["1S"]},
        {"type": "concede", "why": "tired"},
        {"type": "shuffle"},
    ],
    ids=str,
)
def test_what_is_no_move(document):
    """What no rule would have to look at is refused by the reading: steps, cards, seats, cuts, seeds that do not exist (1.3.5, 3.2.6)."""
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(document, AnyMove)


@pytest.mark.parametrize("at", [4, 28])
def test_3_2_6_the_deepest_cuts(at):
    """Four cards at least lie in each part: 4 and 28 may still be cut (3.2.6)."""
    assert msgspec.convert({"type": "cut", "at": at}, AnyMove) == Cut(at)


def test_3_2_3_the_longest_seed():
    """A player's seed may hold 32 bytes (3.2.3)."""
    assert msgspec.convert({"type": "seed", "seed": "f" * 64}, AnyMove) == Seed("f" * 64)
