"""What becomes of parked commits, recorded where it outlives the database: the log."""

from __future__ import annotations

from typing import Protocol

from shared.projections.parking.parking import Parked
from shared.projections.parking.skipping import Skip


class Chronicle(Protocol):
    """A service's record of its parking. Every method may be called again with the same values and then changes nothing.

    All raise `LogError` when the log cannot be asked now.
    """

    async def skips(self) -> list[Skip]:
        """Everything that was ever left out, as the log's leader knows it."""
        ...

    async def parked(self, first: Parked) -> None:
        """A commit could not be applied and waits with all that follows it."""
        ...

    async def retried(self, order: str, aggregate: str, commits: int, author: str) -> None:
        """By order `order`, what waited has been applied."""
        ...

    async def skipped(self, first: Parked, author: str, why: str) -> None:
        """A parked commit is to be left out for good; once this has returned it is."""
        ...


class Untold:
    """The chronicle of a projection that keeps none: nothing is left out, and nobody hears."""

    async def skips(self) -> list[Skip]:
        """None."""
        return []

    async def parked(self, first: Parked) -> None:
        """Nothing to do."""

    async def retried(self, order: str, aggregate: str, commits: int, author: str) -> None:
        """Nothing to do."""

    async def skipped(self, first: Parked, author: str, why: str) -> None:
        """Raises `NotImplementedError`: what no log remembers would come back with the next rebuild."""
        raise NotImplementedError("this projection keeps no chronicle")


class OnlyRead:
    """A chronicle whose word counts and to which nothing is added: for a version that nobody reads yet."""

    def __init__(self, chronicle: Chronicle) -> None:
        self.skips = chronicle.skips

    async def parked(self, first: Parked) -> None:
        """Nothing to do."""

    async def retried(self, order: str, aggregate: str, commits: int, author: str) -> None:
        """Nothing to do."""

    async def skipped(self, first: Parked, author: str, why: str) -> None:
        """Raises `NotImplementedError`: the version that is read decides."""
        raise NotImplementedError("only the version that is read leaves commits out")
