"""All workers of one projection in this process, and the one place where readers wait for them.

A service wires it so: `projector = Projector(log, projection, streams, dsn, schema)`, then `start`, `stop`, `status`, `health` and
`at_least.wait(position)`.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Final

import asyncpg

from shared.eventlog.port import EventLog
from shared.projections.core import checkpoint
from shared.projections.core.at_least import AtLeast
from shared.projections.core.checkpoint import COMMAND_S, CONNECT_S
from shared.projections.core.projection import Projection
from shared.projections.core.status import DEFECT, PASSING, Status
from shared.projections.following.follow import AT_ONCE, BACKOFF_S, Pace, Worker
from shared.projections.parking.chronicle import Chronicle

SETTLE_S: Final = 10.0  # seconds in which a worker finds out whether it may run; with Postgres away it goes on trying behind `start`
DRAIN_S: Final = 0.4  # seconds for the batch in hand: a batch takes milliseconds, the stop of all services has one second
PROBE_S: Final = 5.0  # seconds between checks that the listening connection lives: a lost one shows itself at once, a silent one here


class Projector:
    """Follows `streams` with one worker each; other processes may do the same, the lease decides stream by stream."""

    def __init__(  # noqa: PLR0913 - put together in three places, each naming what is not the default
        self, event_log: EventLog, projection: Projection, streams: tuple[str, ...], postgres_dsn: str, schema: str, pace: Pace = AT_ONCE,
        chronicle: Chronicle | None = None, *, at_least: AtLeast | None = None,
    ) -> None:  # fmt: skip
        """`at_least`: who waits already, where another projector's rows were read before."""
        self.schema = schema
        self.at_least = at_least or AtLeast(streams)
        self._projection = projection
        self._dsn = postgres_dsn
        self._workers = [
            Worker(event_log, stream, projection, postgres_dsn, schema, self.at_least.reached, pace, chronicle=chronicle)
            for stream in streams
        ]
        self._tasks: list[asyncio.Task[None]] = []
        self._listening: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to follow. Raises `RefusedToRun` when the log is not the one that the rows were folded from; nothing runs then."""
        self._tasks = [asyncio.create_task(worker.run(), name=f"{self.schema} {worker.stream}") for worker in self._workers]
        with suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_S):
                await asyncio.gather(*(worker.settled.wait() for worker in self._workers))
        for worker in self._workers:
            if worker.refused is not None:
                await self.stop()
                raise worker.refused
        self._listening = asyncio.create_task(self._listen())

    async def stop(self) -> None:
        """Drain: every worker ends its batch and gives up its lease."""
        for worker in self._workers:
            worker.stop()
        if self._listening is not None:
            self._listening.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=DRAIN_S)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, *([self._listening] if self._listening else []), return_exceptions=True)

    def status(self) -> list[Status]:
        """Every worker's state."""
        return [worker.status() for worker in self._workers]

    def health(self) -> dict[str, Any]:
        """For `/health`: `ok`, `degraded` (down for now, or parked), `down` (a stream refused, a defect), with what is wrong."""
        states = self.status()
        wrong = [state for state in states if state.state in {"down", "refused", "stopped"}]
        down = not self._tasks or any(state.state != "down" or state.reason == DEFECT for state in wrong)
        return {
            "status": "down" if down else "degraded" if wrong or any(state.parked for state in states) else "ok",
            "projection": self.schema,
            "lag_events": sum(state.lag_events for state in states),
            "lag_seconds": round(max((state.lag_seconds for state in states), default=0.0), 3),
            "parked": sum(state.parked for state in states),
            "problems": {state.stream: state.reason or state.state for state in wrong},
        }

    async def _listen(self) -> None:
        """Hear from Postgres what workers in other processes have reached."""
        delay = BACKOFF_S[0]
        while True:
            try:
                connection = await asyncpg.connect(self._dsn, timeout=CONNECT_S, command_timeout=COMMAND_S)
                try:
                    await connection.add_listener(self.schema, self.at_least.notified)
                    rows = await connection.fetch(f'SELECT stream, sequence FROM "{self.schema}".checkpoint')  # noqa: S608 - our own schema's name
                    self.at_least.restarted({row["stream"]: row["sequence"] for row in rows})
                    delay = BACKOFF_S[0]
                    while True:
                        await asyncio.sleep(PROBE_S)
                        await connection.execute("SELECT 1")
                finally:
                    await checkpoint.close(connection)
            except PASSING:
                self.at_least.restarted({})  # the rows may be older ones when the server is back: nobody is told otherwise meanwhile
                await asyncio.sleep(delay)  # the workers' own connections say what is wrong
                delay = min(2 * delay, BACKOFF_S[1])
