"""What the frames of a table's stream hold: a view, a commit, a heartbeat, the end; and when a spectator may have them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeAlias

import msgspec

from services.table.pasts import Pasts, Seen
from services.table.table import Table, deadline
from services.table.tables import Tables
from services.table.view import view
from services.table.viewers import Viewer, eye_at
from shared.eventlog.aggregates.aggregates import BrokenChain
from shared.eventlog.port import Stored, Unavailable
from shared.events import address
from shared.events.commit import Commit, decode, hash_of
from shared.events.redaction import PublicCodec
from shared.rules.adjudicated.court import Maker
from shared.web.auth import Caller
from shared.web.streams.frames import Frame

_encode = msgspec.json.Encoder().encode

Ends: TypeAlias = "Callable[[Table, int], int | None]"  # of a table and the present time: when its turn ends; milliseconds since 1970


RETRY_MS: Final = 1000  # milliseconds: a browser keeps the time that `leaving` named for good, unless it is told another one
ENDED: Final = frozenset({"over", "refused"})  # of a pulka: no commit follows that anybody plays on


class Presence:
    """Who has a live stream of which table at this instance; nobody's seat, clock or rating depends on it."""

    def __init__(self) -> None:
        self._streams: Counter[tuple[str, int]] = Counter()

    def enter(self, table_id: str, eye: Maker | None) -> None:
        """A stream of this seat has begun; of anybody else it is not told."""
        if isinstance(eye, int):
            self._streams[table_id, eye] += 1

    def leave(self, table_id: str, eye: Maker | None) -> None:
        """A stream of this seat has ended."""
        if not isinstance(eye, int):
            return
        self._streams[table_id, eye] -= 1
        if not self._streams[table_id, eye]:
            del self._streams[table_id, eye]

    def of(self, table: Table) -> list[bool]:
        """By seat."""
        return [(table.pulka.table_id, seat) in self._streams for seat in range(table.pulka.players)]


class MissedCommit(Exception):
    """A stream did not show a commit that had been in the log for a whole heartbeat; it ends, and its client resumes from the cursor."""


class Heartbeat:
    """Says where a stream is, what time the server has, and when the turn ends; and compares with the log's leader: a silent stream is
    noticed. `sees_now`: whether its viewers see a table as it is now; not so who was replaced at a private one, or is some deals late.
    """

    def __init__(self, tables: Tables, table_id: str, sees_now: Callable[[Table], bool], clock: Callable[[], int], ends: Ends) -> None:
        self._tables = tables
        self._table_id = table_id
        self._sees_now = sees_now
        self._clock = clock
        self._ends = ends
        self._expected = 0

    async def __call__(self, last: int | None) -> Frame:
        """The frame after revision `last`. Raises `MissedCommit`."""
        shown, where = last or 0, address.table(self._table_id)
        if shown < self._expected:
            raise MissedCommit(f"revision {self._expected} of {where.subject}")
        now = self._clock()
        told: dict[str, Any] = {"revision": shown, "at": now}
        with suppress(Unavailable):  # a heartbeat is worth sending while the log is away, too
            head = await self._tables.log.head(where)
            table = (await self._tables.load(self._table_id)).state
            self._expected = head.revision if head is not None and not table.terms.spectators.delay_deals else 0
            if table.revision == shown and self._sees_now(table):
                told["deadline"] = self._ends(table, now)
        return Frame("heartbeat", _encode(told))


class Frames:
    """Makes the frames of all tables of a process."""

    def __init__(self, tables: Tables, redaction: PublicCodec, clock: Callable[[], int], credit: Callable[[str, int], int]) -> None:
        self.tables = tables
        self.pasts = Pasts(tables)
        self.presence = Presence()
        self._redaction = redaction
        self._clock = clock
        self._credit = credit

    def shown(self, commit: Commit, own_hash: str, position: str, eye: Maker | None) -> dict[str, Any]:
        """What a commit frame and the answer to a move say; `own_hash` is the hash of the commit as stored."""
        return {
            "revision": commit.revision,
            "position": position,
            "at": commit.at,
            "hash": own_hash,
            "events": self._redaction.encoded(commit, eye),
        }

    def commit(self, stored: Stored, eye: Maker | None) -> Frame:
        """The frame of one commit."""
        commit = decode(stored.data)
        return Frame("commit", _encode(self.shown(commit, hash_of(stored.data), stored.position, eye)), commit.revision)

    def view(self, seen: Seen, viewer: Viewer, caller: Caller | None) -> dict[str, Any]:
        """The table as `caller` sees it."""
        position, now = f"{address.table(seen.table.pulka.table_id).stream}:{seen.sequence}", self._clock()
        shown = view(seen.table, eye_at(seen.table, caller), position, now, self.presence.of(seen.table)) | {
            "delay_deals": viewer.delay_deals,
            "hash": seen.hash or None,
        }
        if "clock" in shown and not seen.rest and not viewer.delay_deals:  # a turn of the past ended when it did
            shown["clock"]["deadline"] = self.ends(seen.table, now)
        return shown

    def view_frame(self, seen: Seen, viewer: Viewer, caller: Caller | None) -> Frame:
        """The first frame of a stream."""
        return Frame("view", _encode(self.view(seen, viewer, caller)), seen.table.revision, RETRY_MS)

    def over(self, table: Table) -> Frame:
        """The last frame of a stream."""
        return Frame("over", _encode({"revision": table.revision, "status": table.pulka.status}))

    def heartbeat(self, table_id: str, sees_now: Callable[[Table], bool]) -> Heartbeat:
        """The heartbeat of one stream, or of several that show the same."""
        return Heartbeat(self.tables, table_id, sees_now, self._clock, self.ends)

    def ends(self, table: Table, now: int) -> int | None:
        """When the turn that waits ends: what an outage took from it is given back, and as long as it waits it has not ended."""
        due = deadline(table)
        return None if due is None else max(due + self._credit(table.pulka.table_id, table.turn_began), now)

    async def as_of(self, table_id: str, revision: int) -> Seen:
        """The table as it was after `revision`, which it has had. Raises `BrokenChain` where the log has lost it, `Unavailable`."""
        head = await self.tables.load(table_id, at_leader=True)
        seen = await self.pasts.latest(head, lambda table: table.revision <= revision)
        if seen.table.revision != revision:
            raise BrokenChain(f"{head.address.subject} lost commits that it had", seen.table.revision + 1)
        return seen


def released(deal: int, table: Table, delay_deals: int) -> bool:
    """Whether a commit of deal `deal` may be shown now: whole deals late where the terms say so, and everything once the pulka is over."""
    return deal + delay_deals <= table.pulka.number or table.pulka.status == "over"
