"""`pulka demo --url` at a club of people: it plays there, and nobody of it stands among them (F36)."""

from __future__ import annotations

import json
import subprocess
import sys

import httpx

PULKA = [sys.executable, "-c", "from services.cli.main import main; main()"]


def test_the_players_of_a_demo_are_no_people_of_the_club(club):
    """F36: its pulka is in the books, settled and verified; ratings and standings do not know its players, and the table says why."""
    command = [*PULKA, "demo", "--url", club.url, "--target", "2", "--seed", "7", "--json"]
    done = subprocess.run(command, env=club.environment, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stderr
    (table,) = json.loads(done.stdout)["tables"]
    with httpx.Client(base_url=club.url) as client:
        seats = client.get(f"/v1/tables/{table['table_id']}").json()["seats"]
        rated = client.get(f"/v1/ledger/players/{seats[0]}/ratings").json()
        assert (rated["rating"], rated["unrated"]) == (None, {"agreed": 1})
        for by in ("rating", "whists"):
            assert client.get(f"/v1/ledger/standings?by={by}&provisional=true").json()["standings"] == [], by
        assert client.get(f"/v1/lobby/tables/{table['table_id']}").json()["rated"] is False
