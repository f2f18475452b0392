"""`pulka demo` as a process: what it prints, what it leaves, how it ends."""

import json
import os
import signal
import subprocess
import sys

import pytest

from tests.services.cli.processes import processes_of, until

PULKA = [sys.executable, "-c", "from services.cli.main import main; main()"]


def pulka(*arguments, folder, documents=()):
    """Run the command with `folder` as the place for temporary files, and `documents` a line each on its input; its result."""
    given = "\n".join(map(json.dumps, documents))
    return subprocess.run([*PULKA, *arguments], input=given, capture_output=True, text=True, check=False, timeout=100, env=at(folder))


def at(folder):
    return {**os.environ, "TMPDIR": str(folder)}


@pytest.mark.servers
def test_a_whole_pulka_for_whoever_has_nothing(tmp_path):
    """One JSON object says how it went: audit verified, zero sum; deal records replay, and the score file scores, to the same sheet."""
    done = pulka("demo", "--players", "4", "--convention", "leningrad", "--target", "2", "--seed", "7", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    (table,) = json.loads(done.stdout)["tables"]
    assert table["audit"]["verified"]
    assert sum(table["settlement"]["rounded"]) == 0
    assert table["deals"] == len(table["records"]) == done.stderr.count("\ndeal ")
    scored = json.loads(pulka("score", "-", folder=tmp_path, documents=[table["score_file"]]).stdout)
    assert scored["sheet"] == table["sheet"]
    assert scored["settlement"] == table["settlement"]
    replayed = pulka("replay", "--lines", "-", folder=tmp_path, documents=table["records"]).stdout.splitlines()
    assert [json.loads(line)["score"] for line in replayed] == scored["deals"]
    assert not processes_of(tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.servers
@pytest.mark.parametrize(("players", "convention"), [("2", "sochi"), ("5", "rostov"), ("4", "classic"), ("3", "federation"), ("3", "code")])
def test_every_number_of_players_and_convention_finishes_a_pulka(tmp_path, players, convention):
    """Hussar (Decision 19), five players (Decision 20), dark calls (Decision 21), a convention played to a time, which ends by the target
    here: audit verified, zero sum, every record replays.
    """
    told = pulka("demo", "--players", players, "--convention", convention, "--target", "2", "--seed", "7", "--json", folder=tmp_path)
    assert told.returncode == 0, told.stderr
    (table,) = json.loads(told.stdout)["tables"]
    assert (table["audit"]["verified"], sum(table["settlement"]["rounded"])) == (True, 0)
    assert len(table["sheet"]["pool"]) == int(players)
    scored = json.loads(pulka("score", "-", folder=tmp_path, documents=[table["score_file"]]).stdout)
    assert (scored["sheet"], scored["settlement"]) == (table["sheet"], table["settlement"])
    replayed = pulka("replay", "--lines", "-", folder=tmp_path, documents=table["records"]).stdout.splitlines()
    assert [json.loads(line)["score"] for line in replayed] == scored["deals"]


@pytest.mark.servers
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_demo_that_is_ended_leaves_no_server(tmp_path, ending):
    """Stopped in the middle, even killed, its own servers end with it; its folder goes too unless it was killed."""
    command = [*PULKA, "demo", "--target", "200"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=at(tmp_path)) as demo:
        until(lambda: "deal" in demo.stderr.readline())
        demo.send_signal(ending)
        said = [line for line in demo.stderr.read().splitlines() if line and not line.startswith("deal ")]
        status = demo.wait(20)
    until(lambda: not processes_of(tmp_path))
    if ending != signal.SIGKILL:
        assert (status, said) == (130, ["pulka: interrupted"])
        assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--url", "http://127.0.0.1:9"], 3, "does not answer"),
        (["--url", "nonsense"], 2, "--url"),
        (["--convention", "{"], 2, "--convention"),
        (["--url", "http://127.0.0.1:9", "--convention", '{"preset":"sochi","ten":"checked","ten":"blind"}'], 2, "given more than once"),
        (["--players", "7"], 2, "--players"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(tmp_path, arguments, status, said):
    """A server that is away ends with 3, wrong usage with 2, neither with a traceback."""
    done = pulka("demo", *arguments, folder=tmp_path)
    assert done.returncode == status
    assert said in done.stderr
    assert "Traceback" not in done.stderr
