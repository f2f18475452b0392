"""People: sign-up, tokens, passwords; and that nothing personal lies in the log in plain."""

from __future__ import annotations

import asyncio
import base64
import time

from argon2 import PasswordHasher

from services.lobby.passwords import WAITING, Passwords
from services.lobby.players import address_of
from shared.events.address import is_id
from shared.web.problems import Problem
from tests.services.lobby.conftest import Person
from tests.token_keys import ISSUER


async def test_sign_up(stranger, sign_up):
    """Whoever gives a name gets an id and a token that names him at once; names need not be unique."""
    answer = await stranger.post("/players", {"name": "  Анна "})
    assert is_id(answer["player"]["id"])
    assert answer["player"]["name"] == "Анна"
    again = await sign_up("Анна")
    assert again.id != answer["player"]["id"]
    me = await again.get("/me")
    assert me["player"] == {"id": again.id, "name": "Анна"}
    assert (me["scopes"], me["bot"]) == (["play", "read"], False)


WRONG_SIGN_UPS = [
    ({}, "name"),
    ({"name": ""}, "name"),
    ({"name": "   "}, "name"),
    ({"name": "x" * 41}, "name"),
    ({"name": "a\x00b"}, "name"),
    ({"name": "a\u202eb"}, "name"),
    ({"name": "a\u2028b"}, "name"),
    ({"name": "a\u2029b"}, "name"),
    ({"name": "a\u0085b"}, "name"),
    ({"name": "a\x0bb"}, "name"),
    ({"name": 7}, "name"),
    ({"name": "Anna", "password": "short"}, "password"),
    ({"name": "Anna", "admin": True}, "admin"),
]


async def test_a_sign_up_that_cannot_be(stranger):
    """An empty, over-long or unprintable name, or one of two lines (F14), a short password or an unknown field is 400 by name."""
    for body, path in WRONG_SIGN_UPS:
        answer = await stranger.post("/players", body, status=400)
        assert (answer["code"], answer["path"]) == ("malformed", path)


async def test_a_name_with_odd_bytes(client, stranger):
    """A lone surrogate is not text: 400, not 500."""
    answer = await client.post("/v1/lobby/players", content=b'{"name":"\\ud800"}')
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed")
    assert (await stranger.get("/tables"))["tables"] == []


async def test_by_password(sign_up, stranger):
    """Player and password give a token; a wrong one, an unknown player and one without a password look alike."""
    anna = await sign_up("Anna", password="corona borealis")
    boris = await sign_up("Boris")
    token = await stranger.post("/tokens", {"player": anna.id, "password": "corona borealis"})
    anna.token = token["token"]
    assert (await anna.get("/me"))["player"]["id"] == anna.id
    for player, password in (
        (anna.id, "corona australis"),
        (boris.id, "corona borealis"),
        ("0-" + "a" * 26, "corona borealis"),
        ("x", "y"),
    ):
        answer = await stranger.post("/tokens", {"player": player, "password": password}, status=401)
        assert answer["code"] == "wrong_password"
    assert (await stranger.post("/tokens", {"player": anna.id}, status=400))["path"] == "password"


async def test_by_token(sign_up, stranger):
    """A token that may play gives further ones with fewer scopes and a term; one that only reads gives none."""
    anna = await sign_up()
    token = await anna.post("/tokens", {"scopes": ["read"], "lifetime_s": 60})
    assert token["scopes"] == ["read"]
    anna.token = token["token"]
    me = await anna.get("/me")
    assert (me["scopes"], me["expires"]) == (["read"], token["expires"])
    assert (await anna.post("/tokens", {}, status=403))["code"] == "scope_missing"
    assert (await stranger.post("/tokens", {}, status=401))["code"] == "token_missing"
    for body, path in (({"scopes": ["operate"]}, "scopes[0]"), ({"scopes": []}, "scopes"), ({"lifetime_s": 59}, "lifetime_s")):
        answer = await (await sign_up()).post("/tokens", body, status=400)
        assert answer["path"] == path


async def test_an_operators_token_opens_nothing_in_the_lobby(client):
    """It can make itself no other token, open no table, take no seat; and what it signs up is a person, no bot (least privilege)."""
    operator = Person(client, token=ISSUER.issue_operator("desk", int(time.time()), 3600, "id"))
    assert (await operator.get("/me"))["scopes"] == ["operate"]
    for path, body in (("/tokens", {}), ("/tables", {})):
        assert (await operator.post(path, body, status=403))["code"] == "scope_missing"
    signed_up = await operator.post("/players", {"name": "Anna"})
    assert (await Person(client, token=signed_up["token"]).get("/me"))["scopes"] == ["play", "read"]


async def test_bots(sign_up, sign_up_bot):
    """Only the bot host's token signs up bots; a bot stays one in every further token."""
    robot = await sign_up_bot()
    assert (await robot.get("/me"))["bot"] is True
    robot.token = (await robot.post("/tokens", {"scopes": ["play"]}))["token"]
    assert (await robot.get("/me"))["scopes"] == ["bot", "play"]
    anna = await sign_up()
    other = await anna.post("/players", {"name": "Other"})
    anna.token = other["token"]
    assert (await anna.get("/me"))["bot"] is False


async def test_nothing_personal_in_the_log(sign_up, log, settings):
    """Neither name, password nor token lies in the log, in plain or in base64; nor is the length of a name to be seen."""
    people = [await sign_up("Аделаида Ивановна", password="corona borealis"), await sign_up("Ян", password="corona australis")]
    sizes = set()
    for person in people:
        (recorded,) = await log.read(address_of(person.id))
        sizes.add(len(recorded.data))
        for secret in ("Аделаида", "Ян", "corona", "argon2", person.token):
            for form in (secret.encode(), base64.b64encode(secret.encode())[:-3]):
                assert form not in recorded.data
        assert person.token.split(".")[2].encode() not in recorded.data
    assert len(sizes) == 1
    assert settings.namespace


async def test_many_guesses():
    """More passwords at once than can be checked are 503; those that wait are checked, and it goes on afterwards."""
    passwords = Passwords(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    hashed = await passwords.hash("corona borealis")
    guesses = [passwords.verify(hashed, f"guess {number}") for number in range(WAITING + 5)]
    answers = await asyncio.gather(*guesses, return_exceptions=True)
    assert [type(answer) for answer in answers] == [bool] * WAITING + [Problem] * 5
    assert not any(answer is True for answer in answers)
    assert await passwords.verify(hashed, "corona borealis")


async def test_names_are_told_by_id(stranger, sign_up):
    """F30: whoever has the ids learns the names, without a token; an unknown player has none, and what is no list of ids is refused."""
    anna, boris = await sign_up("Anna"), await sign_up("Борис")
    unknown = "0-" + "a" * 26
    found = await stranger.get(f"/names?ids={anna.id},{boris.id},{unknown}")
    assert found == {"names": {anna.id: "Anna", boris.id: "Борис", unknown: None}}
    for wrong in ("", "x", f"{anna.id},", ",".join([anna.id] * 101)):
        assert (await stranger.get(f"/names?ids={wrong}", status=400))["path"] == "ids"
