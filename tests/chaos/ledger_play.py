"""Play that goes on while ledgers die, and how a test hears what they have committed."""

from __future__ import annotations

import asyncio
from collections import Counter

import asyncpg

from services.ledger.books import Books
from services.ledger.players import rating_rows
from shared.eventlog.port import EventLog
from shared.projections.versions.rebuild import fingerprint, rebuild
from tests.partitions import TABLE_STREAMS
from tests.services.ledger.played import PlayedTable

SEATS = 4  # tables in play, each in a partition of its own
PEOPLE = ("anna", "boris", "vera", "galya")
COMMITS = 60  # made at once, before a ledger has shown any
BATCH = 10  # made for each batch that one commits


class Watch:
    """Hears of every batch that any ledger commits: `await connection.add_listener(schema, watch)`."""

    def __init__(self):
        self.batches, self.changed, self.reached = 0, asyncio.Event(), Counter()

    def __call__(self, _connection, _pid, _channel, payload):
        stream, _, sequence = payload.rpartition(":")
        self.batches += 1
        self.reached[stream] = max(self.reached[stream], int(sequence))
        self.changed.set()

    async def until(self, condition, seconds=60.0):
        async with asyncio.timeout(seconds):
            while not condition():
                self.changed.clear()
                await self.changed.wait()

    async def all_of(self, log: EventLog):
        """Everything that is in the log now stands in the rows."""
        ends = {stream: await log.last_sequence(stream) for stream in TABLE_STREAMS}
        await self.until(lambda: all(self.reached[stream] >= end for stream, end in ends.items()))


class Club:
    """Tables at which a seeded lot plays for the same people; a pulka that has ended may be corrected or annulled, and a new one begins."""

    def __init__(self, log: EventLog, watch: Watch):
        self._log, self._watch = log, watch
        self.tables: list[PlayedTable] = []
        self.made = 0
        self._seats = [self._open() for _ in range(SEATS)]
        self._stopping = False
        self._moved = asyncio.Event()

    def _open(self) -> PlayedTable:
        seed = len(self.tables)
        convention, partition = ("sochi", "leningrad", "rostov")[seed % 3], seed % SEATS
        played = PlayedTable(self._log, seed, partition=partition, players=3 + seed % 2, target=1 + seed % 3, convention=convention)
        played.seats = PEOPLE[: len(played.seats)]
        self.tables.append(played)
        return played

    def begin(self):
        """Play at all tables at once until `end`: some commits at once, then some more for each batch that a ledger has committed."""
        self._stopping, batches = False, self._watch.batches
        return asyncio.gather(*(self._play_on(seat, self.made - BATCH * batches) for seat in range(SEATS)))

    def end(self):
        self._stopping = True
        self._watch.changed.set()

    async def play(self, commits):
        """So many commits, one after another."""
        for number in range(commits):
            await self._move(number % SEATS)

    async def until(self, made):
        while self.made < made:
            self._moved.clear()
            await self._moved.wait()

    async def _play_on(self, seat, began):
        while not self._stopping:
            if self.made - began < COMMITS + BATCH * self._watch.batches:
                await self._move(seat)
            else:
                self._watch.changed.clear()
                await self._watch.changed.wait()

    async def _move(self, seat):
        played = self._seats[seat]
        if await played.step() is None:
            self._seats[seat] = self._open()
            match len(self.tables) % 3:
                case 0:
                    await played.correct(2, -2, *[0] * (len(played.seats) - 2))
                case 1:
                    await played.annul()
                case _:
                    await self._seats[seat].step()
        self.made += 1
        self._moved.set()


async def differences(connection, log, dsn, schema):
    """The tables whose rows in `schema` are not those of a rebuild from nothing."""
    await rebuild(log, Books(), TABLE_STREAMS, dsn, schema + "_again")
    for name in (schema, schema + "_again"):  # ratings are a second stage, which a rebuild leaves to whoever orders it
        rated = await asyncpg.connect(dsn, server_settings={"search_path": name})
        await rating_rows.recompute(rated)
        await rated.close()
    live, again = await fingerprint(connection, schema), await fingerprint(connection, schema + "_again")
    await connection.execute(f'DROP SCHEMA "{schema}_again" CASCADE')
    return {name for name in live.keys() | again.keys() if live.get(name) != again.get(name)}
