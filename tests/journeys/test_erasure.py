"""`pulka erase` on real servers: who is erased has no name any more, in view and list, and what he played stays proved."""

from __future__ import annotations

import subprocess
import sys

import msgspec

from tests.journeys.club import Party


def pulka(club, *arguments):
    command = [sys.executable, "-c", "from services.cli.main import main; main()", *arguments]
    return subprocess.run(command, env=club.environment, capture_output=True, text=True, check=False, timeout=60)


def test_an_operator_erases_a_player_in_mid_play(club):
    """The table goes on, the audit verifies, the name is null; for an unknown player, with no server and without a yes it says why."""
    party = Party(club)
    anna = party.people[0]
    party.until("auction")
    party.step()
    erased = pulka(club, "erase", anna.id, "--url", club.url, "--yes", "--json")
    assert erased.returncode == 0, erased.stderr
    assert msgspec.json.decode(erased.stdout)["player"] == anna.id
    assert anna.get("/v1/lobby/me").json()["player"] == {"id": anna.id, "name": None}
    party.step()
    party.until("cut", "over")
    verified = pulka(club, "audit", "verify", party.table, "--json")
    assert verified.returncode == 0, verified.stdout + verified.stderr
    for wrong, status in ((["--url", club.url], 2), (["--url", "http://127.0.0.1:9"], 3)):
        answer = pulka(club, "erase", "3-" + "a" * 26, "--yes", *wrong)
        assert (answer.returncode, answer.stderr.count("\n")) == (status, 1), answer.stderr
    assert pulka(club, "erase", anna.id, "--url", club.url).returncode == 2  # nobody says yes
