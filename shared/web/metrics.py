"""What every request leaves behind: numbers on `/metrics`, one log line, an id. Never a body, a query, a header or a path as sent.

One small middleware instead of Litestar's two: it does both with one clock and groups paths by their template, as `group_path` would.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from functools import lru_cache
from itertools import count
from typing import Any, Final

import structlog
from litestar import Request, Response, get
from litestar.di import Provide
from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, Counter, Gauge, Histogram, generate_latest

from shared.web.problems import answer, cut_off

_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)  # seconds; a durable move takes about 2 ms
_STREAM: Final = b"text/event-stream", b"application/x-ndjson"

requests_total = Counter("pulka_http_requests", "Requests answered", ["method", "route", "status"])
request_seconds = Histogram("pulka_http_request_seconds", "From arrival to the answer's last byte", ["route"], buckets=_BUCKETS)
requests_open: list[int] = [0]  # streams included; a number, since a gauge takes a lock for each of its two steps a request
Gauge("pulka_http_requests_open", "Requests under way, streams included").set_function(lambda: requests_open[0])

counted = lru_cache(maxsize=1024)(requests_total.labels)  # routes times statuses, of which there are fewer; `labels` costs a lock a request
timer = lru_cache(maxsize=256)(request_seconds.labels)  # routes

_PROCESS: Final = secrets.token_hex(4)  # of all processes that write into one log
_REQUESTS: Final = count(1)

log = structlog.get_logger("web")


def observed(app: ASGIApp) -> ASGIApp:
    """The middleware: counts, times and logs each request, and gives it an id that goes into the log and the commit's `correlation`."""

    async def middleware(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == ScopeType.WEBSOCKET:  # there are none
            await app(scope, receive, send)
            return
        scope["state"]["request_id"] = new_request_id()
        arrived = time.perf_counter()
        status = 500  # what a client sees when nothing was sent
        timed, begun = True, False

        async def noting(message: Message) -> None:
            nonlocal status, timed, begun
            if message["type"] == "http.response.start":
                begun = True
                status = message["status"]
                timed = not any(name == b"content-type" and value.startswith(_STREAM) for name, value in message["headers"])
            await send(message)

        requests_open[0] += 1
        try:
            await app(scope, receive, noting)
        except asyncio.CancelledError:
            if begun:
                raise
            await answer(cut_off(scope["method"], _route(scope))).to_asgi_response(None, Request(scope))(scope, receive, noting)
        finally:
            requests_open[0] -= 1
            note(scope["method"], _route(scope), status, arrived, timed=timed)

    return middleware


def _route(scope: Scope) -> str:
    return scope.get("path_template") or "unrouted"


def note(method: str, route: str, status: int, began: float, *, timed: bool = True) -> None:
    """Counts and logs an answered request that arrived at `began` (`time.perf_counter`); not `timed`: a stream, which lasts as long as its
    viewer stays.
    """
    took = time.perf_counter() - began
    counted(method, route, status).inc()
    if timed:
        timer(route).observe(took)
    log.debug("request_answered", method=method, route=route, status=status, ms=round(took * 1000, 2))


def new_request_id() -> str:
    """An id that no other request has, 16 hex digits."""
    return f"{_PROCESS}{next(_REQUESTS):08x}"


def request_id(request: Request[Any, Any, Any]) -> str:
    """The request's id, 16 hex digits."""
    return str(request.scope["state"].get("request_id", ""))


DEPENDENCIES: Final = {"request_id": Provide(request_id, sync_to_thread=False)}
"""`request_id: NamedDependency[str]`."""


@get("/metrics", media_type="text/plain", tags=["operation"], summary="Figures for Prometheus")
async def metrics() -> Response[bytes]:
    """Every registered figure in the text format of Prometheus."""
    return Response(generate_latest(REGISTRY), headers={"Content-Type": CONTENT_TYPE_LATEST})
