"""Every answer that is not a success is a problem document with a stable code, and says nothing that its reader may not know."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

BID = {"type": "bid", "bid": "6S"}


async def problem(answer, status, code):
    assert answer.headers["content-type"] == "application/problem+json"
    document = answer.json()
    assert (answer.status_code, document["status"], document["code"]) == (status, status, code)
    assert document["type"] == f"/problems/{code}"
    assert document["title"]
    assert document["detail"]
    return document


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (b"", ""),
        (b"{", ""),
        (b"\xff\xfe", ""),
        (b"[]", ""),
        (b'{"type":"bid"}', "bid"),
        (b'{"type":"bid","bid":6}', "bid"),
        (b'{"type":"bid","bid":"6S","loud":true}', "loud"),
        (b'{"type":"cut","at":"16"}', "at"),
        (b'{"type":"cut","at":3}', "at"),
        (b'{"type":"cut","at":29}', "at"),
        (b'{"type":"seed","seed":""}', "seed"),
        (b'{"type":"seed","seed":"xyz"}', "seed"),
        (b'{"type":"seed","seed":"' + b"a" * 65 + b'"}', "seed"),
        (b'{"type":"bid","bid":"6S\\n"}', "bid"),
        (b'{"type":"contract","contract":"misere\\n"}', "contract"),
        (b'{"type":"play","card":"7S\\n"}', "card"),
        (b'{"type":"discard","cards":["7S",8]}', "cards[1]"),
        (b'{"type":"sing"}', "type"),
        (b'{"type":"play","card":"7S","hand":' + b"[" * 5000 + b"]" * 5000 + b"}", "hand"),
    ],
)
async def test_a_body_that_cannot_be_read(client, body, path):
    """A body that is not what the route takes is 400 `malformed` with the path of what is wrong; `"16"` is no number."""
    answer = await client.post("/echo/t", content=body)
    document = await problem(answer, 400, "malformed")
    assert document.get("path", "") == path


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"type": "bid", "bid": "7X"}, "bid: must be a bid, 6S to 10NT, or misere, pass, here, take"),
        ({"type": "contract", "contract": "5S"}, "contract: must be a contract, 6S to 10NT, or misere"),
        ({"type": "play", "card": "1S"}, "card: must be a card, rank and suit: 7S, TD, AH"),
        ({"type": "discard", "cards": ["7S", ""]}, "cards[1]: must be a card, rank and suit: 7S, TD, AH"),
        ({"type": "seed", "seed": "xyz"}, "seed: must be 1 to 64 hexadecimal digits"),
    ],
)
async def test_what_is_wanted_is_said_in_words(client, body, told):
    """Nobody has to read a regular expression to learn what a bid is."""
    assert (await problem(await client.post("/echo/t", json=body), 400, "malformed"))["detail"] == told


async def test_a_body_as_it_should_be(client):
    """A well-formed body arrives as the declared type."""
    answer = await client.post("/echo/t?limit=3", json=BID)
    assert answer.status_code == 201
    assert answer.json() == {"table": "t", "move": BID, "limit": 3}


@pytest.mark.parametrize(("query", "path"), [("limit=x", "limit"), ("limt=3", "limt"), ("limit=3&limit=4", "limit")])
async def test_a_query_that_cannot_be_read(client, query, path):
    """Malformed, unknown and repeated query parameters are refused by name (deploy/docs/http.md)."""
    document = await problem(await client.post(f"/echo/t?{query}", json=BID), 400, "malformed")
    assert document["path"] == path


async def test_a_body_over_the_limit(client):
    """A body over 64 KB is 413, also when its length was not announced."""
    large = b'{"type":"bid","bid":"' + b"x" * 66_000 + b'"}'

    async def unannounced():
        yield large

    await problem(await client.post("/echo/t", content=large), 413, "body_too_large")
    await problem(await client.post("/echo/t", content=unannounced()), 413, "body_too_large")


async def test_what_is_not_there(client):
    """An unknown path is 404; a known one with another method is 405 and lists those that are allowed."""
    await problem(await client.get("/nowhere"), 404, "not_found")
    answer = await client.get("/key")
    await problem(answer, 405, "method_not_allowed")
    assert "POST" in answer.headers["allow"]


@pytest.mark.parametrize(
    ("kind", "status", "code"),
    [
        ("mismatch", 422, "idempotency_mismatch"),
        ("queue", 503, "unavailable"),
        ("conflict", 409, "lost_race"),
        ("unknown", 503, "outcome_unknown"),
        ("full", 503, "storage_full"),
        ("away", 503, "unavailable"),
        ("postgres", 503, "unavailable"),
        ("disk", 503, "unavailable"),
    ],
)
async def test_what_the_servers_can_answer(client, kind, status, code):
    """Each outcome of the log and of Postgres has its status and code; every 503 says when to come back."""
    answer = await client.get(f"/trouble/{kind}")
    await problem(answer, status, code)
    assert ("retry-after" in answer.headers) == (status == 503)
    assert "secret" not in answer.text


async def test_a_refusal_by_a_rule(client):
    """A refusal is 409 with its code, its rule and the revision from which the client can go on."""
    document = await problem(await client.get("/trouble/refused"), 409, "must_follow_suit")
    assert (document["rule"], document["revision"], document["detail"]) == ("3.9.3", 17, "Follow suit.")


async def test_a_defect_says_nothing(client):
    """A defect is 500; neither the answer nor the log holds the exception's text, which may be a card."""
    with capture_logs() as lines:
        answer = await client.get("/trouble/defect")
    await problem(answer, 500, "internal")
    assert "AS KS" not in answer.text
    assert "AS KS" not in repr(lines)
    failed = next(line for line in lines if line["event"] == "request_failed")
    assert "KeyError" in failed["where"][0]
    assert failed["route"] == "/trouble/{kind}"


async def test_a_code_can_be_looked_up(client):
    """The `type` of a problem is an address that says what the code means."""
    answer = await client.get("/problems/malformed")
    assert answer.json() == {"code": "malformed", "title": "The request cannot be read"}
    await problem(await client.get("/problems/nonsense"), 404, "not_found")


async def test_a_client_that_goes_in_the_middle_of_its_body(app):
    """A body that ends early is the client's fault, 400 and no defect of ours in the log."""
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/echo/t",
        "raw_path": b"/echo/t",
        "root_path": "",
        "query_string": b"",
        "headers": [(b"content-length", b"50")],
        "client": ("127.0.0.1", 1),
    }
    arriving = iter([{"type": "http.request", "body": b'{"type":', "more_body": True}, {"type": "http.disconnect"}])
    sent = []

    async def receive():
        return next(arriving)

    async def send(message):
        sent.append(message)

    with capture_logs() as logs:
        await app(scope, receive, send)
    assert sent[0]["status"] == 400
    assert "request_failed" not in {entry["event"] for entry in logs}
