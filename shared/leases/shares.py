"""Which instance looks after which shares of the work: a fair part for each, and whoever stands still loses its own.

Nobody decides it. Every instance reads the same rows and computes the same shares: it gives back what is another's, and takes what is its
own as soon as that is free or its holder is dead. While two see different rows, a share waits for half a second or is looked after twice:
whatever is done under a lease has to bear that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, Generic, TypeVar

from shared.leases.port import NOBODY, Instance, ShareLease

LEASE_S: Final = 2.0  # seconds that a row stands still before its holder counts as dead: with looks every quarter of a second, below 3 s

_Row = TypeVar("_Row", ShareLease, Instance)


def shares(instances: Mapping[str, Iterable[str]], held: Mapping[str, str]) -> dict[str, str]:
    """Who shall look after each share, by name. `instances`: which each can look after; `held`: who does. As few as possible
    change hands.
    """
    able: dict[str, list[str]] = {}
    for holder in sorted(instances):
        for name in instances[holder]:
            able.setdefault(name, []).append(holder)
    order = sorted(able, key=lambda name: (len(able[name]), name))  # those with the least choice first
    fair: Counter[str] = Counter()
    has = Counter(held.values())
    for name in order:
        fair[min(able[name], key=lambda holder: (fair[holder], -has[holder], holder))] += 1  # what is left over stays where it is
    found: dict[str, str] = {}
    for name in order:
        holder = held.get(name, NOBODY)
        if holder in able[name] and fair[holder] > 0:
            found[name] = holder
            fair[holder] -= 1
    for name in order:
        if name not in found:
            found[name] = min(able[name], key=lambda holder: (-fair[holder], holder))
            fair[found[name]] -= 1
    return {name: found[name] for name in sorted(found)}


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


class Sharing:
    """What one instance makes of the rows: which leases to take, and which to give back. `holder` is its name, `names` what it can."""

    def __init__(self, holder: str, names: Sequence[str], steady: Callable[[], float]) -> None:
        self._holder = holder
        self._names = names
        self._leases: Standstill[ShareLease] = Standstill(steady)
        self._instances: Standstill[Instance] = Standstill(steady)

    def decide(
        self, leases: Iterable[ShareLease], instances: Iterable[Instance], held: Collection[str], able: Sequence[str] | None = None
    ) -> tuple[list[ShareLease], list[str], set[str]]:
        """Leases to take, as they were seen; names of shares to give back of those that are `held`; instances that are dead. `able`: what
        this one can look after now, if not all its names.
        """
        by_name = {lease.name: lease for lease in leases}
        by_holder = {instance.holder: instance for instance in instances}
        still = self._leases.dead(by_name)
        dead = self._instances.dead(by_holder) - {self._holder}
        live = {holder: instance.names for holder, instance in by_holder.items() if holder not in dead} | {
            self._holder: self._names if able is None else able
        }
        due = shares(live, {name: lease.holder for name, lease in by_name.items() if lease.holder in live})
        take, give = [], []
        for name in self._names:
            lease = by_name.get(name, ShareLease(name, NOBODY, 0))
            if due.get(name) != self._holder:
                give += [name] if name in held else []
            elif name not in held and (lease.holder in {NOBODY, self._holder} or name in still):  # its own when an answer was lost
                take.append(lease)
        return take, give, dead
