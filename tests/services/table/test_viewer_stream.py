"""A table's stream as its viewers get it, whenever they come back: nothing missing, nothing twice, and nothing changed by their coming."""

from __future__ import annotations

from contextlib import aclosing

import msgspec
import pytest

from services.table.table import deadline
from services.table.viewer_stream import MissedCommit, Reader
from shared.events.redaction import PublicCodec
from shared.rules.pulka import decider as match
from shared.web.auth import OPERATE, OPERATOR, PLAY, READ, Caller
from shared.web.problems import Problem
from tests.services.table.playing import BEGAN, KEYS, PLAYERS, TABLE_ID, Playing

FOR_EVER = 1 << 40


def token(player, *scopes):
    return Caller(player, frozenset(scopes or (PLAY, READ)), FOR_EVER)


def reader_of(playing):
    return Reader(playing.tables, PublicCodec(KEYS), lambda: BEGAN)


async def told(reader, caller, cursor=None):
    """The whole of a stream that does not follow: the view, and the commits after it."""
    view, *commits = [frame async for frame in await reader.frames(TABLE_ID, caller, cursor, follow=False)]
    assert (view.event, {frame.event for frame in commits}) in (("view", {"commit"}), ("view", set()))
    return msgspec.json.decode(view.data), commits


def lasting(view):
    """The view without what is only true of the moment in which it was made."""
    return view | {"presence": None}


async def played_with_views(terms=None):
    """A deal and a bit, and what each seat and a spectator saw after every commit of it, by revision."""
    playing = await Playing(players=4, terms=terms).open()
    reader = reader_of(playing)
    seen = {}
    while (table := await playing.table()).pulka.number < 2 or match.phase(table.pulka) != "play":
        seen[table.revision] = {player: lasting(await reader.now(TABLE_ID, token(player))) for player in (*PLAYERS, "eve")}
        await playing.step()
    return playing, reader, seen


async def test_whoever_comes_back_gets_the_view_of_then_and_all_that_followed():
    """From any cursor each seat and a spectator get the view as it was at that revision, then every later commit, once and in order."""
    playing, reader, seen = await played_with_views()
    head = (await playing.table()).revision
    for player in (*PLAYERS, "eve"):
        whole = (await told(reader, token(player), 0))[1]
        assert [frame.id for frame in whole] == list(range(1, head + 1))
        for cursor, views in seen.items():
            view, commits = await told(reader, token(player), cursor)
            assert lasting(view) == views[player]
            assert commits == whole[cursor:]


async def test_coming_and_going_changes_nothing():
    """Streams that begin, break off and begin again write no event and leave turn, deadline and seats as they were."""
    playing = await Playing().open()
    before = await playing.until("auction")
    reader = reader_of(playing)
    for player in PLAYERS[:3] * 3:
        async with aclosing(await reader.frames(TABLE_ID, token(player), None, follow=True)) as frames:
            assert (await anext(frames)).event == "view"
    after = await playing.tables.load(TABLE_ID, at_leader=True)
    assert (after.revision, after.state) == (before.revision, before)
    assert deadline(after.state) == deadline(before)


async def test_presence_can_be_asked_for():
    """Who has a live stream is shown to whoever asks, until his last one has ended; a spectator takes no seat's place."""
    playing = await Playing().open()
    reader = reader_of(playing)
    streams = [await reader.frames(TABLE_ID, token(player), None, follow=True) for player in ("ann", "ann", "eve")]
    for stream in streams:
        await anext(stream)
    assert (await reader.now(TABLE_ID, token("ben")))["presence"] == [True, False, False]
    await streams[0].aclose()
    assert (await reader.now(TABLE_ID, token("ben")))["presence"] == [True, False, False]
    await streams[1].aclose()
    assert (await reader.now(TABLE_ID, token("ben")))["presence"] == [False, False, False]
    await streams[2].aclose()


@pytest.mark.parametrize("delay", [0, 1, 2])
async def test_the_first_frame_says_how_late_a_spectator_is(delay):
    """A spectator is whole deals late and told so first; a player at the same table is not late at all; at the end both have seen all."""
    playing = await Playing(target=1, terms={"spectators": {"allowed": True, "delay_deals": delay}}).open()
    reader = reader_of(playing)
    for deal in range(1, 4):
        table = await playing.until("auction", deal)
        view, commits = await told(reader, None, 0)
        assert (view["delay_deals"], (await told(reader, token("ann"), 0))[0]["delay_deals"]) == (delay, 0)
        shown = [event["type"] for frame in commits for event in msgspec.json.decode(frame.data)["events"]]
        assert shown.count("DealStarted") == max(0, table.pulka.number - delay)
    while (await playing.table()).pulka.status != "over":
        await playing.step()
    everything = (await told(reader, token("ann"), 0))[1]
    assert [frame.id for frame in (await told(reader, None, 0))[1]] == [frame.id for frame in everything]


async def test_a_cursor_from_the_future_is_refused():
    """A cursor beyond the head belongs to another log: 400 rather than a stream that shows nothing."""
    playing = await Playing().open()
    head = (await playing.table()).revision
    with pytest.raises(Problem) as refused:
        await reader_of(playing).frames(TABLE_ID, token("ann"), head + 1, follow=False)
    assert (refused.value.status_code, refused.value.path) == (400, "after")


async def test_a_heartbeat_carries_the_cursor_and_notices_a_silent_stream():
    """A stream that has not shown by the next heartbeat what the log had at the last one is ended, so that its client resumes."""
    playing = await Playing().open()
    heartbeat = reader_of(playing).heartbeat(TABLE_ID)
    shown = (await playing.table()).revision
    assert msgspec.json.decode((await heartbeat(shown)).data) == {"revision": shown, "at": BEGAN}
    await playing.step()
    await heartbeat(shown)  # a commit of just now may still be on its way
    with pytest.raises(MissedCommit):
        await heartbeat(shown)
    assert msgspec.json.decode((await heartbeat(shown + 1)).data)["revision"] == shown + 1


async def test_a_token_that_may_not_read_sees_nothing_of_a_private_table():
    """Without the scope `read` neither view nor stream is opened, not even one's own."""
    playing = await Playing(terms={"visibility": "private"}).open()
    reader = reader_of(playing)
    for ask in (reader.now(TABLE_ID, token("ann", PLAY)), reader.frames(TABLE_ID, token("ann", PLAY), None, follow=False)):
        with pytest.raises(Problem) as refused:
            await ask
        assert refused.value.code == "scope_missing"


async def test_a_token_that_may_not_read_shows_what_no_token_shows():
    """F34: a public table's view and stream are no worse with a token of fewer scopes, and no better, whosever it is."""
    playing = await Playing(target=1).open()
    reader = reader_of(playing)
    for _ in range(12):
        await playing.step()
    for who in (token("ann", PLAY), token(OPERATOR + "desk", OPERATE)):
        assert await reader.now(TABLE_ID, who) == await reader.now(TABLE_ID, None)
        assert await told(reader, who, 0) == await told(reader, None, 0)


async def test_every_start_has_exactly_one_end():
    """Deals begin one after another, each is scored and revealed once before the next, and the pulka opens and closes once."""
    playing = await Playing(target=1, seed=3).open()
    while (await playing.table()).pulka.status != "over":
        await playing.step()
    commits = (await told(reader_of(playing), token("ann"), 0))[1]
    events = [event["type"] for frame in commits for event in msgspec.json.decode(frame.data)["events"]]
    marks = [kind for kind in events if kind in {"PulkaOpened", "DealStarted", "DealScored", "DealRevealed", "PulkaClosed"}]
    deals = marks.count("DealStarted")
    assert marks == ["PulkaOpened", *["DealStarted", "DealScored", "DealRevealed"] * deals, "PulkaClosed"]
