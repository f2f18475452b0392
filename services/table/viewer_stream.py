"""A table's commits as one viewer gets them: frames from the log, first a view, then every commit after it, without a gap or a repeat.

What a frame shows depends on the commit and the viewer only; when it is shown, on the log and, for spectators, on the table's delay.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import partial
from typing import Any

from services.table.audiences import Feeds, Place, as_seen
from services.table.pasts import SLICE, Seen
from services.table.table import ARCHIVED, Table
from services.table.table_frames import ENDED, Frames, Heartbeat, MissedCommit, released
from services.table.tables import Tables
from services.table.viewers import Viewer, eye_at, viewer_of
from shared.eventlog.aggregates.aggregates import Loaded
from shared.eventlog.port import Stored
from shared.events import address
from shared.events.commit import Commit
from shared.events.redaction import PublicCodec
from shared.rules.adjudicated.court import Maker
from shared.web.auth import Caller
from shared.web.problems import Problem, malformed, refusal
from shared.web.streams.broadcast import Broadcast
from shared.web.streams.frames import Frame

__all__ = ["MissedCommit", "Reader", "Watching"]


class Watching:
    """One viewer's way through a table: by themselves from the log, until they can go on together with others who see the same.

    From then on it holds nothing of the table: there are many who wait a long time.
    """

    __slots__ = ("_feeds", "_follow", "_frames", "_heartbeat", "_table_id", "_way", "caller")

    def __init__(self, frames: Frames, feeds: Feeds, table_id: str, caller: Caller | None, *, follow: bool) -> None:
        self.caller = caller
        self._frames = frames
        self._feeds = feeds
        self._table_id = table_id
        self._follow = follow
        self._way: _Way | None = None
        self._heartbeat: Heartbeat | None = None

    async def heartbeat(self, last: int | None) -> Frame:
        """See `Heartbeat`."""
        if self._heartbeat is None:
            self._heartbeat = self._frames.heartbeat(self._table_id, partial(sees_all, self.caller))
        return await self._heartbeat(last)

    async def frames(self, seen: Seen, viewer: Viewer) -> AsyncGenerator[Frame, None]:
        """The view of `seen`; then each commit after it, for as long as somebody listens if this stream follows the table; a pulka that is
        over ends it with a frame that says so.
        """
        async with aclosing(self._told(_Way(seen), viewer, with_view=True)) as frames:
            async for frame in frames:
                yield frame

    async def resumed(self, last: int | None) -> AsyncGenerator[Frame, None]:
        """What follows revision `last`, which this viewer was shown; see `Shared.resumed`."""
        seen = await self._frames.as_of(self._table_id, last or 0)
        try:
            viewer = viewer_of(seen.table, self.caller)
        except Problem:
            return
        async with aclosing(self._told(_Way(seen), viewer, with_view=False)) as frames:
            async for frame in frames:
                yield frame

    def broadcast(self) -> Broadcast | None:
        """See `Shared.broadcast`."""
        way = self._way
        if way is None or not self._follow or (viewer := as_seen(way.table, self.caller)) is None:
            return None
        place = way.place(viewer)
        broadcast = None if place is None else self._feeds.broadcast(viewer, place)
        if broadcast is not None:
            self._way = self._heartbeat = None
        return broadcast

    async def _told(self, way: _Way, viewer: Viewer, *, with_view: bool) -> AsyncGenerator[Frame, None]:
        self._way = way
        seen, presence = way.begun, self._frames.presence
        present = eye_at(seen.table, self.caller)
        presence.enter(self._table_id, present)
        try:
            if with_view:
                yield self._frames.view_frame(seen, viewer, self.caller)
            if self._follow and not seen.rest and seen.table.pulka.status in ENDED:
                yield self._frames.over(seen.table)
                return
            async with aclosing(self._commits(seen)) as commits:
                async for stored in commits:
                    before = way.table.pulka.seats
                    if not way.goes_on(stored, self._frames.pasts.after):
                        continue
                    if way.table.pulka.seats != before:  # the pulka has begun under the stream, or somebody sits elsewhere now
                        try:
                            viewer = viewer_of(way.table, self.caller)
                        except Problem:
                            return  # the viewer has been replaced at a table that only its players may look at
                        presence.leave(self._table_id, present)
                        present = eye_at(way.table, self.caller)
                        presence.enter(self._table_id, present)
                    way.waiting.append((stored, way.table.pulka.number, eye_at(way.table, self.caller)))
                    while (shown := way.next_shown(viewer.delay_deals)) is not None:
                        yield self._frames.commit(*shown)
                    if self._follow and stored.sequence >= way.last and way.table.pulka.status in ENDED:
                        yield self._frames.over(way.table)
                        return
        finally:
            presence.leave(self._table_id, present)

    async def _commits(self, seen: Seen) -> AsyncGenerator[Stored, None]:
        for place, stored in enumerate(seen.rest, 1):
            yield stored
            if place % SLICE == 0:
                await self._frames.pasts.breath()
        if self._follow:
            after = seen.rest[-1].sequence if seen.rest else seen.sequence
            async with aclosing(self._frames.tables.log.watch(address.table(self._table_id), after=after)) as live:
                async for stored in live:
                    yield stored


class _Way:
    """How far one viewer has come alone: the table as it is folded, what they were shown, and what they wait for."""

    def __init__(self, seen: Seen) -> None:
        self.begun = seen
        self.table, self._sequence = seen.table, seen.sequence
        self.last = seen.rest[-1].sequence if seen.rest else 0  # all that is there is shown before the end is told
        self.waiting: deque[tuple[Stored, int, Maker | None]] = deque()  # each with the number of its deal, and from where it is seen
        self._shown, self._shown_deal = seen.table.revision, seen.table.pulka.number

    def goes_on(self, stored: Stored, folded: Callable[[Table, Stored], Table]) -> bool:
        """Whether `stored` is the next commit, and no copy of the last one."""
        self._sequence = stored.sequence
        if stored.revision == self.table.revision:
            return False
        self.table = folded(self.table, stored)
        return True

    def next_shown(self, delay_deals: int) -> tuple[Stored, Maker | None] | None:
        """The next commit that may be shown now, and from where it is seen."""
        if not self.waiting or not released(self.waiting[0][1], self.table, delay_deals):
            return None
        stored, self._shown_deal, eye = self.waiting.popleft()
        self._shown = stored.revision
        return stored, eye

    def place(self, viewer: Viewer) -> Place | None:
        """Where `viewer` is, if others who see the same can be there too."""
        if self._sequence < self.last or self.table.pulka.status in ENDED:
            return None
        if self._shown and not released(self._shown_deal, self.table, viewer.delay_deals):
            return None  # they have seen more than others may now: they had a seat
        if self.waiting and released(self.waiting[0][1], self.table, viewer.delay_deals):
            return None  # it is being shown
        if any(eye != viewer.eye for _, _, eye in self.waiting):
            return None
        return Place(self.table, self._sequence, self._shown, [(stored, deal) for stored, deal, _ in self.waiting])


class Reader:
    """Reads tables for viewers."""

    def __init__(
        self,
        tables: Tables,
        redaction: PublicCodec,
        clock: Callable[[], int],
        credit: Callable[[str, int], int] = lambda _table_id, _since: 0,  # for outages since then; none where no clock runs
        looked_at: Callable[[Loaded[Table]], None] = lambda _loaded: None,  # told of each table that somebody looks at
    ) -> None:
        self._tables = tables
        self._frames = Frames(tables, redaction, clock, credit)
        self._looked_at = looked_at
        self.feeds = Feeds(self._frames)
        self.pasts = self._frames.pasts

    async def now(self, table_id: str, caller: Caller | None) -> dict[str, Any]:
        """The table's view. Raises 404 `no_such_table`, 410 `archived`, 401 or 403."""
        loaded = await self._newest(table_id, 1)
        viewer = viewer_of(loaded.state, caller)
        return self._frames.view(await self._seen(loaded, viewer, None), viewer, caller)

    def shown(self, commit: Commit, own_hash: str, position: str, eye: Maker | None) -> dict[str, Any]:
        """What a commit frame and the answer to a move say; `own_hash` is the hash of the commit as stored."""
        return self._frames.shown(commit, own_hash, position, eye)

    async def frames(self, table_id: str, caller: Caller | None, cursor: int | None, *, follow: bool) -> AsyncGenerator[Frame, None]:
        """The frames of one viewer who goes alone all the way; raises as `watching`."""
        return (await self.watching(table_id, caller, cursor, follow=follow))[1]

    async def watching(
        self, table_id: str, caller: Caller | None, cursor: int | None, *, follow: bool
    ) -> tuple[Watching, AsyncGenerator[Frame, None]]:
        """A viewer's way through a table, and its frames: the view as of `cursor`, or of the head; then each commit after it; with `follow`
        for as long as somebody listens.

        A pulka that is over ends the stream with a frame that says so: nothing is played there any more. Raises 404, 410, 401, 403, and
        400 for a cursor beyond what this viewer may see, all before the first frame.
        """
        head = await self._newest(table_id, max(1, cursor or 0))
        viewer = viewer_of(head.state, caller)
        seen = await self._seen(head, viewer, cursor)
        watching = Watching(self._frames, self.feeds, table_id, caller, follow=follow)
        return watching, watching.frames(seen, viewer)

    def heartbeat(self, table_id: str, caller: Caller | None) -> Heartbeat:
        """The heartbeat of one stream of this table."""
        return self._frames.heartbeat(table_id, partial(sees_all, caller))

    async def _seen(self, head: Loaded[Table], viewer: Viewer, cursor: int | None) -> Seen:
        """The table as of `cursor`, or as late as `viewer` may know it. Raises 400 for a cursor beyond that, which tells no more than a
        view of the table does.
        """

        def known(table: Table) -> bool:
            return (cursor is None or table.revision <= cursor) and released(table.pulka.number, head.state, viewer.delay_deals)

        seen = await self._frames.pasts.latest(head, known)
        if cursor is not None and cursor > seen.table.revision:
            raise malformed("after", f"the table is at revision {seen.table.revision}" + (" for you" if viewer.delay_deals else ""))
        return seen

    async def _newest(self, table_id: str, expected: int) -> Loaded[Table]:
        """The table at the leader, or, if that does not know revision `expected`, as a majority knows it: a refusal will rest on it.

        A table that the lobby opened is there before its pulka begins. Of an archived one there is nothing to show here but that it was;
        who might look at it went with its history.
        """
        loaded = await self._tables.load(table_id, at_leader=True)
        if loaded.revision < expected:
            loaded = await self._tables.load(table_id, confirmed=True)
        if not loaded.revision and await self._tables.log.newest(address.Address("lobby", "table", table_id)) is None:
            raise Problem(404, "no_such_table", f"There is no table {table_id}.")
        if loaded.state.archived:
            raise refusal(ARCHIVED, None)
        self._looked_at(loaded)
        return loaded


def sees_all(caller: Caller | None, table: Table) -> bool:
    """Whether `caller` sees `table` as it is now; not so who was replaced at a private one, or is some deals late."""
    viewer = as_seen(table, caller)
    return viewer is not None and not viewer.delay_deals
