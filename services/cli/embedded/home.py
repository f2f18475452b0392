"""HOME: one folder with everything that lasts, held by one process at a time.

lock        who holds it          run/    ports, configuration written anew at each start, where the API answers
keys/       keys and passwords    logs/   of the servers and the services
nats/       the log               postgres/
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
import socket
import tempfile
import time
from pathlib import Path

import msgspec

from shared.web.service import CannotStart

LEAST_FREE = 256 * 1024 * 1024  # bytes; a new Postgres takes 40 MB and a WAL segment 16 MB, the rest is room to stop in order

LINGER_SECONDS = 1.0  # a child that a killed run was just forking holds its lock until it becomes another program: milliseconds
LINGER_POLL_SECONDS = 0.005  # see LINGER_SECONDS


class HomeLocked(CannotStart):
    """Another process holds this HOME."""


class Home:
    """The folders of a HOME, its lock, and its small files. Entered: the folders exist and nobody else has them."""

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().resolve()
        self.keys = self.path / "keys"
        self.run = self.path / "run"
        self.logs = self.path / "logs"
        self.nats = self.path / "nats"
        self.log = self.nats / "jetstream"  # NATS names it so, and makes it at its first start
        self.postgres = self.path / "postgres"
        self._address = self.run / "address"
        self._lock: int | None = None

    def open(self) -> None:
        """Make the folders and take the lock; raises `HomeLocked`, or `CannotStart` for a closed folder or a full disk."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._take_lock()
            for folder in (self.keys, self.run, self.logs):
                folder.mkdir(mode=0o700, exist_ok=True)
            self._address.unlink(missing_ok=True)  # of a run before; nothing answers here yet
        except PermissionError as refused:
            raise CannotStart(f"no permission for {refused.filename}: choose another folder with --home") from None
        except (NotADirectoryError, FileExistsError) as wrong:
            raise CannotStart(f"{wrong.filename} is not a folder: choose another with --home") from None
        except OSError as wrong:  # a name too long, a read-only or a full file system
            raise CannotStart(f"cannot write to {self.path} ({wrong.strerror}): choose another folder with --home") from None
        free = shutil.disk_usage(self.path).free
        if free < LEAST_FREE:
            self.close()
            raise CannotStart(f"disk full: {free >> 20} MB are free under {self.path}, {LEAST_FREE >> 20} MB are needed")

    def close(self) -> None:
        """Give the lock back; the kernel does it when we are killed."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @property
    def held(self) -> bool:
        """Whether a process has it. A start in this moment is not disturbed: it tries for its lock a while. Raises `PermissionError`."""
        try:
            lock = os.open(self.path / "lock", os.O_RDONLY | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            return False
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(lock)
        return False

    @property
    def has_log(self) -> bool:
        """Whether NATS ever wrote here; a volume that is mounted at HOME/nats may hold anything else."""
        return self.log.exists()

    def tell_address(self, url: str) -> None:
        """Leave word of where the API answers, for the commands beside it; it counts as long as the home is held."""
        write_private(self._address, url + "\n")

    def address(self) -> str | None:
        """Where the API of the process that has this home answers; None while there is none. Raises `PermissionError`."""
        try:
            return self._address.read_text(encoding="utf-8").strip() if self.held else None
        except FileNotFoundError:  # it is starting, or serves nothing
            return None

    def _take_lock(self) -> None:
        lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + LINGER_SECONDS
        while not _locked(lock):
            holder = os.pread(lock, 20, 0).decode(errors="replace").strip()
            if _runs(holder) or time.monotonic() > deadline:
                os.close(lock)
                raise HomeLocked(f"already running in {self.path}" + (f" (process {holder})" if holder else ""))
            time.sleep(LINGER_POLL_SECONDS)
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        self._lock = lock


def write_private(path: Path, text: str) -> None:
    """Write `path` whole or not at all, readable by its owner alone, safe on disk when this returns."""
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # made 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(part).replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(part).unlink()
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # the name too
    finally:
        os.close(folder)


def password(path: Path) -> str:
    """The password kept in `path`, made on first use: 32 URL-safe characters (192 bits)."""
    if not path.exists():
        write_private(path, secrets.token_urlsafe(24) + "\n")
    return path.read_text(encoding="utf-8").strip()


class Ports(msgspec.Struct):
    """Loopback ports of the servers, kept so that a restart finds the same; 0: none yet."""

    nats: int = 0
    postgres: int = 0


def load_ports(home: Home) -> Ports:
    """The ports last used; a file that cannot be read counts as none."""
    try:
        return msgspec.json.decode((home.run / "ports.json").read_bytes(), type=Ports)
    except (FileNotFoundError, msgspec.DecodeError, msgspec.ValidationError):
        return Ports()


def save_ports(home: Home, ports: Ports) -> None:
    """Keep `ports` for the next start."""
    write_private(home.run / "ports.json", msgspec.json.encode(ports).decode())


def free_port(wanted: int = 0) -> int:
    """`wanted` if it is free on loopback, else another that is."""
    for port in (wanted, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections in TIME_WAIT do not keep a port
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise CannotStart("no free port on 127.0.0.1")


def _locked(lock: int) -> bool:
    """Whether the lock is ours now."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _runs(holder: str) -> bool:
    """Whether the process that wrote its number into the lock is still there."""
    if not holder.isdecimal():
        return False
    try:
        os.kill(int(holder), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
