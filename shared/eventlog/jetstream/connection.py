"""One connection to NATS: requests with one answer or many, subscriptions, and what happens to them when the server goes away.

nats-py lets a request wait for its timeout although the connection is gone, and a publish while reconnecting is kept and sent later. Here a
request that is under way ends at once when the connection is lost, and none is begun without one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
import nats.errors
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from shared.eventlog.port import Unavailable

log = structlog.get_logger()

CONNECT_SECONDS: Final = 2.0  # for one try: on a healthy network milliseconds, on a lossy one a second
RECONNECT_PAUSE_SECONDS: Final = 0.1  # between two tries: a killed local server is back within 50 ms
PING_SECONDS: Final = 5  # a silent death is noticed after two unanswered pings
PINGS_OUTSTANDING: Final = 2  # see PING_SECONDS
STATUS: Final = "Status"  # header of a message that is a status and not data
DENIED: Final = "permissions violation"  # in the server's words
LOGIN_REFUSED: Final = "authorization violation"  # in the server's words
NO_RESPONDERS: Final = "503"  # status: nobody listens on that subject

Deliver = Callable[[Msg], None]


class Unsent(Exception):
    """The request has not left; nothing can come of it."""


class LoginRefused(Exception):
    """The server does not take this user or password; trying again changes nothing."""


class NoResponders(Exception):
    """Nobody took the request; nothing comes of it."""


class Unanswered(Exception):
    """No answer came in time, or the connection was lost; it may have been done, or may still be."""


class ApiError(Exception):
    """The server refused; `err_code` is JetStream's stable number for the reason."""

    def __init__(self, code: int, err_code: int, description: str) -> None:
        super().__init__(f"{description} ({err_code})")
        self.code = code
        self.err_code = err_code
        self.description = description


class _Error(msgspec.Struct):
    code: int = 0
    err_code: int = 0
    description: str = ""


class _Answer(msgspec.Struct):
    error: _Error | None = None


_decode_answer = msgspec.json.Decoder(_Answer).decode


def check_answer(data: bytes) -> bytes:
    """`data`, unless it is the server's refusal: then raises `ApiError`."""
    error = _decode_answer(data).error
    if error is not None:
        raise ApiError(error.code, error.err_code, error.description)
    return data


def _give_up(done: asyncio.Future[Any], reason: str) -> None:
    if not done.done():
        done.set_exception(Unanswered(reason))


def header(message: Msg, name: str) -> str:
    """One header of a message, "" when it has none of that name."""
    return message.headers.get(name, "") if message.headers else ""


def status_of(message: Msg) -> str:
    """The status that a message carries instead of data ("100", "204", "404", …); "" for a message with data."""
    return header(message, STATUS)


class Connection:
    """A connection that reconnects for ever. `losses` counts how often it was lost; `on_lost` and `on_reconnected` are told of it.

    `denials` counts what the server did not let this user do; it tells so beside the request, which goes unanswered.
    """

    def __init__(self) -> None:
        self.losses = 0
        self.denials = 0
        self.on_lost: list[Callable[[], None]] = []
        self.on_reconnected: list[Callable[[], None]] = []
        self._client = Client()
        self._closing = False
        self._opening = False
        self._on_closed: Callable[[], None] | None = None
        self._inbox = ""
        self._token = 0
        self._routes: dict[str, Deliver] = {}
        self._lost: dict[str, asyncio.Future[Any]] = {}
        self._connected = asyncio.Event()

    async def open(self, url: str, name: str, seconds: float, on_closed: Callable[[], None] | None) -> None:
        """Connect within `seconds`; raises `Unavailable`, at once when user or password are refused.

        `on_closed` hears of an end that nobody asked for (a revoked password).
        """
        self._on_closed = on_closed
        self._loop = asyncio.get_running_loop()  # asked once: up to Python 3.11 the question is a call to the kernel
        self._opening = True
        try:
            async with asyncio.timeout(seconds):
                await self._client.connect(
                    url.split(","),
                    name=name,
                    connect_timeout=CONNECT_SECONDS,  # type: ignore[arg-type]  # fractions work; the annotation is too narrow
                    reconnect_time_wait=RECONNECT_PAUSE_SECONDS,  # type: ignore[arg-type]  # see connect_timeout
                    max_reconnect_attempts=-1,  # for ever: a service outlives its servers' restarts
                    ping_interval=PING_SECONDS,
                    max_outstanding_pings=PINGS_OUTSTANDING,
                    disconnected_cb=self._disconnected,
                    reconnected_cb=self._reconnected,
                    closed_cb=self._closed,
                    error_cb=self._failed,
                )
                self._connected.set()
                self._inbox = self._client.new_inbox()
                await self._client.subscribe(f"{self._inbox}.*", cb=self._answered, pending_bytes_limit=0)  # 0: none is dropped
        except LoginRefused as cause:
            await self.close()
            raise Unavailable("user or password refused") from cause
        except (TimeoutError, OSError, nats.errors.Error) as cause:
            reason = self._client.last_error or cause
            await self.close()
            raise Unavailable(f"no NATS answers in {seconds:.0f} s: {str(reason) or 'nothing came'}") from cause
        finally:
            self._opening = False

    @property
    def is_connected(self) -> bool:
        """Whether a request can leave now."""
        return bool(self._client.is_connected)

    @property
    def nodes(self) -> int:
        """How many servers there are, as far as this client was told: those of its URL, and those that a server names in its cluster."""
        return len({(server.hostname, server.port) for server in self._client.servers})

    @property
    def is_closed(self) -> bool:
        """Whether it will never connect again."""
        return self._closing or bool(self._client.is_closed)

    async def close(self) -> None:
        """Leave; every request under way ends as `Unanswered`."""
        self._closing = True
        self._connected.set()  # whoever waits looks again and finds it closed
        self._lose()
        await self._client.close()

    async def wait_connected(self) -> None:
        """Wait until requests can leave; raises `Unavailable` once it is closed."""
        while not self.is_connected:
            if self.is_closed:
                raise Unavailable("closed")
            self._connected.clear()
            await self._connected.wait()
        if self.is_closed:
            raise Unavailable("closed")

    async def request(self, subject: str, payload: bytes, seconds: float, headers: dict[str, str] | None = None) -> Msg:
        """One answer to one request. Raises `Unsent`, `NoResponders`, `Unanswered`."""
        answer: asyncio.Future[Msg] = self._loop.create_future()

        def deliver(message: Msg) -> None:
            if not answer.done():
                answer.set_result(message)

        await self.collect(subject, payload, seconds, answer, deliver, headers)
        return answer.result()

    async def collect(
        self,
        subject: str,
        payload: bytes,
        seconds: float,
        done: asyncio.Future[Any],
        deliver: Deliver,
        headers: dict[str, str] | None = None,
    ) -> None:
        """Send a request and hand every answer to `deliver` until `done` is. Raises `Unsent`, `NoResponders`, `Unanswered`."""
        if not self.is_connected or self.is_closed:
            raise Unsent("not connected")
        self._token += 1
        token = str(self._token)

        def route(message: Msg) -> None:
            if status_of(message) == NO_RESPONDERS and not message.data:
                if not done.done():
                    done.set_exception(NoResponders(subject))
            else:
                deliver(message)

        self._routes[token] = route
        self._lost[token] = done
        patience = self._loop.call_later(seconds, _give_up, done, f"{subject}: no answer in {seconds} s")  # `timeout` costs three times it
        try:
            await self._client.publish(subject, payload, f"{self._inbox}.{token}", dict(headers) if headers else None)
            await done
        except nats.errors.Error as cause:
            raise Unsent(f"{subject}: {cause}") from cause
        finally:
            patience.cancel()
            del self._routes[token], self._lost[token]
            if not done.cancel() and not done.cancelled():
                done.exception()  # seen, so that asyncio does not report it as lost

    async def publish(self, subject: str, payload: bytes, headers: dict[str, str] | None = None, reply: str = "") -> None:
        """Send without waiting for anything. `headers` is used up: nats-py writes into it. Raises `Unsent`."""
        if not self.is_connected or self.is_closed:
            raise Unsent("not connected")
        try:
            await self._client.publish(subject, payload, reply, headers)
        except nats.errors.Error as cause:
            raise Unsent(f"{subject}: {cause}") from cause

    async def subscribe(self, subject: str, deliver: Deliver) -> Callable[[], Awaitable[None]]:
        """Hand every message on `subject` to `deliver`, also after reconnects; returns how to end it. Raises `Unavailable`."""

        async def delivered(message: Msg) -> None:
            deliver(message)

        try:
            subscription = await self._client.subscribe(subject, cb=delivered, pending_bytes_limit=0)  # 0: `deliver` bounds what it keeps
        except nats.errors.Error as cause:
            raise Unavailable(str(cause)) from cause
        return lambda: self._unsubscribe(subscription)

    def new_inbox(self) -> str:
        """A subject of our own for answers."""
        return self._client.new_inbox()

    async def _unsubscribe(self, subscription: Subscription) -> None:
        try:
            await subscription.unsubscribe()
        except nats.errors.Error:
            log.debug("unsubscribe_failed", subject=subscription.subject)  # the connection is closed, and its subscriptions with it

    async def _answered(self, message: Msg) -> None:
        route = self._routes.get(message.subject[len(self._inbox) + 1 :])
        if route is not None:  # else too late: whoever asked has given up
            route(message)

    def _lose(self) -> None:
        self.losses += 1
        for done in self._lost.values():
            if not done.done():
                done.set_exception(Unanswered("the connection was lost"))
        for call in tuple(self.on_lost):
            call()

    async def _disconnected(self) -> None:
        self._lose()
        if not self._closing:
            log.warning("log_disconnected")

    async def _reconnected(self) -> None:
        log.info("log_reconnected")
        self._connected.set()
        for call in tuple(self.on_reconnected):
            call()

    async def _closed(self) -> None:
        self._connected.set()
        if not self._closing:
            self._lose()
            log.error("log_closed")
            if self._on_closed is not None:
                self._on_closed()

    async def _failed(self, error: Exception) -> None:
        if self._opening and LOGIN_REFUSED in str(error).lower():
            raise LoginRefused  # out of nats-py's own loop, which would go on for ever
        if isinstance(error, nats.errors.SlowConsumerError):
            log.error("log_dropped_messages", subject=error.subject)  # readers notice the gap by their own counts
        else:
            self.denials += DENIED in str(error).lower()
            log.debug("log_connection_error", error=repr(error))
