"""Parking as one stream's worker handles it: what is parked and left out, orders between two batches, and what the log is told of them.

A decision to leave a commit out is in the log before the rows follow it: killed in between, the next worker reads it there and does it.
What is told of parking and of retries is told again after a crash; the log takes each once.
"""

from __future__ import annotations

from typing import Final

import structlog

from shared.eventlog.port import EventLog, LogError, Stored
from shared.projections.core import history
from shared.projections.core.checkpoint import Lease, LeaseLost, lock, renew
from shared.projections.core.history import Heads, RefusedToRun
from shared.projections.core.projection import Connection, Projection
from shared.projections.core.status import PASSING
from shared.projections.parking import orders, parking
from shared.projections.parking.chronicle import Chronicle
from shared.projections.parking.orders import RETRY, Order, Outcome
from shared.projections.parking.parking import Parked, StillFails
from shared.projections.parking.skipping import Skips

log = structlog.get_logger(__name__)

AT_ONCE: Final = 500  # commits of a retry that are applied together, as in a batch


class Clerk:
    """One worker's parking. `parked`: the aggregates that wait; `skips`: what is left out."""

    def __init__(self, event_log: EventLog, projection: Projection, stream: str, chronicle: Chronicle) -> None:
        self.parked: set[str] = set()
        self.skips = Skips()
        self._log = event_log
        self._projection = projection
        self._stream = stream
        self._chronicle = chronicle
        self._told: set[tuple[str, int]] = set()  # parked commits of which the log has heard

    async def open(self, connection: Connection, lease: Lease) -> None:
        """Begin a term: read what was decided before, and do what an earlier worker left undone. Raises `LeaseLost`, `LogError`."""
        self.skips = Skips(await self._chronicle.skips())
        self.parked = await parking.parked_aggregates(connection, self._stream)
        await self.attend(connection, lease)

    async def attend(self, connection: Connection, lease: Lease) -> None:
        """Do what has been ordered; called between two batches. Raises `LeaseLost`, `HistoryDiffers`, and what a lost connection raises."""
        waiting = await orders.pending(connection, self._stream)
        if not waiting and not self.parked:
            return
        try:
            await self._follow_the_log(connection, lease)
            await self._tell_what_is_parked(connection)
            for order, known in waiting:
                outcome = known or await self._answer(connection, lease, order)
                if order.kind == RETRY and outcome.applied:
                    await self._chronicle.retried(order.id, order.aggregate, outcome.applied, order.author)
                await orders.settle(connection, order, outcome, told=True)
            if waiting:
                await self._tell_what_is_parked(connection)
        except LogError as away:  # nothing is lost: it is all done at a later call, and the tables that are well go on
            log.warning("parking_waits_for_the_log", projection=self._projection.name, stream=self._stream, error=type(away).__name__)

    async def _tell_what_is_parked(self, connection: Connection) -> None:
        for first in await self._first_parked(connection):
            if (first.aggregate, first.sequence) not in self._told:
                await self._chronicle.parked(first)
                self._told.add((first.aggregate, first.sequence))

    async def _first_parked(self, connection: Connection) -> list[Parked]:
        found = [await parking.parked_of(connection, aggregate) for aggregate in sorted(self.parked)]
        return [waiting[0] for waiting in found if waiting]

    async def _follow_the_log(self, connection: Connection, lease: Lease) -> None:
        """Leave out what the log says is left out and is still parked here."""
        if not self.parked:
            return
        self.skips = Skips(await self._chronicle.skips())
        for first in await self._first_parked(connection):
            if self.skips.names(first.aggregate, first.revision):
                await self._release(connection, lease, await self._commits(connection, first.aggregate), None)

    async def _answer(self, connection: Connection, lease: Lease, order: Order) -> Outcome:
        try:
            return await self._carry_out(connection, lease, order)
        except RefusedToRun as refused:
            await orders.settle(connection, order, Outcome(reason=refused.reason), told=True)  # whoever asked need not wait for nothing
            raise
        except LeaseLost:
            raise
        except PASSING:
            raise  # the order stays, and is done when all are there again
        except Exception as defect:  # noqa: BLE001 - an order must not stop the stream: it is answered by the kind of the error
            log.error("order_failed", order=order.kind, aggregate=order.aggregate, error=type(defect).__name__)  # noqa: TRY400 - the text may hold what the row holds
            return Outcome(revision=order.revision, reason=type(defect).__name__)

    async def _carry_out(self, connection: Connection, lease: Lease, order: Order) -> Outcome:
        waiting = await parking.parked_of(connection, order.aggregate)
        if not waiting:
            self.parked.discard(order.aggregate)
            return Outcome(reason="not_parked")
        commits = await parking.read_parked(self._log, waiting)
        if order.kind == RETRY:
            return await self._retry(connection, lease, commits, order)
        if waiting[0].revision != order.revision:
            return Outcome(0, len(waiting), waiting[0].revision, "another_commit")
        applied, _ = await history.head(connection, order.aggregate)
        if commits[0].revision != applied + 1:
            return Outcome(0, len(waiting), waiting[0].revision, "out_of_place")
        await self._chronicle.skipped(waiting[0], order.author, order.why)
        self.skips = Skips(await self._chronicle.skips())
        log.warning("commit_skipped", position=waiting[0].position, aggregate=order.aggregate, author=order.author)
        return await self._release(connection, lease, commits, order)

    async def _commits(self, connection: Connection, aggregate: str) -> list[Stored]:
        return await parking.read_parked(self._log, await parking.parked_of(connection, aggregate))

    async def _retry(self, connection: Connection, lease: Lease, commits: list[Stored], order: Order) -> Outcome:
        """Apply all that waits of one aggregate, or nothing."""
        outcome = Outcome(len(commits))
        try:
            try:
                await self._apply(connection, lease, commits, AT_ONCE, (order, outcome))
            except StillFails:
                await self._apply(connection, lease, commits, 1, (order, outcome))  # once more, to name the commit
        except StillFails as still:
            log.warning("retry_failed", aggregate=order.aggregate, revision=still.revision, error=still.reason)
            return Outcome(0, len(commits), still.revision, still.reason)
        self.parked.discard(order.aggregate)
        log.info("parked_applied", aggregate=order.aggregate, commits=len(commits))
        return outcome

    async def _apply(self, connection: Connection, lease: Lease, commits: list[Stored], size: int, done: tuple[Order, Outcome]) -> None:
        async with connection.transaction():
            await lock(connection, lease)
            await connection.execute("DELETE FROM parked WHERE aggregate = $1", done[0].aggregate)
            await parking.apply_all(connection, self._projection, commits, self.skips, size)
            await orders.settle(connection, *done, told=False)
            await renew(connection, lease)  # a long sequence takes longer than a lease lasts

    async def _release(self, connection: Connection, lease: Lease, commits: list[Stored], order: Order | None) -> Outcome:
        """Go on behind a commit that is left out, as far as the rest can be applied: what a rebuild does too."""
        aggregate, again = commits[0].address.subject, set[str]()
        async with connection.transaction():
            await lock(connection, lease)
            await connection.execute("DELETE FROM parked WHERE aggregate = $1", aggregate)
            heads = await Heads.read(connection, commits)
            await parking.apply_carefully(connection, self._projection, commits, heads, again, self.skips)
            await heads.write(connection)
            left = await parking.parked_of(connection, aggregate)
            applied = sum(self.skips.of(one) is None for one in commits[: len(commits) - len(left)])
            outcome = Outcome(applied, len(left), left[0].revision, left[0].reason) if left else Outcome(applied)
            if order is not None:
                await orders.settle(connection, order, outcome, told=False)
            await renew(connection, lease)  # see `_apply`
        if not again:
            self.parked.discard(aggregate)
        return outcome
