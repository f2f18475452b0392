"""What a checkpoint is signed over: the hashes of every table's commits as the log holds them, link by link, held against the books."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Final

from services.ledger.desk.readers import Readers
from shared.eventlog.port import EventLog, NotInArchive, Stored
from shared.events import address
from shared.events.chain import Finding
from shared.events.checkpoint_document import Leaf, leaf_of
from shared.events.commit import FIRST_PREV_HASH, hash_of
from shared.projections.core.history import link_of

QUIET: Final = 3  # signs of life in a row after which nothing more comes, though the end was not seen: its last commits were archived
NO_END: Final = 1 << 60  # above every revision: no limit
TABLES_A_QUERY: Final = 50  # tables whose hashes are asked for at once: some 100,000 rows of a hundred bytes


Progress = Callable[[int, int], None]


class NotToBeSigned(Exception):
    """The log is broken, or the books say something else; nothing is signed until somebody has looked. `table` and `problem` name it."""

    def __init__(self, table: str, problem: Finding) -> None:
        super().__init__(f"{table} revision {problem.revision}: {problem.code}: {problem.message}")
        self.table = table
        self.problem = problem


class _Run:
    """A table's commits, as far as they were read, each a link of the chain."""

    def __init__(self, table: str) -> None:
        self.table = table
        self.first = 0  # revision
        self.follows = FIRST_PREV_HASH  # the hash before it
        self.hashes: list[str] = []

    def add(self, stored: Stored) -> None:
        """The next commit; the last one once more changes nothing. Raises `NotToBeSigned` when it does not follow."""
        try:
            link = link_of(stored.data)
        except ValueError:
            raise self._broken("unreadable", "this is no commit") from None
        if not self.hashes:
            self.first = link.revision
            self.follows = FIRST_PREV_HASH if link.revision == 1 else link.prev_hash
        own, before = hash_of(stored.data), self.hashes[-1] if self.hashes else self.follows
        if self.hashes and own == before:
            return
        if link.revision != self.first + len(self.hashes) or link.prev_hash != before:
            raise self._broken("broken", f"revision {link.revision} does not follow from the commit before it")
        self.hashes.append(own)

    def _broken(self, code: str, message: str) -> NotToBeSigned:
        return NotToBeSigned(self.table, Finding(self.first + len(self.hashes), code, message))


async def ends_of(log: EventLog) -> dict[str, int]:
    """By stream the sequence of its newest commit now: where a checkpoint is cut. Raises `Unavailable`."""
    return {stream: await log.last_sequence(stream) for stream in log.partitions.table_streams}


async def gathered(
    log: EventLog,
    readers: Readers,
    after: Mapping[str, int],
    cut: Mapping[str, int],
    archived: Collection[str],
    known: Mapping[str, Leaf] | None,
    progress: Progress = lambda _done, _all: None,
) -> dict[str, list[str]]:
    """By table the hashes of all its commits up to `cut`, of the tables that have commits after `after`.

    What has left the log of the `archived` tables is read from the archive, when `log` has it behind it; else the books' word is taken if
    their signed leaf, in `known` by table, proves it. `known` None: the caller holds what is found against a signed root, which proves it.
    `progress(done, all)` counts sequences. Raises `NotToBeSigned`, `Unavailable`, and what asyncpg raises.
    """
    found: dict[str, list[str]] = {}
    begins = {stream: after.get(stream, 0) for stream in cut}
    for stream, end in cut.items():
        if end < begins[stream]:
            raise NotToBeSigned(stream, Finding(0, "missing", f"it ends at sequence {end}, and was signed up to {begins[stream]}"))
    done, every = sum(begins.values()), sum(cut.values())
    for stream, end in cut.items():
        if end > begins[stream]:
            others = done - begins[stream]
            runs = await _of_stream(log, stream, begins[stream], end, partial(_told, progress, others, every))
            done = others + end
            for table, run in runs.items():
                whole = run.first == 1
                found[table] = run.hashes if whole else await _whole(log, readers, run, end, known, archived=table in archived)
            for table in await _gone(readers, stream, begins[stream], end, found):
                if table not in archived:
                    raise NotToBeSigned(table, Finding(1, "missing", "the log has nothing of this table, which the books have read"))
                found[table] = await _archived(log, readers, table, end, NO_END, known)
    await _hold_against_books(readers, found)
    return found


def _told(progress: Progress, others: int, every: int, sequence: int) -> None:
    progress(others + sequence, every)


async def _of_stream(log: EventLog, stream: str, after: int, end: int, told: Callable[[int], None]) -> dict[str, _Run]:
    runs: dict[str, _Run] = {}
    quiet = 0
    async with aclosing(log.follow(stream, after=after)) as batches:
        async for batch in batches:
            for stored in batch:
                if stored.sequence <= end:
                    runs.setdefault(stored.address.id, _Run(stored.address.id)).add(stored)
            quiet = 0 if batch else quiet + 1
            if quiet == QUIET or (batch and batch[-1].sequence >= end):
                break
            if batch:
                told(batch[-1].sequence)
            await asyncio.sleep(0)  # others have their turn between two batches
    return runs


async def _whole(log: EventLog, readers: Readers, run: _Run, end: int, known: Mapping[str, Leaf] | None, *, archived: bool) -> list[str]:
    """All hashes of a table that began before `run`: its tree is over all of it."""
    if archived:
        hashes = await _archived(log, readers, run.table, end, run.first, known)
    else:
        hashes = await _read(log, run.table, end, run.first)
    if (len(hashes), hashes[-1:]) != (run.first - 1, [run.follows]):
        raise NotToBeSigned(run.table, Finding(run.first, "broken", "the commits before it are not those that it follows from"))
    return hashes + run.hashes


async def _read(log: EventLog, table: str, end: int, before: int) -> list[str]:
    """The hashes of a table's commits up to sequence `end`, those before revision `before`; none when the first one is not there."""
    earlier = _Run(table)
    for stored in await log.read(address.table(table), until=end):
        if stored.revision < before and stored.sequence <= end:
            earlier.add(stored)
    return earlier.hashes if earlier.first == 1 else []


async def _archived(log: EventLog, readers: Readers, table: str, end: int, before: int, known: Mapping[str, Leaf] | None) -> list[str]:
    """The same of an archived table: from its file, else from the books as far as something that was signed proves what they say."""
    away = "its commits have left the log, and no archive of them is at hand"
    try:
        if hashes := await _read(log, table, end, before):
            return hashes
    except NotInArchive as missing:
        away = str(missing)
    hashes = (await _in_books(readers, table, end))[: before - 1]
    if known is None:
        return hashes
    leaf = known.get(table)
    if leaf is None or leaf.revision != len(hashes) or await asyncio.to_thread(leaf_of, table, hashes) != leaf:
        raise NotToBeSigned(table, Finding(1, "not_in_archive", f"{away}; no checkpoint has signed what the books say of them"))
    return hashes


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
            raise NotToBeSigned(table, Finding(revision, "changed", "the log does not hold this commit as the books have read it"))
