"""What a service follows: the version that is read, whichever that is; and what it does when this program writes other rows.

Where the program is newer than the rows, it fills a next version, and readers wait for it. Where the rows are newer, it serves nothing: an
older program that filled versions of its own would fight the newer one for readers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final, Protocol

import asyncpg
import structlog

from shared.eventlog.port import EventLog, LogError
from shared.projections.core import checkpoint
from shared.projections.core.at_least import AtLeast
from shared.projections.core.checkpoint import COMMAND_S, CONNECT_S
from shared.projections.core.history import RefusedToRun
from shared.projections.core.projection import Connection, Projection
from shared.projections.core.status import PASSING, Status
from shared.projections.following.follow import AT_ONCE, BACKOFF_S, Pace
from shared.projections.following.projector import PROBE_S, SETTLE_S, Projector
from shared.projections.parking.chronicle import Chronicle
from shared.projections.versions.filling import Archive
from shared.projections.versions.next_version import AlreadyFilling, NextVersion, Stage
from shared.projections.versions.versions import Version, Versions

log = structlog.get_logger(__name__)

SOON_S: Final = 0.2  # seconds before the next look while something is about to change: another process opens or fills a version
TELL_S: Final = 5.0  # seconds between two lines about how far a filling is
SERVICE: Final = "service"  # the author of what nobody asked for


class NewerRows(RefusedToRun):
    """The rows that are read were written by a newer program."""

    reason = "newer_rows"


async def _nobody_hears(_version: Version) -> None:
    pass


class Beside(Protocol):
    """What a service keeps of one version's rows besides following them: begun and ended with it."""

    def start(self) -> None:
        """Begin; returns at once."""
        ...

    async def stop(self) -> None:
        """End after the step in hand."""
        ...


class LiveVersion:
    """One projection of this process, over all its versions; used as a `Projector` is.

    `announce` is called once a switch, or again after a failure, and has to bear that. `stage` brings up to date what is derived from the
    rows of a version that is filled, `beside` makes what keeps it so in the version that is followed; it is given the schema. `archive`
    gives anew, for each filling, what may have left the log.
    """

    def __init__(  # noqa: PLR0913 - as a projector, and two of its own
        self, event_log: EventLog, projection: Projection, streams: tuple[str, ...], postgres_dsn: str, versions: Versions,
        *, pace: Pace = AT_ONCE, announce: Callable[[Version], Awaitable[None]] = _nobody_hears, stage: Stage | None = None,
        chronicle: Chronicle | None = None, beside: Callable[[str], Beside] | None = None,
        archive: Callable[[], Archive | None] = lambda: None,
    ) -> None:  # fmt: skip
        self.at_least = AtLeast(streams)
        self._log = event_log
        self._projection = projection
        self._streams = streams
        self._dsn = postgres_dsn
        self._versions = versions
        self._pace = pace
        self._announce = announce
        self._stage = stage
        self._chronicle = chronicle
        self._archive = archive
        self._make_beside = beside
        self._beside: Beside | None = None
        self._live: Version | None = None
        self._schema: str | None = None
        self._projector: Projector | None = None
        self._refused: RefusedToRun | None = None
        self._filling: asyncio.Task[None] | None = None
        self._progress: tuple[int, int] | None = None
        self._told_at = 0.0
        self._supervising: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self._settled = asyncio.Event()

    async def start(self) -> None:
        """Begin to follow; a version that has to be filled first goes on being filled after `SETTLE_S` seconds.

        Raises `RefusedToRun` when the log is not the one that the rows were folded from, or the rows are a newer program's.
        """
        self._supervising = asyncio.create_task(self._supervise(), name=f"{self._versions.registry} {self._projection.name}")
        with suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_S):
                await self._settled.wait()
        if self._refused is not None:
            await self.stop()
            raise self._refused

    async def stop(self) -> None:
        """Drain: every worker ends its batch and gives up its lease; what is half filled is dropped."""
        tasks = [task for task in (self._supervising, self._filling) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._leave()

    @property
    def live(self) -> Version | None:
        """The version that this process follows; None while it follows none."""
        return self._live

    @property
    def beside(self) -> Beside | None:
        """What is kept beside the version that is followed."""
        return self._beside

    @property
    def schema(self) -> str:
        """Where the rows are that this process follows, or followed last. Raises `LookupError` when there are none."""
        if self._schema is None:
            raise LookupError(f"no version of {self._projection.name} has been followed")
        return self._schema

    def status(self) -> list[Status]:
        """Every worker's state."""
        return self._projector.status() if self._projector is not None else []

    def health(self) -> dict[str, Any]:
        """As `Projector.health`, with the `version` that is followed; `down` while there is none to read, with the reason."""
        base = {"projection": self._projection.name, "version": self._live.number if self._live else None}
        if self._refused is not None:
            return {"status": "down", **base, "reason": self._refused.reason, "parked": 0, "problems": {}}
        if self._projector is None:
            filling = {"filling": {"done": self._progress[0], "of": self._progress[1]}} if self._progress else {}
            return {"status": "down", **base, "reason": "being_filled", **filling, "parked": 0, "problems": {}}
        return self._projector.health() | base

    # ---- which version -------------------------------------------------------------------------------------------------

    async def _supervise(self) -> None:
        """Look at the registry whenever it says that something changed, at each new connection, and now and then."""
        delay = BACKOFF_S[0]
        while True:
            try:
                connection = await asyncpg.connect(self._dsn, timeout=CONNECT_S, command_timeout=COMMAND_S)
                try:
                    await self._versions.prepare(connection)
                    await connection.add_listener(self._versions.channel, lambda *_: self._news.set())
                    delay = BACKOFF_S[0]
                    while True:
                        self._news.clear()
                        wait = await self._look(connection)
                        with suppress(TimeoutError):
                            async with asyncio.timeout(wait):
                                await self._news.wait()
                finally:
                    await checkpoint.close(connection)
            except RefusedToRun as refused:
                self._refuse(refused)
                return
            except Exception as wrong:  # noqa: BLE001 - to look again is always safe, and not to look would leave readers behind for ever
                say = log.warning if isinstance(wrong, PASSING) else log.critical
                say("versions_unknown", projection=self._projection.name, error=type(wrong).__name__)
                await asyncio.sleep(delay)
                delay = min(2 * delay, BACKOFF_S[1])

    async def _look(self, connection: Connection) -> float:
        """Do what the registry calls for; returns after how many seconds to look again. Raises `RefusedToRun`."""
        live = await self._versions.live(connection)
        if live is not None and live.rows > self._projection.version:
            await self._leave()
            raise NewerRows(
                f"version {live.number} of {self._projection.name} is of a newer program (rows {live.rows}; this one writes "
                f"{self._projection.version}); run that one, or let this one rebuild"
            )
        if live is not None and live.rows == self._projection.version:
            if self._live is None or self._live.number != live.number:
                await self._move_to(live)
            if not live.announced:
                with suppress(LogError):  # told at a later look
                    await self._announce(live)
                    await self._versions.announced(connection, live)
            return PROBE_S
        if live is None and not any([await self._log.last_sequence(stream) for stream in self._streams]):
            with suppress(AlreadyFilling):  # by another process; we follow what it opens
                await self._next().open_empty(SERVICE)
            return SOON_S
        if self._filling is None or self._filling.done():
            self._filling = asyncio.create_task(self._fill(live), name=f"{self._projection.name} next version")
        return SOON_S

    async def _move_to(self, live: Version) -> None:
        """Follow `live` instead of what was followed before; whoever waits for a position goes on waiting. Raises `RefusedToRun`."""
        log.info("version_followed", projection=self._projection.name, version=live.number, rows=live.rows)
        schema = self._versions.schema(live.number)
        projector = Projector(
            self._log, self._projection, self._streams, self._dsn, schema, self._pace, self._chronicle, at_least=self.at_least
        )
        stopping = self._leave()
        self._projector, self._live, self._schema = projector, live, schema
        if self._make_beside is not None:
            self._beside = self._make_beside(schema)
            self._beside.start()
        try:
            await projector.start()
        finally:
            await stopping
        self._settled.set()

    def _leave(self) -> Awaitable[object]:
        """Follow nothing from now on; what is returned ends when what was followed has been drained."""
        parts = [part for part in (self._projector, self._beside) if part is not None]
        self._projector = self._beside = self._live = None
        return asyncio.gather(*(part.stop() for part in parts))

    def _refuse(self, refused: RefusedToRun) -> None:
        log.critical("projection_refused", projection=self._projection.name, reason=refused.reason, detail=str(refused))
        self._refused = refused
        self._settled.set()

    # ---- the next version ----------------------------------------------------------------------------------------------

    def _next(self) -> NextVersion:
        return NextVersion(self._log, self._projection, self._streams, self._dsn, self._versions, self._stage, chronicle=self._chronicle)

    async def _fill(self, live: Version | None) -> None:
        """Fill a version for this program's rows; what goes wrong by itself is tried again at the next look."""
        log.warning("version_needed", projection=self._projection.name, rows=self._projection.version, read=live.rows if live else None)
        try:
            await self._next().fill(SERVICE, self._filled, self._archive())
        except AlreadyFilling as other:
            log.info("version_awaited", projection=self._projection.name, detail=str(other))
            await asyncio.sleep(SOON_S)
        except RefusedToRun as refused:
            self._refuse(refused)
        except Exception as wrong:  # noqa: BLE001 - nothing was switched, so to fill anew is safe; a defect says so, and readers go on waiting
            say = log.warning if isinstance(wrong, PASSING) else log.critical
            say("version_not_filled", projection=self._projection.name, error=type(wrong).__name__)
            await asyncio.sleep(PROBE_S)
        finally:
            self._progress = None
            self._news.set()

    def _filled(self, done: int, total: int) -> None:
        self._progress = (done, total)
        if time.monotonic() - self._told_at >= TELL_S:
            self._told_at = time.monotonic()
            log.info("version_being_filled", projection=self._projection.name, done=done, of=total)
