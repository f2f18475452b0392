"""Which commands an aggregate has decided, so that a repeat gets the first answer: every key, in the room of the latest ones.

The latest keys are at hand, and a few of them in the snapshot itself. Older ones lie in chunks beside it, and of them only a filter is at
hand: it says surely not, or perhaps, and then the chunks are read. A chunk that is missing, or is another one, is made anew from the log.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Final

import msgspec

KEY_BYTES: Final = 16  # of a command's key: 2^-64 for a collision among all commands a club will ever see
CHUNK_KEYS: Final = 512  # of a whole chunk: 8 KB, what a snapshot may take; a pulka of 100 deals has eight
BESIDE: Final = 32  # keys in the snapshot itself, 512 bytes of it: what is pushed out after each command makes a chunk every 33rd time
FILTER_BYTES: Final = 4096  # half of a snapshot: after 4,000 commits one new command in 45 asks the chunks in vain, after 2,000 one in 450
DIGEST_BYTES: Final = 8  # of a chunk: it need not withstand malice, whoever writes to the log's cluster can write the log
_PLACES: Final = struct.Struct(">4H8x").unpack  # in the filter, of a key: its first four pairs of bytes
_MASK: Final = FILTER_BYTES - 1  # a power of two less one: what a pair of bytes has too much is cut off
_CHUNK_BYTES: Final = CHUNK_KEYS * KEY_BYTES


class Chunk(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The keys of `count` commits from revision `first` on, as a snapshot knows them: by their digest."""

    first: int
    count: int
    digest: bytes


def digest_of(keys: bytes) -> bytes:
    """What a chunk of these keys is known by."""
    return hashlib.sha256(keys).digest()[:DIGEST_BYTES]


class CommandKeys(msgspec.Struct, frozen=True, gc=False):
    """`recent`: the keys of all commits from revision `first` on, in their order; what came before is in `chunks`.

    The `filter` knows all of those before, and the first `filtered` of the recent ones.
    """

    recent: bytes = b""
    first: int = 1
    filter: bytes = b""
    chunks: tuple[Chunk, ...] = ()
    filtered: int = 0

    def added(self, key: bytes) -> CommandKeys:
        """With the key of the next commit."""
        return CommandKeys(self.recent + key, self.first, self.filter, self.chunks, self.filtered)

    def recent_revision(self, key: bytes) -> int:
        """The revision that the command with this key made, if that is a recent one, else 0."""
        place = place_of(self.recent, key)
        return place + self.first if place >= 0 else 0

    def perhaps_older(self, key: bytes) -> bool:
        """Whether the command with this key may have made an older revision."""
        return bool(self.chunks) and _knows(self.filter, key)

    def all_filtered(self) -> CommandKeys:
        """With all keys in the filter."""
        bits = bytearray(self.filter or bytes(FILTER_BYTES))
        for start in range(self.filtered * KEY_BYTES, len(self.recent), KEY_BYTES):
            _note(bits, self.recent[start : start + KEY_BYTES])
        return CommandKeys(self.recent, self.first, bytes(bits), self.chunks, len(self.recent) // KEY_BYTES)

    def shelved(self) -> tuple[CommandKeys, tuple[tuple[Chunk, bytes], ...]]:
        """As whoever reads the snapshot has them: a few recent ones, or all in chunks; and the chunks that the recent ones make."""
        if len(self.recent) <= BESIDE * KEY_BYTES:
            return self.all_filtered(), ()
        parts = _in_chunks(self.first, self.recent)
        return _without(self.all_filtered(), len(self.recent), parts), parts

    def to_lengthen(self) -> Chunk | None:
        """The chunk that the recent keys would make longer, once they go into chunks; None where they begin one of their own."""
        last = self.chunks[-1] if self.chunks else None
        return last if last is not None and last.count < CHUNK_KEYS and len(self.recent) > BESIDE * KEY_BYTES else None

    def taken_back(self, keys: bytes) -> CommandKeys:
        """With the `keys` of the last chunk among the recent ones."""
        count = len(keys) // KEY_BYTES
        return CommandKeys(keys + self.recent, self.first - count, self.filter, self.chunks[:-1], self.filtered + count)

    def settled(self) -> CommandKeys:
        """After a snapshot: the keys of whole chunks leave memory; fewer stay, and the next snapshot writes their chunk again, longer."""
        whole = len(self.recent) - len(self.recent) % _CHUNK_BYTES
        known = self.all_filtered()
        return _without(known, whole, _in_chunks(self.first, self.recent[:whole])) if whole else known


def _without(keys: CommandKeys, length: int, parts: tuple[tuple[Chunk, bytes], ...]) -> CommandKeys:
    """With the first `length` bytes of the recent keys, all of them in the filter, in these chunks."""
    gone = length // KEY_BYTES
    chunks = (*keys.chunks, *(chunk for chunk, _ in parts))
    return CommandKeys(keys.recent[length:], keys.first + gone, keys.filter, chunks, keys.filtered - gone)


def _in_chunks(first: int, keys: bytes) -> tuple[tuple[Chunk, bytes], ...]:
    pieces = [keys[start : start + _CHUNK_BYTES] for start in range(0, len(keys), _CHUNK_BYTES)]
    numbered = enumerate(pieces)
    return tuple((Chunk(first + CHUNK_KEYS * place, len(piece) // KEY_BYTES, digest_of(piece)), piece) for place, piece in numbered)


def place_of(keys: bytes, key: bytes) -> int:
    """Which of `keys` this key is, counted from 0; -1 for none."""
    place = keys.find(key)
    while place >= 0 and place % KEY_BYTES:  # by chance, across two neighbours
        place = keys.find(key, place + 1)
    return place // KEY_BYTES if place >= 0 else -1


def _note(bits: bytearray, key: bytes) -> None:
    """Four bits of the filter are the key's: it is a hash itself, so its own bytes say which."""
    one, two, three, four = _PLACES(key)
    bits[one >> 3 & _MASK] |= 1 << (one & 7)
    bits[two >> 3 & _MASK] |= 1 << (two & 7)
    bits[three >> 3 & _MASK] |= 1 << (three & 7)
    bits[four >> 3 & _MASK] |= 1 << (four & 7)


def _knows(bits: bytes, key: bytes) -> bool:
    """Whether all four are there."""
    return all(bits[place >> 3 & _MASK] >> (place & 7) & 1 for place in _PLACES(key))
