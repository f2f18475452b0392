"""Streams: two forms, a cursor, heartbeats, limits, slow clients, an orderly end. On a real port."""

from __future__ import annotations

import asyncio
import time

import msgspec
import pytest

from shared.web.streams import streaming
from shared.web.streams.frames import leaving
from shared.web.streams.streaming import Frame, as_ndjson, as_sse, negotiate
from tests.services.cli.processes import until_async

NDJSON = {"Accept": "application/x-ndjson"}


def commit(revision, **more):
    return Frame("commit", msgspec.json.encode({"revision": revision, **more}), revision)


def push(source, *frames):
    for frame in frames:
        source.frames.put_nowait(frame)


async def lines_of(answer, count):
    lines = []
    async for line in answer.aiter_lines():
        lines.append(line)
        if len(lines) == count:
            break
    return lines


def test_two_forms():
    """One frame reads the same as a Server-Sent Event and as a line of NDJSON."""
    assert as_sse(commit(7)) == b'id: 7\nevent: commit\ndata: {"revision":7}\n\n'
    assert as_ndjson(commit(7)) == b'{"frame":"commit","revision":7}\n'
    assert as_sse(Frame("heartbeat", b"{}")) == b"event: heartbeat\ndata: {}\n\n"
    assert as_ndjson(Frame("heartbeat", b"{}")) == b'{"frame":"heartbeat"}\n'
    assert as_sse(leaving(7, 250)) == b'event: leaving\nretry: 250\ndata: {"revision":7,"retry_ms":250}\n\n'
    assert as_ndjson(leaving(None, 250)) == b'{"frame":"leaving","revision":null,"retry_ms":250}\n'


@pytest.mark.parametrize(
    ("accept", "form"),
    [(None, as_sse), ("*/*", as_sse), ("text/event-stream", as_sse), ("application/x-ndjson, text/event-stream", as_ndjson)],
)
def test_the_form_is_negotiated(accept, form):
    """`Accept` picks the form; SSE is the default."""
    assert negotiate(accept) is form


async def test_frames_arrive_and_end(served, source):
    """Frames come in order with their ids; the stream ends with them and lets go of its source."""
    push(source, commit(1), commit(2), None)
    async with served.stream("GET", "/stream") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["cache-control"] == "no-store, no-transform"
        body = await answer.aread()
    assert body == as_sse(commit(1)) + as_sse(commit(2))
    await asyncio.wait_for(source.closed.wait(), 2)
    await until_async(lambda: source.streams.count == 0)  # its client reads the end a moment before it is forgotten


@pytest.mark.parametrize(("headers", "query"), [({"Last-Event-ID": "1"}, ""), ({}, "?after=1"), ({"Last-Event-ID": "1"}, "?after=0")])
async def test_the_cursor(served, source, headers, query):
    """`Last-Event-ID` or `?after=` resume after that revision; the header, which a browser keeps up to date, wins."""
    push(source, commit(1), commit(2), None)
    answer = await served.get(f"/stream{query}", headers={**headers, **NDJSON})
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.text == '{"frame":"commit","revision":2}\n'


@pytest.mark.parametrize("after", ["-1", "x", "1.5", "", "٣", "9" * 30, "05", "+1"])  # F12
async def test_a_cursor_that_cannot_be_read(served, after):
    """A malformed cursor is 400, in the query and in the header."""
    answer = await served.get("/stream", params={"after": after})
    assert (answer.status_code, answer.json()["path"]) == (400, "after")
    answer = await served.get("/stream", headers={"Last-Event-ID": after.encode()})
    assert (answer.status_code, answer.json()["path"]) == (400, "Last-Event-ID")


async def test_an_accept_on_two_lines_is_one_list(served, source):
    """F15: a header that is a list may come twice, and the first line does not win (RFC 9110, 5.3)."""
    await source.frames.put(None)
    answer = await served.get("/stream", headers=[("Accept", "text/csv"), ("Accept", "application/x-ndjson")])
    assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (200, "application/x-ndjson")


async def test_an_accept_without_either_form(served):
    """A client that takes neither form is told so: 406."""
    answer = await served.get("/stream", headers={"Accept": "text/csv"})
    assert (answer.status_code, answer.json()["code"]) == (406, "not_acceptable")


async def test_heartbeats_carry_the_cursor(served, source):
    """A quiet stream beats, each time with the revision last sent."""
    source.streams.heartbeat = 0.05
    push(source, commit(5))
    async with served.stream("GET", "/stream", headers=NDJSON) as answer:
        assert await lines_of(answer, 3) == ['{"frame":"commit","revision":5}', *['{"frame":"heartbeat","revision":5}'] * 2]


async def test_the_limit_of_streams(served, source, tokens):
    """Over the stated limit a token gets 429 with `Retry-After` and its quota; a closed stream makes room."""
    source.streams._per_token = 1
    headers = {"Authorization": f"Bearer {tokens.issue('3-abc', ('read',), int(time.time()))}"}
    push(source, commit(1))
    async with served.stream("GET", "/stream", headers=headers) as answer:
        assert (answer.headers["ratelimit-limit"], answer.headers["ratelimit-remaining"]) == ("1", "0")
        refused = await served.get("/stream", headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_streams")
        assert refused.headers["retry-after"] == "5"
    await asyncio.wait_for(source.closed.wait(), 2)
    push(source, None)
    assert (await served.get("/stream", headers=headers)).status_code == 200


async def test_a_slow_client_is_dropped(served, source):
    """A client that takes nothing for the stall time is cut off, and what it has got by then is whole frames in order."""
    source.streams.stall = 0.2
    source.streams.queue = 4
    large = "x" * 100_000
    for number in range(1, 200):  # 20 MB: more than the sockets between hold
        push(source, commit(number, padding=large))
    async with served.stream("GET", "/stream", headers=NDJSON) as answer:
        await asyncio.wait_for(source.closed.wait(), 5)
        assert source.streams.count == 0
        received = 0
        with pytest.raises(Exception, match=r"peer closed|incomplete"):  # noqa: PT012 - the break comes while reading
            async for line in answer.aiter_lines():
                received += line.endswith("}")
    assert 0 < received < 199


async def test_a_late_client_gets_every_frame(served, source):
    """A client that lags by far more than its queue holds, but reads on before the stall time, misses nothing."""
    source.streams.queue = 4
    padding = "x" * 100_000
    push(source, *(commit(number, padding=padding) for number in range(1, 200)), None)  # 20 MB: more than the sockets between hold
    async with served.stream("GET", "/stream", headers=NDJSON) as answer:
        assert not source.closed.is_set()  # it waits for its reader
        assert [msgspec.json.decode(line)["revision"] async for line in answer.aiter_lines()] == list(range(1, 200))


async def test_a_source_that_fails(served, source):
    """When the log goes away the stream ends, so that the client comes back with its cursor."""
    push(source, commit(1), ConnectionError("gone"))
    answer = await served.get("/stream", headers=NDJSON)
    assert answer.text == '{"frame":"commit","revision":1}\n'


async def test_the_process_stops(served, source):
    """A stop ends every stream at once and in order, tells its client to come back with its cursor, and takes no new one."""
    push(source, commit(1))
    async with served.stream("GET", "/stream", headers=NDJSON) as answer:
        lines = answer.aiter_lines()
        assert await anext(lines) == '{"frame":"commit","revision":1}'
        await source.streams.close()
        last = msgspec.json.decode(await anext(lines))
        assert [line async for line in lines] == []
    assert last.pop("retry_ms") >= streaming.COMEBACK_MS
    assert last == {"frame": "leaving", "revision": 1}
    await asyncio.wait_for(source.closed.wait(), 2)
    refused = await served.get("/stream")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")


async def test_a_client_that_takes_nothing_at_a_stop_is_told_no_revision(served, source):
    """What was on its way to it may be lost, so the server does not say that it has it."""
    padding = "x" * 100_000
    push(source, *(commit(number, padding=padding) for number in range(1, 200)))  # 20 MB: more than the sockets between hold
    async with served.stream("GET", "/stream", headers=NDJSON) as answer:
        lines = answer.aiter_lines()
        first = msgspec.json.decode(await anext(lines))
        await until_async(lambda: not source.frames.qsize())
        await source.streams.close()
        *rest, last = [msgspec.json.decode(line) async for line in lines]
    revisions = [frame["revision"] for frame in (first, *rest)]
    assert revisions == list(range(1, len(revisions) + 1))
    assert len(revisions) < 199
    assert (last["frame"], last["revision"]) == ("leaving", None)


class Told:
    """A stream that writes down when its client may come back."""

    def __init__(self):
        self.retry_ms = None

    def stop(self, retry_ms):
        assert self.retry_ms is None
        self.retry_ms = retry_ms


async def test_all_are_told_also_if_nobody_waits_for_it():
    """A stop gives its parts some time; who has more streams than fit into it tells the others while requests finish."""
    streams, told = streaming.Streams(), [Told() for _ in range(1000)]
    for one in told:
        streams.begun(one)
    waiting = asyncio.create_task(streams.close())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert 0 < sum(one.retry_ms is not None for one in told) < 1000
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await streams.close()  # as the service does when it stops
    assert all(one.retry_ms is not None for one in told)


async def test_comebacks_are_spread():
    """Ten thousand streams do not come back at once, a few wait no longer than one must, and nobody longer than till a heartbeat."""
    for count, least, most in ((1, 100, 102), (10_000, 10_000, 15_000)):
        streams, told = streaming.Streams(), [Told() for _ in range(count)]
        for one in told:
            streams.begun(one)
        await streams.close()
        waits = [one.retry_ms for one in told]
        assert min(waits) >= streaming.COMEBACK_MS
        assert least <= max(waits) <= most
        in_one_second = max(sum(start <= wait < start + 1000 for wait in waits) for start in range(100, 15_000, 1000))
        assert in_one_second <= max(1, count // 10)


def test_the_heartbeat_is_as_published():
    """Clients rely on a heartbeat every 15 s (deploy/docs/streams.md)."""
    assert streaming.Streams().heartbeat == 15
