"""Where an aggregate lives in the log: one subject each, in a partition that is part of its id and never changes."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Final

import msgspec

PARTITIONS: Final = 8  # of tables and of lobby aggregates; new ones may be added for new aggregates only
TABLE_STREAMS: Final = tuple(f"TABLE_{partition}" for partition in range(PARTITIONS))
LOBBY_STREAMS: Final = tuple(f"LOBBY_{partition}" for partition in range(PARTITIONS))
LETTERS: Final = 26  # of an id: 130 bits, of which 128 are random
ENTROPY_BYTES: Final = 17  # of an id: one for the partition, 128 bits so that no id is guessed or made twice
_ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz234567"
_LETTERS: Final = frozenset(_ALPHABET)
_PARTITIONS: Final = frozenset(map(str, range(PARTITIONS)))  # in one spelling only: "03" would be another subject


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


def new_id(entropy: bytes) -> str:
    """An id from at least 17 random bytes: the first picks the partition, the rest make 26 letters (128 bits). Raises `ValueError`."""
    if len(entropy) < ENTROPY_BYTES:
        raise ValueError(f"an id needs {ENTROPY_BYTES} bytes of entropy")
    number = int.from_bytes(hashlib.sha256(entropy[1:]).digest()[:17], "big")
    letters = "".join(_ALPHABET[(number >> (5 * place)) & 31] for place in range(LETTERS))
    return f"{entropy[0] % PARTITIONS}-{letters}"


def is_id(text: str) -> bool:
    """Whether `text` has the shape of an id; a cheap gate before a lookup."""
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
