"""A client that signs its moves, written from deploy/docs/signed-moves.md alone: over HTTP, by both ways of a move, to the audit."""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import time

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.journeys.club import PATIENCE, Club, Person

pytestmark = pytest.mark.servers


@pytest.fixture
def club(nats_url, postgres_dsn, namespace, tmp_path):
    with Club(nats_url, postgres_dsn, namespace, tmp_path, "all") as club:
        yield club


class Signer(Person):
    """Somebody with a key of their own."""

    def __init__(self, club, name):
        super().__init__(club, name)
        self.key = Ed25519PrivateKey.generate()
        self.public = self.key.public_key().public_bytes_raw().hex()

    def signed(self, table, move, view):
        """The headers of a move in the turn that `view` shows."""
        told = dict(move)
        if told["type"] == "discard":
            salt = bytes.fromhex(view["discard_salt"])
            told = {"type": "discard", "digest": hashlib.sha256(salt + " ".join(move["cards"]).encode()).hexdigest()}
        text = f"pulka move 1 {table} {view['revision'] + 1} {view['hash']} {json.dumps(told, separators=(',', ':'))}"
        return {"Move_Signature": self.key.sign(text.encode()).hex()}


def sent(person, path, move, pieces, **headers):
    """The answer to a move, whose body comes whole or in pieces."""
    if not pieces:
        return person.post(path, move, **headers)
    given = {name.replace("_", "-"): value for name, value in headers.items()} | {"Content-Type": "application/json"}
    text = json.dumps(move).encode()
    return person.http.post(path, content=iter([text[:5], text[5:]]), headers=given)


def test_a_pulka_is_played_with_signed_moves_and_verified(club):
    """Two of three sign; what is not signed, or signed for another turn, is refused; the audit finds nothing wrong."""
    chance, in_pieces = random.Random(5), itertools.cycle([False, True])  # a body in pieces takes the long way
    people = [Signer(club, "ann"), Signer(club, "ben"), Person(club, "cid")]
    table = people[0].post("/v1/lobby/tables", {"convention": "sochi", "players": 3, "target": 1}).json()["id"]
    for person in people:
        assert person.post(f"/v1/lobby/tables/{table}/seats").status_code == 201
        brought = {"key": person.public} if isinstance(person, Signer) else None
        assert person.post(f"/v1/lobby/tables/{table}/ready", brought).status_code == 200
    refused, number, deadline = set(), itertools.count(), time.monotonic() + 4 * PATIENCE
    while (view := people[0].view(table))["status"] != "over":
        assert time.monotonic() < deadline, view
        if view["to_act"] is None:
            continue
        person = people[view["to_act"]]
        view = person.view(table)
        if not view["legal"]:
            continue
        assert view["keys"] == [people[0].public, people[1].public, ""]
        move = dict(chance.choice([one for one in view["legal"] if one["type"] != "claim"]))
        if move["type"] == "discard":
            move["cards"] = chance.sample(view["hand"].split(), 2)
        path, pieces = f"/v1/tables/{table}/moves", next(in_pieces)
        headers = person.signed(table, move, view) if isinstance(person, Signer) else {}
        if isinstance(person, Signer):
            late = person.signed(table, move, view | {"revision": view["revision"] - 1})
            for wrong in ({}, late):
                answer = sent(person, path, move, pieces, Idempotency_Key=f"w{next(number)}", **wrong)
                assert answer.status_code == 409, answer.text
                refused.add(answer.json()["code"])
        answer = sent(person, path, move, pieces, Idempotency_Key=f"m{next(number)}", **headers)
        assert answer.status_code == 200, answer.text
    assert refused == {"signature_missing", "signature_wrong"}
    verified = people[0].get(f"/v1/ledger/tables/{table}/audit/verify", params={"at_least": view["position"]})
    if verified.status_code == 400:
        verified = people[0].get(f"/v1/ledger/tables/{table}/audit/verify")
    assert verified.json()["problems"] == []
