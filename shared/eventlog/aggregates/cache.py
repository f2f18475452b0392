"""What an instance holds of aggregates, in bytes: the one that was used longest ago makes room."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from fractions import Fraction
from typing import Any, Final, Generic, TypeVar

import msgspec

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

#: Of these there is one for all: small numbers, None, and what Python keeps of its own.
_FREE: Final = (type(None), bool, type)


def size_of(value: object, shared: tuple[type, ...] = ()) -> int:
    """Bytes that `value` and all that it holds take in memory; what is of a class in `shared` belongs to many and is not counted."""
    seen: set[int] = set()
    waiting: list[Any] = [value]
    total = 0
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, _FREE) or (shared and isinstance(one, shared)):
            continue
        seen.add(id(one))
        total += sys.getsizeof(one)
        waiting.extend(_held(one))
    return total


def _held(value: Any) -> Iterator[Any]:
    """What a value refers to."""
    if isinstance(value, msgspec.Struct):
        return (getattr(value, name) for name in value.__struct_fields__)
    if isinstance(value, dict):
        return (one for pair in value.items() for one in pair)
    if isinstance(value, list | tuple | set | frozenset):
        return iter(value)
    if isinstance(value, Fraction):
        return iter((value.numerator, value.denominator))
    return iter(())


class Cache(Generic[K, V]):
    """Values by key, of `capacity` bytes together at most; one is kept however large. `hits` and `misses` count what was asked for."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.bytes = 0
        self.hits = 0
        self.misses = 0
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: K) -> bool:
        return key in self._values

    def get(self, key: K) -> V | None:
        """The value, which is now the one used last; None and a miss where there is none."""
        found = self._values.get(key)
        if found is None:
            self.misses += 1
            return None
        self.hits += 1
        self._values.move_to_end(key)
        return found[0]

    def peek(self, key: K) -> V | None:
        """The value, or None; it counts as no use."""
        found = self._values.get(key)
        return None if found is None else found[0]

    def size(self, key: K) -> int:
        """The bytes that the value was put down for, 0 where there is none."""
        found = self._values.get(key)
        return 0 if found is None else found[1]

    def put(self, key: K, value: V, size: int) -> list[V]:
        """Keep a value of `size` bytes as the one used last; returns those that made room."""
        self.bytes += size - self.size(key)
        self._values[key] = (value, size)
        self._values.move_to_end(key)
        gone: list[V] = []
        while self.bytes > self.capacity and len(self._values) > 1:
            _, (oldest, freed) = self._values.popitem(last=False)
            self.bytes -= freed
            gone.append(oldest)
        return gone

    def pop(self, key: K) -> None:
        """Forget it."""
        _, freed = self._values.pop(key, (None, 0))
        self.bytes -= freed
