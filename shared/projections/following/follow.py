"""The follow loop: one worker a stream, from the checkpoint on, rows and checkpoint in one transaction.

Killed at any point it goes on where the last transaction ended; stopped and overtaken it writes nothing; a log that is not the one it
knows it refuses.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import time
import traceback
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from functools import partial
from typing import Any, Final, TypeAlias

import msgspec
import structlog

from shared.eventlog.port import EventLog, LogBehind, LogError, Stored
from shared.events.commit import hash_of
from shared.projections.core import checkpoint, status
from shared.projections.core.checkpoint import Checkpoint, Lease, LeaseLost
from shared.projections.core.history import Heads, LogBehindCheckpoint, RefusedToRun, check_against_log
from shared.projections.core.projection import UNAPPLICABLE, Connection, Projection
from shared.projections.core.status import Status
from shared.projections.parking import parking
from shared.projections.parking.chronicle import Chronicle, Untold
from shared.projections.parking.clerk import Clerk

log = structlog.get_logger(__name__)

BATCH: Final = 500  # commits a transaction: past that, insertion is no faster and a lost batch costs more
RENEW_S: Final = 1.0  # seconds between renewals: half a lease
STANDBY_S: Final = 0.5  # seconds between a standby's attempts: lease and attempt together stay below 3 s
SILENCE_S: Final = 15.0  # seconds without a batch, an empty one included: three times the longest that the port allows
BACKOFF_S: Final = (0.1, 2.0)  # seconds before the first retry and at most: a restarted Postgres is back in under a second
BEHIND_TICKS: Final = 3  # looks at the log's end that must all lie before the checkpoint, since one may ask a member that lags


def new_holder() -> str:
    """Who takes a lease: machine, process, and a random part, since two loops in one process are two."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


class Pace(msgspec.Struct, frozen=True):
    """Under load, let commits gather: a transaction costs the same for one as for many, and the process has other work.

    Up to `calm` transactions in a second each commit is written at once; past that a worker waits `seconds` between two.
    """

    calm: int
    seconds: float


AT_ONCE: Final = Pace(1, 0.0)  # no waiting at all

Connect: TypeAlias = Callable[[], AbstractAsyncContextManager[Connection]]  # as `checkpoint.connected` does, or another's connection lent
Batch: TypeAlias = Callable[[Connection], Awaitable[int]]  # asked whenever following begins


class Archived(msgspec.Struct, frozen=True):
    """What was applied from an archive before the log is followed: which `subjects`, and by stream the newest commit."""

    subjects: frozenset[str] = frozenset()
    ends: Mapping[str, Checkpoint] = {}


class Worker:
    """Keeps one projection's rows of one stream at the head of the log."""

    def __init__(  # noqa: PLR0913 - put together in two places, here and in a rebuild
        self, event_log: EventLog, stream: str, projection: Projection, postgres_dsn: str, schema: str,
        reached: Callable[[str, int], None] = lambda _stream, _sequence: None, pace: Pace = AT_ONCE, *,
        connect: Connect | None = None, chronicle: Chronicle | None = None, archived: Archived | None = None, batch: Batch | None = None,
        holder: str | None = None,
    ) -> None:  # fmt: skip
        """`connect`: where its connection comes from, at the beginning and after each failure; its own if not said. `batch`: how
        many commits a transaction at most. `holder`: in whose name it takes its lease; whoever has that may take it again at once.
        """
        self.stream = stream
        self._log = event_log
        self._projection = projection
        self._connect = connect or partial(checkpoint.connected, postgres_dsn, schema, projection.ddl, stream)
        self._schema = schema
        self._reached = reached
        self._holder = holder or new_holder()
        self._stopping = asyncio.Event()
        self.settled = asyncio.Event()  # it knows for the first time whether it follows, waits or refuses
        self.refused: RefusedToRun | None = None
        self._state, self._reason, self._detail = "starting", None, None  # type: tuple[str, str | None, str | None]
        self._sequence, self._at, self._last, self._heartbeat, self._epoch, self._behind = 0, 0, 0, 0, 0, 0
        self._clerk = Clerk(event_log, projection, stream, chronicle or Untold())
        self._pace = pace
        self._archived = archived or Archived()
        self._choose, self._batch = batch, BATCH
        self._applied: deque[float] = deque(maxlen=pace.calm)  # when the last transactions ended
        self._delay = BACKOFF_S[0]

    async def run(self) -> None:
        """Follow until `stop`. Raises `RefusedToRun`; whatever passes by itself is waited out, longer each time."""
        watch = asyncio.create_task(self._watch_the_log())
        try:
            while not self._stopping.is_set():
                try:
                    await self._connected()
                except LeaseLost as lost:
                    log.warning("lease_lost", projection=self._schema, stream=self.stream, how=f"{type(lost).__name__}: {lost}")
                    self._enter("standby")
                except RefusedToRun:
                    raise
                except Exception as error:  # noqa: BLE001 - to go on from the checkpoint is always safe; a defect says so and is seen by /health
                    self._fell(error)
                    await self._pause(self._delay)
                    self._delay = min(2 * self._delay, BACKOFF_S[1])
            self._enter("stopped")
        except RefusedToRun as refused:
            self.refused = refused
            self._enter("refused", refused.reason, str(refused))
            log.critical("projection_refused", projection=self._schema, stream=self.stream, reason=refused.reason, detail=str(refused))
            raise
        finally:
            watch.cancel()

    def stop(self) -> None:
        """End after the batch in hand; `run` then returns."""
        self._stopping.set()

    @property
    def sequence(self) -> int:
        """The last sequence whose rows are committed."""
        return self._sequence

    def status(self) -> Status:
        """How it is doing; cheap."""
        lag = max(0, self._last - self._sequence)
        seconds = max(0.0, time.time() - self._at / 1000) if lag and self._at else 0.0
        return Status(
            projection=self._schema, stream=self.stream, state=self._state, reason=self._reason, detail=self._detail,
            sequence=self._sequence, lag_events=lag, lag_seconds=seconds,
            heartbeat=self._heartbeat, epoch=self._epoch, parked=len(self._clerk.parked),
        )  # fmt: skip

    # ---- one connection's life -----------------------------------------------------------------------------------------

    async def _connected(self) -> None:
        async with self._connect() as connection:
            lease = await self._take_lease(connection)
            if lease is not None:
                try:
                    await self._lead(connection, lease)
                except RefusedToRun:
                    await checkpoint.release(connection, lease)  # whoever starts next is to find out at once, not after a lease's time
                    raise

    async def _take_lease(self, connection: Connection) -> Lease | None:
        while not self._stopping.is_set():
            lease = await checkpoint.take(connection, self.stream, self._holder)
            if lease is not None:
                return lease
            self._enter("standby")
            self._arrived(await checkpoint.read(connection, self.stream))
            await self._pause(STANDBY_S)
        return None

    async def _lead(self, connection: Connection, lease: Lease) -> None:
        at = await checkpoint.read(connection, self.stream)
        await check_against_log(self._log, at, connection)
        await self._clerk.open(connection, lease)
        self._epoch = lease.epoch
        self._arrived(at)
        self._enter("following")
        self._delay = BACKOFF_S[0]
        log.info("projection_following", projection=self._schema, stream=self.stream, sequence=at.sequence, epoch=lease.epoch)
        if self._choose is not None:
            self._batch = await self._choose(connection)
        batches = self._log.follow(self.stream, after=at.sequence, batch=self._batch)
        async with aclosing(batches):
            try:
                await self._follow(connection, lease, batches)
            except LogBehind as behind:
                raise LogBehindCheckpoint(str(behind)) from None
        await checkpoint.release(connection, lease)

    async def _follow(self, connection: Connection, lease: Lease, batches: AsyncGenerator[list[Stored], None]) -> None:
        stopping = asyncio.create_task(self._stopping.wait())
        upcoming = asyncio.ensure_future(anext(batches, None))
        renewed = heard = time.monotonic()
        try:
            while not self._stopping.is_set():
                await asyncio.wait({upcoming, stopping}, timeout=RENEW_S, return_when=asyncio.FIRST_COMPLETED)
                now = time.monotonic()
                if upcoming.done() and not self._stopping.is_set():
                    heard_of = upcoming.result()
                    if heard_of is None:
                        raise status.LogSilent(f"the log's adapter has ended following {self.stream}")
                    batch = [stored for stored in heard_of if stored.sequence > self._sequence]  # a repeat is nothing new
                    heard, upcoming = now, asyncio.ensure_future(anext(batches, None))  # the next is fetched while this one is written
                    if batch:
                        await self._apply(connection, lease, batch)
                        await self._keep_pace(full=len(batch) == self._batch)
                    elif self._last > self._sequence:
                        await self._step_over(connection, lease)
                if now - renewed >= RENEW_S:
                    await checkpoint.renew(connection, lease, self._sequence)  # rows may be put back while nobody plays
                    await self._clerk.attend(connection, lease)
                    renewed = now
                if self._behind >= BEHIND_TICKS:
                    raise LogBehindCheckpoint(f"{self.stream} ends at sequence {self._last}, but {self._sequence} has been applied")
                if now - heard >= SILENCE_S:
                    raise status.LogSilent(f"nothing heard of {self.stream} for {SILENCE_S:.0f} s")
                self._heartbeat = int(time.time() * 1000)
        finally:
            await _cancelled(stopping, upcoming)

    async def _step_over(self, connection: Connection, lease: Lease) -> None:
        """Where the log's last commits were purged, with the tables that were archived, go on to its end without them."""
        with suppress(LogError):  # asked again at the next sign of life
            last = await self._log.last_sequence(self.stream)
            if last <= self._sequence or await self._log.next_after(self.stream, self._sequence):
                return
            if await self._log.last_sequence(self.stream) < last:  # another leader was asked, and does not know all yet
                return
            archived = self._archived.ends.get(self.stream)
            to = archived if archived and archived.sequence == last else Checkpoint(self.stream, last, None, None, self._at)
            async with connection.transaction():
                await checkpoint.lock(connection, lease)
                await checkpoint.move(connection, self._schema, to)
            self._arrived(to)

    async def _keep_pace(self, *, full: bool) -> None:
        now = time.monotonic()
        busy = len(self._applied) == self._pace.calm and now - self._applied[0] < 1.0
        self._applied.append(now)
        if busy and self._pace.seconds and not full:  # a full batch has more behind it
            await self._pause(self._pace.seconds)

    # ---- one batch -----------------------------------------------------------------------------------------------------

    async def _apply(self, connection: Connection, lease: Lease, batch: Sequence[Stored]) -> None:
        to = self._place(batch)
        batch = await self._without_archived(connection, batch)
        if self._clerk.skips.touch(batch):
            await self._apply_carefully(connection, lease, batch, to)
        else:
            try:
                await self._apply_whole(connection, lease, batch, to)
            except UNAPPLICABLE as error:
                if connection.is_closed():
                    raise ConnectionError("the connection was lost in a batch") from error
                await self._apply_carefully(connection, lease, batch, to)
        self._arrived(to)
        status.APPLIED.labels(self._projection.name, self.stream).inc(len(batch))

    async def _apply_whole(self, connection: Connection, lease: Lease, batch: Sequence[Stored], to: Checkpoint) -> None:
        """Apply what is not parked at one go, and park what follows a parked commit."""
        parked = self._clerk.parked
        late = [stored for stored in batch if stored.address.subject in parked] if parked else []
        fresh = [stored for stored in batch if stored.address.subject not in parked] if late else batch
        async with connection.transaction():
            await checkpoint.lock(connection, lease, self._sequence)
            heads = await Heads.read(connection, fresh)
            for stored in fresh:
                heads.follow(stored)
            if fresh:
                await self._projection.apply(connection, fresh)
            await heads.write(connection)
            await parking.park(connection, late, parking.EARLIER)
            await checkpoint.move(connection, self._schema, to)

    async def _apply_carefully(self, connection: Connection, lease: Lease, batch: Sequence[Stored], to: Checkpoint) -> None:
        """Apply commit by commit, leave out what is to be left out, and park what cannot be applied.

        Only where the log still is the one that was read: in another one every table would seem to be damaged.
        """
        await check_against_log(self._log, await checkpoint.read(connection, self.stream), connection)
        parked = set(self._clerk.parked)
        async with connection.transaction():
            await checkpoint.lock(connection, lease, self._sequence)
            heads = await Heads.read(connection, batch)
            await parking.apply_carefully(connection, self._projection, batch, heads, parked, self._clerk.skips)
            await heads.write(connection)
            await checkpoint.move(connection, self._schema, to)
        self._clerk.parked = parked

    async def _without_archived(self, connection: Connection, batch: Sequence[Stored]) -> Sequence[Stored]:
        """What of `batch` was not applied from the archive: a table may lie there and still in the log."""
        if not any(stored.address.subject in self._archived.subjects for stored in batch):
            return batch
        heads = await Heads.read(connection, batch)
        return [one for one in batch if one.address.subject not in self._archived.subjects or not heads.has(one)]

    def _place(self, batch: Sequence[Stored]) -> Checkpoint:
        """The checkpoint after `batch`: of its last commit, applied or not, and the time of the last one that tells its time."""
        last = batch[-1]
        at = next((at for stored in reversed(batch) if (at := parking.time_of(stored)) is not None), self._at)
        return Checkpoint(self.stream, last.sequence, last.address.subject, hash_of(last.data), at)

    # ---- what others see -----------------------------------------------------------------------------------------------

    def _arrived(self, at: Checkpoint) -> None:
        self._sequence, self._at = at.sequence, at.at
        self._last = max(self._last, at.sequence)
        self._reached(self.stream, at.sequence)

    def _enter(self, state: str, reason: str | None = None, detail: str | None = None) -> None:
        self._state, self._reason, self._detail = state, reason, detail
        self._heartbeat = int(time.time() * 1000)
        if state in {"standby", "following", "refused"}:
            self.settled.set()
        labels = (self._projection.name, self.stream)
        status.FOLLOWING.labels(*labels).set(state == "following")

    def _fell(self, error: Exception) -> None:
        reason = status.classify(error)
        self._enter("down", reason, status.told(error))
        told = {"projection": self._schema, "stream": self.stream, "reason": reason, "detail": self._detail}
        if reason == status.DEFECT:
            log.critical(
                "projection_down", **told, where=[f"{at.filename}:{at.lineno}" for at in traceback.extract_tb(error.__traceback__)]
            )
        else:
            log.warning("projection_down", **told, error=f"{type(error).__name__}: {error}")  # in a library's words

    async def _watch_the_log(self) -> None:
        """Look each second where the log ends: for the lag, and for a log that lost its end while we ran."""
        labels = (self._projection.name, self.stream)
        while not self._stopping.is_set():
            before = self._sequence
            with suppress(LogError):  # the follow loop says what is wrong with the log
                self._last = await self._log.last_sequence(self.stream)
                self._behind = self._behind + 1 if self._last < before else 0
            now = self.status()
            status.LAG_EVENTS.labels(*labels).set(now.lag_events)
            status.LAG_SECONDS.labels(*labels).set(now.lag_seconds)
            status.HEARTBEAT.labels(*labels).set(now.heartbeat / 1000)
            status.PARKED.labels(*labels).set(now.parked)
            await self._pause(RENEW_S)

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()


async def _cancelled(*tasks: asyncio.Future[Any]) -> None:
    """Cancel and wait, so that nothing of them outlives the loop."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
