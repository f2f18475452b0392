"""The process that serves: mounts services under one app and one port, runs their lives, and stops in order.

Order of a stop: what uses the port itself says good-bye. Not ready any more, no new connection, each answer is its connection's last;
streams end and tell their clients to go elsewhere (`drain`), kept connections stay open a little for requests that are on their way,
requests in flight finish, services stop.
What the caller started before (embedded servers) ends after. The limits below add up to less than three of the five seconds. A second
signal ends all of it at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import signal
import socket
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from typing import Any

import structlog
import uvicorn
import uvloop
from litestar import Litestar

from services.cli.serving.request_limits import LimitedRequests
from shared.web.service import CannotStart, Life, Service

log = structlog.get_logger()

DRAIN_SECONDS = 0.5  # streams are told to go, 70 microseconds each; what is not told by then is told while requests finish
LINGER_SECONDS = 0.4  # a kept connection without a request; whoever has one to send meanwhile learns with the answer to go elsewhere
LOOK_SECONDS = 0.02  # between two looks whether all have gone; uvicorn tells nobody
HANDED_ON_SECONDS = 0.3  # `make`, shells and supervisors may send the signal that the whole group has got once more
AFTER_SECONDS = 0.15  # what uses our own port says good-bye while it answers: bots give their seats to other hosts
REQUESTS_SECONDS = 1  # a move takes milliseconds, `at_least` and `ready` wait 2 s and are cut; whole seconds, as uvicorn wants
STOP_SECONDS = 1.0  # connections closed, leases given back
UVICORN_SECONDS = 0.3  # its main loop and its shutdown each sleep for a tenth of a second
WHOLE_STOP_SECONDS = 3.0  # all of the above; the embedded servers have the rest of the five
GARBAGE = (50_000, 20, 50)  # objects made and not freed before a look at the youngest, some 10 MB; Python's own 700 fit small scripts
BACKLOG = 2048  # connections waiting to be accepted: a load test opens hundreds at once
KEEP_ALIVE_SECONDS = 75  # longer than the 60 s after which ingresses drop an idle connection, so that they drop it first


Companion = Callable[[], Coroutine[Any, Any, None]]


class Host:
    """One port with an app on it, from `run` to a signal (SIGINT, SIGTERM)."""

    def __init__(self, app: Litestar, services: Sequence[Service], listener: socket.socket, life: Life) -> None:
        """`services` start, in order, before anybody can connect. `life` is told when the process leaves."""
        self._services = services
        self._listener = listener
        self._life = life
        self._server = _Server(
            uvicorn.Config(
                app,
                http=LimitedRequests,
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,  # nothing depends on who is in front of us, so nobody's word on it is taken
                backlog=BACKLOG,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=REQUESTS_SECONDS,
            )
        )

    def run(self, *, ready: Callable[[], None], after: Sequence[Service] = (), beside: Sequence[Companion] = ()) -> None:
        """Serve until a signal. `after`: services that use the port and so start last. `beside`: runs along, never ends by itself.

        `ready` is called once, when everything answers. Raises what a start raised.
        """
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._live(ready, after, beside))

    async def _live(self, ready: Callable[[], None], after: Sequence[Service], beside: Sequence[Companion]) -> None:
        asked, again = _asked_to_stop()
        life = asyncio.create_task(self._serve(ready, after))
        others = [asyncio.create_task(asked.wait()), *(asyncio.create_task(run()) for run in beside)]
        await asyncio.wait({life, *others}, return_when=asyncio.FIRST_COMPLETED)
        life.cancel()
        others.append(asyncio.create_task(again.wait()))
        await asyncio.wait({life, others[-1]}, timeout=WHOLE_STOP_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        for task in (life, *others):
            task.cancel()  # a second time for a life that hangs, or is to end at once
        outcomes = await asyncio.gather(life, *others, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException) and not isinstance(outcome, asyncio.CancelledError):
                raise outcome

    async def _serve(self, ready: Callable[[], None], after: Sequence[Service]) -> None:
        """Start everything, serve until cancelled, stop everything, also what had only begun to start."""
        begun: list[Service] = []
        serving: asyncio.Task[None] | None = None
        try:
            await _start(self._services, begun)
            serving = asyncio.create_task(self._server.serve([self._listener]))
            await self._until_listening(serving)
            await _start(after, begun)
            ready()
            settle_memory()
            await asyncio.wait({serving})
        finally:
            await _all_within(AFTER_SECONDS, [(service.name, service.drain()) for service in after if service in begun])
            self._life.leaving = True
            self._server.leave()
            drains = [(service.name, service.drain()) for service in begun]
            await _all_within(DRAIN_SECONDS, [*drains, ("connections", self._server.deserted(LINGER_SECONDS))])
            self._server.should_exit = True
            if serving is not None:
                await asyncio.wait({serving}, timeout=REQUESTS_SECONDS + UVICORN_SECONDS)
            await _all_within(STOP_SECONDS, [(service.name, service.stop()) for service in begun])

    async def _until_listening(self, serving: asyncio.Task[None]) -> None:
        listening = asyncio.create_task(self._server.listening.wait())
        await asyncio.wait({serving, listening}, return_when=asyncio.FIRST_COMPLETED)
        listening.cancel()
        if serving.done():
            serving.result()


def stand_by(beside: Companion) -> None:
    """Run `beside`, which never ends by itself, and nothing else until a signal. Raises what it raised."""
    asyncio.run(_until_asked(beside))


async def _until_asked(beside: Companion) -> None:
    asked, _ = _asked_to_stop()
    tasks = {asyncio.create_task(asked.wait()), asyncio.create_task(beside())}
    done, left = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    for task in done:
        task.result()


def _asked_to_stop() -> tuple[asyncio.Event, asyncio.Event]:
    """Events that the running loop sets on SIGINT, SIGTERM or a terminal that is closed, and when somebody asks once more."""
    asked, again, loop = asyncio.Event(), asyncio.Event(), asyncio.get_running_loop()
    began = 0.0

    def told() -> None:
        nonlocal began
        if not asked.is_set():
            began = loop.time()
            asked.set()
        elif loop.time() - began > HANDED_ON_SECONDS:
            again.set()

    stops = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup wants us to outlive the terminal
        stops.append(signal.SIGHUP)
    for number in stops:
        loop.add_signal_handler(number, told)
    return asked, again


class _Server(uvicorn.Server):
    """uvicorn's server, with the signals left to us, an event that says when it listens, and a stop that begins before its own."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.servers: list[asyncio.base_events.Server] = []  # until it listens
        self.listening = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say so."""
        await super().startup(sockets)
        self.listening.set()

    def leave(self) -> None:
        """Take no new connection; those that are open hear of it with their next answer."""
        for server in self.servers:
            server.close()
        for connection in tuple(self.server_state.connections):
            if isinstance(connection, LimitedRequests):  # all of them are
                connection.leave()

    async def deserted(self, within: float) -> None:
        """Return when nobody is connected any more, or after `within` seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                while self.server_state.connections:  # noqa: ASYNC110 - the set is uvicorn's own
                    await asyncio.sleep(LOOK_SECONDS)


async def _start(services: Sequence[Service], begun: list[Service]) -> None:
    for service in services:
        begun.append(service)  # before it starts: one that fails half way is stopped too
        await service.start()


async def _all_within(seconds: float, steps: Sequence[tuple[str, Awaitable[None]]]) -> None:
    """Take all steps at once, at most `seconds`; one that fails or hangs does not keep the others from ending."""
    tasks = {asyncio.ensure_future(step): name for name, step in steps}
    if not tasks:
        return
    try:  # not asyncio.timeout: up to Python 3.11.2 it does not tell its own end from the cancellation that brought us here
        done, late = await asyncio.wait(tasks, timeout=seconds)
    finally:
        for task in tasks:
            task.cancel()
    for task in done:
        if not task.cancelled() and (wrong := task.exception()) is not None:
            log.warning("service_did_not_stop_cleanly", service=tasks[task], kind=type(wrong).__name__)
    if late:
        log.warning("stop_took_too_long", services=sorted(tasks[task] for task in late), seconds=seconds)


def settle_memory() -> None:
    """What has been loaded stays; and objects of moves and rows die by their reference counts, so that looking for cycles all the time
    costs a tenth of the processor and finds nothing.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE)


def listen(host: str, port: int) -> socket.socket:
    """A socket bound to `host:port`, 0 for a free port; raises `CannotStart` with one line."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.socket(family, kind, protocol)
    except socket.gaierror:
        raise CannotStart(f"no address of this machine: {host}") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as refused:
        listener.close()
        if refused.errno == errno.EADDRINUSE:
            raise CannotStart(f"port {port} is taken: choose another with --port (0 takes a free one)") from None
        if refused.errno == errno.EACCES:
            raise CannotStart(f"no permission for port {port}: choose one above 1023 with --port") from None
        raise CannotStart(f"cannot listen on {host}:{port}: {refused.strerror}") from None
    return listener
