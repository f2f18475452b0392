"""`python -m tests.audit.vectors` writes `deploy/verify/vectors.json` from the real code: what another program can be tried on."""

from __future__ import annotations

import json
import sys
from typing import Any

import msgspec

from shared.events import checkpoint_document as document
from shared.events.commit import hash_of
from shared.rules.deck import chain, shuffle
from shared.rules.pulka import links, seat_draw
from tests.audit import stranger

FILE = stranger.PROGRAM.with_name("vectors.json")
TABLE = "3-abcdefghijklmnopqrstuvwxyz"
DIGEST = hash_of(b"the rules that the table agreed on")
DEALS = [  # server seed, deal, players' seeds, cut, players, dealer
    ("00" * 32, 1, [], 16, 3, 0),
    ("ff" * 32, 2, [(0, "c0ffee")], 4, 3, 2),
    (hash_of(b"a"), 3, [(2, "00"), (0, "0"), (2, "f" * 64)], 28, 3, 1),
    (hash_of(b"b"), 117, [(3, "abcdef")], 11, 4, 3),
    (hash_of(b"c"), 4, [], 23, 4, 0),
    (hash_of(b"d"), 5, [(4, "1"), (1, "2")], 19, 5, 2),
    (hash_of(b"e"), 6, [(1, "99")], 7, 2, 1),
    (hash_of(b"f"), 7, [], 16, 2, 0),
]
DRAWS = [("11" * 32, [(0, 1), (1, 2), (2, 3)]), (hash_of(b"g"), [(0, 32), (1, 7), (2, 19), (3, 1)])]
ROUNDS = [  # the server's beginning, the players' (by seat), deal, players' seeds, cut, players, dealer
    (hash_of(b"h"), {0: hash_of(b"i"), 1: hash_of(b"j"), 2: hash_of(b"k")}, 1, [], 16, 3, 0),
    (hash_of(b"l"), {1: hash_of(b"m")}, 2, [(1, "c0ffee")], 4, 3, 2),
    (hash_of(b"n"), {}, 3, [], 28, 4, 1),
    (hash_of(b"o"), {0: hash_of(b"p"), 1: hash_of(b"q")}, 4, [], 11, 2, 1),
    (hash_of(b"r"), {0: hash_of(b"s"), 2: hash_of(b"t"), 4: hash_of(b"u")}, 5, [(3, "0"), (0, "ff")], 23, 5, 3),
]
LENGTH = 8  # links of each chain there, the first for round 0
COMMITS = {"0-" + "a" * 26: 1, "1-" + "b" * 26: 2, "1-" + "c" * 26: 7, "7-" + "d" * 26: 12, "7-" + "e" * 26: 5}


def made() -> dict[str, Any]:
    """All vectors."""
    return {
        "deals": list(map(_deal, DEALS)),
        "draws": list(map(_draw, DRAWS)),
        "rounds": list(map(_round, ROUNDS)),
        "checkpoint": _checkpoint(),
    }


def _deal(given: tuple[Any, ...]) -> dict[str, Any]:
    seed, number, seeds, cut_at, players, dealer = given
    hands, talon = shuffle.deal_cards(seed, TABLE, number, DIGEST, tuple(seeds), cut_at, players, dealer)
    labels = [*(shuffle.hand_label(seat) for seat in range(len(hands))), shuffle.TALON, shuffle.DISCARD, shuffle.SERVER_SEED]
    return {
        "given": {
            "server_seed": seed, "table": TABLE, "number": number, "rules_digest": DIGEST, "seeds": seeds, "cut_at": cut_at,
            "players": players, "dealer": dealer,
        },
        "gives": {
            "commitment": shuffle.commitment(seed, TABLE, number, DIGEST), "hands": hands, "talon": talon,
            "salts": {label: shuffle.salt(seed, label) for label in labels},
        },
    }  # fmt: skip


def _draw(given: tuple[str, list[tuple[int, int]]]) -> dict[str, Any]:
    seed, drawn = given
    cards = seat_draw.cards_of(seed, TABLE, DIGEST, tuple(drawn))
    return {
        "given": {"server_seed": seed, "table": TABLE, "rules_digest": DIGEST, "drawn": drawn},
        "gives": {
            "commitment": shuffle.commitment(seed, TABLE, 0, DIGEST),
            "cards": cards,
            "lowest_first": seat_draw.lowest_first(cards),
        },
    }


def _round(given: tuple[Any, ...]) -> dict[str, Any]:
    """A deal by algorithm 2, and the draws of a round in which the same links are opened."""
    server, beginnings, number, seeds, cut_at, players, dealer = given
    steps = LENGTH - 1 - number
    seed = chain.link_at(TABLE, server, steps)
    opened = tuple((seat, chain.link_at(TABLE, beginning, steps)) for seat, beginning in beginnings.items())
    hands, talon = shuffle.deal_cards(seed, TABLE, number, DIGEST, tuple(seeds), cut_at, players, dealer, opened)
    drawn = tuple((seat, 3 * seat + 1) for seat in range(players))
    return {
        "given": {
            "server_seed": seed, "links": opened, "table": TABLE, "number": number, "rules_digest": DIGEST, "seeds": seeds,
            "cut_at": cut_at, "players": players, "dealer": dealer, "drawn": drawn,
        },
        "gives": {
            "server_end": chain.link_at(TABLE, server, LENGTH),
            "ends": {seat: chain.link_at(TABLE, one, LENGTH) for seat, one in beginnings.items()},
            "commitment": chain.link_after(TABLE, seed), "hands": hands, "talon": talon,
            "first_dealer": links.first_dealer(seed, TABLE, DIGEST, players, opened),
            "cards": seat_draw.cards_of(seed, TABLE, DIGEST, drawn, opened),
        },
    }  # fmt: skip


def _checkpoint() -> dict[str, Any]:
    """Tables, each with the hashes of its commits; what is signed over them, and the proof of one commit."""
    hashes = {table: [hash_of(f"{table} {revision}".encode()) for revision in range(1, count + 1)] for table, count in COMMITS.items()}
    leaves = document.in_order(document.leaf_of(table, known) for table, known in hashes.items())
    signed = document.sign(stranger.KEY, 1, 1_800_000_000_000, leaves, None)
    place = 3
    leaf = leaves[place]
    in_table = document.path_in(document.merkle.Tree(map(bytes.fromhex, hashes[leaf.table])), 8)
    proof = document.Proof(9, hashes[leaf.table][8], in_table, leaf, document.path_in(document.tree_of(leaves), place), signed)
    return {"hashes": hashes, "leaves": leaves, "checkpoint": signed, "proof": proof}


def main() -> None:
    """Write them."""
    FILE.write_text(json.dumps(msgspec.to_builtins(made()), indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(f"{FILE}\n")


if __name__ == "__main__":
    main()
