"""The state of tables once their pulka has begun: folded from the tables' own log, so that lobby and table cannot disagree.

A pulka's status only rises (`playing`, `over`, perhaps `annulled`; or `refused`), and a row takes the higher of two ranks. So the order of
arrival does not matter, a commit may come twice, two processes may write at once, and neither a lease nor a transaction a commit is needed:
the many commits of play are passed over by their bytes. The position is saved now and then, only so that a restart does not read from the
beginning.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from typing import Any, Final

import structlog

from services.lobby.database import Database
from shared.eventlog.port import EventLog, Stored
from shared.events import address
from shared.events.commit import decode
from shared.events.upcast import stored_table_events
from shared.projections.core.projection import UNAPPLICABLE
from shared.projections.core.status import PASSING, classify
from shared.rules.language.correction_events import PulkaAnnulled, ResultCorrected
from shared.rules.language.game_events import PulkaClosed, PulkaOpened, PulkaRefused
from shared.rules.pulka.imported import PulkaArchived

RANK: Final = {"playing": 1, "over": 2, "refused": 2, "annulled": 3}
SAVE_S: Final = 5.0  # seconds between saved positions: what a restart reads again is passed over at 100,000 commits a second
BACKOFF_S: Final = (0.1, 2.0)  # seconds before the first retry and at most: a restarted Postgres is back in under a second
_MARKS: Final = (b'"PulkaOpened"', b'"PulkaRefused"', b'"PulkaClosed"', b'"ResultCorrected"', b'"PulkaAnnulled"', b'"PulkaArchived"')

DDL: Final = """
CREATE TABLE IF NOT EXISTS progress (table_id text PRIMARY KEY, status text NOT NULL, rank int NOT NULL, at bigint NOT NULL);
CREATE INDEX IF NOT EXISTS progress_status ON progress (status, at);
CREATE TABLE IF NOT EXISTS progress_position (stream text PRIMARY KEY, sequence bigint NOT NULL);
"""
_RISE: Final = """
INSERT INTO "{0}".progress AS p (table_id, status, rank, at) SELECT * FROM unnest($1::text[], $2::text[], $3::int[], $4::bigint[])
ON CONFLICT (table_id) DO UPDATE SET status = excluded.status, rank = excluded.rank, at = excluded.at WHERE p.rank < excluded.rank
"""
_SAVE: Final = """
INSERT INTO "{0}".progress_position AS p (stream, sequence) VALUES ($1, $2)
ON CONFLICT (stream) DO UPDATE SET sequence = excluded.sequence WHERE p.sequence < excluded.sequence
"""

log = structlog.get_logger(__name__)


def status_in(stored: Stored) -> tuple[str, int] | None:
    """The status that this commit of a table brings, and its time; None when it brings none."""
    if not any(mark in stored.data for mark in _MARKS):
        return None
    commit = decode(stored.data)
    found = None
    for event in stored_table_events(commit):
        match event:
            case PulkaOpened():
                found = "playing"
            case PulkaRefused():
                found = "refused"
            case PulkaClosed() | ResultCorrected():  # a correction comes after the end and is no rise, but `status_now` may see it alone
                found = "over"
            case PulkaAnnulled() | PulkaArchived(annulled=True):
                found = "annulled"
            case PulkaArchived():
                found = "over"
    return None if found is None else (found, commit.at)


def _readable_status(stored: Stored) -> tuple[str, int] | None:
    """The same; None where a damaged commit cannot be read, which stops no other table's progress."""
    try:
        return status_in(stored)
    except UNAPPLICABLE as damaged:
        log.error("commit_unreadable", position=stored.position, aggregate=stored.address.subject, error=type(damaged).__name__)  # noqa: TRY400 - its text may hold what the commit holds
        return None


async def status_now(event_log: EventLog, table_id: str) -> str | None:
    """The table's status by its newest commit, asked at the leader; None while no pulka has begun. Raises `Unavailable`.

    `playing` too where that commit is damaged and says nothing: then the rows may know more.
    """
    head = await event_log.head(address.table(table_id))
    if head is None:
        return None
    found = _readable_status(head)
    return "playing" if found is None else found[0]


async def status_when_begun(event_log: EventLog, table_id: str, seconds: float) -> str | None:
    """Wait at most `seconds` for the table's first commit: `playing` or `refused`; None when it does not come. Raises `Unavailable`."""
    try:
        async with asyncio.timeout(seconds), aclosing(event_log.watch(address.table(table_id))) as commits:
            async for stored in commits:
                if found := _readable_status(stored):
                    return found[0]
    except TimeoutError:
        pass
    return None


class Progress:
    """Keeps the rows of `progress`, one task a stream. Waits out whatever passes by itself, longer each time."""

    def __init__(self, event_log: EventLog, database: Database, schema: str) -> None:
        self._log = event_log
        self._database = database
        self._rise = _RISE.format(schema)
        self._save = _SAVE.format(schema)
        self._read = f'SELECT sequence FROM "{schema}".progress_position WHERE stream = $1'  # noqa: S608 - our own schema's name
        self._tasks: list[asyncio.Task[None]] = []
        self._troubles: dict[str, str] = {}

    def start(self) -> None:
        """Begin to follow."""
        streams = self._log.partitions.table_streams
        self._tasks = [asyncio.create_task(self._run(stream), name=f"progress {stream}") for stream in streams]

    async def stop(self) -> None:
        """End; what was not saved is read again."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def health(self) -> dict[str, Any]:
        """For `/health`: streams that are not followed now, with one word each."""
        ended = {task.get_name().removeprefix("progress "): "ended" for task in self._tasks if task.done()}
        troubles = self._troubles | ended
        return {"status": "down" if ended else "degraded" if troubles else "ok", "problems": troubles}

    async def _run(self, stream: str) -> None:
        delay = BACKOFF_S[0]
        while True:
            try:
                rows = await self._database.fetch(self._read, stream)
                position = rows[0]["sequence"] if rows else 0
                last = await self._log.last_sequence(stream)
                if last < position:
                    self._trouble(stream, "log_behind_position")
                else:
                    await self._follow(stream, position)
            except PASSING as wrong:
                self._trouble(stream, classify(wrong))
            await asyncio.sleep(delay)
            delay = min(2 * delay, BACKOFF_S[1]) if stream in self._troubles else BACKOFF_S[0]

    async def _follow(self, stream: str, position: int) -> None:
        saved, due = position, time.monotonic() + SAVE_S
        async with aclosing(self._log.follow(stream, after=position)) as batches:
            async for batch in batches:
                self._troubles.pop(stream, None)
                risen = [(stored.address.id, *found) for stored in batch if (found := _readable_status(stored))]
                if risen:
                    await self._write(risen)
                if batch:
                    position = batch[-1].sequence
                if position > saved and time.monotonic() >= due:
                    await self._database.run(self._save, stream, position)
                    saved, due = position, time.monotonic() + SAVE_S

    async def _write(self, risen: list[tuple[str, str, int]]) -> None:
        highest: dict[str, tuple[str, int]] = {}
        for table_id, status, at in risen:
            if table_id not in highest or RANK[highest[table_id][0]] < RANK[status]:
                highest[table_id] = (status, at)
        statuses = [status for status, _ in highest.values()]
        ranks = [RANK[status] for status in statuses]
        await self._database.run(self._rise, list(highest), statuses, ranks, [at for _, at in highest.values()])

    def _trouble(self, stream: str, word: str) -> None:
        if self._troubles.get(stream) != word:
            log.warning("progress_interrupted", stream=stream, reason=word)
        self._troubles[stream] = word
