"""The embedded NATS and Postgres: they start, keep what they stored, come back when killed, and leave nothing behind."""

import asyncio
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import asyncpg
import nats
import pytest
from nats.errors import TimeoutError as NatsTimeout

from services.cli.embedded import EmbeddedServers, HomeLocked
from services.cli.embedded.account import NOBODY, choose_account
from services.cli.embedded.binaries import _copied, _installed
from shared.events.token_keys import read_public
from shared.web.auth import issuing, verifying
from shared.web.service import CannotStart
from shared.web.settings import Settings
from tests.services.cli.processes import processes_of, until, until_async

pytestmark = pytest.mark.servers
ROOT = Path(__file__).parents[4]


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


async def count(servers):
    """One more row in Postgres: the number of rows."""
    connection = await asyncpg.connect(servers.postgres_dsn)
    try:
        await connection.execute("create table if not exists mark (at timestamptz default now())")
        await connection.execute("insert into mark default values")
        return await connection.fetchval("select count(*) from mark")
    finally:
        await connection.close()


async def append(servers, url=None):
    """One more message in NATS: its sequence."""
    connection = await nats.connect(url or servers.nats_url)
    try:
        stream = connection.jetstream()
        await stream.add_stream(name="MARK", subjects=["mark"])
        return (await stream.publish("mark", b"")).seq
    finally:
        await connection.close()


def nats_address(servers):
    return "127.0.0.1", int(servers.nats_url.rpartition(":")[2])


def killed(servers, name):
    """Kill a server as the kernel's memory killer would, and wait until it is dead."""
    os.kill(servers.pids[name], signal.SIGKILL)
    os.waitid(os.P_PID, servers.pids[name], os.WEXITED | os.WNOWAIT)


async def test_a_restart_goes_on_where_it_was(home):
    """What was stored before a stop is there after the next start, on the same ports and under the same passwords."""
    with EmbeddedServers(home) as servers:
        before = (servers.nats_url, servers.postgres_dsn)
        assert (await append(servers), await count(servers)) == (1, 1)
    with EmbeddedServers(home) as servers:
        assert (servers.nats_url, servers.postgres_dsn) == before
        assert (await append(servers), await count(servers)) == (2, 2)


async def test_a_stop_leaves_no_process_and_takes_under_two_seconds(home):
    """Leaving the context ends both servers, with clients connected, within their two seconds of the five."""
    with EmbeddedServers(home) as servers:
        bystander = await nats.connect(servers.nats_url, allow_reconnect=False)
        connection = await asyncpg.connect(servers.postgres_dsn)
        began = time.monotonic()
    assert time.monotonic() - began < 2
    assert processes_of(home) == []
    connection.terminate()
    await bystander.close()


@pytest.mark.chaos
async def test_a_killed_server_comes_back_on_its_port(home):
    """`kill -9` of NATS, then of Postgres: the watch restarts it where clients look for it, and nothing acknowledged is lost."""
    with EmbeddedServers(home) as servers:
        before = (servers.nats_url, servers.postgres_dsn)
        assert (await append(servers), await count(servers)) == (1, 1)
        watching = asyncio.create_task(servers.watch())
        for name, mark in (("nats", append), ("postgres", count)):
            pid = servers.pids[name]
            killed(servers, name)
            await until_async(lambda name=name, pid=pid: servers.pids[name] != pid)
            servers.revive()  # returns when it answers
            assert await mark(servers) == 2
        assert (servers.nats_url, servers.postgres_dsn) == before
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


@pytest.mark.chaos
async def test_without_a_watch_a_killed_server_stays_down_until_revived(home):
    """Tests decide how long an outage lasts."""
    with EmbeddedServers(home, postgres=False) as servers:
        killed(servers, "nats")
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(nats_address(servers))
        servers.revive()
        assert await append(servers) == 1


@pytest.mark.chaos
def test_no_server_outlives_a_killed_parent(home):
    """`kill -9` of the process that started them ends both servers, and the next start finds its HOME usable."""
    parent = subprocess.Popen(
        [sys.executable, "-m", "tests.services.cli.serving.parent", str(home)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    pids = json.loads(parent.stdout.readline())
    assert len(processes_of(home)) >= len(pids)
    parent.kill()
    parent.communicate()
    with EmbeddedServers(home) as servers:  # at once: also while the old ones are still ending
        assert not set(servers.pids.values()) & set(pids.values())
    until(lambda: not processes_of(home))


@pytest.mark.chaos
def test_a_parent_killed_while_it_starts_leaves_a_usable_home(home):
    """Whenever the first start is killed, the next one works: nothing half made is taken for whole."""
    for delay in (0.05, 0.15, 0.3, 0.45):
        parent = subprocess.Popen(
            [sys.executable, "-m", "tests.services.cli.serving.parent", str(home)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )
        try:
            parent.wait(delay + 0.1)
        except subprocess.TimeoutExpired:
            parent.kill()
        parent.communicate()
    with EmbeddedServers(home) as servers:
        assert asyncio.run(count(servers)) == 1


def test_the_initdb_of_a_killed_start_does_not_disturb_the_next(home):
    """It may still write when the next start makes its own database, so each has a folder of its own."""
    seen = set()

    def parts():
        return {part.name for part in home.glob("postgres.part*")}

    for _ in range(3):
        parent = subprocess.Popen(
            [sys.executable, "-m", "tests.services.cli.serving.parent", str(home)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )
        until(lambda: parts() - seen)
        parent.kill()
        parent.communicate()
        seen.update(parts())
    with EmbeddedServers(home) as servers:
        assert asyncio.run(count(servers)) == 1


def test_one_process_holds_a_home(home):
    """A second start on the same HOME says so in one line and does no harm."""
    with EmbeddedServers(home) as servers:
        with pytest.raises(HomeLocked, match=f"already running in .* \\(process {os.getpid()}\\)"):
            EmbeddedServers(home).start()
        assert asyncio.run(count(servers)) == 1


def test_a_stale_pid_file_that_names_a_living_stranger_does_not_keep_postgres_away(home):
    """After a power cut the recorded pid may belong to anybody; that process is left alone and Postgres starts."""
    with EmbeddedServers(home, nats=False) as servers:
        data = home / "postgres" / "postmaster.pid"
        lines = data.read_text().splitlines()
        killed(servers, "postgres")
    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        data.write_text("\n".join([str(stranger.pid), *lines[1:], ""]))
        (home / "run" / "postgres.pid").write_text(f"{stranger.pid}\n")
        with EmbeddedServers(home, nats=False) as servers:
            assert asyncio.run(count(servers)) == 1
        assert stranger.poll() is None
    finally:
        stranger.communicate(b"\n")


def test_a_taken_port_is_exchanged(home):
    """When somebody else has the port of last time, the server takes another."""
    with EmbeddedServers(home, postgres=False) as servers:
        old = servers.nats_url
        port = nats_address(servers)[1]
    listening = "import socket; s = socket.create_server(('127.0.0.1', int(__import__('sys').argv[1]))); print(flush=True); input()"
    taker = subprocess.Popen([sys.executable, "-c", listening, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        taker.stdout.readline()
        with EmbeddedServers(home, postgres=False) as servers:
            assert servers.nats_url != old
            assert asyncio.run(append(servers)) == 1
    finally:
        taker.communicate(b"\n")


def test_a_deep_folder_with_odd_letters_works(tmp_path):
    """No socket path limits the depth of HOME, and its name may hold blanks, quotes and Russian letters."""
    deep = tmp_path / ("глубоко" * 8) / 'a "quoted" folder' / "it's" / ("x" * 120)
    with EmbeddedServers(deep) as servers:
        assert asyncio.run(append(servers)) == 1
        assert asyncio.run(count(servers)) == 1


@pytest.mark.parametrize(
    ("key", "instead"), [("master_keys", "does not open what the log holds"), ("signing_key", "a new one may be made")]
)
def test_no_new_key_is_made_over_an_existing_log(home, key, instead):
    """A missing key beside a log is a refusal that names it and says what its loss means, not a new key that could not open the log."""
    with EmbeddedServers(home, postgres=False):
        pass
    (home / "keys" / key).unlink()
    with pytest.raises(CannotStart, match=f"keys/{key} is missing: .*{instead}"):
        EmbeddedServers(home, postgres=False).start()
    assert not (home / "keys" / key).exists()


def test_a_home_of_former_times_gets_the_keys_of_tokens(home):
    """With today's master key and signing key it starts; it takes players' tokens by HMAC from before this moment, a new home none."""
    with EmbeddedServers(home, postgres=False) as servers:
        fresh, files = read_public(servers.keys.token_public_keys), servers.keys
    assert fresh[1] == 0
    for file in (files.token_key, files.token_public_keys):
        file.unlink()
    began = int(time.time())
    with EmbeddedServers(home, postgres=False):
        upgraded = read_public(files.token_public_keys)
    assert began <= upgraded[1] <= time.time()
    with EmbeddedServers(home, postgres=False):
        assert read_public(files.token_public_keys) == upgraded != fresh
        assert stat.S_IMODE(files.token_key.stat().st_mode) == stat.S_IMODE(files.token_public_keys.stat().st_mode) == 0o600
        settings = Settings(token_key_file=str(files.token_key), token_public_keys_file=str(files.token_public_keys))
        assert verifying(settings).verify(issuing(settings).issue_operator("desk", began, 60, "id"), began).is_operator


def test_a_lost_database_password_is_a_refusal(home):
    """Postgres keeps only a hash of it, so a new one would lock us out."""
    with EmbeddedServers(home, nats=False):
        pass
    (home / "keys" / "postgres").unlink()
    with pytest.raises(CannotStart, match="keys/postgres is missing"):
        EmbeddedServers(home, nats=False).start()


def test_secrets_are_for_their_owner_alone(home):
    """Keys and passwords are 0600 in a folder that is 0700; no command line shows a password."""
    with EmbeddedServers(home) as servers:
        files = list((home / "keys").iterdir())
        assert len(files) == 7
        assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
        assert stat.S_IMODE((home / "keys").stat().st_mode) == 0o700
        secrets = [servers.nats_url.split(":")[2].split("@")[0], servers.postgres_dsn.split(":")[2].split("@")[0]]
        assert not any(secret in line for secret in secrets for line in processes_of(home))


async def test_services_cannot_take_anything_out_of_the_log(home):
    """The NATS user of the services is denied purge, delete of a stream and of a message; the operator's is not."""
    requests = {"STREAM.MSG.DELETE.MARK": b'{"seq": 1}', "STREAM.PURGE.MARK": b"", "STREAM.DELETE.MARK": b""}
    with EmbeddedServers(home, postgres=False) as servers:
        await append(servers)
        service = await nats.connect(servers.nats_url, error_cb=_ignore)
        for request, body in requests.items():
            with pytest.raises(NatsTimeout):
                await service.request(f"$JS.API.{request}", body, timeout=0.2)
        assert (await service.jetstream().stream_info("MARK")).state.messages == 1
        await service.close()
        operator = await nats.connect(servers.nats_operator_url)
        for request, body in requests.items():
            assert json.loads((await operator.request(f"$JS.API.{request}", body, timeout=2)).data)["success"]
        await operator.close()


async def _ignore(_reason):
    """The server says "permissions violation", which is what is wanted."""


async def test_a_password_is_asked_for(home):
    """Neither server lets anybody in without one."""
    with EmbeddedServers(home) as servers:
        with pytest.raises(asyncpg.InvalidPasswordError):
            await asyncpg.connect(servers.postgres_dsn.replace(servers.postgres_dsn.split(":")[2].split("@")[0], "guess"))
        with socket.create_connection(nats_address(servers), 2) as connection, connection.makefile("rb") as lines:
            assert lines.readline().startswith(b"INFO ")
            connection.sendall(b"CONNECT {}\r\nPING\r\n")
            assert lines.readline() == b"-ERR 'Authorization Violation'\r\n"


def test_a_file_in_the_way_is_said_in_one_line(tmp_path):
    """HOME that is a file is a refusal, not a traceback."""
    (tmp_path / "home").write_text("")
    with pytest.raises(CannotStart, match="is not a folder"):
        EmbeddedServers(tmp_path / "home").start()


def test_a_broken_key_file_names_its_line(home):
    """A key that cannot be read stops the start and says where, never what stands there."""
    (home / "keys").mkdir(parents=True)
    (home / "keys" / "master_keys").write_text("k1:0123\n")
    with pytest.raises(CannotStart, match=r"master_keys, line 1: not `id:64 hex digits`"):
        EmbeddedServers(home, nats=False, postgres=False).start()


def test_programs_are_copied_where_the_account_can_read_them(tmp_path):
    """The copy of the programs runs as well as the original (environments under a closed folder)."""
    account = choose_account(tmp_path)
    copy = _copied(_installed(), tmp_path / "bin")
    assert account.run([str(copy.nats_server), "--version"], 10).stdout.startswith("nats-server: v")
    assert account.run([str(copy.postgres / "postgres"), "--version"], 10).stdout.startswith("postgres (PostgreSQL) 18")
    assert account.run([str(copy.postgres / "initdb"), "-D", str(tmp_path / "data"), "-A", "trust"], 60).returncode == 0
    shutil.rmtree(tmp_path / "bin")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has to run Postgres as somebody else")
def test_root_without_user_namespaces_runs_them_as_nobody(monkeypatch):
    """Where `unshare` is not to be had, the account nobody runs them; the data stays usable when it is there again."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:  # pytest's own folders are closed to nobody
        Path(folder).chmod(0o755)
        home = Path(folder) / "home"
        with monkeypatch.context() as without:
            without.setenv("PATH", "/nowhere")
            with EmbeddedServers(home) as servers:
                assert asyncio.run(append(servers)) == asyncio.run(count(servers)) == 1
                owners = {Path(f"/proc/{pid}").stat().st_uid for pid in servers.pids.values()}
                assert owners == {NOBODY}
        with EmbeddedServers(home) as servers:
            assert asyncio.run(append(servers)) == asyncio.run(count(servers)) == 2
