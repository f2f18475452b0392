"""One table as many watch it at once: its log is followed once, folded once, and each frame made once for all who may see the same.

Who may see the same: whoever looks from the same seat, or as the arbiter, or as a spectator, with the same delay. A viewer of whom that
changes goes on alone, and joins the others anew.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import aclosing
from typing import TypeAlias

import msgspec
import structlog

from services.table.table import Table
from services.table.table_frames import ENDED, Frames, released
from services.table.viewers import Viewer, eye_at, viewer_of
from shared.eventlog.port import Stored
from shared.events import address
from shared.web.auth import Caller
from shared.web.problems import Problem
from shared.web.streams.broadcast import Broadcast

log = structlog.get_logger("web")

Waiting: TypeAlias = "Iterable[tuple[Stored, int]]"  # commits that are not shown yet, each with the number of its deal


class Place(msgspec.Struct, frozen=True):
    """Where a viewer is: the table as far as it is folded, the sequence of its last commit, the last revision that they were shown, and
    what they wait for.
    """

    table: Table
    sequence: int
    shown: int
    waiting: Waiting = ()


def as_seen(table: Table, caller: Caller | None) -> Viewer | None:
    """As whom, and how late, `caller` looks at `table`; None: not at all."""
    try:
        return Viewer(eye_at(table, caller), viewer_of(table, caller).delay_deals)
    except Problem:
        return None


class Audience:
    """All who see one table alike from here on."""

    def __init__(self, frames: Frames, viewer: Viewer, place: Place, emptied: Callable[[Audience], None]) -> None:
        self.viewer = viewer
        self._frames = frames
        self._table_id = place.table.pulka.table_id
        self._waiting = deque(place.waiting)
        self._emptied = emptied
        heartbeat = frames.heartbeat(self._table_id, lambda _: not viewer.delay_deals)
        self.broadcast = Broadcast(place.shown, heartbeat, self._entered, self._left)

    def show(self, stored: Stored, table: Table) -> None:
        """The next commit, and the table after it: all that may be shown now."""
        self._waiting.append((stored, table.pulka.number))
        while self._waiting and released(self._waiting[0][1], table, self.viewer.delay_deals):
            self.broadcast.publish(self._frames.commit(self._waiting.popleft()[0], self.viewer.eye))

    def sift(self, table: Table) -> None:
        """Send away whoever sees `table` otherwise than the rest."""
        self.broadcast.sift(lambda caller: as_seen(table, caller) == self.viewer)

    def _entered(self) -> None:
        self._frames.presence.enter(self._table_id, self.viewer.eye)

    def _left(self) -> None:
        self._frames.presence.leave(self._table_id, self.viewer.eye)
        if not len(self.broadcast):
            self._emptied(self)


class Feed:
    """One table as it is followed for its audiences, for as long as there is one."""

    def __init__(self, frames: Frames, place: Place, ended: Callable[[], None]) -> None:
        self.table = place.table
        self._frames = frames
        self._ended = ended
        self._audiences: dict[Viewer, Audience] = {}
        self._following = asyncio.create_task(self._follow(place.sequence))

    def audience(self, viewer: Viewer, place: Place) -> Audience | None:
        """The audience of `viewer`, if whoever is at `place` can go on with it."""
        if self.table.revision != place.table.revision:
            return None
        audience = self._audiences.get(viewer)
        if audience is None:
            audience = self._audiences[viewer] = Audience(self._frames, viewer, place, self._forget)
        return audience if audience.broadcast.revision == place.shown and not audience.broadcast.closed else None

    async def _follow(self, after: int) -> None:
        try:
            async with aclosing(self._frames.tables.log.watch(address.table(self.table.pulka.table_id), after=after)) as live:
                async for stored in live:
                    if stored.revision != self.table.revision:  # else a copy of the last one
                        self._show(stored)
                    if self.table.pulka.status in ENDED:
                        break
        except Exception as wrong:  # noqa: BLE001 - whatever it was, the clients must come back with their cursors rather than wait
            log.warning("stream_ended", reason=type(wrong).__name__, last=self.table.revision)
        self._ended()
        for audience in tuple(self._audiences.values()):
            audience.broadcast.close()

    def _show(self, stored: Stored) -> None:
        before, self.table = self.table, self._frames.pasts.after(self.table, stored)
        self._frames.pasts.passed(before, self.table, stored)
        if self.table.pulka.seats != before.pulka.seats:  # the pulka has begun, or somebody sits elsewhere now
            for audience in tuple(self._audiences.values()):
                audience.sift(self.table)
        for audience in tuple(self._audiences.values()):
            audience.show(stored, self.table)
            if self.table.pulka.status in ENDED:
                audience.broadcast.publish(self._frames.over(self.table))

    def _forget(self, audience: Audience) -> None:
        if self._audiences.get(audience.viewer) is audience:
            del self._audiences[audience.viewer]
        if not self._audiences:
            self._ended()
            self._following.cancel()


class Feeds:
    """The feeds of all tables that are watched here, one a table."""

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._feeds: dict[str, Feed] = {}

    def __len__(self) -> int:
        return len(self._feeds)

    def broadcast(self, viewer: Viewer, place: Place) -> Broadcast | None:
        """Where `viewer` can go on from `place` together with all who see the same; whoever is given it has to join."""
        table_id = place.table.pulka.table_id
        feed = self._feeds.get(table_id)
        if feed is None:
            feed = self._feeds[table_id] = Feed(self._frames, place, lambda: self._end(table_id, feed))
        audience = feed.audience(viewer, place)
        return None if audience is None else audience.broadcast

    def _end(self, table_id: str, feed: Feed | None) -> None:
        if self._feeds.get(table_id) is feed:
            del self._feeds[table_id]
