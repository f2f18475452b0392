"""Tokens, `Idempotency-Key`, `If-Match`: what is taken, and what is refused."""

from __future__ import annotations

import secrets
import time

import jwt
import pytest

from shared.events.keys import MasterKeys
from shared.web.auth import HOST, PLAY, READ, Caller, Tokens
from shared.web.problems import Problem

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


def test_a_token_ends(tokens):
    """A token is refused once it has expired, even if it was verified while it held; two clocks may differ by a minute."""
    token = tokens.issue("3-abc", (PLAY,), NOW, lifetime=100)
    assert tokens.verify(token, NOW) == tokens.verify(token, NOW + 159) == Caller("3-abc", frozenset({PLAY}), NOW + 100)
    for _ in range(2):
        with pytest.raises(Problem, match="expired"):
            tokens.verify(token, NOW + 161)


def test_tokens_under_other_keys():
    """Another master key's token is refused; a key that was put in front leaves the older tokens valid."""
    old, new, foreign = (secrets.token_bytes(32) for _ in range(3))
    token = Tokens(MasterKeys((("a", old),))).issue("3-abc", (PLAY,), NOW)
    assert Tokens(MasterKeys((("b", new), ("a", old)))).verify(token, NOW).player == "3-abc"
    with pytest.raises(Problem):
        Tokens(MasterKeys((("c", foreign),))).verify(token, NOW)


@pytest.mark.parametrize(
    "change",
    [
        {"algorithm": "none", "key": ""},
        {"drop": "exp"},
        {"exp": [1]},
        {"exp": float("inf")},
        {"drop": "sub"},
        {"scope": 7},
        {"iss": "other"},
    ],
)
def test_a_token_that_was_made_up(change):
    """No algorithm, a missing claim, a foreign issuer, a scope or an end of another type: refused, even under the right key."""
    keys = MasterKeys((("a", secrets.token_bytes(32)),))
    claims = {"iss": "pulka", "sub": "3-abc", "scope": "play", "exp": NOW + 100}
    key = change.pop("key", keys.digest_key("tokens", "a"))
    algorithm = change.pop("algorithm", "HS256")
    claims.pop(change.pop("drop", ""), None)
    with pytest.raises(Problem):
        Tokens(keys).verify(jwt.encode(claims | change, key, algorithm=algorithm), NOW)


def test_scopes_nobody_knows_are_dropped(tokens):
    """A scope that this version does not know allows nothing."""
    token = tokens.issue("3-abc", ("play", "fly"), NOW)
    assert tokens.verify(token, NOW).scopes == {PLAY}


def test_the_bot_host(tokens):
    """The bot host's own token carries the scope that signs up bots, and nothing that plays."""
    assert tokens.verify(tokens.issue_host(NOW), NOW).scopes == {HOST}


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
