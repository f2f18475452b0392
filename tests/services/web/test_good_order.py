"""What can be read in two ways is refused, by the name that its sender gave it; and what a path can be asked besides its own methods."""

from __future__ import annotations

import asyncio
from urllib.parse import quote

import pytest

from tests.served import STREAMS_END


async def refused(answer, path):
    document = answer.json()
    assert (answer.status_code, document["code"], document.get("path", "")) == (400, "malformed", path)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (b'{"type":"cut","at":10,"at":11}', "at"),
        (b'{"type":"cut","at":10,"at":10}', "at"),
        (b'{"type":"cut","type":"cut","at":10}', "type"),
        (rb'{"type":"cut","at":10,"\u0061t":11}', "at"),
        (b'{"type":"cut","at":10,"at":"x"}', "at"),
        (b'{"type":"cut","at":10,"at":10,"card":"AS"}', "at"),
        (rb'{"type":"seed","seed":"\u0061\u0062","seed":"ab"}', "seed"),
        (
            b'{"type":"ruling","rule":"3.9.1","seat":0,"reason":"a:b","entries":[{"seat":0,"seat":1,"column":"pool","amount":1}]}',
            "entries[0].seat",
        ),
    ],
)
async def test_a_body_names_each_member_once(client, body, path):
    """F11: an object that names a member twice says two things; RFC 7493 (2.3) has no such object."""
    await refused(await client.post("/echo/t", content=body), path)


@pytest.mark.parametrize(
    "body", [b'{"type":"ruling","rule":"3.9.1","seat":0,"reason":"a: \\"b\\": c\\u003a"}', b'{"at" : 10 , "type":"cut"}']
)
async def test_colons_in_texts_and_blanks_are_no_members(client, body):
    """What only looks like a second member is none."""
    assert (await client.post("/echo/t", content=body)).status_code == 201


@pytest.mark.parametrize("text", ["5.0", " 5", "5 ", "+5", "5e0", "٥", "05", "-0", "0x5", "5_0", "", "x"])
@pytest.mark.parametrize("name", ["limit", "from"])
async def test_a_whole_number_is_spelled_in_one_way(client, name, text):
    """F12, F13: a query's whole number has digits only and no leading zero; the path names the parameter as the client wrote it."""
    await refused(await client.get("/numbers/1", params={name: text}), name)


@pytest.mark.parametrize("text", ["+5", "05", "٥", "%205", "5_0"])
async def test_a_whole_number_in_a_path_too(client, text):
    """F12: one deal has one address."""
    await refused(await client.get(f"/numbers/{quote(text, safe='%')}"), "number")


async def test_whole_numbers_are_taken(client):
    """And whatever is out of bounds is named as the client wrote it (F13)."""
    assert (await client.get("/numbers/17?from=0&limit=5")).json() == {"number": 17, "from": 0, "limit": 5}
    await refused(await client.get("/numbers/17?from=-1"), "from")
    await refused(await client.get("/numbers/17?limit=201"), "limit")


async def test_a_number_that_is_needed_is_named(client):
    """F13: a parameter that is missing is named as the client would have written it."""
    await refused(await client.get("/needed"), "of")
    assert (await client.get("/needed?of=3")).json() == 3


@pytest.mark.parametrize("path", ["/schema", "/schema/none", "/schema/none.json"])
async def test_where_there_is_nothing_a_problem_says_so(client, path):
    """Whatever library answers there."""
    for answer in (await client.get(path), await client.options(path)):
        assert (answer.status_code, answer.headers["content-type"], answer.json()["code"]) == (404, "application/problem+json", "not_found")


@pytest.mark.parametrize("name", ["Authorization", "Idempotency-Key", "If-Match", "Last-Event-ID", "Content-Type"])
@pytest.mark.parametrize("second", ["a", "b"])
async def test_a_header_that_says_one_thing_comes_once(client, name, second):
    """F15: of two, nobody can tell which one holds, and a proxy may have judged the other."""
    await refused(await client.get("/who", headers=[(name, "a"), (name, second)]), name)


async def test_two_lengths_or_hosts_are_no_request(running):
    """F15: neither is the end of a body, nor a host, that two can read differently (RFC 9112, 6.3 and 3.2)."""
    for more in ("Content-Length: 0\r\nContent-Length: 1", "Host: b"):
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(f"POST /key HTTP/1.1\r\nHost: a\r\n{more}\r\nConnection: close\r\n\r\n".encode())
        answer = await asyncio.wait_for(reader.read(), 5)  # seconds; it comes at once
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b'"code":"malformed"' in answer
        writer.close()


@pytest.mark.parametrize("text", ["%ED%A0%80", "%FF", "a%C3", "%C0%AF"])
async def test_a_path_and_a_query_are_utf_8(served, text):
    """F16: a half of a character, a byte that begins none, an overlong form: nobody is called so, on any route and with any method."""
    await refused(await served.get(f"/trouble/{text}"), "")
    await refused(await served.post(f"/echo/{text}", content=b'{"type":"cut","at":10}'), "")
    await refused(await served.options(f"/trouble/{text}"), "")
    await refused(await served.get(f"/numbers/1?limit={text}"), "limit")
    await refused(await served.get(f"/numbers/1?{text}=1"), "")


async def test_bytes_above_ascii_are_no_address(running):
    """F16: what is not even percent-encoded is refused before anything reads it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
    writer.write(b"GET /trouble/\xed\xa0\x80 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    assert (await asyncio.wait_for(reader.read(), 5)).startswith(b"HTTP/1.1 400 ")  # seconds; it comes at once
    writer.close()


@pytest.mark.parametrize(
    "path", ["/numbers/5?limit=7", "/who", "/health", "/metrics", "/", "/schema/openapi.json", "/mine", "/numbers/05", "/nowhere"]
)
async def test_head_is_get_without_the_body(served, path):
    """F29: the same status and headers, and nothing behind them."""
    asked, whole = await served.head(path), await served.get(path)
    assert asked.status_code == whole.status_code
    assert asked.content == b""
    assert {name: asked.headers[name] for name in asked.headers if name not in ("date", "content-length")} == {
        name: whole.headers[name] for name in whole.headers if name not in ("date", "content-length")
    }
    if path != "/metrics":  # which count this request too
        assert asked.headers["content-length"] == whole.headers["content-length"]


async def test_head_of_a_stream_ends_it(served, source):
    """F29: its head is answered, and the stream lets go of its frames: nobody reads them."""
    asked = await served.head("/stream")
    assert (asked.status_code, asked.headers["content-type"].partition(";")[0]) == (200, "text/event-stream")
    await asyncio.wait_for(source.closed.wait(), 5)  # seconds; it is at once
    assert source.streams.count == 0


@pytest.mark.parametrize(
    ("path", "methods"),
    [("/numbers/5", "GET, HEAD, OPTIONS, POST"), ("/key", "OPTIONS, POST"), ("/who", "GET, HEAD, OPTIONS"), ("/", "GET, HEAD, OPTIONS")],
)
async def test_options_lists_every_method(client, path, methods):
    """F29: so does the refusal of a method that the path does not have (RFC 9110, 15.5.6)."""
    asked = await client.options(path)
    assert (asked.status_code, asked.headers["allow"], asked.content) == (204, methods, b"")
    other = await client.patch(path)
    assert (other.status_code, ", ".join(sorted(other.headers["allow"].split(", ")))) == (405, methods)


async def test_head_where_nothing_can_be_got(client):
    """F29: a path that only takes commands is not asked so."""
    assert (await client.head("/key")).status_code == 405


@pytest.mark.slow
@pytest.mark.parametrize(("method", "code"), [("GET", "unavailable"), ("POST", "outcome_unknown")])
async def test_a_stop_answers_what_hangs(running, served, source, method, code):
    """F26: a request that is still under way when the process must end gets a problem document; of a command it says what to do."""
    asked = asyncio.create_task(served.request(method, "/hang"))
    await source.asked.wait()
    await asyncio.wait_for(running.end(), STREAMS_END + 5)  # seconds; requests have STREAMS_END of them
    answer = await asked
    assert (answer.status_code, answer.headers["content-type"], answer.json()["code"]) == (503, "application/problem+json", code)
    assert answer.headers["retry-after"] == "1"
