"""A table's commits as one viewer gets them: frames from the log, first a view, then every commit after it, without a gap or a repeat.

What a frame shows depends on the commit and the viewer only; when it is shown, on the log and, for spectators, on the table's delay.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from typing import Any, Final, TypeAlias

import msgspec

from services.table.table import ARCHIVED, Table, Tables, deadline, fold, initial
from services.table.view import view
from services.table.viewers import Viewer, eye_at, viewer_of
from shared.eventlog.aggregates import BrokenChain, Loaded
from shared.eventlog.copies import without_copies
from shared.eventlog.port import Stored, Unavailable
from shared.events import address
from shared.events.commit import Commit, decode, hash_of
from shared.events.redaction import PublicCodec
from shared.rules.adjudicated.court import Maker
from shared.web.auth import Caller
from shared.web.problems import Problem, malformed, refusal
from shared.web.streaming import Frame

_encode = msgspec.json.Encoder().encode

Ends: TypeAlias = "Callable[[Table, int], int | None]"  # of a table and the present time: when its turn ends; milliseconds since 1970


ENDED: Final = frozenset({"over", "refused"})  # of a pulka: no commit follows that anybody plays on


class Presence:
    """Who has a live stream of which table at this instance; nobody's seat, clock or rating depends on it."""

    def __init__(self) -> None:
        self._streams: Counter[tuple[str, int]] = Counter()

    def enter(self, table_id: str, seat: int) -> None:
        """A stream of this seat has begun."""
        self._streams[table_id, seat] += 1

    def leave(self, table_id: str, seat: int) -> None:
        """A stream of this seat has ended."""
        self._streams[table_id, seat] -= 1
        if not self._streams[table_id, seat]:
            del self._streams[table_id, seat]

    def of(self, table: Table) -> list[bool]:
        """By seat."""
        return [(table.pulka.table_id, seat) in self._streams for seat in range(table.pulka.players)]


class Seen(msgspec.Struct, frozen=True):
    """A table as far as somebody may know it, where in the log that is, and the commits after it that are in the log already."""

    table: Table
    sequence: int
    rest: tuple[Stored, ...] = ()


class MissedCommit(Exception):
    """A stream did not show a commit that had been in the log for a whole heartbeat; it ends, and its client resumes from the cursor."""


class Heartbeat:
    """Says where a stream is, what time the server has, and when the turn ends; and compares with the log's leader: a silent stream is
    noticed.
    """

    def __init__(self, tables: Tables, table_id: str, caller: Caller | None, clock: Callable[[], int], ends: Ends) -> None:
        self._tables = tables
        self._address = address.table(table_id)
        self._caller = caller
        self._clock = clock
        self._ends = ends
        self._expected = 0

    async def __call__(self, last: int | None) -> Frame:
        """The frame after revision `last`. Raises `MissedCommit`."""
        shown = last or 0
        if shown < self._expected:
            raise MissedCommit(f"revision {self._expected} of {self._address.subject}")
        now = self._clock()
        told: dict[str, Any] = {"revision": shown, "at": now}
        with suppress(Unavailable):  # a heartbeat is worth sending while the log is away, too
            head = await self._tables.log.head(self._address)
            table = (await self._tables.load(self._address.id)).state
            self._expected = head.revision if head is not None and not table.terms.spectators.delay_deals else 0
            if table.revision == shown and self._looks_at(table):
                told["deadline"] = self._ends(table, now)
        return Frame("heartbeat", _encode(told))

    def _looks_at(self, table: Table) -> bool:
        """Whether the viewer sees the table as it is now; not so who was replaced at a private one, or is some deals late."""
        try:
            return not viewer_of(table, self._caller).delay_deals
        except Problem:
            return False


class Reader:
    """Reads tables for viewers."""

    def __init__(
        self,
        tables: Tables,
        redaction: PublicCodec,
        clock: Callable[[], int],
        credit: Callable[[str, int], int] = lambda _table_id, _since: 0,  # for outages since then; none where no clock runs
    ) -> None:
        self._tables = tables
        self._redaction = redaction
        self._clock = clock
        self._credit = credit
        self.presence = Presence()

    async def now(self, table_id: str, caller: Caller | None) -> dict[str, Any]:
        """The table's view. Raises 404 `no_such_table`, 410 `archived`, 401 or 403."""
        loaded = await self._newest(table_id, 1)
        if not loaded.revision:
            await self._require_table(table_id)
        _require_history(loaded)
        viewer = viewer_of(loaded.state, caller)
        return self._view(await self._seen(loaded, viewer, None), viewer, caller)

    def shown(self, commit: Commit, own_hash: str, position: str, eye: Maker | None) -> dict[str, Any]:
        """What a commit frame and the answer to a move say; `own_hash` is the hash of the commit as stored."""
        return {
            "revision": commit.revision,
            "position": position,
            "at": commit.at,
            "hash": own_hash,
            "events": self._redaction.encoded(commit, eye),
        }

    async def frames(self, table_id: str, caller: Caller | None, cursor: int | None, *, follow: bool) -> AsyncGenerator[Frame, None]:
        """The view as of `cursor`, or of the head; then each commit after it; with `follow` for as long as somebody listens.

        A pulka that is over ends the stream with a frame that says so: nothing is played there any more. Raises 404, 410, 401, 403, and
        400 for a cursor beyond what this viewer may see, all before the first frame.
        """
        head = await self._newest(table_id, max(1, cursor or 0))
        if not head.revision:
            await self._require_table(table_id)
        _require_history(head)
        viewer = viewer_of(head.state, caller)
        seen = await self._seen(head, viewer, cursor)
        return self._stream(table_id, caller, viewer, seen, follow=follow)

    def heartbeat(self, table_id: str, caller: Caller | None) -> Heartbeat:
        """The heartbeat of one stream of this table."""
        return Heartbeat(self._tables, table_id, caller, self._clock, self.ends)

    def ends(self, table: Table, now: int) -> int | None:
        """When the turn that waits ends: what an outage took from it is given back, and as long as it waits it has not ended."""
        due = deadline(table)
        return None if due is None else max(due + self._credit(table.pulka.table_id, table.turn_began), now)

    async def _stream(
        self, table_id: str, caller: Caller | None, viewer: Viewer, seen: Seen, *, follow: bool
    ) -> AsyncGenerator[Frame, None]:
        table, waiting = seen.table, deque[tuple[Stored, int, Maker | None]]()
        present = self._enter(table_id, eye_at(seen.table, caller))
        try:
            yield Frame("view", _encode(self._view(seen, viewer, caller)), table.revision)
            if follow and not seen.rest and table.pulka.status in ENDED:
                yield _over(table)
                return
            last = seen.rest[-1].sequence if seen.rest else 0  # all that is there is shown before the end is told
            async with aclosing(self._commits(table_id, seen, follow=follow)) as commits:
                async for stored in commits:
                    if stored.revision == table.revision:  # a copy of the last one, or a table that its next reader finds to be damaged
                        continue
                    before, table = table.pulka.seats, self._folded(table, stored)
                    if table.pulka.seats != before:  # the pulka has begun under the stream, or somebody sits elsewhere now
                        try:
                            viewer = viewer_of(table, caller)
                        except Problem:
                            return  # the viewer has been replaced at a table that only its players may look at
                        self._leave(table_id, present)
                        present = self._enter(table_id, eye_at(table, caller))
                    waiting.append((stored, table.pulka.number, eye_at(table, caller)))
                    while waiting and _released(waiting[0][1], table, viewer):
                        shown, _, eye = waiting.popleft()
                        yield self._commit_frame(shown, eye)
                    if follow and stored.sequence >= last and table.pulka.status in ENDED:
                        yield _over(table)
                        return
        finally:
            self._leave(table_id, present)

    async def _commits(self, table_id: str, seen: Seen, *, follow: bool) -> AsyncGenerator[Stored, None]:
        for stored in seen.rest:
            yield stored
        if follow:
            after = seen.rest[-1].sequence if seen.rest else seen.sequence
            async with aclosing(self._tables.log.watch(address.table(table_id), after=after)) as live:
                async for stored in live:
                    yield stored

    async def _seen(self, head: Loaded[Table], viewer: Viewer, cursor: int | None) -> Seen:
        """The table as of `cursor`, or as late as `viewer` may know it. Raises 400 for a cursor beyond that, which tells no more than a
        view of the table does.
        """
        if (cursor is None or cursor == head.revision) and not viewer.delay_deals:
            return Seen(head.state, head.sequence)
        records = without_copies(await self._tables.log.read(head.address, until=head.sequence))
        seen, sequence = initial(head.address), 0
        for stored in records:
            table = self._folded(seen, stored)
            if seen.revision == cursor or not _released(table.pulka.number, head.state, viewer):
                break
            seen, sequence = table, stored.sequence
        if cursor is not None and cursor > seen.revision:
            raise malformed("after", f"the table is at revision {seen.revision}" + (" for you" if viewer.delay_deals else ""))
        return Seen(seen, sequence, tuple(records[seen.revision :]))

    def _enter(self, table_id: str, eye: Maker | None) -> int | None:
        if not isinstance(eye, int):
            return None
        self.presence.enter(table_id, eye)
        return eye

    def _leave(self, table_id: str, seat: int | None) -> None:
        if seat is not None:
            self.presence.leave(table_id, seat)

    def _view(self, seen: Seen, viewer: Viewer, caller: Caller | None) -> dict[str, Any]:
        position, now = f"{address.table(seen.table.pulka.table_id).stream}:{seen.sequence}", self._clock()
        shown = view(seen.table, eye_at(seen.table, caller), position, now, self.presence.of(seen.table)) | {
            "delay_deals": viewer.delay_deals
        }
        if "clock" in shown and not seen.rest and not viewer.delay_deals:  # a turn of the past ended when it did
            shown["clock"]["deadline"] = self.ends(seen.table, now)
        return shown

    def _commit_frame(self, stored: Stored, eye: Maker | None) -> Frame:
        commit = decode(stored.data)
        return Frame("commit", _encode(self.shown(commit, hash_of(stored.data), stored.position, eye)), commit.revision)

    def _folded(self, table: Table, stored: Stored) -> Table:
        """Raises `BrokenChain` where the log is damaged."""
        if stored.revision != table.revision + 1:
            raise BrokenChain(f"{stored.position} does not follow revision {table.revision}", table.revision + 1)
        commit = decode(stored.data)
        return fold(table, commit, self._tables.codec.open(commit))

    async def _newest(self, table_id: str, expected: int) -> Loaded[Table]:
        """The table at the leader, or, if that does not know revision `expected`, as a majority knows it: a refusal will rest on it."""
        loaded = await self._tables.load(table_id, at_leader=True)
        return loaded if loaded.revision >= expected else await self._tables.load(table_id, confirmed=True)

    async def _require_table(self, table_id: str) -> None:
        """A table that the lobby opened is there before its pulka begins."""
        if await self._tables.log.newest(address.Address("lobby", "table", table_id)) is None:
            raise Problem(404, "no_such_table", f"There is no table {table_id}.")


def _over(table: Table) -> Frame:
    """The last frame of a stream."""
    return Frame("over", _encode({"revision": table.revision, "status": table.pulka.status}))


def _require_history(loaded: Loaded[Table]) -> None:
    """Of an archived table there is nothing to show here but that it was; who might look at it went with its history."""
    if loaded.state.archived:
        raise refusal(ARCHIVED, None)


def _released(deal: int, table: Table, viewer: Viewer) -> bool:
    """Whether a commit of deal `deal` may be shown now: whole deals late where the terms say so, and everything once the pulka is over."""
    return deal + viewer.delay_deals <= table.pulka.number or table.pulka.status == "over"
