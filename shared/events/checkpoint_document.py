"""The signed checkpoint: one short text that fixes every commit of every table up to a moment, and proofs that lead to it.

A table's tree (`merkle`) is over the hashes of its commits, 32 bytes each, in order. Its leaf in the checkpoint's tree is the text
`{"table", "revision", "head", "tree"}`, the leaves sorted by table id. So one move is proved by the path in its table's tree and the path
in the checkpoint's, without handing out anything else. What is signed is the header's text to the byte; it names the hash of the one
before, so that no checkpoint can be left out or replaced unnoticed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from shared.events import merkle
from shared.events.chain import Finding
from shared.events.keys import SigningKey, verify_signature

FORMAT: Final = 1
FIRST: Final = "0" * 64  # what the first checkpoint names as the one before
KEY_ID_LETTERS: Final = 16  # of the hash of a public key: enough to tell a club's keys apart at a glance

_encode: Final = msgspec.json.Encoder(order="deterministic").encode


class Leaf(msgspec.Struct, frozen=True, array_like=True):
    """A table in a checkpoint: its commits 1 to `revision`, `head` the hash of the last (hex), `tree` the root over all of them (hex)."""

    table: str
    revision: int
    head: str
    tree: str

    @property
    def entry(self) -> bytes:
        """What is hashed as its leaf in the checkpoint's tree."""
        return _encode(_Entry(self.table, self.revision, self.head, self.tree))


class _Entry(msgspec.Struct, frozen=True):
    """A leaf as it is hashed: an object with its fields in this order."""

    table: str
    revision: int
    head: str
    tree: str


class Header(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a checkpoint says. `number` counts from 1, `at` is milliseconds since 1970, `tables` and `commits` are counts, `root` (hex) is
    that of the leaves' tree, `previous` the SHA-256 (hex) of the signed text before, `key` the signing key's public half (hex).
    """

    format: int
    number: int
    at: int
    tables: int
    commits: int
    root: str
    previous: str
    key: str


class Signed(msgspec.Struct, frozen=True):
    """A checkpoint as it is handed out: the header's text to the byte, and the signature (hex) over it."""

    signed: str
    signature: str

    @property
    def header(self) -> Header:
        """What the text says. Raises `msgspec.ValidationError`, `msgspec.DecodeError` for what is no header."""
        return _header(self.signed)

    @property
    def digest(self) -> str:
        """By which the next checkpoint names this one, hex."""
        return hashlib.sha256(self.signed.encode()).hexdigest()


class KeptCheckpoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file that an operator keeps away from the club's machines: the checkpoint and every table's leaf, so that damage is named."""

    signed: str
    signature: str
    leaves: tuple[Leaf, ...]

    @property
    def checkpoint(self) -> Signed:
        """Without the leaves."""
        return Signed(self.signed, self.signature)


class Path(msgspec.Struct, frozen=True):
    """A way up a tree: from the entry at `place` (from 0) among `count`, by the hashes `beside` it (hex, the lowest first)."""

    place: int
    count: int
    beside: tuple[str, ...]

    def leads_to(self, entry: bytes) -> str | None:
        """The root (hex) to which it leads from `entry`; None where no tree has such a path."""
        try:
            beside = [bytes.fromhex(one) for one in self.beside]
        except ValueError:
            return None
        found = merkle.root_of(entry, self.place, self.count, beside)
        return None if found is None else found.hex()


class Proof(msgspec.Struct, frozen=True):
    """That the commit with hash `commit` is revision `revision` of the leaf's table, and that table in the signed checkpoint."""

    revision: int
    commit: str
    in_table: Path
    leaf: Leaf
    in_checkpoint: Path
    checkpoint: Signed


_header = msgspec.json.Decoder(Header).decode
_kept = msgspec.json.Decoder(KeptCheckpoint).decode


def leaf_of(table: str, hashes: Sequence[str]) -> Leaf:
    """The leaf of a table with commits of these hashes (hex), at least one."""
    return Leaf(table, len(hashes), hashes[-1], merkle.root(map(bytes.fromhex, hashes)).hex())


def in_order(leaves: Iterable[Leaf]) -> list[Leaf]:
    """As they stand in the tree: by table id, compared as bytes."""
    return sorted(leaves, key=lambda one: one.table.encode())


def root_over(leaves: Iterable[Leaf]) -> str:
    """The checkpoint's root (hex) over leaves in order."""
    return merkle.root(one.entry for one in leaves).hex()


def path_in(tree: merkle.Tree, place: int) -> Path:
    """The way up from the entry at `place`. Raises `IndexError`."""
    return Path(place, tree.count, tuple(one.hex() for one in tree.path(place)))


def tree_of(leaves: Iterable[Leaf]) -> merkle.Tree:
    """The checkpoint's tree over leaves in order."""
    return merkle.Tree(one.entry for one in leaves)


def sign(key: SigningKey, number: int, at: int, leaves: Sequence[Leaf], before: Signed | None) -> Signed:
    """Checkpoint `number` over leaves in order; `before` is the one that was signed last."""
    header = Header(
        format=FORMAT,
        number=number,
        at=at,
        tables=len(leaves),
        commits=sum(one.revision for one in leaves),
        root=root_over(leaves),
        previous=FIRST if before is None else before.digest,
        key=key.public,
    )
    text = _encode(header)
    return Signed(text.decode(), key.sign(text))


def key_id(public: str) -> str:
    """The short name of a public key (hex). Raises `ValueError` for what is no hex."""
    return hashlib.sha256(bytes.fromhex(public)).hexdigest()[:KEY_ID_LETTERS]


def kept_text(checkpoint: Signed, leaves: Sequence[Leaf]) -> bytes:
    """The file of a checkpoint."""
    return _encode(KeptCheckpoint(checkpoint.signed, checkpoint.signature, tuple(leaves)))


def read_kept(data: bytes) -> KeptCheckpoint:
    """The checkpoint in a file. Raises `msgspec.ValidationError`, `msgspec.DecodeError`."""
    return _kept(data)


def wrong_with(checkpoint: Signed, keys: frozenset[str]) -> list[Finding]:
    """What is forged about a checkpoint; `keys` are the public keys (hex) that are trusted, none: the one that it names itself.

    Codes: `checkpoint_unreadable`, `checkpoint_key` (signed by another), `checkpoint_signature` (changed since, or never signed).
    """
    try:
        header = checkpoint.header
    except msgspec.DecodeError:  # ValidationError is one
        return [Finding(0, "checkpoint_unreadable", "What is signed is no checkpoint's header.")]
    if header.format != FORMAT:
        return [Finding(0, "checkpoint_unreadable", f"This program does not know format {header.format} of checkpoints.")]
    if keys and header.key not in keys:
        return [Finding(0, "checkpoint_key", f"Checkpoint {header.number} is signed by a key that is not the club's.")]
    if not verify_signature(header.key, checkpoint.signed.encode(), checkpoint.signature):
        return [Finding(0, "checkpoint_signature", f"The signature is not that of checkpoint {header.number} by its key.")]
    return []


def wrong_with_kept(kept: KeptCheckpoint, keys: frozenset[str]) -> list[Finding]:
    """As `wrong_with`, and whether the leaves are those that were signed. Code: `checkpoint_root`."""
    if found := wrong_with(kept.checkpoint, keys):
        return found
    header, leaves = kept.checkpoint.header, kept.leaves
    told = (len(leaves), sum(one.revision for one in leaves), root_over(leaves))
    if told != (header.tables, header.commits, header.root) or list(leaves) != in_order({one.table: one for one in leaves}.values()):
        return [Finding(0, "checkpoint_root", f"The leaves are not those over which checkpoint {header.number} was signed.")]
    return []


def wrong_in_row(checkpoints: Sequence[Signed], keys: frozenset[str]) -> list[Finding]:
    """What is wrong with all checkpoints from the first on, one after another; `revision` in a problem is the checkpoint's number.

    Codes: those of `wrong_with`, `checkpoint_number` (one is missing, or stands out of its place), `checkpoint_previous` (it names another
    one before), `checkpoint_time` (earlier than the one before).
    """
    problems: list[Finding] = []
    before: Header | None = None
    digest = FIRST
    for number, one in enumerate(checkpoints, 1):
        found = wrong_with(one, keys)
        problems += [msgspec.structs.replace(problem, revision=number) for problem in found]
        if found:
            before, digest = None, one.digest
            continue
        header = one.header
        if header.number != number:
            problems.append(Finding(number, "checkpoint_number", f"In the place of checkpoint {number} stands {header.number}."))
        elif header.previous != digest:
            problems.append(Finding(number, "checkpoint_previous", f"Checkpoint {number} names another one before it."))
        elif before is not None and header.at < before.at:
            problems.append(Finding(number, "checkpoint_time", f"Checkpoint {number} is earlier than the one before."))
        before, digest = header, one.digest
    return problems


def is_proved(proof: Proof, keys: frozenset[str]) -> bool:
    """Whether the proof holds: the signature of one of `keys` (none: whichever it names), and both paths up to what it says."""
    if wrong_with(proof.checkpoint, keys):
        return False
    header, leaf = proof.checkpoint.header, proof.leaf
    try:
        commit = bytes.fromhex(proof.commit)
    except ValueError:
        return False
    return (
        proof.in_table.place == proof.revision - 1
        and proof.in_table.count == leaf.revision
        and proof.in_table.leads_to(commit) == leaf.tree
        and proof.in_checkpoint.count == header.tables
        and proof.in_checkpoint.leads_to(leaf.entry) == header.root
    )
