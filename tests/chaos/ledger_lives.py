"""A ledger's many lives: each is a process of its own that serves until it is killed.

`python -m tests.chaos.ledger_lives` imports the program once and makes a fresh process for each line that it reads, which runs what
`pulka serve ledger` runs: fifty lives must not pay fifty times for importing. It tells the pid of each, and `ready` once it serves.
"""

from __future__ import annotations

import asyncio
import os
import selectors
import signal
import sys
from pathlib import Path

import msgspec

from services.cli.console.logs import log_to
from services.cli.serving.composition import serve
from services.cli.serving.process import listen
from shared.web.settings import read_settings
from tests.token_keys import token_variables

PULKA = (sys.executable, "-c", "from services.cli.main import main; main()")


class Life:
    """One ledger process."""

    def __init__(self, pid: int, ready: asyncio.Event, ended: asyncio.Event, url: str = ""):
        self.pid, self.ready, self.ended, self.url = pid, ready, ended, url

    async def kill(self):
        """`kill -9`; returns when it is dead."""
        if not self.ended.is_set():
            os.kill(self.pid, signal.SIGKILL)
        await self.ended.wait()

    def stop(self):
        """Stand still, in the middle of whatever it does."""
        os.kill(self.pid, signal.SIGSTOP)

    def go_on(self):
        """As if nothing had happened."""
        os.kill(self.pid, signal.SIGCONT)

    async def through(self, waiting):
        """Wait for something that cannot come when this life ends before."""
        waiting, ended = asyncio.ensure_future(waiting), asyncio.create_task(self.ended.wait())
        await asyncio.wait({waiting, ended}, return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()
        if not waiting.done():
            waiting.cancel()
            raise AssertionError("the ledger has ended by itself")
        return await waiting


class Lives:
    """Starts ledgers against given servers, which write their logs into `folder`; whatever still lives ends with the context."""

    def __init__(self, nats_url: str, postgres_dsn: str, namespace: str, folder: Path):
        keys = folder / "master_keys"
        keys.write_text("test:" + "5a" * 32 + "\n")
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PULKA_")},
            "PULKA_NATS_URL": nats_url,
            "PULKA_POSTGRES_DSN": postgres_dsn,
            "PULKA_NAMESPACE": namespace,
            "PULKA_NATS_DURABLE": "yes",
            "PULKA_MASTER_KEYS_FILE": str(keys),
            **token_variables(folder),
        }
        self._errors = (folder / "ledger.log").open("ab")
        self._lives: dict[int, Life] = {}
        self._born: asyncio.Queue[Life] = asyncio.Queue()
        self._mother: asyncio.subprocess.Process | None = None
        self._tasks: list[asyncio.Task] = []

    async def __aenter__(self):
        self._mother = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.chaos.ledger_lives",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=self._errors, env=self._environment,
        )  # fmt: skip
        self._tasks.append(asyncio.create_task(self._hear()))
        return self

    async def __aexit__(self, *_):
        for life in list(self._lives.values()):
            await life.kill()
        self._mother.stdin.close()
        await self._mother.wait()
        await asyncio.gather(*self._tasks)
        self._errors.close()

    async def start(self) -> Life:
        """A ledger in a process of its own, which has only begun to start."""
        self._mother.stdin.write(b"live\n")
        return await self._born.get()

    async def command(self) -> Life:
        """The same by the command itself, `pulka serve ledger`."""
        process = await asyncio.create_subprocess_exec(
            *PULKA, "serve", "ledger", "--port", "0", "--json",
            stdout=asyncio.subprocess.PIPE, stderr=self._errors, env=self._environment,
        )  # fmt: skip
        life = self._lives[process.pid] = Life(process.pid, asyncio.Event(), asyncio.Event())
        self._tasks.append(asyncio.create_task(self._attend(process, life)))
        return life

    async def _attend(self, process, life):
        line = await process.stdout.readline()
        if line:
            life.url = msgspec.json.decode(line)["url"]
            life.ready.set()
        await process.wait()
        life.ended.set()

    async def _hear(self):
        while line := (await self._mother.stdout.readline()).decode():
            what, pid, *more = line.split()
            match what:
                case "born":
                    life = self._lives[int(pid)] = Life(int(pid), asyncio.Event(), asyncio.Event())
                    self._born.put_nowait(life)
                case "ready":
                    self._lives[int(pid)].url = more[0]
                    self._lives[int(pid)].ready.set()
                case "dead":
                    self._lives[int(pid)].ended.set()


def tell(*words: object) -> None:
    """One line, written at once and whole: mother and children share the pipe."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def live() -> None:
    """What a child does."""
    settings = read_settings(os.environ)
    log_to(sys.stderr, settings.log_level)
    with listen(settings.host, 0) as listener:
        complete = msgspec.structs.replace(settings, port=listener.getsockname()[1])
        serve(complete, ["ledger"], listener, lambda: tell("ready", os.getpid(), complete.url))


def main() -> None:
    """A life for each line; the end of the input is the end of all."""
    with selectors.DefaultSelector() as watched:
        watched.register(0, selectors.EVENT_READ)
        children: set[int] = set()
        while watched.get_map():
            for key, _ in watched.select():
                if key.fd != 0:
                    watched.unregister(key.fd)
                    os.close(key.fd)
                    os.waitpid(key.data, 0)
                    children.discard(key.data)
                    tell("dead", key.data)
                    continue
                asked = os.read(0, 4096)
                if not asked:
                    watched.unregister(0)
                    for pid in children:
                        os.kill(pid, signal.SIGKILL)
                for _ in range(asked.count(b"\n")):
                    pid = os.fork()
                    if not pid:
                        live()
                        os._exit(0)
                    children.add(pid)
                    watched.register(os.pidfd_open(pid), selectors.EVENT_READ, pid)
                    tell("born", pid)


if __name__ == "__main__":
    main()
