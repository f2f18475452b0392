"""Where an aggregate lives in the log: one subject each, in a partition that is part of its id and never changes."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Final

import msgspec

FEWEST: Final = 8  # partitions that every log has; more are added by doubling, for new aggregates only
MOST: Final = 64  # a partition costs two streams, and three connections to Postgres in each instance
SIZES: Final = (8, 16, 32, 64)  # doublings alone, so that an id made of given bytes can lie in four places at most
LETTERS: Final = 26  # of an id: 130 bits, of which 128 are random
ENTROPY_BYTES: Final = 17  # of an id: one for the partition, 128 bits so that no id is guessed or made twice
_ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz234567"
_LETTERS: Final = frozenset(_ALPHABET)
_PARTITIONS: Final = frozenset(map(str, range(MOST)))  # in one spelling only: "03" would be another subject


class Address(msgspec.Struct, frozen=True):
    """`service` owns it, `kind` is what it is, `id` is `<partition>-<26 letters>`."""

    service: str
    kind: str
    id: str

    @property
    def partition(self) -> int:
        """The partition, read from the id."""
        return int(self.id.partition("-")[0])

    @property
    def subject(self) -> str:
        """The subject below the prefix: `table.<p>.<id>`, `lobby.<p>.<kind>.<id>`, `ledger.<kind>.<id>`."""
        return _subject(self.service, self.kind, self.id)

    @property
    def stream(self) -> str:
        """The stream that holds it: `TABLE_3`, `LOBBY_0`, `LEDGER`."""
        return "LEDGER" if self.service == "ledger" else f"{self.service.upper()}_{self.partition}"


@lru_cache(maxsize=4096)  # the aggregates in play: every commit names its own four times
def _subject(service: str, kind: str, own_id: str) -> str:
    partition = own_id.partition("-")[0]
    match service:
        case "table":
            return f"table.{partition}.{own_id}"
        case "ledger":
            return f"ledger.{kind}.{own_id}"
        case _:
            return f"{service}.{partition}.{kind}.{own_id}"


class Partitions(msgspec.Struct, frozen=True):
    """How far the partitions of tables and of lobby aggregates go for one instance: it reads and serves the first `known`, and makes new
    ids in the first `used` of them. All instances know more before one uses more. Raises `ValueError`.
    """

    known: int = FEWEST
    used: int = FEWEST

    def __post_init__(self) -> None:
        if self.known not in SIZES or self.used not in SIZES or self.used > self.known:
            raise ValueError(f"{self.used} partitions used of {self.known}: {', '.join(map(str, SIZES))}, and none used that is not known")

    @property
    def table_streams(self) -> tuple[str, ...]:
        """The streams of tables, by partition."""
        return _streams("TABLE", self.known)

    @property
    def lobby_streams(self) -> tuple[str, ...]:
        """The streams of players and of the lobby's tables, by partition."""
        return _streams("LOBBY", self.known)

    def know(self, address: Address) -> bool:
        """Whether the address lies in a stream that this instance reads."""
        return address.service == "ledger" or address.id.partition("-")[0] in _names(self.known)

    def new_id(self, entropy: bytes) -> str:
        """An id in the partitions that are used. See the function of that name."""
        return new_id(entropy, self.used)

    def last_id(self, entropy: bytes) -> str:
        """The id that these bytes make where all are used that are known."""
        return new_id(entropy, self.known)

    def former_ids(self, entropy: bytes) -> tuple[str, ...]:
        """The other ids that these bytes make where another number of partitions is used: what such an instance has made of them."""
        own = self.new_id(entropy)
        ids = dict.fromkeys(new_id(entropy, size) for size in SIZES if size <= self.known)
        return tuple(one for one in ids if one != own)


@lru_cache
def _names(count: int) -> frozenset[str]:
    return frozenset(map(str, range(count)))


@lru_cache
def _streams(kind: str, count: int) -> tuple[str, ...]:
    return tuple(f"{kind}_{partition}" for partition in range(count))


def size_for(partitions: int) -> int:
    """The least of `SIZES` that has so many partitions. Raises `ValueError` above `MOST`."""
    for size in SIZES:
        if partitions <= size:
            return size
    raise ValueError(f"{partitions} partitions: {MOST} at most")


def new_id(entropy: bytes, partitions: int = FEWEST) -> str:
    """An id from at least 17 random bytes: the first picks one of so many partitions, the rest make 26 letters (128 bits).

    Raises `ValueError`.
    """
    if len(entropy) < ENTROPY_BYTES:
        raise ValueError(f"an id needs {ENTROPY_BYTES} bytes of entropy")
    number = int.from_bytes(hashlib.sha256(entropy[1:]).digest()[:17], "big")
    letters = "".join(_ALPHABET[(number >> (5 * place)) & 31] for place in range(LETTERS))
    return f"{entropy[0] % partitions}-{letters}"


def is_id(text: str) -> bool:
    """Whether `text` has the shape of an id, in whichever partition; a cheap gate before a lookup."""
    partition, _, letters = text.partition("-")
    return partition in _PARTITIONS and len(letters) == LETTERS and _LETTERS.issuperset(letters)


def table(table_id: str) -> Address:
    """The address of a table."""
    return Address("table", "table", table_id)


def from_subject(subject: str) -> Address:
    """The address behind a subject without its prefix; the inverse of `Address.subject`."""
    service, *rest = subject.split(".")
    match service, rest:
        case "table", [_, table_id]:
            return Address("table", "table", table_id)
        case "ledger", [kind, ledger_id]:
            return Address("ledger", kind, ledger_id)
        case _, [_, kind, other_id]:
            return Address(service, kind, other_id)
    raise ValueError(subject)
