"""Streams as their servers tell of them, beside what the settings want: in values and in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from shared.events.address import Partitions

CHANGEABLE: Final = ("num_replicas", "max_bytes")  # safety and room may be changed; whatever else differs is drift
COSTS_TIME_ONLY: Final = "persist_mode"  # of the snapshots, a cache: either way is as right
UNLIMITED: Final = -1  # of `max_bytes`


class _Peer(msgspec.Struct, frozen=True):
    name: str
    current: bool = False
    offline: bool = False


class _Cluster(msgspec.Struct, frozen=True):
    leader: str = ""
    replicas: tuple[_Peer, ...] = ()


class _State(msgspec.Struct, frozen=True):
    last_seq: int = 0
    bytes: int = 0


class Found(msgspec.Struct, frozen=True):
    """A stream as its leader tells of it."""

    config: dict[str, Any]
    state: _State = _State()
    cluster: _Cluster | None = None


class StreamState(msgspec.Struct, frozen=True):
    """A stream, by its name without the namespace: what is and what should be. `copies` 0: there is none; `room` None: no limit.

    `behind`: servers that should have a copy and do not have all of it now. `drift`: what no command changes.
    """

    name: str
    copies: int
    copies_wanted: int
    room: int | None
    room_wanted: int | None
    holds: int = 0  # bytes
    behind: tuple[str, ...] = ()
    drift: tuple[str, ...] = ()

    @property
    def less(self) -> tuple[str, ...]:
        """In words, what there is less of than there should be."""
        if not self.copies:
            return ("is missing",)
        copies = f"{self.copies} of {self.copies_wanted} copies" if self.copies < self.copies_wanted else ""
        room = f"{room_in_words(self.room)}, should be {room_in_words(self.room_wanted)}" if _more(self.room_wanted, self.room) else ""
        return tuple(filter(None, (copies, room)))

    @property
    def more(self) -> tuple[str, ...]:
        """In words, what there is more of than there should be."""
        if not self.copies:
            return ()
        copies = f"{self.copies} copies, {self.copies_wanted} are wanted" if self.copies > self.copies_wanted else ""
        room = f"{room_in_words(self.room)}, {room_in_words(self.room_wanted)} are wanted" if _more(self.room, self.room_wanted) else ""
        return tuple(filter(None, (copies, room)))


class Survey(msgspec.Struct, frozen=True):
    """All streams of a log. `there`: how many partitions it has; `begun`: how many have to be known to read all that it holds."""

    nodes: int
    there: int
    begun: int
    partitions: Partitions
    streams: tuple[StreamState, ...]

    @property
    def unread(self) -> str | None:
        """In words, what lies in the log that this instance does not read; None when it reads everything."""
        if self.begun <= self.partitions.known:
            return None
        return f"the log has commits in {self.begun} partitions, and this instance knows {self.partitions.known} (PULKA_PARTITIONS)"

    def health(self) -> dict[str, Any]:
        """For `/health`: what is and what should be. `degraded` where something is less than that."""
        problems = {stream.name: "; ".join((*stream.less, *stream.drift)) for stream in self.streams if stream.less or stream.drift}
        if self.unread is not None:
            problems["partitions"] = self.unread
        copies = [stream.copies for stream in self.streams]
        return {
            "status": "degraded" if problems else "ok",
            "partitions": {"there": self.there, "known": self.partitions.known, "used": self.partitions.used},
            "copies": {"least": min(copies), "wanted": max(stream.copies_wanted for stream in self.streams), "nodes": self.nodes},
            "behind": sorted({name for stream in self.streams for name in stream.behind}),
            "problems": problems,
        }


def compared(name: str, found: Found | None, wanted: Mapping[str, Any], *, at_least: bool) -> StreamState:
    """What was found of a stream beside the configuration that is wanted. `at_least`: more copies are as well."""
    copies, room = wanted["num_replicas"], _limit(wanted["max_bytes"])
    if found is None:
        return StreamState(name, 0, copies, None, room)
    there = found.config
    drift = tuple(
        f"{key} is {there.get(key)!r}, must be {value!r}"
        for key, value in wanted.items()
        if key not in (*CHANGEABLE, COSTS_TIME_ONLY) and there.get(key) != value
    )
    peers = found.cluster.replicas if found.cluster is not None else ()
    behind = tuple(peer.name for peer in peers if peer.offline or not peer.current)
    have: int = there.get("num_replicas", 1)
    copies = max(copies, have) if at_least else copies
    return StreamState(name, have, copies, _limit(there.get("max_bytes", UNLIMITED)), room, found.state.bytes, behind, drift)


def changed_in(stream: StreamState, *, lower: bool) -> tuple[dict[str, Any], str]:
    """What of a stream's configuration is changed, and in words."""
    changed: dict[str, Any] = {}
    said: list[str] = []
    if stream.copies < stream.copies_wanted or (lower and stream.copies > stream.copies_wanted):
        changed["num_replicas"] = stream.copies_wanted
        said.append(f"{copies_in_words(stream.copies)} -> {copies_in_words(stream.copies_wanted)}")
    if _more(stream.room_wanted, stream.room) or (lower and _more(stream.room, stream.room_wanted)):
        changed["max_bytes"] = UNLIMITED if stream.room_wanted is None else stream.room_wanted
        said.append(f"{room_in_words(stream.room)} -> {room_in_words(stream.room_wanted)}")
    return changed, ", ".join(said)


def _limit(max_bytes: int) -> int | None:
    return None if max_bytes <= 0 else max_bytes


def _more(one: int | None, other: int | None) -> bool:
    """Whether there is more room in `one`."""
    return other is not None and (one is None or one > other)


def room_in_words(room: int | None) -> str:
    """Such as "room of 1024 bytes"."""
    return "room without limit" if room is None else f"room of {room} bytes"


def copies_in_words(count: int) -> str:
    """Such as "3 copies"."""
    return f"{count} {'copy' if count == 1 else 'copies'}"
