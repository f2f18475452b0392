"""Merkle trees as in RFC 6962, 2.1: one hash over many entries, and short proofs that an entry is among them.

A leaf is SHA-256(0x00 ‖ entry), a node SHA-256(0x01 ‖ left ‖ right); a node without a right neighbour moves up as it is. So no entry can
pass for a node, and the tree of n entries is the only one that n entries make.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Final

_LEAF, _NODE = b"\x00", b"\x01"
NOTHING: Final = hashlib.sha256(b"").digest()  # the root over no entry


def leaf(entry: bytes) -> bytes:
    """The hash of one entry."""
    return hashlib.sha256(_LEAF + entry).digest()


def node(left: bytes, right: bytes) -> bytes:
    """The hash of two that stand side by side."""
    return hashlib.sha256(_NODE + left + right).digest()


class Growing:
    """A root over entries that come one after another; it keeps a hash a level, not the entries."""

    def __init__(self) -> None:
        self._full: list[tuple[int, bytes]] = []  # (entries below, hash) of the complete trees so far, the largest first
        self.count = 0

    def add(self, entry: bytes) -> None:
        """One entry more."""
        self.add_leaf(leaf(entry))

    def add_leaf(self, top: bytes) -> None:
        """One more, of which the hash is known."""
        below = 1
        while self._full and self._full[-1][0] == below:
            top = node(self._full.pop()[1], top)
            below *= 2
        self._full.append((below, top))
        self.count += 1

    @property
    def root(self) -> bytes:
        """The root over what was added so far."""
        if not self._full:
            return NOTHING
        top = self._full[-1][1]
        for _, left in reversed(self._full[:-1]):
            top = node(left, top)
        return top


def root(entries: Iterable[bytes]) -> bytes:
    """The root over `entries` in their order."""
    growing = Growing()
    for entry in entries:
        growing.add(entry)
    return growing.root


def root_above(leaves: Iterable[bytes]) -> bytes:
    """The root over entries of which the hashes are known, in their order."""
    growing = Growing()
    for one in leaves:
        growing.add_leaf(one)
    return growing.root


class Tree:
    """A tree with all its nodes, 64 bytes an entry, for many paths."""

    def __init__(self, entries: Iterable[bytes]) -> None:
        level = [leaf(entry) for entry in entries]
        self._levels = [level]
        while len(level) > 1:
            pairs = [node(level[at], level[at + 1]) for at in range(0, len(level) - 1, 2)]
            level = pairs + level[len(level) - len(level) % 2 :]  # the odd one moves up
            self._levels.append(level)

    @property
    def count(self) -> int:
        """How many entries there are."""
        return len(self._levels[0])

    @property
    def root(self) -> bytes:
        """The root over them."""
        return self._levels[-1][0] if self.count else NOTHING

    def path(self, place: int) -> tuple[bytes, ...]:
        """What proves that the entry at `place` (from 0) is one of them: the hashes beside the way up, the lowest first.

        Raises `IndexError` for a place that is none.
        """
        if not 0 <= place < self.count:
            raise IndexError(place)
        steps = ((level, (place >> height) ^ 1) for height, level in enumerate(self._levels))
        return tuple(level[neighbour] for level, neighbour in steps if neighbour < len(level))


def path(entries: Sequence[bytes], place: int) -> tuple[bytes, ...]:
    """The path of one of `entries`; as `Tree.path`."""
    return Tree(entries).path(place)


def root_of(entry: bytes, place: int, count: int, beside: Sequence[bytes]) -> bytes | None:
    """The root that `beside` proves for `entry` at `place` among `count`; None where no such tree has such a path."""
    if not 0 <= place < count:
        return None
    top, last, left = leaf(entry), count - 1, list(beside)
    while last:
        if place < last or place % 2:
            if not left:
                return None
            neighbour = left.pop(0)
            top = node(neighbour, top) if place % 2 else node(top, neighbour)
        place //= 2
        last //= 2
    return None if left else top
