"""A table's stream as its viewers get it, whenever they come back: nothing missing, nothing twice, and nothing changed by their coming."""

from __future__ import annotations

from contextlib import aclosing

import msgspec
import pytest

from services.table.table import deadline
from services.table.viewer_stream import MissedCommit, Reader
from shared.events import address
from shared.events.redaction import PublicCodec
from shared.rules.pulka import decider as match
from shared.web.auth import OPERATE, OPERATOR, PLAY, READ, Caller
from shared.web.problems import Problem
from shared.web.streams.frames import as_ndjson, as_sse
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


async def test_a_browser_waits_once_as_long_as_a_stop_made_it_wait():
    """It keeps the last time that it was told, so the first frame elsewhere tells it the usual one; NDJSON has no such field."""
    playing = await Playing().open()
    async with aclosing(await reader_of(playing).frames(TABLE_ID, None, 0, follow=False)) as frames:
        view, commit = await anext(frames), await anext(frames)
    assert b"\nretry: 1000\n" in as_sse(view)
    assert b"retry" not in as_sse(commit)
    assert b"retry" not in as_ndjson(view)


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


@pytest.mark.parametrize("beyond", [0, 1, 99_999])
async def test_f25_a_cursor_tells_a_delayed_spectator_nothing(beyond):
    """F25: whatever cursor a late spectator sends, it is refused alike: with the revision that their view has, no later one."""
    playing = await Playing(target=40, terms={"spectators": {"allowed": True, "delay_deals": 2}}).open()
    head, reader = (await playing.until("auction", deal=4)).revision, reader_of(playing)
    seen = (await reader.now(TABLE_ID, None))["revision"]
    with pytest.raises(Problem) as refused:
        await reader.frames(TABLE_ID, None, max(seen + 1, head * bool(beyond) + beyond), follow=True)
    assert seen < head
    assert (refused.value.status_code, refused.value.path) == (400, "after")
    assert refused.value.detail == f"after: the table is at revision {seen} for you"
    assert (await told(reader, None, seen))[1] == []


async def over(playing):
    """The pulka played to its end."""
    while (await playing.table()).pulka.status != "over":
        await playing.step()
    return (await playing.table()).revision


@pytest.mark.parametrize("delay", [0, 2])
async def test_f28_the_stream_of_a_pulka_that_is_over_ends(delay):
    """F28: from any cursor a stream that follows shows what is there, says that the pulka is over, and ends."""
    playing = await Playing(target=1, terms={"spectators": {"allowed": True, "delay_deals": delay}}).open()
    last = await over(playing)
    for caller, cursor in ((None, None), (token("ann"), 0), (None, 0), (token("ben"), last), (None, last - 1)):
        frames = [frame async for frame in await reader_of(playing).frames(TABLE_ID, caller, cursor, follow=True)]
        shown = last - (last if cursor is None else cursor)
        assert [frame.event for frame in frames] == ["view", *["commit"] * shown, "over"]
        assert msgspec.json.decode(frames[-1].data) == {"revision": last, "status": "over"}


@pytest.mark.parametrize(("player", "delay"), [("ann", 0), (None, 0), (None, 1)])
async def test_f28_a_stream_that_was_open_ends_with_the_pulka(player, delay):
    """F28: who watches to the end is told it after the last commit, and the stream ends; a late spectator gets all of it first."""
    playing = await Playing(target=1, terms={"spectators": {"allowed": True, "delay_deals": delay}}).open()
    async with aclosing(await reader_of(playing).frames(TABLE_ID, player and token(player), 0, follow=True)) as frames:
        kinds = [(await anext(frames)).event]
        last = await over(playing)
        kinds += [frame.event async for frame in frames]
    assert kinds == ["view", *["commit"] * last, "over"]


async def test_f19_a_turn_that_waits_has_not_ended():
    """F19: as long as a seat may move its deadline is not before now, in the view and in the heartbeat, however late the sweep is."""
    playing = await Playing().open()
    table = await playing.until("auction")
    late = deadline(table) + 7_800
    for now, given_back, ends in ((late, 0, late), (late, 25_000, deadline(table) + 25_000), (BEGAN, 0, deadline(table))):
        since = []
        reader = Reader(
            playing.tables, PublicCodec(KEYS), lambda now=now: now, lambda _, began, g=given_back, s=since: s.append(began) or g
        )
        assert (await reader.now(TABLE_ID, token("ann")))["clock"]["deadline"] == ends
        assert (await told(reader, None))[0]["clock"]["deadline"] == ends
        assert msgspec.json.decode((await reader.heartbeat(TABLE_ID, None)(table.revision)).data)["deadline"] == ends
        assert set(since) == {table.turn_began}


async def test_f19_a_turn_of_the_past_ended_when_it_did():
    """F19: in a view of long ago, and in that of a spectator who is late, the deadline is what it was; their heartbeat says none."""
    playing = await Playing(target=40, terms={"spectators": {"allowed": True, "delay_deals": 1}}).open()
    then = await playing.until("auction")
    await playing.until("auction", deal=2)
    head = (await playing.until("auction", deal=3)).revision
    reader = Reader(playing.tables, PublicCodec(KEYS), lambda: playing.now + 100_000, lambda *_: 5_000)
    assert (await told(reader, token("ann"), then.revision))[0]["clock"]["deadline"] == deadline(then)
    late = await reader.now(TABLE_ID, None)
    assert late["clock"]["deadline"] is None or late["clock"]["deadline"] < playing.now
    assert "deadline" not in msgspec.json.decode((await reader.heartbeat(TABLE_ID, None)(head)).data)
    assert "deadline" in msgspec.json.decode((await reader.heartbeat(TABLE_ID, token("ann"))(head)).data)


async def test_a_heartbeat_carries_the_cursor_and_notices_a_silent_stream():
    """A stream that has not shown by the next heartbeat what the log had at the last one is ended, so that its client resumes."""
    playing = await Playing().open()
    heartbeat = reader_of(playing).heartbeat(TABLE_ID, None)
    table = await playing.table()
    shown = table.revision
    assert msgspec.json.decode((await heartbeat(shown)).data) == {"revision": shown, "at": BEGAN, "deadline": deadline(table)}
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


async def test_f20_a_commit_that_lies_in_the_log_twice_is_shown_once():
    """F20: published once more, in the past or under an open stream, it is passed over, and the stream goes on behind it."""
    playing = await Playing().open()
    table = await playing.until("auction")

    async def once_more():
        last = await playing.log.head(address.table(TABLE_ID))
        await playing.log.append(last.address, last.data, last.sequence)

    await once_more()
    for _ in range(2):
        await playing.step()
    for cursor in (0, table.revision, table.revision + 1):  # before the copy, between the two, and behind it
        _, commits = await told(reader_of(playing), token("ann"), cursor)
        assert [frame.id for frame in commits] == list(range(cursor + 1, table.revision + 3))
    async with aclosing(await reader_of(playing).frames(TABLE_ID, token("ann"), None, follow=True)) as frames:
        assert (await anext(frames)).event == "view"
        await once_more()
        await playing.step()
        commit = await anext(frames)
        assert (commit.event, commit.id) == ("commit", table.revision + 3)
