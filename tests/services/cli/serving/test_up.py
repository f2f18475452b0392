"""`pulka up` as a person meets it: ready by one line, stopped in time, started again where it was, complaints in one line."""

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import asyncpg
import httpx
import pytest

from services.cli.embedded import EmbeddedServers
from tests.services.cli.processes import processes_of, until

pytestmark = pytest.mark.servers
ROOT = Path(__file__).parents[4]
PULKA = [sys.executable, "-c", "from services.cli.main import main; main()"]
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PULKA_")}
STOP_SECONDS = 5.0  # deploy/docs/command-line.md
OPERATING = (ROOT / "deploy" / "docs" / "operating.md").read_text(encoding="utf-8")


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def up(home):
    """Start `pulka up --json` and give the process and its ready line; what was started is killed at the end."""
    running = []

    def start(*arguments, environment=None):
        command = [*PULKA, "up", "--home", str(home), "--port", "0", "--json", *arguments]
        environment = {**ENVIRONMENT, **(environment or {})}
        running.append(subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True))
        return running[-1], json.loads(running[-1].stdout.readline())

    yield start
    for process in running:
        process.kill()
        process.communicate()


def pulka(*arguments, environment=None, document=None):
    """Run a command to its end: status, standard output, standard error."""
    done = subprocess.run(
        [*PULKA, *arguments],
        cwd=ROOT,
        env={**ENVIRONMENT, **(environment or {})},
        input=document,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def sign_up(url):
    """A player of that name: his id and token."""
    answer = httpx.post(f"{url}/v1/lobby/players", json={"name": "Vera"})
    answer.raise_for_status()
    return answer.json()["player"]["id"], answer.json()["token"]


def me(url, token):
    return httpx.get(f"{url}/v1/lobby/me", headers={"Authorization": f"Bearer {token}"})


def test_up_is_ready_stops_in_time_and_goes_on(home, up):
    """All services answer under the one address; SIGTERM ends everything within five seconds; the next start knows who signed up."""
    process, ready = up()
    assert set(ready) == {"url", "nats", "postgres", "home", "pids"}
    assert ready["home"] == str(home)
    assert ready["pids"]["pulka"] == process.pid
    health = httpx.get(f"{ready['url']}/health").json()
    assert health["status"] == "ok"
    assert set(health["services"]) == {"lobby", "table", "ledger", "bots"}
    player, token = sign_up(ready["url"])
    began = time.monotonic()
    process.terminate()
    assert process.wait(STOP_SECONDS) == 0
    assert time.monotonic() - began < STOP_SECONDS
    assert processes_of(home) == []
    _, ready = up()
    assert me(ready["url"], token).json()["player"] == {"id": player, "name": "Vera"}


def test_the_connections_of_the_ready_line_can_be_used(up):
    """Other programs of the same user connect with the two strings as they stand."""
    _, ready = up()

    async def ask():
        connection = await asyncpg.connect(ready["postgres"])
        try:
            return await connection.fetchval("select 1")
        finally:
            await connection.close()

    assert asyncio.run(ask()) == 1
    assert ready["nats"].startswith("nats://service:")


def stop(process):
    process.terminate()
    assert process.wait(STOP_SECONDS) == 0


def put_aside(dsn):
    """What operating.md runs by psql, which executes each row of this answer."""

    async def run():
        connection = await asyncpg.connect(dsn)
        try:
            for row in await connection.fetch(re.search(r"^(SELECT format\('ALTER SCHEMA.*) \\gexec$", OPERATING, re.MULTILINE)[1]):
                await connection.execute(row[0])
            return {row[0] for row in await connection.fetch("SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_'")}
        finally:
            await connection.close()

    return asyncio.run(run())


def test_a_club_goes_on_with_an_older_log_by_the_steps_of_the_page(home, up):
    """A log that lost its end is `log_behind`; the servers alone start, the rows are put aside, and who is in that log plays on."""
    process, ready = up()
    player, token = sign_up(ready["url"])
    stop(process)
    shutil.copytree(home / "nats", home / "older")
    process, ready = up()
    for _ in range(20):  # their streams are eight
        sign_up(ready["url"])
    until(lambda: httpx.get(f"{ready['url']}/health").json()["services"]["lobby"]["rows"]["lag_events"] == 0)
    stop(process)
    owner = (home / "nats").stat()
    shutil.rmtree(home / "nats")
    (home / "older").rename(home / "nats")
    for path in (home / "nats", *(home / "nats").rglob("*")):
        os.chown(path, owner.st_uid, owner.st_gid)

    status, out, complaint = pulka("up", "--home", str(home), "--port", "0")
    assert (status, out) == (2, "")
    assert re.fullmatch(r"pulka: the (lobby|table service) refuses to run: log_behind: LOBBY_\d ends at .*\n", complaint)

    process, ready = up("--servers-only")
    assert set(ready) == {"nats", "postgres", "home", "pids"}
    assert {"vault", "ledger_v1", "before_projections", "before_proofs", "before_lobby_v1"} <= put_aside(ready["postgres"])
    stop(process)
    assert processes_of(home) == []
    process, ready = up()
    assert me(ready["url"], token).json()["player"] == {"id": player, "name": "Vera"}
    until(lambda: httpx.get(f"{ready['url']}/health").json()["status"] == "ok")
    status, out, _ = pulka("ledger", "status", "--json", environment={"PULKA_HOME": str(home)})
    assert [version["version"] for version in json.loads(out)["versions"]] == [2]


def test_servers_of_others_are_not_started_alone():
    """With both connections given there is nothing to start."""
    environment = {"PULKA_NATS_URL": "nats://127.0.0.1:1", "PULKA_POSTGRES_DSN": "postgresql://127.0.0.1:1/x"}
    status, _, complaint = pulka("up", "--servers-only", environment=environment)
    assert status == 2
    assert "--servers-only: PULKA_NATS_URL and PULKA_POSTGRES_DSN name servers that others run" in complaint


@pytest.mark.chaos
def test_a_killed_server_is_restarted_under_running_services(up):
    """`kill -9` of Postgres and of NATS: the same process answers well again, without a restart of its own."""
    process, ready = up()
    _, token = sign_up(ready["url"])
    for name in ("postgres", "nats"):
        os.kill(ready["pids"][name], signal.SIGKILL)
    until(lambda: me(ready["url"], token).status_code == 200, seconds=30)
    until(lambda: httpx.get(f"{ready['url']}/health").json()["status"] == "ok", seconds=30)
    assert sign_up(ready["url"])
    assert process.poll() is None


@pytest.mark.chaos
def test_nothing_outlives_a_killed_pulka(home, up):
    """`kill -9` of `pulka up` ends its servers too; the next start goes on."""
    process, ready = up()
    player, token = sign_up(ready["url"])
    process.kill()
    process.wait()
    _, ready = up()
    assert me(ready["url"], token).json()["player"] == {"id": player, "name": "Vera"}
    assert len({line.split()[0] for line in processes_of(home) if "nats-server" in line}) == 1


def test_given_servers_are_used_instead(home, tmp_path, up):
    """With PULKA_NATS_URL and PULKA_POSTGRES_DSN nothing is started beside them, and the log's durability is not vouched for."""
    with EmbeddedServers(tmp_path / "elsewhere") as servers:
        _, ready = up(environment={"PULKA_NATS_URL": servers.nats_url, "PULKA_POSTGRES_DSN": servers.postgres_dsn})
        assert (ready["nats"], ready["postgres"]) == (servers.nats_url, servers.postgres_dsn)
        assert set(ready["pids"]) == {"pulka"}
        assert not (home / "nats").exists()
        assert "unverified" in httpx.get(f"{ready['url']}/health").text
        assert sign_up(ready["url"])


def test_a_home_or_port_in_use_is_one_line(home, up):
    """The second `pulka up` says what is in its way, with status 2 and without a traceback."""
    _, ready = up()
    assert pulka("up", "--home", str(home), "--port", "0") == (
        2,
        "",
        f"pulka: already running in {home} (process {ready['pids']['pulka']})\n",
    )
    port = ready["url"].rpartition(":")[2]
    status, out, err = pulka("up", "--home", str(home) + "2", "--port", port, "--json")
    assert (status, out) == (2, "")
    assert json.loads(err) == {
        "error": {"code": "cannot_start", "message": f"port {port} is taken: choose another with --port (0 takes a free one)"}
    }


@pytest.mark.parametrize(
    ("arguments", "environment", "status", "message"),
    [
        (("serve", "all"), {}, 2, "pulka: PULKA_NATS_URL is not set (`pulka up` starts servers of its own)\n"),
        (
            ("serve", "all"),
            {"PULKA_NATS_URL": "nats://u:hush@127.0.0.1:1", "PULKA_POSTGRES_DSN": "postgresql://u:hush@127.0.0.1:1/db"},
            3,
            "pulka: NATS does not answer at nats://u:***@127.0.0.1:1\n",
        ),
        (("settings",), {"PULKA_PORT": "http"}, 2, "pulka: PULKA_PORT: Expected `int`, got `str`\n"),
        (
            ("up", "--home", "/proc/pulka", "--port", "0"),
            {},
            2,
            "pulka: cannot write to /proc/pulka (No such file or directory): choose another folder with --home\n",
        ),
        (
            ("demo", "--json", "--target", "0"),
            {},
            2,
            '{"error":{"code":"usage","message":"Invalid value for \'--target\': 0 is not in the range 1<=x<=500."}}\n',
        ),
    ],
)
def test_what_is_missing_is_one_line(arguments, environment, status, message):
    """Status 2 for what the user can set right, 3 for servers that do not answer; passwords are masked, and --json asks for an object."""
    assert pulka(*arguments, environment=environment) == (status, "", message)


def test_settings_are_listed():
    """`pulka settings --json` names every variable with its value."""
    status, out, _ = pulka("settings", "--json", environment={"PULKA_PORT": "81"})
    assert status == 0
    assert {row["variable"]: row["value"] for row in json.loads(out)}["PULKA_PORT"] == 81
