"""A signed checkpoint: whatever is changed in it, its leaves, its row of predecessors or a proof is noticed, and named."""

from __future__ import annotations

import hashlib
import json

import msgspec
import pytest

from shared.events import checkpoint_document as document
from shared.events.checkpoint_document import FIRST, Leaf, Proof, Signed
from shared.events.keys import SigningKey
from shared.events.merkle import Tree

KEY, FORMER = SigningKey("s1", b"k" * 32), SigningKey("s0", b"f" * 32)
OURS = frozenset({KEY.public, FORMER.public})


def hashes(table, count):
    return [hashlib.sha256(f"{table} {revision}".encode()).hexdigest() for revision in range(1, count + 1)]


TABLES = {f"{one % 8}-{'abcdefghijklmnopqrstuvwxyz'[one] * 26}": hashes(one, 1 + one % 5) for one in range(11)}
LEAVES = document.in_order(document.leaf_of(table, made) for table, made in TABLES.items())
ONE = document.sign(KEY, 1, 1000, LEAVES, None)


def codes(problems):
    return [(problem.revision, problem.code) for problem in problems]


def forged(checkpoint, signer=None, **changes):
    """The checkpoint with another header, signed anew if there is a signer."""
    text = msgspec.json.encode({**json.loads(checkpoint.signed), **changes}).decode()
    return Signed(text, checkpoint.signature if signer is None else signer.sign(text.encode()))


def test_it_says_what_was_signed():
    """Counts, root, and the key; the first names 64 zeros before it, the next its hash; the same leaves sign to the same bytes."""
    header = ONE.header
    assert (header.number, header.at, header.tables, header.commits) == (1, 1000, 11, sum(map(len, TABLES.values())))
    assert (header.previous, header.key) == (FIRST, KEY.public)
    assert document.sign(KEY, 1, 1000, LEAVES, None) == ONE
    assert document.sign(KEY, 2, 2000, LEAVES, ONE).header.previous == hashlib.sha256(ONE.signed.encode()).hexdigest()
    assert document.key_id(KEY.public) == hashlib.sha256(bytes.fromhex(KEY.public)).hexdigest()[:16]
    assert document.wrong_with(ONE, OURS) == document.wrong_with(ONE, frozenset()) == []


@pytest.mark.parametrize("field", ["number", "at", "tables", "commits"])
def test_a_changed_number_breaks_the_signature(field):
    """Nothing in the header can be changed under the old signature, nor by somebody with a key of his own."""
    other = getattr(ONE.header, field) + 1
    assert codes(document.wrong_with(forged(ONE, **{field: other}), OURS)) == [(0, "checkpoint_signature")]
    stranger = SigningKey("s9", b"x" * 32)
    assert codes(document.wrong_with(forged(ONE, stranger, **{field: other}), OURS)) == [(0, "checkpoint_signature")]
    assert codes(document.wrong_with(forged(ONE, stranger, key=stranger.public), OURS)) == [(0, "checkpoint_key")]


def test_every_changed_byte_is_noticed():
    """Any byte of text or signature."""
    for part in ("signed", "signature"):
        text = getattr(ONE, part)
        for place in range(len(text)):
            other = text[:place] + ("1" if text[place] != "1" else "2") + text[place + 1 :]
            assert document.wrong_with(msgspec.structs.replace(ONE, **{part: other}), OURS), (part, place)


def test_what_is_no_checkpoint_is_said_to_be_unreadable():
    """Text that is no header, a field too many, and a format of another day."""
    for text in ("", "[]", ONE.signed[:-1] + ',"more":1}'):
        assert codes(document.wrong_with(Signed(text, KEY.sign(text.encode())), OURS)) == [(0, "checkpoint_unreadable")]
    assert codes(document.wrong_with(forged(ONE, KEY, format=2), OURS)) == [(0, "checkpoint_unreadable")]
    assert codes(document.wrong_with(forged(ONE, key="no hex"), frozenset())) == [(0, "checkpoint_signature")]


def test_the_leaves_must_be_those_that_were_signed():
    """A kept file is read back as it was written; one leaf changed, left out, added, twice or out of order: the root is another."""
    kept = document.read_kept(document.kept_text(ONE, LEAVES))
    assert (kept.checkpoint, list(kept.leaves)) == (ONE, LEAVES)
    assert document.wrong_with_kept(kept, OURS) == []
    first, second, *rest = LEAVES
    changed = msgspec.structs.replace(first, head="0" * 64)
    for leaves in (
        [changed, second, *rest],
        [second, *rest],
        [*LEAVES, Leaf("9", 1, FIRST, FIRST)],
        [first, *LEAVES],
        [second, first, *rest],
    ):
        wrong = msgspec.structs.replace(kept, leaves=tuple(leaves))
        assert codes(document.wrong_with_kept(wrong, OURS)) == [(0, "checkpoint_root")]
    unsigned = document.read_kept(document.kept_text(forged(ONE, tables=12), LEAVES))
    assert codes(document.wrong_with_kept(unsigned, OURS)) == [(0, "checkpoint_signature")]


def test_checkpoints_hang_together():
    """Each names the one before by its hash, also across a new key: one left out, replaced, moved or dated back is named by its number."""
    two = document.sign(FORMER, 2, 2000, LEAVES, ONE)
    three = document.sign(KEY, 3, 3000, LEAVES, two)
    row = [ONE, two, three]
    assert document.wrong_in_row(row, OURS) == []
    assert codes(document.wrong_in_row([ONE, three], OURS)) == [(2, "checkpoint_number")]
    assert codes(document.wrong_in_row([two, three], OURS))[0] == (1, "checkpoint_number")
    replaced = document.sign(KEY, 2, 2001, LEAVES[1:], ONE)
    assert codes(document.wrong_in_row([ONE, replaced, three], OURS)) == [(3, "checkpoint_previous")]
    early = document.sign(KEY, 4, 2999, LEAVES, three)
    assert codes(document.wrong_in_row([*row, early], OURS)) == [(4, "checkpoint_time")]
    assert codes(document.wrong_in_row([ONE, forged(two, at=2500), three], OURS)) == [
        (2, "checkpoint_signature"),
        (3, "checkpoint_previous"),
    ]


def proof(table, revision):
    place = [leaf.table for leaf in LEAVES].index(table)
    made = TABLES[table]
    return Proof(
        revision,
        made[revision - 1],
        document.path_in(Tree(map(bytes.fromhex, made)), revision - 1),
        LEAVES[place],
        document.path_in(document.tree_of(LEAVES), place),
        ONE,
    )


def test_every_move_can_be_proved_and_none_that_was_not_made():
    """A proof holds for its commit, revision, table and checkpoint, and for no other."""
    other = document.sign(KEY, 1, 1000, LEAVES[1:], None)
    for table, made in TABLES.items():
        for revision, commit in enumerate(made, 1):
            right = proof(table, revision)
            assert document.is_proved(right, OURS)
            assert document.is_proved(msgspec.json.decode(msgspec.json.encode(right), type=Proof), frozenset({KEY.public}))
            leaf = right.leaf
            for wrong in (
                {"commit": hashlib.sha256(b"forged").hexdigest()},
                {"commit": "no hex"},
                {"revision": revision + 1},
                {"leaf": msgspec.structs.replace(leaf, table="0-" + "a" * 26 + "b")},
                {"leaf": msgspec.structs.replace(leaf, revision=leaf.revision + 1)},
                {"leaf": msgspec.structs.replace(leaf, head="0" * 64)},
                {"checkpoint": other},
                {"checkpoint": forged(ONE, at=1)},
                {"in_table": msgspec.structs.replace(right.in_table, beside=("zz",))},
                {"in_checkpoint": msgspec.structs.replace(right.in_checkpoint, beside=right.in_checkpoint.beside[1:])},
            ):
                assert not document.is_proved(msgspec.structs.replace(right, **wrong), OURS), wrong
            assert commit == right.commit
    assert not document.is_proved(proof(*next((table, 1) for table in TABLES)), frozenset({FORMER.public}))
