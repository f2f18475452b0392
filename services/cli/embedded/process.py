"""One server as a child process: started, asked whether it is ready, stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from services.cli.embedded.account import Account
from shared.web.service import CannotStart, ServersUnreachable

ON_LINUX: bool = sys.platform == "linux"  # typed, since mypy would take the other branch for dead
POLL_SECONDS = 0.005  # NATS is up in 8 ms, Postgres in 18: looking more seldom would be most of the wait
LOG_LIMIT = 16 * 1024 * 1024  # bytes; a longer log is put aside at the next start, so that two of them bound the disk
TAIL = 4096  # bytes of a log that are searched for the reason of an end


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """What is run. `ready(pid)` looks once and does not wait. `stop`: signals and the seconds each is given, gentlest first.

    `death_signal` is what the kernel sends it when we are killed.
    """

    name: str
    command: list[str]
    port: int
    folder: Path
    log: Path
    ready: Callable[[int], bool]
    stop: tuple[tuple[signal.Signals, float], ...]
    death_signal: signal.Signals


class Child:
    """A server's process, or the one before it: `launch` may be called again whenever it is not alive."""

    def __init__(self, server: Server, account: Account, pid_file: Path) -> None:
        self.server = server
        self._account = account
        self._pid_file = pid_file
        self._process: subprocess.Popen[bytes] | None = None
        self._log_start = 0
        self.launched_at = 0.0

    @property
    def pid(self) -> int:
        """Process id of the last launch; 0 before the first."""
        return self._process.pid if self._process else 0

    @property
    def alive(self) -> bool:
        """Whether it runs; reaps it when it has ended."""
        return self._process is not None and self._process.poll() is None

    @property
    def status(self) -> int | None:
        """Exit status of an ended process, negative for a signal."""
        return self._process.returncode if self._process else None

    def launch(self) -> None:
        """Start the process. Only from the main thread: it dies with the *thread* that started it."""
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("a server is started from the main thread, or it would end with its thread")
        server = self.server
        if server.log.exists() and server.log.stat().st_size > LOG_LIMIT:
            server.log.replace(server.log.with_suffix(".old.log"))
        self._log_start = server.log.stat().st_size if server.log.exists() else 0
        self._process = self._account.start(server.command, server.log, server.death_signal, server.folder)
        self.launched_at = time.monotonic()
        self._pid_file.write_text(f"{self._process.pid}\n", encoding="ascii")

    def ready(self) -> bool:
        """Whether it answers; raises `CannotStart` with the reason when it has ended instead."""
        if not self.alive:
            raise self.why_it_ended()
        return self.server.ready(self.pid)

    def wait_ready(self, limit: float) -> None:
        """Wait until it answers, at most `limit` seconds; raises `CannotStart` or `ServersUnreachable`."""
        deadline = time.monotonic() + limit
        while not self.ready():
            if time.monotonic() > deadline:
                raise ServersUnreachable(f"{self.server.name} did not become ready in {limit:.0f} s: see {self.server.log}")
            time.sleep(POLL_SECONDS)

    def stop(self) -> None:
        """End it, gently first; returns when it is gone."""
        if self._process is None:
            return
        for number, seconds in self.server.stop:
            if self.alive:
                self._process.send_signal(number)
                try:
                    self._process.wait(seconds)
                except subprocess.TimeoutExpired:
                    continue
        if self.alive:
            self._process.kill()
        self._process.wait()
        self._pid_file.unlink(missing_ok=True)

    def why_it_ended(self) -> CannotStart:
        """The reason, from the last lines of its log, in one line."""
        with self.server.log.open("rb") as log:
            log.seek(max(self._log_start, self.server.log.stat().st_size - TAIL))
            lines = [line for line in log.read().decode(errors="replace").splitlines() if line.strip()]
        loud = [line for line in lines if "FATAL" in line or "[FTL]" in line or "[ERR]" in line or "No space left" in line]
        if any("No space left" in line for line in loud):
            return CannotStart(f"disk full: {self.server.name} cannot write to {self.server.folder}")
        last = (loud or lines or [f"status {self.status}"])[-1].strip()
        return CannotStart(f"{self.server.name} ended at once: {last} (see {self.server.log})")


def command_of(pid: int) -> str:
    """The command line of a running process, words joined by NUL or space; empty when there is no such process (or a zombie)."""
    if ON_LINUX:
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
        except OSError:
            return ""
    listed = subprocess.run(["/bin/ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False)  # noqa: S603
    return listed.stdout


def end_orphan(pid_file: Path, marker: str, gentle: signal.Signals, patience: float) -> None:
    """End the server that `pid_file` names if an earlier run left it: it runs, and `marker` is in its command line.

    It gets `gentle` and `patience` seconds, then SIGKILL. A pid that now belongs to another program is left alone.
    """
    try:
        pid = int(pid_file.read_text(encoding="ascii").split()[0])
    except (FileNotFoundError, ValueError, IndexError):
        return
    if pid <= 1 or marker not in command_of(pid):
        return
    for number, seconds in ((gentle, patience), (signal.SIGKILL, patience)):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return
        deadline = time.monotonic() + seconds
        while marker in command_of(pid):
            if time.monotonic() > deadline:
                break
            time.sleep(POLL_SECONDS)
        else:
            return
    raise CannotStart(f"process {pid} of an earlier run does not end: {marker}")
