"""The clocks of all tables: one instance sweeps for turns that ran out and makes the default move, so that no table hangs.

A table is looked at again and again, a look being one question to the log. If its last commit is younger than the shortest turn, nothing
can be over; only a table that has been slower than that is folded, once a turn, and then its turn's very deadline is known.

Whoever sweeps leaves a heartbeat, as long as the log answers, without which nobody can move. A silence of more than `OUTAGE` is an
outage of ours, written down once, and every turn that it fell into gets it back. Two sweeps, or a sweep and a late move, are decided by
the table's log.

A wall clock that goes back finds what it wrote in its own future: beats, outages and looks of that time count for nothing, and turns that
the log has there are measured by `Skew`.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import asyncpg
import msgspec
import structlog

from services.table.outages import Outages
from services.table.skew import Skew
from services.table.table import Result, Tables, Turn, begins_a_turn, deadline, next_deal
from shared.eventlog.aggregates import BrokenChain, Committed, QueueFull
from shared.eventlog.port import LogError
from shared.events import address
from shared.events.address import TABLE_STREAMS
from shared.events.commit import decode
from shared.events.keys import UnknownKey
from shared.events.sealed import TamperedBox
from shared.projections.core.projection import UNAPPLICABLE, Connection
from shared.projections.core.status import PASSING, classify
from shared.projections.following.follow import new_holder
from shared.rules.pulka import decider as match

log = structlog.get_logger(__name__)

SWEEP: Final = 0.25  # seconds between sweeps: a turn may last that much longer than agreed
OUTAGE: Final = 3_000  # milliseconds without a heartbeat that are an outage; also when another instance takes over
AT_ONCE: Final = 200  # tables looked at together: a burst that the log takes in its stride
LOOK_AGAIN: Final = 5_000  # milliseconds: the longest that a table stays between two deals when whoever should have dealt has died
LOOK_CLOSELY: Final = 1_000  # milliseconds between looks where the log's times lie in the future: a turn is measured from the first look on
AFTER_TROUBLE: Final = 1_000  # milliseconds before a table that cannot be read now is looked at again
RETRY: Final = 1.0  # seconds before Postgres is asked again
WAITS: Final = "wait for the log"  # a state

# What is wrong with one table's own commits: its clock stops, everybody else's goes on.
UNFOLDABLE: tuple[type[Exception], ...] = (UnknownKey, TamperedBox, *UNAPPLICABLE)

_LAST = "SELECT holder, beat, extract(epoch FROM clock_timestamp()) * 1000 AS here FROM sweep FOR UPDATE"
_TAKE = """
INSERT INTO sweep AS s (holder, beat) VALUES ($1, $2)
ON CONFLICT (only_one) DO UPDATE SET holder = excluded.holder, beat = excluded.beat
WHERE s.holder = excluded.holder OR s.beat < excluded.beat - $3 OR $4
RETURNING holder
"""
_BACK = "DELETE FROM outage WHERE ended > $1"  # what a clock that was ahead took for a silence
_ANEW = "UPDATE running_table SET look_at = least(look_at, $1), revision = 0, ends_at = 0"
_DUE = "SELECT table_id, shortest, revision, ends_at FROM running_table WHERE look_at <= $1 ORDER BY look_at LIMIT $2"
_LATER = "UPDATE running_table SET look_at = $2, revision = $3, ends_at = $4 WHERE table_id = $1"
_OVER = "DELETE FROM running_table WHERE table_id = ANY($1)"


class Row(msgspec.Struct, frozen=True):
    """A running table: the least that a turn of it can last (milliseconds), where it was folded last, and when the turn ended there."""

    table_id: str
    shortest: int
    revision: int
    ends_at: int


class Look(msgspec.Struct, frozen=True):
    """What a look at a table found: when to look again; at what revision it is known, and when its turn ends, 0 for nothing known."""

    again: int
    revision: int = 0
    ends_at: int = 0


GONE: Final = Look(0)  # the pulka is over
_Found = TypeVar("_Found")


class Clocks:
    """Ends turns whose time is up. `made` is told of what it did; `steady` counts seconds and is never set; `outages` learns what turns get
    back.
    """

    def __init__(
        self, tables: Tables, postgres_dsn: str, schema: str, clock: Callable[[], int], made: Callable[[Result], None],
        steady: Callable[[], float] = time.monotonic, outages: Outages | None = None,
    ) -> None:  # fmt: skip
        self._tables = tables
        self._dsn = postgres_dsn
        self._schema = schema
        self._clock = clock
        self._made = made
        self._steady = steady
        self._outages = outages or Outages()
        self._holder = new_holder()
        self._task: asyncio.Task[None] | None = None
        self._asked = 0
        self._broken: set[str] = set()
        self._skew = Skew()
        self._future = ("", 0, 0.0)  # another's beat that lies in the future: holder, beat, and since when it has stood (seconds)
        self.state = "stopped"

    async def begin(self) -> None:
        """Write down, and learn, what outage has just ended, before the first request asks; then sweep. With Postgres away, later."""
        try:
            connection = await self._connect()
            try:
                await self._beat(connection)
            finally:
                await connection.close(timeout=RETRY)
        except PASSING as wrong:
            log.warning("outages_not_known", reason=classify(wrong), kind=type(wrong).__name__)
        self.start()

    def start(self) -> None:
        """Begin to sweep; with Postgres or the log away it waits for them, and the turns get the time back."""
        self._task = asyncio.create_task(self._run(), name="clocks")
        self._task.add_done_callback(self._ended)

    async def stop(self) -> None:
        """End after the turn in hand."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self.state = "stopped"

    def skew(self) -> dict[str, float]:
        """For `/health`: see `Skew.told`."""
        return self._skew.told(self._clock())

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A sweep that ends unforeseen is a defect of ours; `/health` must not go on saying that it sweeps."""
        wrong = None if task.cancelled() else task.exception()
        if wrong is not None:
            self.state = f"ended: {type(wrong).__name__}"
            log.critical("clocks_ended", reason=type(wrong).__name__)

    async def _run(self) -> None:
        while True:
            try:
                connection = await self._connect()
                try:
                    while True:
                        await self._sweep(connection)
                        await asyncio.sleep(SWEEP)
                finally:
                    with contextlib.suppress(Exception):  # it is being given up; what is wrong with it was said
                        await connection.close(timeout=RETRY)
            except PASSING as wrong:
                self.state = f"down: {classify(wrong)}"
                log.warning("clocks_stopped", reason=classify(wrong), kind=type(wrong).__name__)
                await asyncio.sleep(RETRY)

    async def _connect(self) -> Connection:
        return await asyncpg.connect(self._dsn, timeout=RETRY * 5, server_settings={"search_path": self._schema})

    async def _sweep(self, connection: Connection) -> None:
        now = await self._beat(connection)
        if now is None:
            return
        while due := [Row(**row) for row in await connection.fetch(_DUE, now, AT_ONCE)]:
            glances = await asyncio.gather(*(self._guarded(row, now, self._glance(row, now)) for row in due))
            looks: list[tuple[Row, Look]] = []
            for row, glance in zip(due, glances, strict=True):
                if glance is None:  # one after the other, since they share the connection
                    tended: Look = await self._guarded(row, now, self._tend(row, now))
                    looks.append((row, tended))
                else:
                    looks.append((row, glance))
            for row, look in looks:
                if look is GONE:
                    self._skew.forget(row.table_id)
            await connection.execute(_OVER, [row.table_id for row, look in looks if look is GONE])
            await connection.executemany(
                _LATER, [(row.table_id, look.again, look.revision, look.ends_at) for row, look in looks if look is not GONE]
            )

    async def _beat(self, connection: Connection) -> int | None:
        """The time of a sweep, when it is this instance's; whoever sweeps, what is known of outages is read again."""
        if not await self._log_answers():
            return None
        now = self._clock()
        leads = await self._lead(connection, now)
        await self._outages.read(connection)
        self.state = "sweeping" if leads else "standby"
        return now if leads else None

    async def _guarded(self, row: Row, now: int, looking: Awaitable[_Found]) -> _Found | Look:
        """What is wrong with one table stops no other's clock."""
        try:
            return await looking
        except (LogError, QueueFull) as passing:
            log.warning("clock_waits", table=row.table_id, reason=type(passing).__name__)
        except BrokenChain as broken:
            self._tell_broken(row.table_id, str(broken))
        except UNFOLDABLE as defect:
            self._tell_broken(row.table_id, type(defect).__name__)  # its text may hold a card
        return Look(now + AFTER_TROUBLE)

    async def _glance(self, row: Row, now: int) -> Look | None:
        """A look at the last commit: enough when it is as it was, or so young that no turn can be over; else None."""
        head = await self._tables.log.head(address.table(row.table_id))
        if head is None:
            return None
        if head.revision == row.revision and now < row.ends_at:
            again = LOOK_CLOSELY if self._skew.measures(row.table_id) else LOOK_AGAIN
            return Look(min(row.ends_at, now + again), row.revision, row.ends_at)
        commit = decode(head.data)
        self._skew.note(row.table_id, commit.at, now)
        soonest = commit.at + min(row.shortest, LOOK_AGAIN)
        if soonest > now + LOOK_AGAIN:  # by a clock that was ahead: folded, and measured anew
            return None
        return Look(soonest) if now < soonest and begins_a_turn(commit) else None

    async def _tend(self, row: Row, now: int) -> Look:
        """Fold the table, and do what its clock is for when the time has come."""
        loaded = await self._tables.load(row.table_id, at_leader=True)
        table, soon = loaded.state, Look(now + min(row.shortest, LOOK_AGAIN))
        ends = deadline(table)
        if ends is None:
            return GONE if table.pulka.status in {"over", "refused"} else soon
        if (number := next_deal(table)) is not None:
            self._made(await self._tables.start_deal(row.table_id, number, self._clock()))
            return soon
        credit = self._outages.credit(table.turn_began)
        ahead = table.runs_since - self._skew.began(row.table_id, table.turn_revision, table.runs_since, now)
        ends_at = ends + credit - ahead
        if now < ends_at:
            return Look(min(ends_at, now + (LOOK_CLOSELY if ahead else LOOK_AGAIN)), loaded.revision, ends_at)
        if match.settles_next(table.pulka):
            result = await self._tables.start_deal(row.table_id, table.pulka.number + 1, self._clock() + ahead)
        else:  # the commit is not before the deadline that it names: the log's time goes on from where it is
            result = await self._tables.time_out(row.table_id, Turn(table.turn_revision, ends, credit), self._clock() + ahead)
        if isinstance(result, Committed) and not result.repeated:
            log.info("turn_timed_out", table=row.table_id, turn_revision=table.turn_revision, credit=credit)
        self._made(result)
        if ahead and isinstance(result, Committed):  # the next turn begins now, whatever the log calls this moment
            after = result.loaded.state
            self._skew.began(row.table_id, after.turn_revision, after.runs_since, now)
        return soon

    def _tell_broken(self, table_id: str, reason: str) -> None:
        """Once a table, not four times a second: it stays as it is until somebody mends it."""
        if table_id not in self._broken:
            self._broken.add(table_id)
            log.critical("table_broken", table=table_id, reason=reason)

    async def _log_answers(self) -> bool:
        """Whether moves can be made; one stream is asked a sweep, each in its turn."""
        self._asked = (self._asked + 1) % len(TABLE_STREAMS)
        try:
            await self._tables.log.last_sequence(TABLE_STREAMS[self._asked])
        except LogError as away:
            if self.state != WAITS:
                log.warning("clocks_wait", reason=type(away).__name__)
            self.state = WAITS
            return False
        return True

    async def _lead(self, connection: Connection, now: int) -> bool:
        """Take or keep the lease, and write down the silence before it if it was one."""
        async with connection.transaction():
            last = await connection.fetchrow(_LAST)
            leads: bool = await connection.fetchval(_TAKE, self._holder, now, OUTAGE, self._stands(last, now)) == self._holder
            if last is not None:
                self._skew.compare(now, int(last["here"]))
            if leads and last is not None:
                if now - last["beat"] > OUTAGE:
                    log.warning("clock_outage", began=last["beat"], ended=now)
                    await connection.execute("INSERT INTO outage (began, ended) VALUES ($1, $2) ON CONFLICT DO NOTHING", last["beat"], now)
                elif last["beat"] - now > OUTAGE:
                    log.warning("clock_went_back", was=last["beat"], now=now)
                    await connection.execute(_BACK, now)
                    await connection.execute(_ANEW, now)
        return leads

    def _stands(self, last: asyncpg.Record | None, now: int) -> bool:
        """Whether the beat of another instance lies in the future and has stood there for an outage's time: its holder has died."""
        if last is None or last["holder"] == self._holder or last["beat"] - now <= OUTAGE:
            return False
        holder, beat, since = self._future
        if (holder, beat) != (last["holder"], last["beat"]):
            self._future = (last["holder"], last["beat"], self._steady())
            return False
        return (self._steady() - since) * 1000 > OUTAGE
