"""NATS and Postgres of our own under one HOME, supervised: started, restarted when they die, stopped in order."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import structlog

from services.cli.embedded.account import Account, choose_account
from services.cli.embedded.binaries import Binaries, find_binaries
from services.cli.embedded.home import Home, Ports, free_port, load_ports, save_ports
from services.cli.embedded.keys import GivenFiles, KeyFiles, ensure_keys
from services.cli.embedded.log_keeper import LogKeeper
from services.cli.embedded.log_room import LogRoom, room_of
from services.cli.embedded.nats_server import nats_server, nats_url
from services.cli.embedded.postgres_server import postgres_dsn, postgres_server
from services.cli.embedded.process import Child, Server, end_orphan
from shared.web.service import CannotStart

log = structlog.get_logger()

START_SECONDS = 60.0  # recovery of a long log or of a crashed Postgres; a start from nothing takes under a second
PORT_TRIES = 3  # a port seen free can be taken before the server binds it; three times in a row is not chance
WATCH_SECONDS = 0.05  # how soon a death is noticed
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 5.0  # seconds before a restart, doubling: at once after one death, not in a storm
CALM_SECONDS = 10.0  # a server that lived this long has recovered, so the pauses begin anew
ORPHAN_SECONDS = 5.0  # for a server left by a killed run to end by itself

MakeServer = Callable[[Home, Binaries, Account, int], Server]


class EmbeddedServers:
    """A context: entered, the servers answer; left, they are gone. Start it from the main thread.

    `nats`, `postgres`: which of the two are wanted.
    `keys`: key files to use instead of HOME's. `watch()` restarts what dies, and a log that met a full disk once
    there is room, for as long as it is awaited; without it a dead server stays dead until `revive()`. Entering raises `CannotStart` with
    one line for a person.
    """

    keys: KeyFiles

    def __init__(self, home: Path, *, nats: bool = True, postgres: bool = True, keys: GivenFiles | None = None) -> None:
        self._home = Home(home)
        self._given_keys = keys or GivenFiles()
        self._makers: dict[str, MakeServer] = {}
        if nats:
            self._makers["nats"] = nats_server
        if postgres:
            self._makers["postgres"] = postgres_server
        self._children: dict[str, Child] = {}
        self._ports = Ports()
        self._keeper: LogKeeper | None = None

    @property
    def home(self) -> Path:
        """The folder with everything that lasts."""
        return self._home.path

    @property
    def logs(self) -> Path:
        """The folder of the servers' logs, and of the services'."""
        return self._home.logs

    @property
    def log_room(self) -> LogRoom | None:
        """How much the log could still take at its server's last start; None: it is not ours."""
        return None if self._keeper is None else self._keeper.given

    @property
    def nats_url(self) -> str:
        """For services: may append and read, not purge or delete."""
        return nats_url(self._home, self._ports.nats, "service")

    @property
    def nats_operator_url(self) -> str:
        """For the operator (and for tests that clear their streams away): may do everything."""
        return nats_url(self._home, self._ports.nats, "operator")

    @property
    def postgres_dsn(self) -> str:
        """Connection string of the database's owner."""
        return postgres_dsn(self._home, self._ports.postgres)

    @property
    def pids(self) -> dict[str, int]:
        """Process ids by "nats" and "postgres", as of the last launch."""
        return {name: child.pid for name, child in self._children.items()}

    def tell_address(self, url: str) -> None:
        """Leave word in HOME of where the API answers, for the commands beside it."""
        self._home.tell_address(url)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def start(self) -> None:
        """Take HOME, make what is missing, start the servers and wait until they answer."""
        self._home.open()
        try:
            self.keys = ensure_keys(self._home, self._given_keys)
            if not self._makers:
                return
            account = choose_account(self.home)
            binaries = find_binaries(account, self.home)
            self._ports = load_ports(self._home)
            for name in self._makers:
                end_orphan(self._pid_file(name), str(self.home), signal.SIGINT, ORPHAN_SECONDS)
            for name, make in self._makers.items():
                self._launch(name, make, account, binaries)
            for name in self._makers:
                self._settle(name, account, binaries)
            save_ports(self._home, self._ports)
            if "nats" in self._makers:
                self._keep_log(account, binaries)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop NATS, then Postgres, then give HOME back; within 2 s."""
        for child in self._children.values():
            child.stop()
        self._children.clear()
        self._home.close()

    def revive(self) -> None:
        """Restart what is dead, on its port, and wait until all answer."""
        for child in self._children.values():
            if not child.alive:
                child.launch()
        for child in self._children.values():
            child.wait_ready(START_SECONDS)

    async def watch(self) -> None:
        """Restart a server whenever it dies, on its port; runs until cancelled, from the main thread's loop."""
        async with asyncio.TaskGroup() as group:
            for child in self._children.values():
                group.create_task(_keep_alive(child))
            if self._keeper is not None:
                group.create_task(self._keeper.watch())
            await asyncio.Event().wait()  # with no server of our own too

    def _keep_log(self, account: Account, binaries: Binaries) -> None:
        """From now on `watch` starts NATS anew when there is room again for a log that had none."""
        child = self._children["nats"]

        def renew() -> None:
            server = nats_server(self._home, binaries, account, self._ports.nats)  # raises while the old one still answers
            child.stop()  # whatever comes next, `_keep_alive` starts it
            child.server = server
            child.launch()

        self._keeper = LogKeeper(child.server.log, room_of(self._home), lambda: room_of(self._home), renew)

    def _pid_file(self, name: str) -> Path:
        return self._home.run / f"{name}.pid"

    def _launch(self, name: str, make: MakeServer, account: Account, binaries: Binaries) -> None:
        setattr(self._ports, name, free_port(getattr(self._ports, name)))
        server = make(self._home, binaries, account, getattr(self._ports, name))
        self._children[name] = Child(server, account, self._pid_file(name))
        self._children[name].launch()

    def _settle(self, name: str, account: Account, binaries: Binaries) -> None:
        """Wait until `name` answers; on another port when somebody took the first in the meantime."""
        for tried in range(1, PORT_TRIES + 1):
            child = self._children[name]
            try:
                child.wait_ready(START_SECONDS)
            except CannotStart:
                if tried == PORT_TRIES or child.alive or free_port(child.server.port) == child.server.port:
                    raise
                self._launch(name, self._makers[name], account, binaries)
            else:
                return


async def _keep_alive(child: Child) -> None:
    pause = FIRST_PAUSE
    while True:
        await asyncio.sleep(WATCH_SECONDS)
        if child.alive:
            continue
        log.warning("server_ended", server=child.server.name, status=child.status)
        if time.monotonic() - child.launched_at > CALM_SECONDS:
            pause = FIRST_PAUSE
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
        try:
            child.launch()
        except OSError as refused:  # no memory or no file handles now; the next round tries again
            log.error("server_not_restarted", server=child.server.name, reason=str(refused))  # noqa: TRY400 - no fault of the code
        else:
            log.info("server_restarted", server=child.server.name, pid=child.pid)
