"""The operator's commands beside a running home, and in one line what keeps them from log, database or file."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from services.cli.embedded import EmbeddedServers
from services.cli.operator.connections import completed
from services.cli.operator.erase import erase
from services.cli.operator.export import export
from services.cli.operator.import_pulka import import_command
from services.cli.player.players import standings
from services.cli.player.sheet import sheet
from services.cli.player.whatif import whatif
from shared.events.keys import MasterKeys
from shared.web.service import CannotStart
from shared.web.settings import Settings
from tests.token_keys import token_variables

ROOT = Path(__file__).parents[4]
PULKA = [sys.executable, "-c", "from services.cli.main import main; main()"]
BARE = {name: value for name, value in os.environ.items() if not name.startswith("PULKA_")}
NOWHERE = {"PULKA_NATS_URL": "nats://127.0.0.1:1", "PULKA_POSTGRES_DSN": "postgresql://127.0.0.1:1/none"}


def run(*arguments, **environment):
    """Exit status, standard output, standard error."""
    command = [*PULKA, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, env=BARE | environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """Servers as `pulka up` starts them under a home, which they hold."""
    with EmbeddedServers(tmp_path_factory.mktemp("running") / "home") as running:
        yield running


@pytest.mark.servers
def test_a_running_home_tells_the_connections(servers):
    """All three, and that appends are synced; a variable that is set stands."""
    found = completed(Settings(home=str(servers.home)))
    assert (found.nats_url, found.nats_operator_url, found.postgres_dsn) == (
        servers.nats_url,
        servers.nats_operator_url,
        servers.postgres_dsn,
    )
    assert found.nats_durable
    assert completed(Settings(home=str(servers.home), nats_url=servers.nats_url)).postgres_dsn == servers.postgres_dsn
    status, out, _ = run("ledger", "status", PULKA_HOME=str(servers.home))
    assert (status, out) == (0, "the ledger has no tables here yet; start it once, or run `pulka ledger rebuild`\n")


@pytest.mark.servers
def test_a_running_home_tells_who_has_the_names(servers):
    """The lobby of `pulka up` is asked for names without `--url`; none while nothing is served, and a variable that is set stands."""
    home = str(servers.home)
    assert completed(Settings(home=home)).lobby_url == ""
    servers.tell_address("http://127.0.0.1:9")
    try:
        assert completed(Settings(home=home)).lobby_url == "http://127.0.0.1:9"
        assert completed(Settings(home=home, lobby_url="http://127.0.0.1:7")).lobby_url == "http://127.0.0.1:7"
    finally:
        (servers.home / "run" / "address").unlink()


@pytest.mark.servers
def test_another_server_is_not_mixed_with_a_homes(servers):
    """The log of one club and the database of another are not put together."""
    other = Settings(home=str(servers.home), nats_url="nats://elsewhere:4222")
    assert completed(other) == other


@pytest.mark.servers
def test_a_home_that_was_left_tells_nothing(tmp_path):
    """Its ports are kept, but belong to nobody; the message names variable and home."""
    with EmbeddedServers(tmp_path / "home"):
        pass
    archive = ("archive", "--older-than", "1", "--to", tmp_path / "archive")
    for command in (("ledger", "status"), ("ledger", "parked"), ("audit", "verify"), archive):
        status, out, err = run(*command, PULKA_HOME=str(tmp_path / "home"))
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert "PULKA_NATS_URL" in err
        assert str(tmp_path / "home") in err
        assert "PULKA_HOME" in err
    status, _, err = run("export", "entries", PULKA_HOME=str(tmp_path / "home"))
    assert (status, str(tmp_path / "home") in err) == (2, True)


@pytest.mark.servers
@pytest.mark.parametrize("name", ["NATS", "Postgres"])
def test_a_wrong_password_is_said(servers, name):
    """In words, without the password; nobody goes on trying."""
    urls = {"NATS": servers.nats_url, "Postgres": servers.postgres_dsn}
    urls[name] = re.sub(r":[^:@]*@", ":hush@", urls[name])
    status, out, err = run("ledger", "status", PULKA_NATS_URL=urls["NATS"], PULKA_POSTGRES_DSN=urls["Postgres"])
    assert (status, out) == (3, "")
    assert err.startswith(f"pulka: {name} at ")
    assert err.endswith(": user or password refused\n")
    assert "hush" not in err


def test_a_malformed_connection_is_said():
    """No host is looked for under a name that is no URL."""
    assert run("ledger", "status", **NOWHERE | {"PULKA_NATS_URL": "foo"}) == (
        2,
        "",
        "pulka: PULKA_NATS_URL: nats://user:password@host:port is expected\n",
    )


@pytest.mark.parametrize("url", ["ftp://foo", "http://", "http://host:port", "foo"])
def test_a_url_that_is_none_is_wrong_usage(url):
    """Status 2, as for every wrong option."""
    commands = {standings: "", sheet: "T", import_command: "-", erase: "P", export: "entries", whatif: "T --convention sochi"}
    for command, arguments in commands.items():
        found = CliRunner().invoke(command, [*arguments.split(), "--url", url])
        assert (found.exit_code, "'--url'" in found.output) == (2, True), found.output


@pytest.mark.servers
def test_a_mistyped_path_is_one_line(servers, tmp_path):
    """Of a folder that is not there, or that is a file; nothing is signed for a file that cannot be written."""
    home = {"PULKA_HOME": str(servers.home)}
    (tmp_path / "file").touch()
    for wrong in (tmp_path / "none", tmp_path / "file"):
        status, out, err = run("audit", "checkpoint", "--out", wrong / "cp.json", **home)
        assert (status, out, err) == (2, "", f"pulka: {wrong} is no folder\n")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [("none/file", "no such file or folder"), ("file/x", "not a folder"), ("x" * 300, "name too long"), (".", "a folder and no file")],
)
def test_an_error_with_a_path_names_it(tmp_path, wrong, words):
    """One line with the path; status 2."""
    (tmp_path / "file").touch()
    program = "import sys; from services.cli import main; main.pulka.main = lambda **_: open(sys.argv[1], 'w'); main.main()"
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / wrong)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, f"pulka: {words}: {tmp_path / wrong}\n")


def test_an_error_of_ours_keeps_its_traceback():
    """Without a path there is nothing that a person could mend."""
    program = "from services.cli import main\ndef broken(**_): raise FileNotFoundError(2, 'x')\nmain.pulka.main = broken; main.main()"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "Traceback" in done.stderr


@pytest.mark.parametrize("answer", ["n\n", ""])
def test_nobody_is_erased_without_a_yes(tmp_path, answer):
    """A no, or nobody there to answer: said, with status 2."""
    MasterKeys.create(tmp_path / "master_keys", "k1", b"m" * 32)
    environment = {"PULKA_MASTER_KEYS_FILE": str(tmp_path / "master_keys"), **token_variables(tmp_path)}
    found = CliRunner(env=environment).invoke(erase, ["P", "--url", "http://127.0.0.1:1"], input=answer)
    assert isinstance(found.exception, CannotStart)
    assert (str(found.exception), found.exception.exit_code) == ("not erased; give --yes to erase without a question", 2)
