"""Snapshots of aggregates: a cache in the log's cluster, and nothing more. Whatever is missing, old or wrong there costs time only.

The port, the form, and the in-memory twin; the adapter is `jetstream.snapshots`.
"""

from __future__ import annotations

import hashlib
from typing import Final, Protocol

import msgspec

from shared.eventlog.command_keys import FILTER_BYTES, KEY_BYTES, Chunk, CommandKeys
from shared.events.address import Address

LARGEST: Final = 8 * 1024  # bytes of one part: what grows beyond it is folded from the log, as if there were no snapshots
CHECKSUM_BYTES: Final = 8  # against accidents: whoever can write into the log's cluster can write the log
STATE: Final = "state"  # the part that a snapshot begins with


class Snapshots(Protocol):
    """Where snapshots lie: a few named parts for each aggregate, each replaced in place. `tests/contracts` holds both adapters to it."""

    async def read(self, address: Address, part: str) -> bytes | None:
        """The part as it was kept last, or an older one; None where there is none, or nobody answers in time. Raises nothing."""
        ...

    async def keep(self, address: Address, part: str, data: bytes) -> None:
        """Put the part in place of the one before it, without waiting until it lies there. It may get lost. Raises nothing."""
        ...


class Snapshot(msgspec.Struct, frozen=True, array_like=True):
    """An aggregate's state after commit `revision`, which lies at `sequence`, hashes to `head_hash` and has the time `at`.

    `fold` is the version of the fold that made `state`, its packed bytes; another version reads none of it. `filter`, `recent` and `chunks`
    are those of all its command keys.
    """

    fold: str
    subject: str
    revision: int
    sequence: int
    head_hash: str
    at: int
    filter: bytes
    recent: bytes
    chunks: tuple[Chunk, ...]
    state: bytes

    @property
    def keys(self) -> CommandKeys:
        """The keys of all commits that are folded here."""
        count = len(self.recent) // KEY_BYTES
        return CommandKeys(self.recent, self.revision + 1 - count, self.filter, self.chunks, count)


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Snapshot).decode


def encode(snapshot: Snapshot) -> bytes:
    """The part that is kept: a checksum in front, since a flipped bit of a state need not show."""
    body = _encode(snapshot)
    return _checksum(body) + body


def decode(data: bytes) -> Snapshot | None:
    """The snapshot in `data`; None for bytes that `encode` has not made."""
    if data[:CHECKSUM_BYTES] != _checksum(data[CHECKSUM_BYTES:]):
        return None
    try:
        kept = _decode(data[CHECKSUM_BYTES:])
    except msgspec.DecodeError:
        return None
    whole = len(kept.filter) == FILTER_BYTES and len(kept.recent) % KEY_BYTES == 0 and len(kept.recent) <= kept.revision * KEY_BYTES
    return kept if whole else None


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()[:CHECKSUM_BYTES]


def keys_part(chunk: Chunk) -> str:
    """The name of the part that holds a chunk of keys."""
    return f"keys-{chunk.first}"


class MemorySnapshots:
    """The in-memory twin. `kept` may be changed at will: nobody believes what lies there."""

    def __init__(self) -> None:
        self.kept: dict[tuple[Address, str], bytes] = {}

    async def read(self, address: Address, part: str) -> bytes | None:
        """See `Snapshots.read`."""
        return self.kept.get((address, part))

    async def keep(self, address: Address, part: str, data: bytes) -> None:
        """See `Snapshots.keep`."""
        if len(data) <= LARGEST:
            self.kept[address, part] = data
