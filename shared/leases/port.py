"""Where leases are written down, behind a port: who looks after which share of the work, and which instances there are.

Adapters: `postgres`, `memory`; whatever else is one holds the same contract tests. The store knows no time: whether a holder is dead is
decided by whoever watches its row stand still, by a clock that nobody sets.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, Protocol

import msgspec

NOBODY: Final = ""  # holder of a lease that was given back


class ShareLease(msgspec.Struct, frozen=True):
    """Who looks after the share called `name`. `epoch` rises with each holder, `renewals` with each sign of life."""

    name: str
    holder: str
    epoch: int
    renewals: int = 0


class Instance(msgspec.Struct, frozen=True):
    """One process that takes shares, and the `names` of those that it can look after."""

    holder: str
    names: tuple[str, ...]
    renewals: int = 0


class LeaseStore(Protocol):
    """What every adapter promises. Each method is one step for itself: whole or not at all."""

    async def standing(self) -> tuple[list[ShareLease], list[Instance]]:
        """Every lease and every instance that is written down."""
        ...

    async def renew(self, holder: str, names: Collection[str], held: Mapping[str, int]) -> frozenset[str]:
        """A sign of life of `holder`, who can look after `names` and holds some by their epochs. Returns which it still holds."""
        ...

    async def take(self, holder: str, seen: ShareLease) -> ShareLease | None:
        """Take over a lease that is as it was `seen` (epoch 0: not there yet), under the next epoch; `None` when it is not."""
        ...

    async def release(self, held: Mapping[str, int]) -> None:
        """Give leases back, by name and epoch; those of another epoch stay."""
        ...

    async def leave(self, holder: str) -> None:
        """Strike an instance out that has ended."""
        ...
