"""Filling a schema from the beginning: what was archived, then the log, by workers of this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Callable, Mapping
from typing import Final, TypeAlias

import asyncpg

from shared.eventlog.port import EventLog, Recorded
from shared.events.commit import hash_of
from shared.projections import checkpoint, parking
from shared.projections.checkpoint import Checkpoint
from shared.projections.chronicle import Chronicle, OnlyRead, Untold
from shared.projections.follow import Archived, Worker
from shared.projections.history import link_of
from shared.projections.projection import Connection, Projection
from shared.projections.skipping import Skips

WRITING: Final = 2  # batches that are written at a time: one is folded while Postgres writes the other; more only keep readers waiting

Progress: TypeAlias = Callable[[int, int], None]
Archive: TypeAlias = AsyncIterable[list[Recorded]]  # commits of one stream a batch, each table's in order and from its first on


class Filling:
    """One schema's workers. Close it with `stop`, which drains, or with `cancel`."""

    def __init__(
        self, event_log: EventLog, projection: Projection, streams: tuple[str, ...], postgres_dsn: str, schema: str,
        reached: Callable[[str, int], None] = lambda _stream, _sequence: None, chronicle: Chronicle | None = None,
    ) -> None:  # fmt: skip
        """What `chronicle` says is left out is left out here too; nothing is told to it."""
        self._log = event_log
        self._projection = projection
        self._streams = streams
        self._dsn = postgres_dsn
        self._schema = schema
        self._told = reached
        self._chronicle = OnlyRead(chronicle or Untold())
        self._reached = dict.fromkeys(streams, 0)
        self._changed = asyncio.Event()
        self._workers: list[Worker] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def apply_archived(self, archive: Archive | None) -> Archived:
        """Make the tables, and write what was archived, before anything of the log; each table's chain has to hold.

        Raises `HistoryDiffers`, `StillFails` (there is nothing to come back to later: no switch without it), `LogError`, asyncpg's errors.
        """
        connection = await asyncpg.connect(self._dsn, server_settings={"synchronous_commit": "off"})  # a lost filling begins anew
        try:
            await checkpoint.prepare(connection, self._schema, self._projection.ddl)
            return await self._applied(connection, archive) if archive is not None else Archived()
        finally:
            await checkpoint.close(connection)

    async def _applied(self, connection: Connection, archive: Archive) -> Archived:
        subjects, ends = set[str](), dict[str, Checkpoint]()
        skips = Skips(await self._chronicle.skips())
        async for batch in archive:
            async with connection.transaction():
                await parking.apply_all(connection, self._projection, batch, skips, len(batch))
            for recorded in batch:
                subjects.add(recorded.address.subject)
                if recorded.stream not in ends or recorded.sequence > ends[recorded.stream].sequence:
                    ends[recorded.stream] = _place(recorded)
        return Archived(frozenset(subjects), ends)

    def start(self, archived: Archived) -> None:
        """Begin to follow the log, or go on after `stop`; nothing where it is followed."""
        if any(not task.done() for task in self._tasks):
            return
        turns = asyncio.Semaphore(WRITING)
        self._workers = [
            Worker(
                self._log, stream, self._projection, self._dsn, self._schema, self._arrived,
                turns=turns, chronicle=self._chronicle, archived=archived,
            )
            for stream in self._streams
        ]  # fmt: skip
        self._tasks = [asyncio.create_task(worker.run(), name=f"{self._schema} {worker.stream}") for worker in self._workers]

    async def reach(self, marks: Mapping[str, int]) -> None:
        """Wait until the rows are as far as `marks` say, by stream. Raises `RefusedToRun`."""
        while any(self._reached[stream] < mark for stream, mark in marks.items()):
            self._changed.clear()
            news = asyncio.create_task(self._changed.wait())
            try:
                await asyncio.wait({news, *self._tasks}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                news.cancel()
            for task in self._tasks:
                if task.done():  # before it was stopped: only when it refuses
                    task.result()

    async def stop(self) -> None:
        """End every worker after its batch; they give their leases up. Raises `RefusedToRun`."""
        for worker in self._workers:
            worker.stop()
        await asyncio.gather(*self._tasks)

    async def cancel(self) -> None:
        """End at once, whatever they are doing."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _arrived(self, stream: str, sequence: int) -> None:
        self._reached[stream] = sequence
        self._changed.set()
        self._told(stream, sequence)


class Counted:
    """Turns positions into progress: how many sequences of all up to `marks` are done, gaps included."""

    def __init__(self, marks: Mapping[str, int], progress: Progress) -> None:
        self.total = sum(marks.values())
        self._marks = marks
        self._done = dict.fromkeys(marks, 0)
        self._progress = progress

    def reached(self, stream: str, sequence: int) -> None:
        """The rows of `stream` are at `sequence`."""
        self._done[stream] = min(sequence, self._marks[stream])
        self._progress(sum(self._done.values()), self.total)


def _place(recorded: Recorded) -> Checkpoint:
    return Checkpoint(recorded.stream, recorded.sequence, recorded.address.subject, hash_of(recorded.data), link_of(recorded.data).at)


async def marks_of(event_log: EventLog, streams: tuple[str, ...]) -> dict[str, int]:
    """Where each stream ends now. Raises `Unavailable`."""
    return {stream: await event_log.last_sequence(stream) for stream in streams}
