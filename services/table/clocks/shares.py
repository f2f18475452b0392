"""Which instance looks after which streams: a fair share for each, and whoever stands still loses its own.

Nobody decides it. Every instance reads the same rows and computes the same shares: it gives back what is another's, and takes what is its
own as soon as that is free or its holder is dead. While two see different rows, a stream waits for half a second or is looked after twice,
which the tables' log decides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, Generic, TypeVar

from services.table.clocks.store import NOBODY, Instance, Lease

LEASE_S: Final = 2.0  # seconds that a row stands still before its holder counts as dead: with looks every quarter of a second, below 3 s

_Row = TypeVar("_Row", Lease, Instance)


def shares(instances: Mapping[str, Iterable[str]], held: Mapping[str, str]) -> dict[str, str]:
    """Who shall look after each stream, by stream. `instances`: which streams each can look after; `held`: who does. As few as possible
    change hands.
    """
    able: dict[str, list[str]] = {}
    for holder in sorted(instances):
        for stream in instances[holder]:
            able.setdefault(stream, []).append(holder)
    order = sorted(able, key=lambda stream: (len(able[stream]), stream))  # those with the least choice first
    fair: Counter[str] = Counter()
    has = Counter(held.values())
    for stream in order:
        fair[min(able[stream], key=lambda holder: (fair[holder], -has[holder], holder))] += 1  # what is left over stays where it is
    found: dict[str, str] = {}
    for stream in order:
        holder = held.get(stream, NOBODY)
        if holder in able[stream] and fair[holder] > 0:
            found[stream] = holder
            fair[holder] -= 1
    for stream in order:
        if stream not in found:
            found[stream] = min(able[stream], key=lambda holder: (-fair[holder], holder))
            fair[found[stream]] -= 1
    return {stream: found[stream] for stream in sorted(found)}


class Standstill(Generic[_Row]):
    """Which rows, as one instance reads them again and again, have not changed for a lease's time."""

    def __init__(self, steady: Callable[[], float]) -> None:
        self._steady = steady
        self._since: dict[str, tuple[_Row, float]] = {}
        self._read_at = float("-inf")

    def dead(self, rows: Mapping[str, _Row]) -> set[str]:
        """The names of those among `rows`, by name, that have stood still; told anew with each reading.

        After a time without readings nobody is dead: the rows may have been away for all, or this instance stood still itself.
        """
        now = self._steady()
        if now - self._read_at > LEASE_S:
            self._since.clear()
        self._read_at = now
        for name, row in rows.items():
            if name not in self._since or self._since[name][0] != row:
                self._since[name] = (row, now)
        self._since = {name: known for name, known in self._since.items() if name in rows}
        return {name for name, (_, since) in self._since.items() if now - since >= LEASE_S}


class Standing:
    """What one instance makes of the rows: which leases to take, and which to give back. `holder` is its name, `streams` what it can."""

    def __init__(self, holder: str, streams: Sequence[str], steady: Callable[[], float]) -> None:
        self._holder = holder
        self._streams = streams
        self._leases: Standstill[Lease] = Standstill(steady)
        self._instances: Standstill[Instance] = Standstill(steady)

    def decide(
        self, leases: Iterable[Lease], instances: Iterable[Instance], held: Collection[str]
    ) -> tuple[list[Lease], list[str], set[str]]:
        """Leases to take, as they were seen; streams to give back of those that are `held`; instances that are dead."""
        by_stream = {lease.stream: lease for lease in leases}
        by_holder = {instance.holder: instance for instance in instances}
        still = self._leases.dead(by_stream)
        dead = self._instances.dead(by_holder) - {self._holder}
        live = {holder: instance.streams for holder, instance in by_holder.items() if holder not in dead} | {self._holder: self._streams}
        due = shares(live, {stream: lease.holder for stream, lease in by_stream.items() if lease.holder in live})
        take, give = [], []
        for stream in self._streams:
            lease = by_stream.get(stream, Lease(stream, NOBODY, 0))
            if due[stream] != self._holder:
                give += [stream] if stream in held else []
            elif stream not in held and (lease.holder in {NOBODY, self._holder} or stream in still):  # its own when an answer was lost
                take.append(lease)
        return take, give, dead
