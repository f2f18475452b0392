"""An archived table at the table service: its history is elsewhere, nothing begins there anew, and everybody is told so."""

from __future__ import annotations

import msgspec
import pytest

from services.lobby.table_progress import status_in, status_now
from services.table.table import begins_a_turn, deadline, next_deal
from services.table.tables import Tables
from services.table.viewer_stream import Reader
from shared.eventlog.aggregates.aggregates import Nothing, RefusedAt, Request
from shared.events.catalogue import encode_event
from shared.events.commit import SCHEMA, Commit, decode, encode
from shared.events.redaction import PublicCodec
from shared.events.sealing import TableCodec
from shared.rules.language.moves import Bid, Join
from shared.rules.pulka.imported import PulkaArchived
from shared.web.problems import Problem
from tests.services.table.playing import KEYS, PLAYERS, TABLE_ID, Playing


async def archived(playing: Playing, *, annulled: bool = False, purged: bool = True):
    """The settled table's last commit, once it is appended, and the rest is gone."""
    while (await playing.table()).pulka.status != "over":
        await playing.step()
    loaded = await playing.tables.load(TABLE_ID)
    event = PulkaArchived(loaded.revision, loaded.head_hash, "operator:a", annulled)
    commit = Commit(
        aggregate=loaded.address.subject, revision=loaded.revision + 1, schema=SCHEMA, at=loaded.at, actor="operator:a",
        command_id="archive", command_digest="", cause=None, correlation=None, prev_hash=loaded.head_hash,
        events=(msgspec.Raw(encode_event(event)),),
    )  # fmt: skip
    mark = await playing.log.append(loaded.address, encode(commit), loaded.sequence)
    if purged:
        await playing.log.purge(loaded.address, mark.sequence)
    return mark


@pytest.fixture
async def playing():
    return await Playing(target=2).open()


def instances(playing):
    """One that has the whole table in memory, and one that has just started."""
    return playing.tables, Tables(playing.log, TableCodec(KEYS))


async def test_no_move_begins_a_new_history(playing):
    """Players, strangers, and whoever would join are refused `archived`; the log stays as it is."""
    mark = await archived(playing)
    for tables in instances(playing):
        playing.tables = tables
        for player, move in ((PLAYERS[0], Bid("6S")), ("somebody", Bid("6S")), ("somebody", Join(None))):
            refused = await playing.send(player, move)
            assert isinstance(refused, RefusedAt)
            assert (refused.refused.code, refused.revision) == ("archived", mark.revision)
    assert await playing.log.read(mark.address) == [mark]


async def test_the_lobby_s_word_does_not_open_it_again(playing):
    """A service that reads the lobby's streams from the beginning finds the pulka opened, and over."""
    mark = await archived(playing)
    for tables in instances(playing):
        assert isinstance(await tables.open(TABLE_ID, playing.opening, playing.now, None), Nothing)
        assert isinstance(await tables.start_deal(TABLE_ID, 1, playing.now), Nothing)
    assert await playing.log.read(mark.address) == [mark]


async def test_an_instance_that_missed_the_end_catches_up(playing):
    """One whose copy is from before the end, when what it missed has left the log, takes the last commit for what it is."""
    stale = Tables(playing.log, TableCodec(KEYS))
    await stale.load(TABLE_ID)
    mark = await archived(playing)
    loaded = await stale.load(TABLE_ID, at_leader=True)
    assert (loaded.revision, loaded.state.archived) == (mark.revision, True)


async def test_view_and_stream_are_gone(playing):
    """F25: 410 `archived` for everybody, before and after the purge: not now this and then that. No revision: it may be private."""
    mark = await archived(playing, purged=False)
    for purged in (False, True):
        if purged:
            await playing.log.purge(mark.address, mark.sequence)
        for tables in instances(playing):
            reader = Reader(tables, PublicCodec(KEYS), lambda: playing.now)
            with pytest.raises(Problem) as gone:
                await reader.now(TABLE_ID, None)
            assert (gone.value.status_code, gone.value.code, gone.value.document.revision) == (410, "archived", None)
            with pytest.raises(Problem) as gone:
                await reader.frames(TABLE_ID, None, 0, follow=False)
            assert gone.value.code == "archived"


async def test_its_clock_stands(playing):
    """Nothing is waited for, nothing is due."""
    mark = await archived(playing)
    (_, fresh) = instances(playing)
    table = (await fresh.load(TABLE_ID)).state
    assert (deadline(table), next_deal(table)) == (None, None)
    assert begins_a_turn(decode(mark.data))


async def test_corrections_are_refused(playing):
    """What was archived is not corrected any more."""
    await archived(playing)
    for tables in instances(playing):
        refused = await tables.after_the_end(TABLE_ID, lambda _: (), Request("c", "operator:a", "", playing.now))
        assert refused.refused.code == "archived"


@pytest.mark.parametrize(("annulled", "status"), [(False, "over"), (True, "annulled")])
async def test_the_lobby_goes_on_to_show_how_it_ended(playing, annulled, status):
    """Its status follows from the last commit alone."""
    mark = await archived(playing, annulled=annulled)
    assert status_in(mark)[0] == status
    assert await status_now(playing.log, TABLE_ID) == status
