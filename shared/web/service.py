"""What a service is to the process that runs it: routes to mount, and four moments of its life.

`create(settings) -> Service` in `services/<name>/main.py` only wires; nothing is opened before `start`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from litestar.types import ASGIApp


class CannotStart(Exception):
    """A service or server cannot start; the message is one line that tells a person what is missing.

    `exit_code` is that of the command line: 2 bad input or usage (a port taken, a folder closed, a key missing).
    """

    exit_code = 2


class ServersUnreachable(CannotStart):
    """NATS or Postgres does not answer."""

    exit_code = 3


class CannotBeDone(CannotStart):
    """What a command was asked for cannot be done as things are; nothing was changed."""

    exit_code = 1


async def nothing_to_drain() -> None:
    """The `drain` of a service that has no live streams."""


class Life(msgspec.Struct):
    """Whether a process is `leaving`: it answers what comes by connections that are open, and wants nothing new."""

    leaving: bool = False


class Service(msgspec.Struct, frozen=True, kw_only=True):
    """One service as its process sees it.

    `routes`: Litestar route handlers and routers, mounted side by side with the other services' under one app.
    `express`: puts something before the whole application that answers part of the requests by itself.
    `start`: connects and begins to follow the log; raises `CannotStart`. Returns when requests can be answered.
    `drain`: the process is going to stop: end live streams. Requests that are under way, and those that still come by open connections, are
    answered as ever until `stop`.
    `stop`: called after the last request, also when `start` failed half way; closes everything within 1.5 s.
    `health`: a mapping for `/health`, at least `{"status": "ok" | "degraded" | "down"}`; never raises, never waits long.
    """

    name: str
    start: Callable[[], Awaitable[None]]
    stop: Callable[[], Awaitable[None]]
    health: Callable[[], Awaitable[dict[str, Any]]]
    routes: list[Any] = msgspec.field(default_factory=list)
    express: Callable[[ASGIApp], ASGIApp] | None = None
    drain: Callable[[], Awaitable[None]] = nothing_to_drain
