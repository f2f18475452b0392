"""`pulka demo --url` at a club of people: it plays there, and nobody of it stands among them (F36)."""

from __future__ import annotations

import json
import subprocess
import sys

import httpx
import pytest

PULKA = [sys.executable, "-c", "from services.cli.main import main; main()"]


@pytest.fixture(scope="module")
def table(club):
    """The id of the table that a demo has played at the club."""
    command = [*PULKA, "demo", "--url", club.url, "--target", "2", "--seed", "7", "--json"]
    done = subprocess.run(command, env=club.environment, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stderr
    (table,) = json.loads(done.stdout)["tables"]
    return table["table_id"]


def test_the_players_of_a_demo_are_no_people_of_the_club(club, table):
    """F36: its pulka is in the books, settled and verified; ratings and standings do not know its players, and the table says why."""
    with httpx.Client(base_url=club.url) as client:
        seats = client.get(f"/v1/tables/{table}").json()["seats"]
        rated = client.get(f"/v1/ledger/players/{seats[0]}/ratings").json()
        assert (rated["rating"], rated["unrated"]) == (None, {"agreed": 1})
        for by in ("rating", "whists"):
            assert client.get(f"/v1/ledger/standings?by={by}&provisional=true").json()["standings"] == [], by
        assert client.get(f"/v1/lobby/tables/{table}").json()["rated"] is False


def test_the_books_have_the_names_of_the_lobby_beside_them(club, table):
    """F30, F38: where lobby and ledger run in one process nothing has to be set: page, picture and export say who played."""
    with httpx.Client(base_url=club.url) as client:
        seats = client.get(f"/v1/tables/{table}").json()["seats"]
        names = client.get("/v1/lobby/names", params={"ids": ",".join(seats)}).json()["names"]
        assert all(names[player] for player in seats)
        for form in ("text/html", "image/svg+xml"):
            sheet = client.get(f"/v1/ledger/tables/{table}/sheet", headers={"Accept": form}).text
            assert all(names[player] in sheet for player in seats), form
        lines = map(json.loads, client.get("/v1/ledger/export/statement?names=true").text.splitlines())
        assert {line["player"]: line["name"] for line in lines if "player" in line} == names
