"""Coming back to a table with any cursor: the frames are those that a fold of the whole log gives, whatever is kept, and little is read."""

from __future__ import annotations

import asyncio
import random

import msgspec
import pytest

from services.table import pasts
from services.table.pasts import SLICE, WORTH, Pasts
from services.table.tables import Tables
from services.table.viewer_stream import Reader
from shared.eventlog import snapshots
from shared.eventlog.memory import MemoryLog
from shared.eventlog.snapshots import STATE, MemorySnapshots
from shared.events import address
from shared.events.redaction import PublicCodec
from shared.events.sealing import TableCodec
from shared.rules.pulka import decider as match
from shared.web.problems import Problem
from shared.web.streams.streaming import Streams
from tests.services.cli.processes import until_async
from tests.services.table.misplaying import JUDGE, Misplaying
from tests.services.table.onlooking import Onlooker
from tests.services.table.playing import BEGAN, KEYS, PLAYERS, TABLE_ID, Playing
from tests.services.table.test_viewer_stream import token

WHERE = address.table(TABLE_ID)
VIEWERS = (*map(token, PLAYERS[:3]), token("eve"), token(JUDGE), None)
GAMES = [
    {"players": 3, "target": 40},
    {"players": 3, "target": 40, "terms": {"spectators": {"allowed": True, "delay_deals": 1}}},
    {"players": 3, "target": 40, "terms": {"spectators": {"allowed": True, "delay_deals": 2}}},
    {"players": 3, "target": 40, "terms": {"seating": "drawn"}},
    {"players": 3, "target": 40, "terms": {"arbiter": JUDGE}},
]


class Counted(MemoryLog):
    """A log that notes how many commits each read brought, and may have no snapshots."""

    def __init__(self, store, kept=None):
        super().__init__(store)
        self.reads = []
        if kept is not None:
            self.snapshots = kept

    async def read(self, address, after=0, until=0):
        found = await super().read(address, after, until)
        self.reads.append(len(found))
        return found


def reader_on(store, kept=None):
    """An instance that has nothing in hand, its log, and its tables."""
    log = Counted(store, kept)
    tables = Tables(log, TableCodec(KEYS))
    return Reader(tables, PublicCodec(KEYS), lambda: BEGAN), log, tables


async def told(reader, caller, cursor):
    """All frames of a stream that does not follow, as bytes."""
    return [(frame.event, frame.id, frame.data) async for frame in await reader.frames(TABLE_ID, caller, cursor, follow=False)]


async def played(game, commits):
    """A table of so many commits, and every snapshot that it had, oldest first."""
    judged, kept = "arbiter" in game.get("terms", {}), []
    playing = Misplaying(seed=3, wild=0.1, **game) if judged else Playing(seed=3, **game)
    playing.opening = msgspec.structs.replace(playing.opening, draw_seed="11" * 32)
    await playing.open()
    while (await playing.table()).revision < commits:
        await playing.step()
        await playing.tables.drain()
        now = playing.store.snapshots.kept.get((WHERE, STATE))
        if now is not None and now not in kept:
            kept.append(now)
    return playing, kept


def keeping(*parts):
    """Snapshots of which the last of `parts` lies there."""
    found = MemorySnapshots()
    for part in parts:
        found.kept[WHERE, STATE] = part
    return found


def revision_of(part):
    return snapshots.decode(part).revision


@pytest.mark.parametrize("game", GAMES, ids=str)
async def test_every_frame_is_that_of_a_whole_fold(game):
    """For seats, strangers, an arbiter and nobody, with cursors around the snapshots and elsewhere: byte for byte, with no snapshot, an
    old, a new, a broken and a foreign one, and whoever asked before.
    """
    playing, kept = await played(game, 260)
    _, foreign = await played(GAMES[0] | {"target": 41}, 200)
    assert len(kept) > 2
    head, chance = (await playing.table()).revision, random.Random(7)
    books = [revision_of(part) + by for part in (kept[0], kept[-1]) for by in (-1, 0, 1)]
    marks = [0, head, *books, *chance.sample(range(head), 3)]
    broken = bytes([kept[-1][0] ^ 1]) + kept[-1][1:]
    instances = [reader_on(playing.store, keeping(*part))[0] for part in ((), kept[:1], kept[-1:], [broken], foreign[-1:])]
    for cursor in chance.sample(marks, len(marks)):
        for caller in VIEWERS:
            whole = await answered(reader_on(playing.store, keeping())[0], caller, cursor)
            for instance in instances:
                assert await answered(instance, caller, cursor) == whole


async def answered(reader, caller, cursor):
    """All frames, or the refusal."""
    try:
        return await told(reader, caller, cursor)
    except Problem as refused:
        return refused.status_code, refused.code, refused.detail


async def test_only_what_follows_the_snapshot_is_read():
    """A cursor in the present deal costs that deal; so does the view of a spectator who is one deal late; only a cursor before the
    snapshot costs the history, and the same one again what follows it.
    """
    playing, kept = await played(GAMES[1], 420)
    head, books = (await playing.table()).revision, revision_of(kept[-1])
    reader, log, _ = reader_on(playing.store, keeping(kept[-1]))
    for caller, cursor in [(token("ann"), books), (token("ann"), head - 1), (token("eve"), None)]:
        log.reads.clear()
        await told(reader, caller, cursor)
        assert sum(log.reads) <= 2 * (head - books + 1)  # the table itself, and what follows the snapshot
    await told(reader, token("ann"), books - 10)
    assert log.reads[-1] == head
    await told(reader, token("ben"), books - 10)
    assert log.reads[-1] == head - (books - 10) + 1


async def test_a_long_history_leaves_everybody_their_turn_and_pushes_nothing_out():
    """A fold of hundreds of commits lets others run every few of them; twenty who come at once for the same cost one fold; what is
    remembered keeps to its bytes, and the tables in hand stay as they were.
    """
    playing, _ = await played(GAMES[0], 420)
    tables = reader_on(playing.store, keeping())[2]
    head = await tables.load(TABLE_ID)
    held, opened, turns = tables.cache.bytes, 0, 0

    class Opening(TableCodec):
        def open(self, commit):
            nonlocal opened
            opened += 1
            return super().open(commit)

    tables.codec = Opening(KEYS)
    past = Pasts(tables)

    async def others():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(others())
    wanted = head.revision - 20
    found = await asyncio.gather(*(past.latest(head, lambda table: table.revision <= wanted) for _ in range(20)))
    beside.cancel()
    assert {(one.table.revision, len(one.rest)) for one in found} == {(wanted, 20)}
    assert wanted <= opened <= wanted + 20
    assert turns > wanted // SLICE
    assert (tables.cache.bytes, len(tables.cache)) == (held, 1)


async def test_what_is_remembered_keeps_to_its_bytes(monkeypatch):
    """However many states are asked for, in memory there are as many as fit, and every one is found right, remembered or not."""
    playing, _ = await played(GAMES[0], 420)
    tables = reader_on(playing.store, keeping())[2]
    head = await tables.load(TABLE_ID)
    monkeypatch.setattr(pasts, "WORTH", 8)
    small, none = Pasts(tables, capacity=40_000), Pasts(tables, capacity=0)
    for wanted in [*range(30, head.revision, 30), *range(30, head.revision, 45)]:
        one = await small.latest(head, lambda table, wanted=wanted: table.revision <= wanted)
        assert one == await none.latest(head, lambda table, wanted=wanted: table.revision <= wanted)
        assert small.cache.bytes <= 40_000
    assert len(none.cache) == 1  # one is held however large
    assert 1 < len(small.cache) < 10


async def test_a_watched_table_remembers_its_last_deals():
    """Whoever breaks off in one deal and comes back in the next finds the state before it, at the instance where others watch."""
    playing = await Playing(seed=3, **GAMES[0]).open()
    reader, log, _ = reader_on(playing.store)
    onlooker = await Onlooker(playing, reader, Streams(), token("eve")).open()
    await until_async(lambda: onlooker.together)
    while (table := await playing.table()).pulka.number < 9 or match.phase(table.pulka) != "play":
        await playing.step()
        await playing.tables.drain()
    await onlooker.settled()
    newest, head = revision_of(playing.store.snapshots.kept[WHERE, STATE]), (await playing.table()).revision
    whole = await told(reader_on(playing.store, keeping())[0], None, newest - 5)
    log.reads.clear()
    assert await told(reader, None, newest - 5) == whole
    assert log.reads[-1] < head - newest + WORTH + 10 < head
    await onlooker.close()
