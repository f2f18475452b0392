"""What a checkpoint is signed over: the hashes of every table's commits as the log holds them, link by link, held against the books."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Final

from services.ledger.readers import Readers
from shared.eventlog.port import EventLog, Recorded
from shared.events import address
from shared.events.address import TABLE_STREAMS
from shared.events.chain import Problem
from shared.events.commit import FIRST_PREV_HASH, hash_of
from shared.projections.history import link_of

TABLES_A_QUERY: Final = 50  # tables whose hashes are asked for at once: some 100,000 rows of a hundred bytes


class NotToBeSigned(Exception):
    """The log is broken, or the books say something else; nothing is signed until somebody has looked. `table` and `problem` name it."""

    def __init__(self, table: str, problem: Problem) -> None:
        super().__init__(f"{table} revision {problem.revision}: {problem.code}: {problem.message}")
        self.table = table
        self.problem = problem


class _Run:
    """A table's commits, as far as they were read, each a link of the chain."""

    def __init__(self, table: str) -> None:
        self._table = table
        self.first = 0  # revision
        self.hashes: list[str] = []

    def add(self, recorded: Recorded) -> None:
        """The next commit. Raises `NotToBeSigned` when it does not follow."""
        try:
            link = link_of(recorded.data)
        except ValueError:
            raise self._broken("unreadable", "this is no commit") from None
        before = self.hashes[-1] if self.hashes else FIRST_PREV_HASH if link.revision == 1 else link.prev_hash
        self.first = self.first or link.revision
        if link.revision != self.first + len(self.hashes) or link.prev_hash != before:
            raise self._broken("broken", f"revision {link.revision} does not follow from the commit before it")
        self.hashes.append(hash_of(recorded.data))

    def _broken(self, code: str, message: str) -> NotToBeSigned:
        return NotToBeSigned(self._table, Problem(self.first + len(self.hashes), code, message))


async def ends_of(log: EventLog) -> dict[str, int]:
    """By stream the sequence of its newest commit now: where a checkpoint is cut. Raises `Unavailable`."""
    return {stream: await log.last_sequence(stream) for stream in TABLE_STREAMS}


async def gathered(
    log: EventLog, readers: Readers, after: Mapping[str, int], cut: Mapping[str, int], archived: Collection[str]
) -> dict[str, list[str]]:
    """By table the hashes of all its commits up to `cut`, of the tables that have commits after `after`.

    `archived` tables, of which the log has the last commit alone or nothing at all, are taken from the books. Raises `NotToBeSigned`,
    `Unavailable`, and what asyncpg raises.
    """
    found: dict[str, list[str]] = {}
    for stream, end in cut.items():
        if end > after.get(stream, 0):
            found |= await _of_stream(log, readers, stream, after.get(stream, 0), end, archived)
            for table in await _gone(readers, stream, after.get(stream, 0), end, found):
                if table not in archived:
                    raise NotToBeSigned(table, Problem(1, "missing", "the log has nothing of this table, which the books have read"))
                found[table] = await _in_books(readers, table, end)
    await _hold_against_books(readers, found)
    return found


async def _of_stream(log: EventLog, readers: Readers, stream: str, after: int, end: int, archived: Collection[str]) -> dict[str, list[str]]:
    runs: dict[str, _Run] = {}
    async with aclosing(log.follow(stream, after=after)) as batches:
        async for batch in batches:
            for recorded in batch:
                if recorded.sequence <= end:
                    runs.setdefault(recorded.address.id, _Run(recorded.address.id)).add(recorded)
            if not batch or batch[-1].sequence >= end:  # an empty batch: nothing more is there now
                break
            await asyncio.sleep(0)  # others have their turn between two batches
    for table, run in runs.items():
        if run.first > 1:  # it began before: its tree is over all of it
            hashes = await _in_books(readers, table, end) if table in archived else await _from_the_beginning(log, table, end)
            if hashes[run.first - 1 :] != run.hashes:
                raise NotToBeSigned(table, Problem(run.first, "broken", "the log holds another history of this table than it did"))
            run.hashes = hashes
    return {table: run.hashes for table, run in runs.items()}


async def _from_the_beginning(log: EventLog, table: str, end: int) -> list[str]:
    whole = _Run(table)
    for recorded in await log.read(address.table(table), until=end):
        if recorded.sequence <= end:
            whole.add(recorded)
    return whole.hashes if whole.first == 1 else []


async def _gone(readers: Readers, stream: str, after: int, end: int, there: Mapping[str, object]) -> list[str]:
    """Tables of which the books have read commits in that part of the stream, and the log does not hold any."""
    async with readers.reading() as connection:
        rows = await connection.fetch(
            """
            SELECT table_id FROM tables AS t WHERE stream = $1 AND sequence > $2 AND EXISTS
                (SELECT 1 FROM audit_trail AS a WHERE a.table_id = t.table_id AND a.sequence > $2 AND a.sequence <= $3)
            ORDER BY table_id
            """,
            stream,
            after,
            end,
        )
    return [row["table_id"] for row in rows if row["table_id"] not in there]


async def _in_books(readers: Readers, table: str, end: int) -> list[str]:
    async with readers.reading() as connection:
        rows = await connection.fetch("SELECT hash FROM audit_trail WHERE table_id = $1 AND sequence <= $2 ORDER BY revision", table, end)
    return [row["hash"] for row in rows]


async def _hold_against_books(readers: Readers, found: Mapping[str, Sequence[str]]) -> None:
    """Every hash that the books have mirrored is the log's. Raises `NotToBeSigned`."""
    tables = sorted(found)
    for begin in range(0, len(tables), TABLES_A_QUERY):
        async with readers.reading() as connection:
            rows = await connection.fetch(
                "SELECT table_id, revision, hash FROM audit_trail WHERE table_id = ANY($1) ORDER BY table_id, revision",
                tables[begin : begin + TABLES_A_QUERY],
            )
        _compare(found, ((row["table_id"], row["revision"], row["hash"]) for row in rows))


def _compare(found: Mapping[str, Sequence[str]], mirrored: Iterable[tuple[str, int, str]]) -> None:
    for table, revision, known in mirrored:
        hashes = found[table]
        if revision <= len(hashes) and hashes[revision - 1] != known:
            raise NotToBeSigned(table, Problem(revision, "changed", "the log does not hold this commit as the books have read it"))
