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


def test_a_sheet_s_page_has_the_names_that_the_lobby_has_now(club):
    """F30: page and picture of a table call the players by their names; who is erased is a seat from the next answer on; JSON has none."""
    party = Party(club)
    party.until("auction")
    anna, *others = party.people
    path = f"/v1/ledger/tables/{party.table}/sheet"
    known = {person.id: person.get("/v1/lobby/me").json()["player"]["name"] for person in party.people}
    at = party.people[0].get(f"/v1/tables/{party.table}").json()["position"]

    def answer(form):
        return anna.get(f"{path}?at_least={at}", headers={"Accept": form}).text

    for form in ("text/html", "image/svg+xml"):
        assert all(name in answer(form) for name in known.values()), form
    erased = pulka(club, "erase", anna.id, "--url", club.url, "--yes")
    assert erased.returncode == 0, erased.stderr
    for form in ("text/html", "image/svg+xml"):
        told = answer(form)
        assert known[anna.id] not in told
        assert "seat" in told
        assert all(known[person.id] in told for person in others)
    assert not any(name in answer("application/json") for name in known.values())
    log = club.errors.read_text(encoding="utf-8", errors="replace")
    assert not any(name in log for name in known.values())
