"""Recording a pulka that was played elsewhere: by an operator, once, whole; and the table takes no move."""

from __future__ import annotations

import time

import httpx
import msgspec
import pytest

from services.table.api import Desk, routes
from services.table.corrections_api import correction_routes
from services.table.import_api import NewImport, import_routes
from services.table.tables import Tables
from services.table.viewer_stream import Reader
from shared.eventlog.memory import MemoryLog
from shared.events.address import Address, new_id
from shared.events.catalogue import decode_table_event, encode_event
from shared.events.commit import FIRST_PREV_HASH, SCHEMA, Commit, decode, encode, hash_of
from shared.events.keys import MasterKeys
from shared.events.redaction import PublicCodec
from shared.events.sealing import TableCodec
from shared.rules.pulka.imported import PulkaArchived, imported_again
from shared.web import application
from shared.web.auth import OPERATE, PLAY, READ
from shared.web.service import Service
from shared.web.settings import Settings
from shared.web.streams.streaming import Streams
from tests.partitions import TABLE_STREAMS
from tests.services.table.playing import KEYS
from tests.token_keys import ISSUER, token_files, verifier

SEATS = tuple(new_id(bytes([seat]) * 17) for seat in range(3))
FILE = {
    "convention": "sochi",
    "players": 3,
    "target": 20,
    "deals": [
        {"dealer": 2, "declarer": 0, "contract": "6S", "calls": [None, "whist", "pass"], "tricks": [6, 2, 2]},
        {"contract": "all_pass", "tricks": [2, 5, 3]},
    ],
}


class Club:
    """The table service over a log in which three players have signed up."""

    def __init__(self, client, tokens, log):
        self.client, self._tokens, self.log = client, tokens, log
        self.operator = tokens.issue_operator("desk", int(time.time()), 3600, "id")

    def token(self, player, *scopes):
        return self._tokens.issue(player, scopes, int(time.time()))

    async def record(self, token=None, key="k1", file=FILE, **more):
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token or self.operator}"}
        if key is not None:
            headers["Idempotency-Key"] = key
        body = msgspec.json.encode({"score_file": file} | more)
        return await self.client.post("/v1/tables/recorded", content=body, headers=headers)

    async def move(self, table_id, player, move):
        headers = {"Authorization": f"Bearer {self.token(player, PLAY)}", "Idempotency-Key": "m1"}
        return await self.client.post(f"/v1/tables/{table_id}/moves", json=move, headers=headers)


@pytest.fixture
async def club(tmp_path):
    log = MemoryLog()
    for player in SEATS:
        where = Address("lobby", "player", player)
        commit = Commit(
            aggregate=where.subject, revision=1, schema=SCHEMA, at=1, actor="service", command_id="c", command_digest="", cause=None,
            correlation=None, prev_hash=FIRST_PREV_HASH, events=(),
        )  # fmt: skip
        await log.append(where, encode(commit), 0)
    keys = MasterKeys.create(tmp_path / "master_keys", "k1", b"k" * 32)
    tables = Tables(log, TableCodec(KEYS))
    reader = Reader(tables, PublicCodec(KEYS), lambda: 1)
    desk = Desk(tables, reader, keys, Streams(), verifier(), lambda: time.time_ns() // 1_000_000, lambda _: None)

    async def nothing():
        """Started and stopped by the fixture."""

    async def health():
        return {"status": "ok"}

    handlers = [handler for make in (routes, correction_routes, import_routes) for handler in make(lambda: desk)]
    service = Service(name="table", routes=handlers, start=nothing, stop=nothing, health=health)
    app = application.build([service], Settings(master_keys_file=str(tmp_path / "master_keys"), **token_files(tmp_path)))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://table") as client:
        yield Club(client, ISSUER, log)


async def test_it_is_one_event_and_a_settled_table(club):
    """The answer names the table; its only commit is `PulkaRecorded` by the operator, and its view is over, settled and marked."""
    answer = await club.record(seats=SEATS)
    assert answer.status_code == 201, answer.text
    table_id = answer.json()["table_id"]
    (stored,) = await club.log.read(Address("table", "table", table_id))
    commit = decode(stored.data)
    (event,) = map(decode_table_event, commit.events)
    assert (commit.actor, event.author, event.seats) == ("operator:desk", "operator:desk", SEATS)
    assert answer.json()["position"] == stored.position
    view = (await club.client.get(f"/v1/tables/{table_id}")).json()
    assert (view["status"], view["phase"], view["recorded"], view["deal"], view["legal"]) == ("over", "over", True, 2, [])
    assert view["settlement"] == event.settlement
    frames = await club.client.get(f"/v1/tables/{table_id}/events?follow=false&after=0", headers={"Accept": "application/x-ndjson"})
    assert [msgspec.json.decode(line)["frame"] for line in frames.text.splitlines()] == ["view", "commit"]


async def test_a_repeat_records_nothing(club):
    """The same key with the same body answers as the first time, in whatever order; with another body it is refused."""
    first = await club.record(seats=SEATS)
    again = await club.record(seats=SEATS, file=dict(reversed(FILE.items())))
    assert (again.status_code, again.json()) == (201, first.json())
    other = await club.record(seats=SEATS, visibility="private")
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")
    assert (await club.record(key="k2", seats=SEATS)).json()["table_id"] != first.json()["table_id"]
    assert len(await club.log.read(Address("table", "table", first.json()["table_id"]))) == 1


async def test_another_operator_s_repeat_is_answered_as_the_first(club):
    """The key alone names the table: whoever sends it again records nothing, and another pulka under it is told where the first is."""
    first = await club.record(seats=SEATS)
    club.operator = club._tokens.issue_operator("night", int(time.time()), 3600, "id2")
    again = await club.record(seats=SEATS)
    assert (again.status_code, again.json()) == (201, first.json())
    other = await club.record(seats=SEATS, visibility="private")
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")
    assert first.json()["table_id"] in other.json()["detail"]


async def test_a_repeat_after_the_archiving_names_the_table(club):
    """Its first commit has left the log: 410 `archived` with the table's id, and nothing is stored, whoever asks."""
    table_id = (await club.record(seats=SEATS)).json()["table_id"]
    where = Address("table", "table", table_id)
    (stored,) = await club.log.read(where)
    event = PulkaArchived(1, hash_of(stored.data), "operator:desk", annulled=False)
    mark = Commit(
        aggregate=where.subject, revision=2, schema=SCHEMA, at=decode(stored.data).at, actor="operator:desk", command_id="archive",
        command_digest="", cause=None, correlation=None, prev_hash=hash_of(stored.data), events=(msgspec.Raw(encode_event(event)),),
    )  # fmt: skip
    last = await club.log.append(where, encode(mark), stored.sequence)
    await club.log.purge(where, last.sequence)
    for name in ("night", "desk"):
        club.operator = club._tokens.issue_operator(name, int(time.time()), 3600, name)
        gone = await club.record(seats=SEATS)
        assert (gone.status_code, gone.json()["code"]) == (410, "archived")
        assert table_id in gone.json()["detail"]
    assert await club.log.read(where) == [last]


async def test_nothing_is_played_there(club):
    """Moves of its players and of others are refused `pulka_recorded`; an operator may correct its result."""
    table_id = (await club.record(seats=SEATS)).json()["table_id"]
    for player in (SEATS[0], "somebody"):
        refused = await club.move(table_id, player, {"type": "bid", "bid": "6S"})
        assert (refused.status_code, refused.json()["code"], refused.json()["revision"]) == (409, "pulka_recorded", 1)
    headers = {"Authorization": f"Bearer {club.operator}", "Idempotency-Key": "c1"}
    body = {"amounts": [1, -1, 0], "reason": "a deal was written twice"}
    assert (await club.client.post(f"/v1/tables/{table_id}/corrections", json=body, headers=headers)).status_code == 200


async def test_only_an_operator_records(club):
    """A player's token, also with the scope, a token without it, and none are refused."""
    for token in (club.token(SEATS[0], PLAY, READ), club.token(SEATS[0], OPERATE), club.token("operator:desk", READ)):
        assert (await club.record(token)).json()["code"] == "scope_missing"
    plain = await club.client.post("/v1/tables/recorded", json={"score_file": FILE}, headers={"Idempotency-Key": "k"})
    assert plain.json()["code"] == "token_missing"


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"file": FILE | {"players": 9}}, "players"),
        ({"file": FILE | {"deals": [{"contract": "all_pass", "tricks": [9, 5, 3]}]}}, "deals[0].tricks"),
        ({"seats": SEATS[:2]}, "seats"),
        ({"seats": (*SEATS[:2], new_id(b"x" * 17))}, "seats[2]"),
        ({"seats": (*SEATS[:2], "a.b")}, "seats[2]"),
        ({"seats": SEATS * 2}, "seats"),
        ({"visibility": "private"}, "visibility"),
        ({"visibility": "secret"}, "visibility"),
        ({"note": "x"}, "note"),
    ],
)
async def test_a_wrong_body_is_named(club, body, path):
    """400 `malformed` with the path that `pulka score` gives; nothing is stored."""
    answer = await club.record(**body)
    assert (answer.status_code, answer.json()["code"], answer.json()["path"]) == (400, "malformed", path)
    assert not any([await club.log.last_sequence(stream) for stream in TABLE_STREAMS])


async def test_a_deal_too_many_is_named_by_its_code(club):
    """A deal after the end of the pulka: `pulka_over` at its place, as for `pulka score`."""
    closed = FILE | {"convention": {"preset": "sochi", "ends_when": "deals:1", "help": "none"}, "target": None}
    answer = await club.record(file=closed)
    assert (answer.status_code, answer.json()["code"], answer.json()["path"]) == (400, "pulka_over", "deals[1]")


async def test_a_key_is_needed(club):
    """Without `Idempotency-Key` nothing is recorded: a repeat could not be told from a second pulka."""
    assert (await club.record(key=None)).json()["code"] == "idempotency_key_missing"


async def test_4_2_16_a_repeat_says_that_it_was_annulled_since(club):
    """F35: the same answer as the first time, and who annulled the pulka and why; before that nothing of the kind."""
    first = (await club.record(seats=SEATS)).json()
    assert "annulled" not in (await club.record(seats=SEATS)).json()
    headers = {"Authorization": f"Bearer {club.operator}", "Idempotency-Key": "a1"}
    done = await club.client.post(f"/v1/tables/{first['table_id']}/annulment", json={"reason": "entered twice"}, headers=headers)
    assert done.status_code == 200, done.text
    assert (await club.record(seats=SEATS)).json() == first | {"annulled": {"author": "operator:desk", "reason": "entered twice"}}


async def test_the_day_of_play_may_be_told(club):
    """F38: it stands in the event's terms and is agreed under the digest; a repeat finds it, and what is no day until today is refused."""
    answer = await club.record(seats=SEATS, played_on="2026-11-01")
    assert answer.status_code == 201, answer.text
    (stored,) = await club.log.read(Address("table", "table", answer.json()["table_id"]))
    (event,) = map(decode_table_event, decode(stored.data).events)
    assert event.terms == {"visibility": "public", "played_on": "2026-11-01"}
    assert imported_again(event) == event
    assert (await club.record(seats=SEATS, played_on="2026-11-01")).json() == answer.json()
    assert (await club.record(seats=SEATS)).status_code == 422
    for wrong in ("2999-01-01", "1066-10-14", "01.11.2026", 20261101):
        assert (await club.record(key="k2", seats=SEATS, played_on=wrong)).json()["path"] == "played_on"


async def test_a_day_that_is_not_told_is_no_part_of_the_command(club):
    """A repeat of what was recorded before a day could be told is the same command, byte for byte."""
    told = NewImport({"a": 1}, ("x",), "private")
    assert told.said == {"score_file": {"a": 1}, "seats": ("x",), "visibility": "private"}
    assert (await club.record(seats=SEATS)).json() == (await club.record(seats=SEATS)).json()
