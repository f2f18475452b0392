"""Workers of a projection for as long as a test runs, and how a test waits for their rows."""

from __future__ import annotations

import asyncio

from shared.projections.following.follow import Worker
from tests.contracts.projection_subject import Tally


class Running:
    """Workers that end with the test."""

    def __init__(self, dsn, schema):
        self.dsn, self.schema, self.tasks = dsn, schema, []

    def start(self, log, stream="LOBBY_0", projection=None, reached=lambda _stream, _sequence: None, chronicle=None):
        worker = Worker(log, stream, projection or Tally(), self.dsn, self.schema, reached, chronicle=chronicle)
        self.tasks.append(asyncio.create_task(worker.run()))
        return worker, self.tasks[-1]

    async def end(self):
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


class Arrival:
    """Waits for a worker's rows without looking again and again."""

    def __init__(self):
        self.sequence, self.changed = 0, asyncio.Event()

    def __call__(self, _stream, sequence):
        self.sequence = max(self.sequence, sequence)
        self.changed.set()

    async def at(self, sequence, seconds=20.0):
        async with asyncio.timeout(seconds):
            while self.sequence < sequence:
                self.changed.clear()
                await self.changed.wait()


async def tallied(connection):
    return {row["aggregate"]: row["commits"] for row in await connection.fetch("SELECT * FROM tally")}
