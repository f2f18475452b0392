"""Keeps the ratings of one version up to its results: woken by Postgres when one was written, and now and then by itself."""

from __future__ import annotations

import asyncio
import time
import traceback
from contextlib import suppress
from typing import Any, Final

import structlog
from prometheus_client import Gauge

from services.ledger.players import rating_rows
from services.ledger.players.pulka_results import CHANNEL
from shared.projections.core import checkpoint
from shared.projections.core.at_least import WAIT_S
from shared.projections.core.projection import Connection
from shared.projections.core.status import DEFECT, classify

log = structlog.get_logger(__name__)

RATED: Final = Gauge("pulka_ratings_heartbeat_timestamp_seconds", "When the ratings last showed all results in the rows", ("projection",))

BACKOFF_S: Final = (0.1, 2.0)  # seconds before the first retry and at most, as the books' own workers
DRAIN_S: Final = 0.4  # seconds for the step in hand, which takes milliseconds; the stop of all services has one second
LOOK_S: Final = 5.0  # seconds between two looks without being woken: a lost notification costs no more than that


class RatingKeeper:
    """One task in a process; two ledgers may keep the same ratings, each step is done by one of them."""

    def __init__(self, postgres_dsn: str, schema: str) -> None:
        self._dsn = postgres_dsn
        self._schema = schema
        self._wanted = asyncio.Event()
        self._waiting: list[asyncio.Future[None]] = []  # who wants to know when the next look is over
        self._task: asyncio.Task[None] | None = None
        self._reason: str | None = None
        self._stopping = asyncio.Event()

    def start(self) -> None:
        """Begin to look, at once and whenever a pulka closes."""
        self._task = asyncio.create_task(self._run(), name=f"{self._schema} ratings")

    async def stop(self) -> None:
        """End after the step in hand; one that takes too long is taken back whole."""
        self._stopping.set()
        self._wanted.set()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=DRAIN_S)
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def health(self) -> dict[str, Any]:
        """`ok`, or `down` with one word for why: ratings then are late, and the books go on."""
        running = self._task is not None and not self._task.done()
        return {"status": "ok" if running and self._reason is None else "down", "reason": self._reason}

    async def caught_up(self, timeout_s: float = WAIT_S) -> bool:
        """Wait, so many seconds at most, until the ratings show every result that the rows show now; whether they do."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(done)
        self._wanted.set()
        try:
            async with asyncio.timeout(timeout_s):
                await done
        except TimeoutError:
            return False
        return True

    async def _run(self) -> None:
        delay = BACKOFF_S[0]
        while not self._stopping.is_set():
            try:
                await self._keep()
                self._reason = None
            except Exception as wrong:  # noqa: BLE001 - to look again is always safe; a defect says so and is seen by /health
                reason = classify(wrong)
                if self._reason != reason:
                    where = [f"{at.filename}:{at.lineno}" for at in traceback.extract_tb(wrong.__traceback__)]
                    (log.critical if reason == DEFECT else log.warning)(
                        "ratings_down", reason=reason, error=type(wrong).__name__, where=where
                    )
                    delay = BACKOFF_S[0]
                self._reason = reason
                await asyncio.sleep(delay)
                delay = min(2 * delay, BACKOFF_S[1])

    async def _keep(self) -> None:
        """Look whenever somebody wants it, until the end."""
        connection = await checkpoint.opened(self._dsn, self._schema, "ratings")
        try:
            await connection.add_listener(self._schema + CHANNEL, lambda *_: self._wanted.set())
            while not self._stopping.is_set():
                await self._look(connection)
                self._reason = None
                await self._pause(LOOK_S)
        finally:
            await checkpoint.close(connection)

    async def _look(self, connection: Connection) -> None:
        """Do all that is due now, and tell who waits for it."""
        waiting, self._waiting = self._waiting, []
        self._wanted.clear()
        try:
            while not self._stopping.is_set() and await rating_rows.step(connection):
                pass
        except BaseException:
            self._waiting += [done for done in waiting if not done.done()]  # the next look is theirs
            raise
        RATED.labels(self._schema).set(time.time())
        for done in waiting:
            if not done.done():
                done.set_result(None)

    async def _pause(self, seconds: float) -> None:
        """So long, or until somebody wants a look."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wanted.wait()
