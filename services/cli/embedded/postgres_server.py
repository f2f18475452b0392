"""The embedded Postgres: made by initdb on first use, on loopback, passwords only (scram)."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from services.cli.embedded.account import Account
from services.cli.embedded.binaries import Binaries
from services.cli.embedded.home import Home, password, write_private
from services.cli.embedded.process import Server, command_of
from shared.web.service import CannotStart

USER = "pulka"
DATABASE = "postgres"  # the one that initdb makes; schemas keep our parts apart
_PART = "postgres.part-"  # before the name of a folder that initdb has not finished
INITDB_SECONDS = 120  # takes 0.4 s; a slow disk may need a hundred times that
STOP = ((signal.SIGINT, 1.0), (signal.SIGQUIT, 0.3))  # fast stop with a checkpoint; at once, to recover at the next start; then SIGKILL
OPTIONS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",  # a socket's path may have 107 bytes, HOME may have more
    "fsync": "on",  # said, since the figures depend on it
    "max_connections": "300",  # three projectors hold one for each of up to 64 partitions; then pools, rebuilds and people
    "shared_buffers": "64MB",  # read tables of one club; the kernel caches the rest
    "jit": "off",  # short queries only: compiling one takes longer than running it
    "io_method": "sync",  # no I/O workers for a database that fits into memory
    "max_logical_replication_workers": "0",  # none are used, so not even their launcher runs
    "max_parallel_workers_per_gather": "0",  # short queries; and small containers have little /dev/shm
    "random_page_cost": "1.1",  # solid-state disks
    "checkpoint_timeout": "15min",  # fewer full-page images
    "log_checkpoints": "off",  # the log is for what went wrong
    "timezone": "UTC",
    "log_timezone": "UTC",
}


def postgres_dsn(home: Home, port: int) -> str:
    """The connection string, password included."""
    return f"postgresql://{USER}:{password(home.keys / 'postgres')}@127.0.0.1:{port}/{DATABASE}"


def postgres_server(home: Home, binaries: Binaries, account: Account, port: int) -> Server:
    """Make the database if there is none, clear what a killed one left, and say how the server is run."""
    data = home.postgres
    if not data.exists():
        _make(home, binaries, account)
    elif not (home.keys / "postgres").exists():
        raise CannotStart(f"{home.path} has a database but its password {home.keys / 'postgres'} is missing: put it back")
    account.own(data)
    disown_stale_pid(data)
    options = [word for name, value in OPTIONS.items() for word in ("-c", f"{name}={value}")]
    return Server(
        name="postgres",
        command=[str(binaries.postgres / "postgres"), "-D", str(data), "-p", str(port), *options],
        port=port,
        folder=data,
        log=home.logs / "postgres.log",
        ready=lambda pid: _says_ready(data, pid),
        stop=STOP,
        death_signal=signal.SIGINT,
    )


def disown_stale_pid(data: Path) -> None:
    """Let a `postmaster.pid` whose number now belongs to another program not keep Postgres from starting.

    Postgres passes over the number of its own parent, so that is written in; the file stays, since its last lines let
    Postgres see whether backends of the killed server are still there.
    """
    file = data / "postmaster.pid"
    try:
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        pid = int(lines[0])
    except (FileNotFoundError, ValueError, IndexError):
        file.unlink(missing_ok=True)  # cut off by a full disk: Postgres would refuse it for ever
        return
    if str(data) not in command_of(pid):
        file.write_text("".join([f"{os.getpid()}\n", *lines[1:]]), encoding="utf-8")


def _make(home: Home, binaries: Binaries, account: Account) -> None:
    for left in home.path.glob(f"{_PART}*"):
        shutil.rmtree(left, ignore_errors=True)
    # Renamed when whole, so a killed initdb is never taken for a database; our own, since the initdb of a killed start may still write.
    part = Path(tempfile.mkdtemp(prefix=_PART, dir=home.path))
    account.own(part)
    secret = home.path / ".postgres_password"
    write_private(secret, password(home.keys / "postgres") + "\n")
    account.own(secret)
    command = [str(binaries.postgres / "initdb"), "-D", str(part), f"--username={USER}", f"--pwfile={secret}"]
    try:
        made = account.run(
            [*command, "--auth=scram-sha-256", "--encoding=UTF8", "--locale-provider=builtin", "--locale=C.UTF-8", "--no-instructions"],
            INITDB_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise CannotStart(f"initdb did not end in {INITDB_SECONDS} s") from None
    finally:
        secret.unlink()
    if made.returncode != 0:
        if "No space left" in made.stderr:
            raise CannotStart(f"disk full: initdb cannot write to {home.path}")
        raise CannotStart(f"initdb failed: {(made.stderr.strip() or f'status {made.returncode}').splitlines()[-1]}")
    part.rename(home.postgres)


def _says_ready(data: Path, pid: int) -> bool:
    """Whether `postmaster.pid` is that of `pid` and its eighth line says ready."""
    try:
        lines = (data / "postmaster.pid").read_text(encoding="utf-8").split("\n")
    except OSError:
        return False
    return len(lines) > 7 and lines[0].strip() == str(pid) and lines[7].strip() == "ready"
