"""The clocks of all tables: one instance sweeps for turns that ran out and makes the default move, so that no table hangs.

Whoever sweeps leaves a heartbeat, as long as the log answers, without which nobody can move. A silence of more than `OUTAGE` is an
outage of ours, written down once, and every turn that it fell into gets it back. Two sweeps, or a sweep and a late move, are decided by
the table's log.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Final

import asyncpg
import structlog

from services.table.table import Result, Tables, Turn
from shared.eventlog.aggregates import BrokenChain, Committed, QueueFull
from shared.eventlog.port import LogError
from shared.events.address import TABLE_STREAMS
from shared.events.keys import UnknownKey
from shared.events.sealed import TamperedBox
from shared.projections.follow import new_holder
from shared.projections.projection import UNAPPLICABLE, Connection
from shared.projections.status import PASSING

log = structlog.get_logger(__name__)

SWEEP: Final = 0.25  # seconds between sweeps: a turn may last that much longer than agreed
OUTAGE: Final = 3_000  # milliseconds without a heartbeat that are an outage; also when another instance takes over
AT_ONCE: Final = 200  # turns a sweep ends: at a few milliseconds each, a second's work; the rest comes next
RETRY: Final = 1.0  # seconds before Postgres is asked again
WAITS: Final = "wait for the log"  # a state

# What is wrong with one table's own commits: its clock stops, everybody else's goes on.
UNFOLDABLE: tuple[type[Exception], ...] = (UnknownKey, TamperedBox, *UNAPPLICABLE)

_TAKE = """
INSERT INTO sweep AS s (holder, beat) VALUES ($1, $2)
ON CONFLICT (only_one) DO UPDATE SET holder = excluded.holder, beat = excluded.beat
WHERE s.holder = excluded.holder OR s.beat < excluded.beat - $3
RETURNING holder
"""
_DUE = """
SELECT table_id, turn_revision, deadline, phase, number, credit FROM (
    SELECT r.*, coalesce(
        (SELECT sum(o.ended - greatest(o.began, r.turn_began)) FROM outage o WHERE o.ended > r.turn_began), 0
    )::bigint AS credit
    FROM running_table r WHERE r.deadline <= $1
) AS late WHERE deadline + credit <= $1 OR phase = 'between_deals' ORDER BY deadline LIMIT $2
"""


class Clocks:
    """Ends turns whose time is up. `made` is told of what it did."""

    def __init__(self, tables: Tables, postgres_dsn: str, schema: str, clock: Callable[[], int], made: Callable[[Result], None]) -> None:
        self._tables = tables
        self._dsn = postgres_dsn
        self._schema = schema
        self._clock = clock
        self._made = made
        self._holder = new_holder()
        self._task: asyncio.Task[None] | None = None
        self._asked = 0
        self._broken: set[str] = set()
        self.state = "stopped"

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

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A sweep that ends unforeseen is a defect of ours; `/health` must not go on saying that it sweeps."""
        wrong = None if task.cancelled() else task.exception()
        if wrong is not None:
            self.state = f"ended: {type(wrong).__name__}"
            log.critical("clocks_ended", reason=type(wrong).__name__)

    async def _run(self) -> None:
        while True:
            try:
                connection = await asyncpg.connect(self._dsn, timeout=RETRY * 5, server_settings={"search_path": self._schema})
                try:
                    while True:
                        await self._sweep(connection)
                        await asyncio.sleep(SWEEP)
                finally:
                    with contextlib.suppress(Exception):  # it is being given up; what is wrong with it was said
                        await connection.close(timeout=RETRY)
            except PASSING as wrong:
                self.state = f"down: {type(wrong).__name__}"
                log.warning("clocks_stopped", reason=type(wrong).__name__)
                await asyncio.sleep(RETRY)

    async def _sweep(self, connection: Connection) -> None:
        if not await self._log_answers():
            return
        now = self._clock()
        if not await self._lead(connection, now):
            self.state = "standby"
            return
        self.state = "sweeping"
        for row in await connection.fetch(_DUE, now, AT_ONCE):
            try:
                await self._end(row["table_id"], row["phase"], row["number"], Turn(row["turn_revision"], row["deadline"], row["credit"]))
            except (LogError, QueueFull) as passing:
                log.warning("clock_waits", table=row["table_id"], reason=type(passing).__name__)
            except BrokenChain as broken:
                self._tell_broken(row["table_id"], str(broken))
            except UNFOLDABLE as defect:
                self._tell_broken(row["table_id"], type(defect).__name__)  # its text may hold a card

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
            last = await connection.fetchrow("SELECT holder, beat FROM sweep FOR UPDATE")
            leads: bool = await connection.fetchval(_TAKE, self._holder, now, OUTAGE) == self._holder
            if leads and last is not None and now - last["beat"] > OUTAGE:
                log.warning("clock_outage", began=last["beat"], ended=now)
                await connection.execute("INSERT INTO outage (began, ended) VALUES ($1, $2) ON CONFLICT DO NOTHING", last["beat"], now)
        return leads

    async def _end(self, table_id: str, phase: str, number: int, turn: Turn) -> None:
        now = self._clock()
        if phase == "between_deals":
            self._made(await self._tables.start_deal(table_id, number + 1, now))
            return
        result = await self._tables.time_out(table_id, turn, now)
        if isinstance(result, Committed) and not result.repeated:
            log.info("turn_timed_out", table=table_id, turn_revision=turn.revision, credit=turn.credit)
        self._made(result)
