"""A club keeps its books: a pulka from elsewhere comes in, everything is carried away, what is old is archived; all of it is read on."""

from __future__ import annotations

import json
import os
import random
import secrets
import signal
import subprocess
import sys
import time

import httpx
import pytest

from tests.journeys.club import Club, Party, Person

FILE = {
    "convention": "sochi",
    "players": 3,
    "deals": [{"dealer": 2, "declarer": 0, "contract": "6S", "calls": [None, "whist", "pass"], "tricks": [6, 2, 2]}],
}
ENOUGH = 60.0  # seconds for what takes two


@pytest.fixture(scope="module")
def archive_dir(tmp_path_factory):
    return tmp_path_factory.mktemp("archive")


@pytest.fixture(scope="module")
def keeping(nats_url, postgres_dsn, archive_dir, tmp_path_factory):
    """A club whose ledger knows where the archive is."""
    folder = tmp_path_factory.mktemp("keeping")
    with Club(nats_url, postgres_dsn, f"j{secrets.token_hex(4)}", folder, PULKA_ARCHIVE_DIR=str(archive_dir)) as running:
        yield running


@pytest.fixture
def pulka(keeping, nats_urls, tmp_path):
    """The command with the club's settings."""
    environment = keeping.environment | {
        "PULKA_PORT": str(keeping.port),
        "PULKA_NATS_OPERATOR_URL": nats_urls.operator,
        "PULKA_HOME": str(tmp_path / "nowhere"),
    }

    def begin(*arguments):
        command = [sys.executable, "-c", "from services.cli.main import main; main()", *map(str, arguments)]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(*arguments, status=0):
        process = begin(*arguments)
        out, errors = process.communicate(timeout=ENOUGH)
        assert process.returncode == status, errors
        return out

    run.begin = begin
    return run


def read(club, path, **parameters):
    return httpx.get(f"{club.url}{path}", params=parameters, trust_env=False, timeout=20)


def test_a_pulka_from_elsewhere_comes_into_the_books(keeping, pulka, tmp_path):
    """`pulka import` twice makes one table; its players have their lines, marked; nothing is played there."""
    people = [Person(keeping) for _ in range(3)]
    file = tmp_path / "pulka.json"
    file.write_text(json.dumps(FILE))
    arguments = ("import", file, "--seats", ",".join(person.id for person in people), "--json")
    made = json.loads(pulka(*arguments))
    assert json.loads(pulka(*arguments)) == made
    sheet = read(keeping, f"/v1/ledger/tables/{made['table_id']}/sheet", at_least=made["position"]).json()
    assert sheet["sheet"]["pool"] == [2, 0, 0]
    statement = read(keeping, f"/v1/ledger/players/{people[0].id}/statement", at_least=made["position"])
    assert (statement.status_code, '"recorded":true' in statement.text) == (200, True)
    assert people[0].move(made["table_id"], {"type": "bid", "bid": "6S"}).json()["code"] == "pulka_recorded"
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps(FILE | {"players": 9}))
    pulka("import", wrong, status=2)
    verdict = read(keeping, f"/v1/ledger/tables/{made['table_id']}/audit/verify").json()
    assert (verdict["verified"], verdict["commits"]) == (True, 1)


def test_everything_is_carried_away(keeping, pulka, tmp_path):
    """An operator's export over HTTP and one from the database are the same bytes, with what was played and what was recorded."""
    party = Party(keeping, target=1)
    party.play_out()
    last = party.acknowledged[-1]["position"]
    assert read(keeping, "/v1/ledger/export/entries", at_least=last).status_code == 200
    for what in ("entries", "deals", "score-files", "statement"):
        served, direct = tmp_path / f"{what}.1", tmp_path / f"{what}.2"
        pulka("export", what, "--url", keeping.url, "--out", served)
        pulka("export", what, "--out", direct)
        assert served.read_bytes() == direct.read_bytes()
        assert party.table in served.read_text()


def test_killed_again_and_again_the_archive_is_whole_in_the_end(keeping, pulka, archive_dir):
    """`pulka archive` is killed at random moments until nothing is left to do; every table is read and verified as before."""
    parties = [Party(keeping, seed=seed, target=1) for seed in range(4)]
    for party in parties:
        party.play_out()
    going = Party(keeping, seed=9)
    going.until("discard", "play", "whist")
    ledger = [f"/v1/ledger/tables/{party.table}" for party in parties]
    ends = [party.acknowledged[-1]["position"] for party in parties]
    before = [read(keeping, f"{path}/sheet", at_least=end).json() for path, end in zip(ledger, ends, strict=True)]
    commits = [read(keeping, f"{path}/audit", limit=5).json()["commits"] for path in ledger]
    chance = random.Random(5)
    deadline = time.monotonic() + ENOUGH
    arguments = ("archive", "--older-than", 0, "--to", archive_dir, "--json")
    for _ in range(6):
        process = pulka.begin(*arguments)
        try:
            process.wait(1.0 + chance.random() * 1.5)  # a start takes about one
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        assert time.monotonic() < deadline
    pulka(*arguments)
    nothing = {"archived": 0, "due": 0, "commits": 0, "left": [], "tables": [], "in_play": [going.table]}
    assert json.loads(pulka(*arguments)) == nothing
    assert not list(archive_dir.rglob("*.pending"))
    pulka("archive", "verify", archive_dir)
    pulka("audit", "verify")
    for path, party, sheet, some in zip(ledger, parties, before, commits, strict=True):
        assert read(keeping, f"{path}/sheet").json()["sheet"] == sheet["sheet"]
        assert read(keeping, f"{path}/audit", limit=5).json()["commits"] == some
        assert read(keeping, f"{path}/audit/verify").json()["verified"]
        assert read(keeping, f"/v1/tables/{party.table}").json()["code"] == "archived"
        refused = party.people[0].move(party.table, {"type": "bid", "bid": "6S"})
        assert (refused.status_code, refused.json()["code"]) == (410, "archived")
        assert read(keeping, f"/v1/lobby/tables/{party.table}").json()["status"] == "over"
    going.step()
    keeping.stop()
    keeping.start()
    assert read(keeping, f"{ledger[0]}/audit/verify").json()["verified"]
    going.play_out()
