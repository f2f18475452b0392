"""The commands over HTTP beside a running home: they find it, its keys and its players, archived tables' too."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from services.cli.console.server_url import server_named
from services.cli.embedded.home import Home, HomeLocked

ROOT = Path(__file__).parents[4]
PULKA = [sys.executable, "-c", "from services.cli.main import main; main()"]
BARE = {name: value for name, value in os.environ.items() if not name.startswith("PULKA_")}
NAMES = ("Anna", "Boris", "Clara")


@pytest.fixture
def held(tmp_path):
    """A home that a process has, which answers on port 4711."""
    home = Home(tmp_path / "home")
    home.open()
    home.tell_address("http://127.0.0.1:4711")
    yield home
    home.close()


def test_the_running_home_is_asked(held, tmp_path):
    """Before the default port; `--url` and PULKA_PORT stand, but for the 0 that lets `pulka up` choose."""
    beside = {"PULKA_HOME": str(held.path)}
    assert server_named(None, beside) == "http://127.0.0.1:4711"
    assert server_named(None, {}, held.path) == "http://127.0.0.1:4711"
    assert server_named(None, beside | {"PULKA_PORT": "0"}) == "http://127.0.0.1:4711"
    assert server_named(None, beside | {"PULKA_PORT": "8080"}) == "http://127.0.0.1:8080"
    assert server_named("http://elsewhere", beside | {"PULKA_PORT": "81"}) == "http://elsewhere"
    assert server_named(None, {"PULKA_HOME": str(tmp_path / "nowhere")}) == "http://127.0.0.1:8080"


def test_a_home_that_was_left_is_not_asked(held):
    """What stands there of an earlier run counts no more, neither after it nor while the next one starts."""
    beside = {"PULKA_HOME": str(held.path)}
    held.close()
    assert server_named(None, beside) == "http://127.0.0.1:8080"
    held.open()
    assert server_named(None, beside) == "http://127.0.0.1:8080"
    with pytest.raises(HomeLocked):
        Home(held.path).open()
    held.tell_address("http://127.0.0.1:4712")
    with pytest.raises(HomeLocked):  # whoever finds it held takes nothing away
        Home(held.path).open()
    assert server_named(None, beside) == "http://127.0.0.1:4712"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The home of a running `pulka up`."""
    folder = tmp_path_factory.mktemp("running") / "home"
    command = [*PULKA, "up", "--home", str(folder), "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, env=BARE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout.readline()
        yield folder
        process.terminate()


@pytest.fixture
def pulka(home):
    """Run a command beside it: status, standard output, standard error."""

    def run(*arguments, **environment):
        command = [*PULKA, *map(str, arguments)]
        environment = {**BARE, "PULKA_HOME": str(home), **environment}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.mark.servers
def test_commands_over_http_need_no_address_beside_a_running_home(pulka, home, tmp_path):
    """What reads, what records and what erases; an address that is given stands, though nobody is there."""
    file = tmp_path / "pulka.json"
    file.write_text(json.dumps({"convention": "sochi", "players": 3, "deals": [{"contract": "all_pass", "tricks": [2, 5, 3]}]}))
    assert pulka("standings", "--json")[0] == 0
    status, table, complaints = pulka("import", file)
    assert (status, complaints) == (0, "")
    status, _, complaints = pulka("erase", "0-" + "a" * 26, "--yes", "--home", home, PULKA_HOME=str(tmp_path))
    assert (status, complaints) == (2, f"pulka: there is no player '0-{'a' * 26}'\n")
    for command in (("standings",), ("stats", "P"), ("sheet", table.strip()), ("import", file)):
        for given, environment in ((("--url", "http://127.0.0.1:1"), {}), ((), {"PULKA_PORT": "1"})):
            status, _, complaints = pulka(*command, *given, **environment)
            assert (status, complaints.startswith("pulka: http://127.0.0.1:1: nothing answers there;")) == (3, True)


@pytest.mark.servers
def test_an_archived_table_keeps_its_players_names(pulka, home, tmp_path):
    """The table service has nothing of it any more: the ledger tells who sat there, the lobby what they are called."""
    _, told, _ = pulka("demo", "--url", (home / "run" / "address").read_text().strip(), "--target", "1", "--seed", "3", "--json")
    table = json.loads(told)["tables"][0]["table_id"]
    before = [pulka("sheet", table), pulka("whatif", table, "--convention", "leningrad")]
    status, moved, complaints = pulka("archive", "--older-than", "0", "--to", tmp_path / "archive", "--json")
    assert (status, table in json.loads(moved)["tables"]) == (0, True), complaints
    after = [pulka("sheet", table), pulka("whatif", table, "--convention", "leningrad")]
    assert after == before
    assert all(name in told for _, told, _ in after for name in NAMES)
