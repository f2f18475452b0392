"""Corrections and annulment as commands of the table service: who may, exactly once, and everybody sees it."""

from __future__ import annotations

import time

import httpx
import msgspec
import pytest

from services.table.api import Desk, routes
from services.table.corrections_api import correction_routes
from services.table.table import Turn, begins_a_turn, deadline, next_deal
from services.table.viewer_stream import Reader
from shared.events import address
from shared.events.commit import Commit, decode
from shared.events.keys import MasterKeys
from shared.events.redaction import PublicCodec
from shared.rules.pulka import decider as match
from shared.web import application
from shared.web.auth import HOST, OPERATE, OPERATOR, PLAY, READ, Issuer
from shared.web.service import Service
from shared.web.settings import Settings
from shared.web.streams.streaming import Streams
from tests.services.table.playing import KEYS, PLAYERS, TABLE_ID, Playing
from tests.token_keys import ISSUER, token_files, verifier

JUDGE = "judge"
COURT = {"mode": "adjudicated", "arbiter": JUDGE, "attention": "server"}
WHY = "a trick was counted twice"


class Office:
    """A settled table and the routes of its service, asked by tokens of all kinds."""

    def __init__(self, playing: Playing, client: httpx.AsyncClient, tokens: Issuer) -> None:
        self.playing, self._client, self._tokens = playing, client, tokens
        self.operator = tokens.issue_operator("desk", int(time.time()), 3600, "id")

    def token(self, player: str, *scopes: str) -> str:
        return self._tokens.issue(player, scopes, int(time.time()))

    async def post(self, what: str, body: object, token: str | None = None, key: str | None = "k1") -> httpx.Response:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token or self.operator}"}
        if key is not None:
            headers["Idempotency-Key"] = key
        return await self._client.post(f"/v1/tables/{TABLE_ID}/{what}", content=msgspec.json.encode(body), headers=headers)

    async def correct(self, *amounts: object, token: str | None = None, key: str = "k1", reason: str = WHY) -> httpx.Response:
        return await self.post("corrections", {"amounts": amounts, "reason": reason}, token, key)

    async def annul(self, token: str | None = None, key: str = "k1", reason: str = WHY) -> httpx.Response:
        return await self.post("annulment", {"reason": reason}, token, key)

    def commit(self) -> Commit:
        """The table's newest."""
        return decode(self.playing.store.aggregate(address.table(TABLE_ID))[-1].data)

    async def view(self) -> dict:
        return (await self._client.get(f"/v1/tables/{TABLE_ID}")).json()

    async def frames(self, after: int) -> list[dict]:
        answer = await self._client.get(
            f"/v1/tables/{TABLE_ID}/events?follow=false&after={after}", headers={"Accept": "application/x-ndjson"}
        )
        return [frame for frame in map(msgspec.json.decode, answer.text.splitlines()) if frame["frame"] == "commit"]


@pytest.fixture
async def open_office(tmp_path):
    """Opens an office over a table that is settled, or has just begun."""
    clients = []

    async def opened(terms: dict | None = None, *, over: bool = True) -> Office:
        playing = await Playing(target=2, terms=terms).open()
        if over:
            await settled(playing)
        keys = MasterKeys.create(tmp_path / "master_keys", "k1", b"k" * 32)
        reader = Reader(playing.tables, PublicCodec(KEYS), lambda: playing.now)
        desk = Desk(playing.tables, reader, keys, Streams(), verifier(), lambda: time.time_ns() // 1_000_000, lambda _: None)

        async def nothing() -> None:
            """Started and stopped by the fixture."""

        async def health() -> dict:
            return {"status": "ok"}

        service = Service(
            name="table", routes=[*routes(lambda: desk), *correction_routes(lambda: desk)], start=nothing, stop=nothing, health=health
        )
        app = application.build([service], Settings(master_keys_file=str(tmp_path / "master_keys"), **token_files(tmp_path)))
        client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://table")
        clients.append(client)
        return Office(playing, client, ISSUER)

    yield opened
    for client in clients:
        await client.aclose()


async def settled(playing: Playing) -> None:
    """Play to the settlement; at an adjudicated table results are confirmed by waiting."""
    while (table := await playing.table()).pulka.status != "over":
        if match.phase(table.pulka) == "scored":
            await playing.tables.time_out(TABLE_ID, Turn(table.turn_revision, deadline(table)), deadline(table))
        else:
            await playing.step()


async def test_an_operator_corrects_and_everybody_sees_it(open_office):
    """The answer is the commit; view and stream show it to those without a token as well, with author and reason."""
    office = await open_office()
    before = await office.view()
    answer = await office.correct("184/3", 5, "-199/3")
    assert answer.status_code == 200, answer.text
    told = answer.json()
    event = {"type": "ResultCorrected", "number": 1, "amounts": ["184/3", "5", "-199/3"], "author": OPERATOR + "desk", "reason": WHY}
    assert (told["revision"], told["events"]) == (before["revision"] + 1, [event])
    after = await office.view()
    assert after["corrections"] == [{name: value for name, value in event.items() if name != "type"}]
    assert (after["settlement"], after["sheet"], after["status"]) == (before["settlement"], before["sheet"], "over")
    assert [frame["events"] for frame in await office.frames(before["revision"])] == [[event]]


async def test_an_annulment_is_seen_by_everybody(open_office):
    """It ends nothing and hides nothing: the sheet stays, and the view says who annulled it and why."""
    office = await open_office()
    before = await office.view()
    assert before["annulled"] is None
    answer = await office.annul()
    event = {"type": "PulkaAnnulled", "author": OPERATOR + "desk", "reason": WHY}
    assert answer.json()["events"] == [event]
    after = await office.view()
    assert after["annulled"] == {"author": OPERATOR + "desk", "reason": WHY}
    assert (after["sheet"], after["settlement"]) == (before["sheet"], before["settlement"])
    assert [frame["events"] for frame in await office.frames(before["revision"])] == [[event]]
    assert [(await office.annul(key="k2")).json()["code"], (await office.correct(1, -1, 0, key="k3")).json()["code"]] == [
        "already_annulled"
    ] * 2


async def test_a_repeat_gets_the_first_answer(open_office):
    """The same key with the same amounts, however they are spelled, makes one correction; with another request it is refused."""
    office = await open_office()
    first = await office.correct(5, -5, 0)
    assert (await office.correct("5", "-10/2", "0")).json() == first.json()
    assert (await office.view())["revision"] == first.json()["revision"]
    for other in (await office.correct(6, -6, 0), await office.correct(5, -5, 0, reason="else"), await office.annul()):
        assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")


async def test_refusals_have_codes_and_change_nothing(open_office):
    """Amounts that do not balance, are none or too few; each says so with the revision, and nothing is written."""
    office = await open_office()
    before = await office.view()
    for amounts, status, code in (
        ((5, -5, 1), 409, "not_zero_sum"),
        ((0, 0, 0), 409, "nothing_to_correct"),
        ((5, -5), 400, "malformed"),
    ):
        problem = (await office.correct(*amounts)).json()
        assert (problem["status"], problem["code"], problem["revision"]) == (status, code, before["revision"])
    assert (await office.correct(5, -5)).json()["path"] == "amounts"
    assert await office.view() | {"clock": None} == before | {"clock": None}


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"amounts": [1, "x", 0], "reason": WHY}, "amounts[1]"),
        ({"amounts": [1.5, -1.5, 0], "reason": WHY}, "amounts[0]"),
        ({"amounts": [1, -1, 0]}, "reason"),
        ({"amounts": [1, -1, 0], "reason": ""}, "reason"),
        ({"amounts": [1, -1, 0], "reason": "  "}, "reason"),
        ({"amounts": [1, -1, 0], "reason": "a\0b"}, "reason"),
        ({"amounts": [1, -1, 0], "reason": "a\n"}, "reason"),
        *(({"amounts": [1, -1, 0], "reason": f"a{sign}b"}, "reason") for sign in "\u2028\u2029\u0085\x0b\x0c\u202e\u2066\u200b"),  # F14
        ({"amounts": [1, -1, 0], "reason": "x" * 1001}, "reason"),
        ({"amounts": [1, -1, 0], "reason": WHY, "author": "me"}, "author"),
        ({"amounts": [0] * 6, "reason": WHY}, "amounts"),
    ],
)
async def test_a_body_that_cannot_be_read_is_named(open_office, body, path):
    """What is wrong has its path; an author cannot be given."""
    office = await open_office(over=False)
    answer = await office.post("corrections", body)
    assert (answer.status_code, answer.json()["code"], answer.json()["path"]) == (400, "malformed", path)


@pytest.mark.parametrize("reason", ["", " late", "two\nlines", "two\u2028lines", "\u2029"])
async def test_what_a_reason_has_to_be_is_said_in_words(open_office, reason):
    """Not by a regular expression."""
    office = await open_office(over=False)
    told = (await office.annul(reason=reason)).json()
    assert (told["path"], told["detail"]) == ("reason", "reason: must be 1 to 1000 characters on one line, the first of them no space")


async def test_a_key_is_needed(open_office):
    """Without one a repeat could not be told from a second correction."""
    office = await open_office(over=False)
    for what, body in (("corrections", {"amounts": [1, -1, 0], "reason": WHY}), ("annulment", {"reason": WHY})):
        assert (await office.post(what, body, key=None)).json()["code"] == "idempotency_key_missing"


async def test_before_the_settlement_there_is_nothing_to_correct(open_office):
    """An operator too waits until the pulka is settled (4.2.14)."""
    office = await open_office(over=False)
    answer = await office.correct(1, -1, 0)
    assert (answer.status_code, answer.json()["code"], answer.json()["rule"]) == (409, "not_closed", "4.2.14")


async def test_a_pulka_that_goes_on_is_annulled_when_its_deal_is_over(open_office):
    """The order takes nobody's turn and no second of his clock; everybody sees it, and the end of it (5.4.18)."""
    office = await open_office(over=False)
    before, then = await office.view(), await office.playing.table()
    assert before["annulling"] is None
    told = (await office.annul()).json()
    by = {"author": OPERATOR + "desk", "reason": WHY}
    assert told["events"] == [{"type": "AnnulmentOrdered", **by}]
    after, now = await office.view(), await office.playing.table()
    assert (after["annulling"], after["stopping"], after["annulled"]) == (by, True, None)
    assert (after["turn_revision"], after["to_act"], after["clock"]["deadline"]) == (
        before["turn_revision"], before["to_act"], before["clock"]["deadline"],
    )  # fmt: skip
    assert (now.turn_began, begins_a_turn(office.commit())) == (then.turn_began, False)
    assert (await office.annul(key="k2")).json()["code"] == "already_annulled"
    await settled(office.playing)
    end = await office.view()
    assert (end["status"], end["deal"], end["annulling"], end["annulled"]) == ("over", 1, None, by)
    *_, closed, annulled = (await office.frames(told["revision"]))[-1]["events"]
    assert (closed["type"], closed["reason"], annulled) == ("PulkaClosed", "annulled", {"type": "PulkaAnnulled", **by})
    assert next_deal(await office.playing.table()) is None


async def test_players_may_not(open_office):
    """Neither who plays there nor anybody whose token lacks `operate` or names no operator, whatever else it carries."""
    office = await open_office()
    before = await office.view()
    for token in (
        office.token(PLAYERS[0], PLAY, READ),
        office.token("somebody", PLAY, READ, HOST, "bot"),
        office.token(OPERATOR + "desk", PLAY, READ),
        office.token("somebody", OPERATE),
    ):
        for answer in (await office.correct(5, -5, 0, token=token), await office.annul(token=token)):
            assert (answer.status_code, answer.json()["code"]) == (403, "scope_missing")
    assert (await office.view())["revision"] == before["revision"]


async def test_an_operators_token_does_nothing_else(open_office):
    """It can neither move nor look as a player (least privilege)."""
    office = await open_office(over=False)
    move = await office.post("moves", {"type": "cut", "at": 16})
    assert (move.status_code, move.json()["code"]) == (403, "scope_missing")


async def test_the_arbiter_may_at_his_own_table(open_office):
    """At an adjudicated table its arbiter corrects and annuls under his own id, if his token may act for him (4.2.16)."""
    office = await open_office(COURT)
    assert (await office.correct(5, -5, 0, token=office.token(JUDGE, READ))).json()["code"] == "scope_missing"
    answer = await office.correct(5, -5, 0, token=office.token(JUDGE, PLAY))
    assert answer.json()["events"][0]["author"] == JUDGE
    assert (await office.annul(office.token(JUDGE, PLAY), "k2")).json()["events"][0]["author"] == JUDGE


async def test_an_arbiter_has_no_say_elsewhere(open_office):
    """At a table that did not agree on him he is anybody."""
    office = await open_office()
    assert (await office.annul(office.token(JUDGE, PLAY))).json()["code"] == "scope_missing"


async def test_two_operators_with_one_key_are_two(open_office):
    """A key counts within table and author."""
    office = await open_office()
    other = office.token(OPERATOR + "night", OPERATE)
    answers = [await office.correct(5, -5, 0), await office.correct(5, -5, 0, token=other)]
    assert [answer.json()["events"][0]["number"] for answer in answers] == [1, 2]
