"""Tokens, `Idempotency-Key`, `If-Match`: what is taken, and what is refused."""

from __future__ import annotations

import time

import pytest

from shared.web.auth import PLAY, READ

NOW = 1_800_000_000


def bearing(token):
    return {"Authorization": f"Bearer {token}"}


async def test_without_a_token(client):
    """A route that needs somebody answers 401 with a challenge; one that does not serves a stranger."""
    answer = await client.get("/mine")
    assert (answer.status_code, answer.json()["code"]) == (401, "token_missing")
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert (await client.get("/who")).json() == {"player": None}


async def test_a_token_names_its_player(client, tokens):
    """A token names the player and carries his scopes; one that lacks the scope is 403."""
    token = tokens.issue("3-abc", (PLAY, READ), int(time.time()))
    assert (await client.get("/mine", headers=bearing(token))).json() == {"player": "3-abc"}
    weak = tokens.issue("3-abc", (READ,), int(time.time()))
    answer = await client.get("/mine", headers=bearing(weak))
    assert (answer.status_code, answer.json()["code"]) == (403, "scope_missing")


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic abc", "Bearer a.b.c", "Bearer " + "x" * 5000])
async def test_a_header_that_proves_nothing(client, header):
    """A malformed or foreign token is 401 also where none would be needed."""
    answer = await client.get("/who", headers={"Authorization": header})
    assert (answer.status_code, answer.json()["code"]) == (401, "token_invalid")
    assert "invalid_token" in answer.headers["www-authenticate"]


@pytest.mark.parametrize("key", ["", "x" * 129, "two words", "ключ".encode(), "a\tb"])
async def test_a_key_that_is_none(client, key):
    """An empty, over-long or unprintable `Idempotency-Key` is 400, as is none at all."""
    answer = await client.post("/key", headers={"Idempotency-Key": key})
    assert (answer.status_code, answer.json()["code"]) == (400, "idempotency_key_missing")
    assert (await client.post("/key")).json()["code"] == "idempotency_key_missing"


@pytest.mark.parametrize(("tag", "revision"), [('"17"', 17), ("*", None), (None, None)])
async def test_if_match(client, tag, revision):
    """`If-Match` carries a quoted revision; `*` and no header ask for none."""
    headers = {"Idempotency-Key": "k~1"} | ({"If-Match": tag} if tag else {})
    assert (await client.post("/key", headers=headers)).json() == {"key": "k~1", "if_match": revision}


@pytest.mark.parametrize("tag", ["17", '"x"', '"-1"', 'W/"17"', '"1", "2"', '"017"', '"' + "9" * 30 + '"'])
async def test_if_match_that_cannot_be_read(client, tag):
    """Anything but one quoted revision is 400: its sender relies on it."""
    answer = await client.post("/key", headers={"Idempotency-Key": "k", "If-Match": tag})
    assert (answer.status_code, answer.json()["path"]) == (400, "If-Match")
