"""What the clocks keep beside the log, behind a port: which tables run, who looks after which stream, when each stream answered last.

Adapters: `postgres`, `memory`; both hold the same contract tests. The store knows no time of its own, but for `time`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final, Protocol

import msgspec

from shared.events import address
from shared.leases.port import LeaseStore

AT_A_TIME: Final = 2_000  # rows that are read or written at a time: some 30 ms, and the heartbeat waits that long


class Running(msgspec.Struct, frozen=True):
    """A table in play: the least that a turn of it can last (milliseconds), where it was folded last, and when the turn ended there."""

    table_id: str
    shortest: int
    revision: int = 0
    ends_at: int = 0

    @property
    def stream(self) -> str:
        """The stream that holds the table."""
        return address.table(self.table_id).stream


class Beat(msgspec.Struct, frozen=True):
    """When, in milliseconds since 1970, some instance (`holder`) last had an answer of a stream."""

    at: int
    holder: str


class Silence(msgspec.Struct, frozen=True):
    """That a stream's beat goes from `was` to `at`, both milliseconds since 1970; `until`: nobody could move from `was` to then."""

    stream: str
    was: int
    at: int
    until: int = 0


class Outage(msgspec.Struct, frozen=True):
    """A time, in milliseconds since 1970, in which nobody could move at the tables of `streams`; `None`: at any table."""

    began: int
    ended: int
    streams: tuple[str, ...] | None = None


class ClockStore(LeaseStore, Protocol):
    """What both adapters promise, beside the leases on streams. Each method is one step for itself: whole or not at all. Raises
    what `PASSING` names when it is away.
    """

    async def open(self) -> None:
        """Connect; also after a failure."""
        ...

    async def close(self) -> None:
        """Give the connection up, whatever state it is in."""
        ...

    async def time(self) -> int:
        """The store's own clock, milliseconds since 1970."""
        ...

    # ---- when somebody could move --------------------------------------------------------------------------------------

    async def beats(self) -> dict[str, Beat]:
        """The last beat of every stream that ever had one."""
        ...

    async def beat(self, holder: str, silences: Sequence[Silence]) -> frozenset[str]:
        """Move beats, each only from where it `was` (0: there is none), and write the outages down with them. Returns which moved."""
        ...

    async def strike(self, now: int) -> None:
        """Strike out the outages that end after `now`: a clock that was ahead has made them up."""
        ...

    async def outages(self) -> list[Outage]:
        """The latest, the one that ended last first."""
        ...

    # ---- which tables run ----------------------------------------------------------------------------------------------

    async def tables(self, streams: Collection[str], *, fresh: bool = False) -> list[Running]:
        """The running tables of `streams`; `fresh`: only those that no holder has noted yet, and at most `AT_A_TIME`."""
        ...

    async def note(self, held: Mapping[str, int], found: Sequence[Running], over: Collection[str]) -> None:
        """Write down what was `found` at tables, for whoever takes over, and strike out those that are over. Rows of streams that are not
        `held`, by stream and epoch, stay as they are.
        """
        ...
