"""Keys are rotated while people play, at two instances that share neither memory nor affinity: no move fails, and everything verifies."""

from __future__ import annotations

import itertools
import secrets
import subprocess
import sys
import time

import httpx
import jwt
import msgspec
import pytest

from shared.events import key_files
from shared.events.keys import MasterKeys
from shared.events.token_keys import hmac_key, public_text, read_public
from tests.journeys.club import Club, Party, Person

ENOUGH = 90.0  # seconds for what takes three
PULKA = [sys.executable, "-c", "from services.cli.main import main; main()"]


class Between(Party):
    """A party whose moves go to one instance after the other."""

    def __init__(self, *clubs: Club, **terms):
        super().__init__(clubs[0], **terms)
        self.doors = {}
        for person in self.people:
            doors = [person.http, *(club.client() for club in clubs[1:])]
            for door in doors[1:]:
                door.headers["Authorization"] = f"Bearer {person.token}"
            self.doors[person.id] = itertools.cycle(doors)

    def step(self):
        for person in self.people:
            person.http = next(self.doors[person.id])
        return super().step()

    def deals(self) -> int:
        return self.view()["deal"]


pytestmark = pytest.mark.timeout(300)  # seconds; two instances and a dozen commands, one after another, on a busy machine


@pytest.fixture(scope="module")
def two(nats_url, postgres_dsn, tmp_path_factory):
    """Two instances of everything, with the same files of keys."""
    folder, namespace = tmp_path_factory.mktemp("rotation"), f"j{secrets.token_hex(4)}"
    signing = folder / "signing_key"
    key_files.create(signing, "s1:" + "7b" * 32 + "\n")
    settings = {"PULKA_SIGNING_KEY_FILE": str(signing), "PULKA_BOTS": "no", "PULKA_HOME": str(folder / "nowhere")}
    with (
        Club(nats_url, postgres_dsn, namespace, folder, **settings) as one,
        Club(nats_url, postgres_dsn, namespace, folder, **settings) as other,
    ):
        yield one, other


def begun(club, *arguments):
    return subprocess.Popen([*PULKA, *arguments], env=club.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def told(process, status=0):
    out, errors = process.communicate(timeout=ENOUGH)
    assert process.returncode == status, out + errors
    return out


def addresses(two):
    return [option for club in two for option in ("--url", club.url)]


def rotated_during(party, two, kind):
    """Rotate while the party plays on; the answer of the command, and how many moves were made meanwhile."""
    process, before = begun(two[0], "keys", "rotate", kind, *addresses(two), "--json"), len(party.acknowledged)
    while process.poll() is None:
        party.step()
    out = told(process)
    return msgspec.json.decode(out), len(party.acknowledged) - before


def checked(two, status=0):
    return msgspec.json.decode(told(begun(two[0], "keys", "check", *addresses(two), "--json"), status))


def test_a_master_key_is_rotated_while_tables_play(two):
    """Each move is accepted, by whichever instance; deals before open, deals after are sealed under the new key; the audit verifies all; a
    start with the new file goes on, and one without the older key says which is missing.
    """
    party = Between(*two, target=500)
    first = checked(two)
    (old,) = first["needed"]["log"]
    assert (first["well"], first["needed"]["sealed_with"], first["master"]["seals"]) == (True, [old], old)
    party.step()
    answer, moves = rotated_during(party, two, "master")
    new = answer["key"]
    assert (answer["uses"], moves > 0) == (True, True)
    for club in two:
        services = httpx.get(f"{club.url}/health", trust_env=False, timeout=20).json()["services"]
        assert {services[name]["master_keys"]["seals"] for name in ("table", "lobby")} == {new}
        assert {tuple(services[name]["master_keys"]["opens"]) for name in ("table", "lobby")} == {(new, old)}
    deal = party.deals()
    while party.deals() < deal + 2:
        party.step()
    Person(two[1], "somebody new")  # whose personal key is wrapped under the new one
    after = checked(two)
    assert set(after["needed"]["log"]) == set(after["needed"]["sealed_with"]) == {old, new}
    assert after["needed"]["log"][old] >= first["needed"]["log"][old]
    assert after["needed"]["vault"] == {old: 3, new: 1}
    assert [one["seals"] for one in after["instances"]] == [[new], [new]]
    assert msgspec.json.decode(told(begun(two[0], "audit", "verify", party.table, "--json")))["verified"]
    two[0].stop()
    two[0].start()
    for _ in range(20):
        party.step()
    # a file without the older key: running instances go on, `check` says what is missing, a start refuses
    path = two[0].errors.parent / "master_keys"
    whole = key_files.read(path)
    key_files.replace(path, key_files.lines(whole[:1]))
    party.step()
    wrong = checked(two, status=1)["problems"]
    assert {(one["about"], one["code"]) for one in wrong} == {("master", "key_missing")}
    process = begun(two[0], "serve", "table", "--port", "0")
    _, errors = process.communicate(timeout=ENOUGH)
    assert (process.returncode, f"no key {old} among the master keys" in errors) == (2, True), errors
    key_files.replace(path, key_files.lines(whole))
    assert checked(two)["well"]


def test_a_token_key_is_rotated_while_tables_play(two):
    """Players' tokens go on, new ones have the new key; forgotten, the old key's tokens end, at every instance."""
    party = Between(*two, target=500)
    early = party.people[0].token
    answer, moves = rotated_during(party, two, "token")
    assert (answer["uses"], moves > 0) == (True, True)
    late = Person(two[1], "late")
    assert jwt.get_unverified_header(late.token)["kid"] == answer["key"] != jwt.get_unverified_header(early)["kid"]
    for club in two:
        for token in (early, late.token):
            me = httpx.get(f"{club.url}/v1/lobby/me", headers={"Authorization": f"Bearer {token}"}, trust_env=False, timeout=20)
            assert me.status_code == 200, me.text
    forgotten = told(begun(two[0], "keys", "rotate", "token", "--forget", jwt.get_unverified_header(early)["kid"]))
    assert "is forgotten" in forgotten
    for club in two:
        until = time.monotonic() + ENOUGH
        while httpx.get(f"{club.url}/v1/lobby/me", headers={"Authorization": f"Bearer {early}"}, trust_env=False).status_code != 401:
            assert time.monotonic() < until
        assert httpx.get(f"{club.url}/v1/lobby/me", headers={"Authorization": f"Bearer {late.token}"}, trust_env=False).status_code == 200


def test_a_signing_key_is_rotated(two):
    """The chain of checkpoints goes on under the new key; who trusts both is satisfied, who knows one alone is told of the other."""
    Party(two[0]).step()
    first = _signed_when_read(two[0])
    added = msgspec.json.decode(told(begun(two[0], "keys", "rotate", "signing", "--json")))
    assert (added["uses"], first["key"] != added["public"]) == (False, True)
    assert _signed_when_read(two[0])["key"] == first["key"]
    used = msgspec.json.decode(told(begun(two[0], "keys", "rotate", "signing", "--to", added["key"], "--json")))
    assert used["uses"]
    second = _signed_when_read(two[0])
    assert second["key"] == added["public"]
    both = ["--key", first["key"], "--key", second["key"]]
    verified = msgspec.json.decode(told(begun(two[0], "audit", "verify", *both, "--json")))
    assert verified["checkpoints"] == {"verified": True, "signed": second["number"], "problems": []}
    alone = msgspec.json.decode(told(begun(two[0], "audit", "verify", "--key", first["key"], "--json"), status=1))
    assert {one["code"] for one in alone["checkpoints"]["problems"]} == {"checkpoint_key"}
    assert checked(two)["signed_by"] == [first["key"], second["key"]]


def _signed_when_read(club):
    """A checkpoint, once the books have read all that the log has."""
    until = time.monotonic() + ENOUGH
    while True:
        process = begun(club, "audit", "checkpoint", "--json")
        out, errors = process.communicate(timeout=ENOUGH)
        if process.returncode == 0:
            return msgspec.json.decode(out)
        assert time.monotonic() < until, out + errors


def test_tokens_of_former_times_end_with_their_line(two):
    """A token by HMAC is a player's while the public file says until when they were made; without the line it is nobody's."""
    person = Person(two[0], "from before")
    folder = two[0].errors.parent
    keys, now = MasterKeys.load(folder / "master_keys"), int(time.time())
    claims = {"iss": "pulka", "sub": person.id, "scope": "play read", "iat": now - 100, "exp": now + 1000, "jti": "x"}
    token = jwt.encode(claims, hmac_key(keys, keys.ids[-1]), algorithm="HS256")
    operator = jwt.encode(claims | {"sub": "operator:thief", "scope": "operate"}, hmac_key(keys, keys.ids[-1]), algorithm="HS256")

    def answers(club, given):
        return httpx.get(f"{club.url}/v1/lobby/me", headers={"Authorization": f"Bearer {given}"}, trust_env=False, timeout=20).status_code

    assert {answers(club, token) for club in two} == {401}
    public, _ = read_public(folder / "token_public_keys")
    key_files.replace(folder / "token_public_keys", public_text(public, hmac_before=now))
    for club in two:  # the master keys are read at a start
        club.stop()
        club.start()
    assert {answers(club, token) for club in two} == {200}
    assert {answers(club, operator) for club in two} == {401}
