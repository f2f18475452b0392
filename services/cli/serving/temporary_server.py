"""A temporary `pulka up`: in a temporary folder, on a free port, stopped together with the process that started it."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import msgspec

from services.cli.embedded import launch
from shared.web.service import CannotStart

READY_SECONDS = 60.0  # initdb and first start take about two seconds; a busy machine ten times as long
STOP_SECONDS = 8.0  # a stop takes under five
PIPE_SECONDS = 1.0  # a pipe ends with the last process that has it, and those of its servers end when it does
_TAIL = 20  # lines of its standard error that are kept to tell why it did not start


@contextlib.contextmanager
def own_server() -> Iterator[str]:
    """The address of a server that lives as long as the context. Raises `CannotStart` with its own last line when it does not come up."""
    with tempfile.TemporaryDirectory(prefix="pulka-demo-") as folder, _process(Path(folder)) as heard:
        yield heard.address()


@contextlib.contextmanager
def _process(home: Path) -> Iterator[_Heard]:
    """`pulka up`, tied to our life: it is told to stop when the context ends, and by the kernel when we are killed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PULKA_")}  # servers and keys of its own
    tied = [sys.executable, "-I", "-S", launch.__file__, str(os.getpid()), str(int(signal.SIGTERM)), "-"]
    command = [
        sys.executable,
        "-c",
        "from services.cli.main import main; main()",
        "up",
        "--home",
        str(home / "home"),
        "--port",
        "0",
        "--json",
    ]
    process = subprocess.Popen(  # noqa: S603 - our own command
        [*tied, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )  # a session of its own: Ctrl-C reaches us first, and the demo ends in order
    heard = _Heard(process)
    try:
        yield heard
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        heard.end()


class _Heard:
    """What the process says. Each pipe is read to its end, so that it never fills, and closed there, by the thread that reads it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None and process.stderr is not None  # noqa: S101, PT018 - both are pipes
        self._out, self._err = process.stdout, process.stderr
        self._first: queue.Queue[str] = queue.Queue()
        self._complaints: list[str] = []
        self._readers = [threading.Thread(target=read, daemon=True) for read in (self._read_answer, self._read_complaints)]
        for reader in self._readers:
            reader.start()

    def end(self) -> None:
        """Wait for the ends of the pipes, once the process is gone."""
        for reader in self._readers:
            reader.join(PIPE_SECONDS)

    def address(self) -> str:
        """The address in its ready line. Raises `CannotStart`."""
        try:
            line = self._first.get(timeout=READY_SECONDS)
        except queue.Empty:
            raise CannotStart(f"the demo's server was not ready in {READY_SECONDS:.0f} s") from None
        if line:
            return str(msgspec.json.decode(line)["url"])
        self._readers[1].join(STOP_SECONDS)
        raise CannotStart(f"the demo's own server did not start: {_reason(self._complaints)}")

    def _read_answer(self) -> None:
        with self._out:
            self._first.put(self._out.readline())
            for _ in self._out:
                pass  # it says no more than that

    def _read_complaints(self) -> None:
        with self._err:
            self._complaints.extend(deque(self._err, maxlen=_TAIL))


def _reason(complaints: list[str]) -> str:
    """The message of its last line, which is an error object where it failed in order."""
    last = complaints[-1].strip() if complaints else "it said nothing"
    try:
        return str(msgspec.json.decode(last)["error"]["message"])
    except (msgspec.DecodeError, KeyError, TypeError):
        return last
