"""The short way of moves and the long one: whichever a request takes, it is answered alike."""

from __future__ import annotations

import asyncio
from functools import partial

import msgspec
import pytest
from litestar.testing import AsyncTestClient

from services.table.api import Desk, routes
from services.table.fast_path import Express
from services.table.guards import has_a_key, may_play, move_guards, says_what_was_seen
from services.table.viewer_stream import Reader
from shared.events.redaction import PublicCodec
from shared.web.application import build
from shared.web.auth import PLAY, READ
from shared.web.problems import Problem
from shared.web.service import Service
from shared.web.settings import Settings
from shared.web.streams.streaming import Streams
from tests.services.table.playing import KEYS, PLAYERS, TABLE_ID, Playing
from tests.token_keys import ISSUER, token_files, verifier

MOVES = f"/v1/tables/{TABLE_ID}/moves"
CUT = {"type": "cut", "at": 16}


@pytest.fixture
async def table():
    """A table before its first cut."""
    return await Playing().open()


@pytest.fixture
def desk(table):
    """What both ways work with."""
    return Desk(
        tables=table.tables, reader=Reader(table.tables, PublicCodec(KEYS), lambda: table.now), keys=KEYS, streams=Streams(),
        tokens=verifier(), clock=lambda: table.now, committed=lambda _: None,
    )  # fmt: skip


@pytest.fixture
async def clients(table, desk, tmp_path):
    """A client whose requests may take the short way, and one without it; and the players' headers by seat."""
    (tmp_path / "keys").write_text("tests:" + bytes(range(32)).hex() + "\n")
    settings, tokens, long_ways = Settings(master_keys_file=str(tmp_path / "keys"), **token_files(tmp_path)), ISSUER, []

    def noted(long_way):
        async def way(scope, receive, send):
            long_ways.append(scope["path"])
            await long_way(scope, receive, send)

        return Express(lambda: desk, way)

    async def nothing():
        return {"status": "ok"}

    service = partial(Service, name="table", start=nothing, stop=nothing, health=nothing, routes=routes(lambda: desk))
    bearers = [f"Bearer {tokens.issue(player, [PLAY, READ], table.now // 1000)}" for player in ("ann", "ben", "cid")]
    async with (
        AsyncTestClient(build([service(express=noted)], settings)) as short,
        AsyncTestClient(build([service()], settings)) as long,
    ):
        yield short, long, bearers, long_ways


async def posted(client, bearer, move=CUT, key="1", **more):
    headers = {"Content-Type": "application/json", "Authorization": bearer, "Idempotency-Key": key, **more.pop("headers", {})}
    content = more.pop("content", None) or msgspec.json.encode(move)
    headers = {name: value for name, value in headers.items() if value is not None}
    return await client.post(MOVES, content=content, headers=headers, **more)


def said(answer):
    """Everything of an answer but its instance."""
    return answer.status_code, answer.headers["content-type"], answer.headers.get("retry-after"), answer.json()


async def test_a_move_in_order_takes_the_short_way_and_is_answered_as_on_the_long_one(table, clients):
    """The move is made once; its repeat on the long way gets the same answer, byte for byte."""
    short, long, bearers, long_ways = clients
    cutter = bearers[(await table.table()).pulka.dealer - 1]
    made = await posted(short, cutter)
    assert made.status_code == 200
    assert long_ways == []
    again = await posted(long, cutter)
    assert (again.content, said(again)) == (made.content, said(made))
    assert (await table.table()).revision == made.json()["revision"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"headers": {"Authorization": None}},
        {"headers": {"Authorization": "Bearer nonsense"}},
        {"headers": {"Authorization": "Basic abc"}},
        {"headers": {"Idempotency-Key": None}},
        {"headers": {"Idempotency-Key": "a b"}},
        {"headers": {"If-Match": "17"}},
        {"headers": {"If-Match": '"1"'}},
        {"content": b'{"type": "cut", "at": '},
        {"content": b'{"type": "cut", "at": 3}'},
        {"content": b'{"type": "cut", "at": 16, "more": 1}'},
        {"content": b'{"type": "cut", "at": 16, "at": 17}'},
        {"content": rb'{"type": "cut", "at": 16, "\u0061t": 16}'},
        {"content": b'{"ty\xe4pe": "cut", "at": 16}'},
        {"content": b'{"type": "cut", "at": 16, "\xff": 1}'},
        {"content": b'{"type": "play", "card": "AS"}'},
        {"content": b"[" * 40_000},
        {"content": b" " * 70_000},
        {"params": {"after": "1"}},
    ],
    ids=str,
)
async def test_what_is_wrong_is_said_alike_on_both_ways(table, clients, wrong):
    """A problem document is the same whichever way the request took, and nothing is decided."""
    short, long, bearers, _ = clients
    cutter, before = bearers[(await table.table()).pulka.dealer - 1], (await table.table()).revision
    answers = [said(await posted(client, cutter, **wrong)) for client in (short, long)]
    assert answers[0] == answers[1]
    assert 400 <= answers[0][0] < 500
    assert (await table.table()).revision == before


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"content": b'{"type": "cut", "at": 30}', "bearer": "Bearer nonsense", "key": None}, "malformed"),
        ({"bearer": "Bearer nonsense", "key": None}, "token_invalid"),
        ({"bearer": None, "key": None}, "token_missing"),
        ({"key": None}, "idempotency_key_missing"),
    ],
    ids=str,
)
async def test_refusals_come_in_the_order_that_the_page_lists(clients, wrong, code):
    """What cannot be read, then the token, then the key, on both ways (refusals.md)."""
    short, long, bearers, _ = clients
    wrong = dict(wrong)
    sent = {"Authorization": wrong.pop("bearer", bearers[0]), "Idempotency-Key": wrong.pop("key", "1")}
    assert [(await posted(client, "", headers=sent, **wrong)).json()["code"] for client in (short, long)] == [code, code]


@pytest.mark.parametrize(
    ("content", "path"),
    [
        (b'{"type": "cut", "at": 16, "at": 17}', "at"),  # F11
        ('{"type": "ruling", "rule": "4.2.16", "seat": 0, "reason": "a\u2028b"}', "reason"),  # F14
        (rb'{"type": "ruling", "rule": "4.2.16", "seat": 0, "reason": "a\u202eb"}', "reason"),
        (rb'{"type": "call_attention", "rule": "3.4\n"}', "rule"),
    ],
)
async def test_what_a_move_says_twice_or_on_two_lines_is_malformed(table, clients, content, path):
    """F11, F14: on both ways, by the place of what is wrong, and nothing is decided."""
    short, long, bearers, _ = clients
    cutter, before = bearers[(await table.table()).pulka.dealer - 1], (await table.table()).revision
    for client in (short, long):
        answer = await posted(client, cutter, content=content)
        assert (answer.status_code, answer.json()["code"], answer.json()["path"]) == (400, "malformed", path)
    assert (await table.table()).revision == before


async def test_a_move_that_hangs_when_the_process_stops_is_a_problem_on_the_short_way(table, clients):
    """F26: whoever waits for the log is told that the outcome is unknown, and to repeat with the same key."""
    short, _, bearers, long_ways = clients
    cutter, sent = bearers[(await table.table()).pulka.dealer - 1], []
    appending, back, append = asyncio.Event(), asyncio.Event(), table.log.append

    async def hanging(*given, **more):
        appending.set()
        await back.wait()
        return await append(*given, **more)

    table.log.append = hanging
    headers = [(b"content-type", b"application/json"), (b"authorization", cutter.encode()), (b"idempotency-key", b"1")]
    scope = {"type": "http", "method": "POST", "path": MOVES, "query_string": b"", "headers": headers, "client": None}

    async def receive():
        return {"type": "http.request", "body": msgspec.json.encode(CUT), "more_body": False}

    async def send(message):
        sent.append(message)

    asked = asyncio.create_task(short.app(scope, receive, send))
    await appending.wait()
    asked.cancel()
    await asked
    assert (sent[0]["status"], msgspec.json.decode(sent[1]["body"])["code"]) == (503, "outcome_unknown")
    assert long_ways == []
    back.set()
    await short.app(scope, receive, send)
    assert sent[2]["status"] == 200  # the repeat under the same key


async def test_a_stranger_and_a_player_out_of_turn_are_refused_alike(table, clients):
    """Refusals by a rule come from the decision itself, with the rule and the revision (3.2.5)."""
    short, long, bearers, long_ways = clients
    dealer = bearers[(await table.table()).pulka.dealer]
    first, second = [said(await posted(client, dealer)) for client in (short, long)]
    assert first == second
    assert (first[0], first[3]["rule"]) == (409, "3.2.5")
    assert long_ways == []


async def test_a_guard_that_is_added_holds_on_both_ways(table, desk, clients):
    """One more guard behind the others: what it refuses is refused on either way, with its problem, and nothing is decided."""
    short, long, bearers, long_ways = clients
    seat, asked = ((await table.table()).pulka.dealer - 1) % 3, []

    def nobody_from_there(one):
        asked.append((one.caller.player, one.key, one.seen, one.address))
        raise Problem(429, "too_many_streams", "Not from there.", headers={"Retry-After": "5"})

    desk.guards = move_guards(desk.tokens, [nobody_from_there])
    first, second = [said(await posted(client, bearers[seat])) for client in (short, long)]
    assert first == second
    assert (first[0], first[2], first[3]["code"]) == (429, "5", "too_many_streams")
    assert asked == [(PLAYERS[seat], "1", None, "testclient")] * 2
    assert long_ways == []
    assert (await table.table()).revision == 2


@pytest.mark.parametrize("guard", [may_play, has_a_key, says_what_was_seen], ids=lambda guard: guard.__name__)
async def test_a_guard_that_is_gone_is_missed_by_both_ways(table, desk, clients, guard):
    """Neither way checks anything by itself: without a guard both let through what it would have refused."""
    short, long, bearers, _ = clients
    cutter = ((await table.table()).pulka.dealer - 1) % 3
    looker = f"Bearer {ISSUER.issue(PLAYERS[cutter], [READ], table.now // 1000)}"
    bearer, more = {
        may_play: (looker, {}),
        has_a_key: (bearers[cutter], {"Idempotency-Key": None}),
        says_what_was_seen: (bearers[cutter], {"If-Match": "17"}),
    }[guard]
    refused = [await posted(client, bearer, headers=dict(more)) for client in (short, long)]
    assert [answer.status_code for answer in refused] in ([403, 403], [400, 400])
    desk.guards = tuple(one for one in desk.guards if one is not guard)
    answers = [await posted(client, bearer, headers=dict(more)) for client in (short, long)]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].content == answers[1].content


@pytest.mark.parametrize(
    "sent", [{}, {"headers": {"Authorization": None}}, {"headers": {"Idempotency-Key": None}}, {"content": b"{"}], ids=str
)
async def test_a_request_passes_each_guard_at_most_once(table, desk, clients, sent):
    """A guard may count: what it has seen on the short way does not come by again on the long one."""
    short, _, bearers, _ = clients
    passed = []
    desk.guards = (lambda _: passed.append("first"), *desk.guards, lambda _: passed.append("last"))
    answer = await posted(short, bearers[(await table.table()).pulka.dealer - 1], **sent)
    assert len(passed) == len(set(passed))
    assert (answer.status_code == 200) == ("last" in passed)


async def test_a_log_that_is_away_is_told_on_the_short_way(table, clients):
    """Nothing was decided: 503 with `Retry-After`, as everywhere."""
    short, long, bearers, long_ways = clients
    table.log.disconnect()
    cutter = bearers[(await table.table()).pulka.dealer - 1]
    first, second = [said(await posted(client, cutter)) for client in (short, long)]
    assert first == second
    assert (first[0], first[2], first[3]["code"]) == (503, "1", "unavailable")
    assert long_ways == []


async def test_what_is_unusual_takes_the_long_way_whole(table, clients):
    """A body in pieces is put together again there, and the move is made."""
    short, _, bearers, long_ways = clients
    cutter = bearers[(await table.table()).pulka.dealer - 1]

    sent, pieces = [], [b'{"type": "cut",', b' "at": 16}']
    headers = [(b"content-type", b"application/json"), (b"authorization", cutter.encode()), (b"idempotency-key", b"1")]
    scope = {
        "type": "http",
        "method": "POST",
        "path": MOVES,
        "raw_path": MOVES.encode(),
        "query_string": b"",
        "headers": headers,
        "root_path": "",
    }

    async def receive():
        return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

    async def send(message):
        sent.append(message)

    await short.app(scope, receive, send)
    assert sent[0]["status"] == 200
    assert long_ways == [MOVES]
