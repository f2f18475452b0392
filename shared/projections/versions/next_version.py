"""Filling the next version beside the one that is read, and switching readers to it: killed anywhere, the old one is read on.

A version is switched to when it is where the old one is: the old one's leases are locked, the new one catches up, and one statement
changes which is read. Its workers tell nobody anything, so whatever hangs on rows that are read (signing, announcements) stays mute.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, Final

import asyncpg
import msgspec
import structlog

from shared.eventlog.port import EventLog
from shared.projections.core import checkpoint
from shared.projections.core.checkpoint import CONNECT_S
from shared.projections.core.history import LogBehindCheckpoint
from shared.projections.core.projection import Connection, Projection
from shared.projections.parking.chronicle import Chronicle
from shared.projections.versions.filling import Archive, Counted, Filling, Progress, marks_of
from shared.projections.versions.versions import Version, Versions

log = structlog.get_logger(__name__)

CATCH_UP_S: Final = 2.0  # seconds that the old version's workers may be held for the new one to come up to it; it takes milliseconds
LOCK_MS: Final = 1_000  # for the old version's leases, or a dropped version's tables: a batch holds its lease for some ten
IDLE_MS: Final = 4_000  # a stopped process may not hold the old version's leases for ever; one that works has them for the time above
AGAIN_S: Final = 0.2  # seconds before the next try to switch
UNREAD_S: Final = 10.0  # seconds after which nobody can still be reading a version that readers have left: a read has a deadline of two

Stage = Callable[[Connection], Awaitable[object]]  # brings up to date what is derived from a version's rows; the search path is its schema


class AlreadyFilling(Exception):
    """Somebody else is filling a next version; `version` is which, None while it has no number yet."""

    def __init__(self, version: Version | None) -> None:
        super().__init__(f"version {version.number} is being filled, for {version.author}" if version else "a version is being filled")
        self.version = version


class RightLost(ConnectionError):
    """The session whose lock kept others from filling has ended; nothing was switched, and whoever wants to may begin anew."""


class Behind(Exception):
    """The new version is not where the old one is; nothing was switched."""


class Switched(msgspec.Struct, frozen=True):
    """What was done. `sequences`: how many of the log were read, gaps included; `parked`: commits that could not be applied; `dropped`: the
    numbers of the versions that are gone now.
    """

    version: Version
    sequences: int
    parked: int
    dropped: Sequence[int]


class NextVersion:
    """The way from a version's beginning to the switch; `fill` once."""

    def __init__(
        self, event_log: EventLog, projection: Projection, streams: tuple[str, ...], postgres_dsn: str, versions: Versions,
        stage: Stage | None = None, *, chronicle: Chronicle | None = None,
    ) -> None:  # fmt: skip
        self._log = event_log
        self._projection = projection
        self._streams = streams
        self._dsn = postgres_dsn
        self._versions = versions
        self._stage = stage
        self._chronicle = chronicle

    async def fill(
        self, author: str, progress: Progress = lambda _done, _all: None, archived: Archive | None = None, unread_s: float = UNREAD_S
    ) -> Switched:
        """Fill and switch. `progress` and `archived` as for `rebuild`; versions before the one that was read until now are dropped.

        Raises `AlreadyFilling`, `RefusedToRun`, `Unavailable`, and what asyncpg raises; then nothing was switched, and what was filled is
        dropped now, or by the next who fills.
        """
        control = await asyncpg.connect(
            self._dsn, timeout=CONNECT_S, server_settings={"application_name": f"{self._versions.registry} next"}
        )
        try:
            await self._versions.prepare(control)
            await self._alone(control)
            live = await self._versions.live(control)
            if live is not None:
                await self._check_the_log(await _positions(control, self._versions.schema(live.number)))
            version = await self._versions.begin(control, self._projection.version, author)
            log.info("version_begins", projection=self._projection.name, version=version.number, rows=version.rows, author=author)
            try:
                total = await self._filled(control, live, version, progress, archived)
            except BaseException:
                await self._give_up(version)
                raise
            (now,) = [known for known in await self._versions.known(control) if known.number == version.number]
            parked = await control.fetchval(f'SELECT count(*) FROM "{self._versions.schema(now.number)}".parked')  # noqa: S608 - our own schema's name
            log.info("version_switched", projection=self._projection.name, version=now.number, previous=now.previous, parked=parked)
            return Switched(now, total, parked, await self._drop_older(control, now, unread_s))
        finally:
            await checkpoint.close(control)

    async def open_empty(self, author: str) -> None:
        """Let an empty version be read at once, where none is: for a log that is empty itself. Raises `AlreadyFilling`."""
        control = await asyncpg.connect(self._dsn, timeout=CONNECT_S)
        try:
            await self._alone(control)
            if await self._versions.live(control) is None:
                version = await self._versions.begin(control, self._projection.version, author)
                await checkpoint.prepare(control, self._versions.schema(version.number), self._projection.ddl)
                async with control.transaction():
                    await self._versions.switch(control, version, None, {})
        finally:
            await checkpoint.close(control)

    async def _alone(self, control: Connection) -> None:
        """Make sure that nobody else fills, and clear away what somebody left half filled. Raises `AlreadyFilling`."""
        alone = await self._versions.alone(control)
        half = [version for version in await self._versions.known(control) if version.state == "filling"]
        if not alone:
            raise AlreadyFilling(half[-1] if half else None)
        for version in half:
            log.warning("half_filled_version_dropped", projection=self._projection.name, version=version.number)
            await self._versions.drop(control, version.number)

    async def _filled(
        self, control: Connection, live: Version | None, version: Version, progress: Progress, archived: Archive | None
    ) -> int:
        marks = await marks_of(self._log, self._streams)
        counted = Counted(marks, progress)
        schema = self._versions.schema(version.number)
        filling = Filling(
            self._log, self._projection, self._streams, self._dsn, schema, counted.reached, self._chronicle,
            readers=self._versions.readers,
        )  # fmt: skip
        try:
            await filling.begin(archived)
            await _while_open(control, filling.reach(marks))
            await self._derive(schema)
            await _analyze(control, schema)
            while True:
                try:
                    # what was played meanwhile, however long that takes: little is left for when the old version's workers are held
                    await _while_open(control, self._catch_up(control, live, filling, None))
                    await self._switch(control, live, version, filling)
                except (TimeoutError, asyncpg.LockNotAvailableError):  # the log or a worker was slow: the old version goes on meanwhile
                    await asyncio.sleep(AGAIN_S)
                    if live is not None:
                        await self._check_the_log(await _positions(control, self._versions.schema(live.number)))
                else:
                    return counted.total
        finally:
            await filling.close()

    async def _switch(self, control: Connection, live: Version | None, version: Version, filling: Filling) -> None:
        """One try. Raises `TimeoutError` and `LockNotAvailableError` when there may be another."""
        async with control.transaction():
            await control.execute(f"SET LOCAL lock_timeout = {LOCK_MS}")
            await control.execute(f"SET LOCAL idle_in_transaction_session_timeout = {IDLE_MS}")
            if live is not None:  # its workers stand before their next batch
                await control.execute(f'LOCK TABLE "{self._versions.schema(live.number)}".lease IN EXCLUSIVE MODE')
            before = await self._catch_up(control, live, filling, CATCH_UP_S)
            marks = await _positions(control, self._versions.schema(version.number))
            if any(marks.get(stream, 0) < sequence for stream, sequence in before.items()):
                raise Behind(f"version {version.number} is at {marks}, version {live and live.number} at {before}")
            await self._derive(self._versions.schema(version.number))
            if live is not None:
                await self._versions.retire(control, live, self._streams)
            await self._versions.switch(control, version, live, marks)

    async def _catch_up(self, control: Connection, live: Version | None, filling: Filling, limit: float | None) -> Mapping[str, int]:
        """Bring the new version to where the old one is; returns where that is. Raises `TimeoutError` after `limit` seconds: what was done
        is kept.
        """
        if live is None:
            return {}
        shown = await _positions(control, self._versions.schema(live.number))
        async with asyncio.timeout(limit):
            await filling.reach(shown)
        return shown

    async def _check_the_log(self, shown: Mapping[str, int]) -> None:
        """A log that ends before what readers see can never fill a version as far. Raises `LogBehindCheckpoint`."""
        for stream, sequence in shown.items():
            last = await self._log.last_sequence(stream)
            if last < sequence:
                raise LogBehindCheckpoint(f"{stream} ends at sequence {last}, but the version that is read shows {sequence}")

    async def _derive(self, schema: str) -> None:
        if self._stage is None:
            return
        connection = await asyncpg.connect(self._dsn, timeout=CONNECT_S, server_settings={"search_path": schema})
        try:
            await self._stage(connection)
        finally:
            await checkpoint.close(connection)

    async def _give_up(self, version: Version) -> None:
        """Drop what was not switched to; where that fails too, the next who fills does it."""
        try:
            connection = await asyncpg.connect(self._dsn, timeout=CONNECT_S)
            try:
                await self._versions.drop(connection, version.number)
            finally:
                await checkpoint.close(connection)
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, ValueError) as wrong:
            log.warning("half_filled_version_stays", version=version.number, error=type(wrong).__name__)

    async def _drop_older(self, control: Connection, now: Version, unread_s: float) -> list[int]:
        """Drop the versions that were left before the last switch; returns which."""
        left_at = {version.previous: version.switched or 0 for version in await self._versions.known(control)}
        dropped = []
        for version in await self._versions.known(control):
            left = left_at.get(version.number, 0)
            if version.state != "retired" or version.number == now.previous or time.time() * 1000 - left < 1000 * unread_s:
                continue
            try:
                await control.execute(f"SET lock_timeout = {LOCK_MS}")
                await self._versions.drop(control, version.number)
            except asyncpg.LockNotAvailableError:
                log.warning("old_version_stays", version=version.number, reason="somebody reads it")
            else:
                dropped.append(version.number)
        return dropped


async def _while_open(control: Connection, work: Coroutine[Any, Any, object]) -> None:
    """Do `work` as long as `control` is open: with it goes the lock, and another may begin. Raises `RightLost`."""
    lost = asyncio.Event()
    control.add_termination_listener(lambda _: lost.set())
    doing, losing = asyncio.create_task(work), asyncio.create_task(lost.wait())
    try:
        await asyncio.wait({doing, losing}, return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            raise RightLost("the connection that keeps others from filling was lost")
        doing.result()
    finally:
        for task in (doing, losing):
            task.cancel()
        await asyncio.gather(doing, losing, return_exceptions=True)


async def _analyze(connection: Connection, schema: str) -> None:
    """Let Postgres count what the tables hold: it plans reads by that, and would do so by itself a minute after readers have come."""
    for row in await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = $1 ORDER BY tablename", schema):
        await connection.execute(f'ANALYZE "{schema}"."{row["tablename"]}"')


async def _positions(connection: Connection, schema: str) -> dict[str, int]:
    rows = await connection.fetch(f'SELECT stream, sequence FROM "{schema}".checkpoint ORDER BY stream')  # noqa: S608 - our own schema's name
    return {row["stream"]: row["sequence"] for row in rows}
