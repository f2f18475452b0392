"""Filling a schema from the beginning: what was archived, then the log."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Final, TypeAlias

from shared.eventlog.port import EventLog, Stored
from shared.events.commit import hash_of
from shared.projections.core import checkpoint
from shared.projections.core.checkpoint import Checkpoint
from shared.projections.core.history import HistoryDiffers, OutOfPlace, link_of
from shared.projections.core.projection import Connection, Projection
from shared.projections.following.follow import Archived, Connect, Worker, new_holder
from shared.projections.parking import parking
from shared.projections.parking.chronicle import Chronicle, OnlyRead, Untold
from shared.projections.parking.parking import StillFails
from shared.projections.parking.skipping import Skips

ALONE: Final = 500  # commits a transaction while nobody reads the projection
BESIDE: Final = 30  # and while somebody does: a filling takes twice as long then, but who reads finds the processor free in between
STRETCH: Final = 50_000  # commits after which it is asked anew whether somebody reads: two or three seconds
READ_S: Final = 1.0  # seconds after a read in which the next one is expected

Progress: TypeAlias = Callable[[int, int], None]
Archive: TypeAlias = AsyncIterable[list[Stored]]  # commits of one stream a batch, each table's in order and from its first on


class OneConnection:
    """A connection that workers have one after another; opened anew when it was lost, or when one of them failed on it."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._open = AsyncExitStack()
        self._connection: Connection | None = None

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[Connection]:
        """Have it; nobody else may meanwhile. Raises what connecting raises."""
        if self._connection is None or self._connection.is_closed():
            await self.close()
            self._connection = await self._open.enter_async_context(self._connect())
        try:
            yield self._connection
        except BaseException:  # it may stand in the middle of anything
            await self.close()
            raise

    async def close(self) -> None:
        """Give it up; the next who wants it opens another."""
        self._connection = None
        await self._open.aclose()


class Filling:
    """Brings one schema's rows up to the log: what was archived first, then stream after stream, on one connection. `close` it.

    One process and one server of Postgres at a time do the work, never two beside each other, so that those who read and play meanwhile
    find room on the same machine; and each further connection would have to learn all tables and statements anew, before their eyes.
    """

    def __init__(  # noqa: PLR0913 - what to read, where to write, and three options
        self, event_log: EventLog, projection: Projection, streams: tuple[str, ...], postgres_dsn: str, schema: str,
        reached: Callable[[str, int], None] = lambda _stream, _sequence: None, chronicle: Chronicle | None = None, *,
        readers: str | None = None,
    ) -> None:  # fmt: skip
        """What `chronicle` says is left out is left out here too; nothing is told to it. `readers`: by which name those connect who read
        the projection meanwhile, if any do.
        """
        self._log = event_log
        self._projection = projection
        self._streams = streams
        self._dsn = postgres_dsn
        self._schema = schema
        self._told = reached
        self._chronicle = OnlyRead(chronicle or Untold())
        self._readers = readers
        self._reached = dict.fromkeys(streams, 0)
        self._archived = Archived()
        self._holder = new_holder()  # one for all its workers: who is cut off leaves a lease that the next one need not wait for
        self._connection = OneConnection(partial(checkpoint.connected, postgres_dsn, schema, projection.ddl, "filling"))

    async def begin(self, archive: Archive | None) -> None:
        """Make the tables, and write what was archived, before anything of the log; each table's chain has to hold.

        Raises `HistoryDiffers`, `StillFails` (there is nothing to come back to later: no switch without it), `LogError`, asyncpg's errors.
        """
        async with self._connection.lent() as connection:
            if archive is not None:
                await self._apply_archived(connection, archive)

    async def reach(self, marks: Mapping[str, int]) -> None:
        """Follow the log until the rows are at least as far as `marks` say, by stream. Raises `RefusedToRun`."""
        for stream in self._streams:
            while self._reached[stream] < marks.get(stream, 0):
                await self._follow(stream, min(marks[stream], self._reached[stream] + STRETCH))

    async def close(self) -> None:
        """Give the connection up."""
        await self._connection.close()

    async def _apply_archived(self, connection: Connection, archive: Archive) -> None:
        subjects, ends = set[str](), dict[str, Checkpoint]()
        skips = Skips(await self._chronicle.skips())
        async for batch in archive:
            try:
                async with connection.transaction():
                    await parking.apply_all(connection, self._projection, batch, skips, len(batch))
            except StillFails as still:
                if isinstance(still.__cause__, OutOfPlace):
                    raise HistoryDiffers(f"the archive holds no whole chain of {batch[0].address.subject}: {still}") from None
                raise
            for stored in batch:
                subjects.add(stored.address.subject)
                if stored.stream not in ends or stored.sequence > ends[stored.stream].sequence:
                    ends[stored.stream] = _place(stored)
        self._archived = Archived(frozenset(subjects), ends)

    async def _follow(self, stream: str, mark: int) -> None:
        def arrived(stream: str, sequence: int) -> None:
            self._reached[stream] = sequence
            self._told(stream, sequence)
            if sequence >= mark:
                worker.stop()

        worker = Worker(
            self._log, stream, self._projection, self._dsn, self._schema, arrived,
            connect=self._connection.lent, chronicle=self._chronicle, archived=self._archived, batch=self._batch,
            holder=self._holder,
        )  # fmt: skip
        await worker.run()

    async def _batch(self, connection: Connection) -> int:
        return BESIDE if self._readers and await somebody_reads(connection, self._readers) else ALONE


async def somebody_reads(connection: Connection, readers: str) -> bool:
    """Whether a connection of the name `readers` is in the middle of a read, or ended one a moment ago.

    What another role does may not be seen: its connections count as reading.
    """
    reads: bool = await connection.fetchval(
        """
        SELECT EXISTS (
            SELECT FROM pg_stat_activity
            WHERE application_name = $1 AND coalesce(state <> 'idle' OR state_change > clock_timestamp() - $2 * interval '1 second', true)
        )
        """,
        readers,
        READ_S,
    )
    return reads


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


def _place(stored: Stored) -> Checkpoint:
    return Checkpoint(stored.stream, stored.sequence, stored.address.subject, hash_of(stored.data), link_of(stored.data).at)


async def marks_of(event_log: EventLog, streams: tuple[str, ...]) -> dict[str, int]:
    """Where each stream ends now. Raises `Unavailable`."""
    return {stream: await event_log.last_sequence(stream) for stream in streams}
