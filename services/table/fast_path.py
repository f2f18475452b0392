"""The fast path of moves: nearly all requests to a table are valid moves, and those need little of what a framework does.

Only a request of the usual form is answered here, by the same guards and the same function as on the long way. One that is unusual in any
way (a query, a body in pieces, a header that comes twice) or whose body is no move goes the long way, which knows what to say. No guard has
seen it then: each request passes the guards once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final, cast, get_args

import msgspec
from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPReceiveMessage, Receive, Scope, Send

from services.table.api import MOVES, Desk, make_move
from services.table.guards import Asked, admitted
from shared.events.address import is_id
from shared.rules.language.documents import doubled
from shared.rules.language.moves import AnyMove
from shared.web import metrics
from shared.web.application import BODY_LIMIT
from shared.web.problems import MEDIA_TYPE, cut_off, problem_told

_BEFORE, _AFTER = MOVES.split("{table_id:str}")
_ROUTE: Final = MOVES.replace(":str", "")
_JSON: Final = b"application/json"
_NO_BODY: Final = b""

_decode = msgspec.json.Decoder(cast("type[AnyMove]", AnyMove)).decode
_encode = msgspec.json.Encoder().encode
#: By kind of move: how many members its object has at least, `type` among them. Most moves have no more, and none of them twice then.
_FEWEST: Final = {kind: 1 + sum(field.required for field in msgspec.structs.fields(kind)) for kind in get_args(AnyMove)}


class Express:
    """Stands before the application. `desk()` raises 503 `unavailable` before the service has started."""

    def __init__(self, desk: Callable[[], Desk], long_way: ASGIApp) -> None:
        self._desk = desk
        self._long_way = long_way

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        table_id = _table_of(scope)
        headers = None if table_id is None else _headers(scope)
        if table_id is None or headers is None:
            await self._long_way(scope, receive, send)
            return
        began = time.perf_counter()
        message = cast("HTTPReceiveMessage", await receive())
        wanted = _move_in(message)
        if wanted is None:
            await self._long_way(scope, _once_more(message, receive), send)
            return
        metrics.requests_open[0] += 1
        try:
            status, answer, more = await self._answer(table_id, headers, scope["client"], wanted)
            length = (b"content-length", str(len(answer)).encode())
            await send({"type": "http.response.start", "status": status, "headers": [*more, length]})
            await send({"type": "http.response.body", "body": answer, "more_body": False})
        finally:
            metrics.requests_open[0] -= 1
        metrics.note("POST", _ROUTE, status, began)

    async def _answer(
        self, table_id: str, headers: dict[bytes, bytes], client: tuple[str, int] | None, wanted: AnyMove
    ) -> tuple[int, bytes, list[tuple[bytes, bytes]]]:
        """Status, body and headers, the length left out."""
        try:
            desk = self._desk()
            asked = Asked(
                _text(headers, b"authorization"),
                _text(headers, b"idempotency-key"),
                _text(headers, b"if-match"),
                client[0] if client else "",
                metrics.new_request_id(),
                desk.clock(),
                _text(headers, b"move-signature"),
            )
            moved = await make_move(desk, table_id, admitted(desk.guards, asked), wanted)
            return 200, _encode(moved), [(b"content-type", _JSON)]
        except (Exception, asyncio.CancelledError) as wrong:  # noqa: BLE001 - as the application's own last handler: all of it is told in the log
            problem = problem_told("POST", _ROUTE, wrong) if isinstance(wrong, Exception) else cut_off("POST", _ROUTE)
            more = {"content-type": MEDIA_TYPE, **(problem.headers or {})}
            return problem.status_code, _encode(problem.document), [(name.lower().encode(), value.encode()) for name, value in more.items()]


def _move_in(message: HTTPReceiveMessage) -> AnyMove | None:
    """The move that was sent, in one piece; None when there is something to say about it."""
    body: bytes = message.get("body", _NO_BODY)  # type: ignore[assignment]  # of a request, which only the next line makes sure of
    if message["type"] != "http.request" or message.get("more_body") or len(body) > BODY_LIMIT:
        return None
    try:
        wanted = _decode(body)
    except (msgspec.DecodeError, RecursionError):
        return None
    if body.count(b":") == _FEWEST[type(wanted)] and b"\\" not in body:
        return wanted  # each member that must be there is, and there is no colon for another
    return None if doubled(body) else wanted


def _text(headers: dict[bytes, bytes], name: bytes) -> str | None:
    value = headers.get(name)
    return None if value is None else value.decode("latin-1")


def _table_of(scope: Scope) -> str | None:
    """The table whose moves are posted to; None for every other request."""
    if scope["type"] != ScopeType.HTTP or scope["method"] != "POST" or scope["query_string"]:
        return None
    path = scope["path"]
    if not (path.startswith(_BEFORE) and path.endswith(_AFTER)):
        return None
    table_id = path[len(_BEFORE) : -len(_AFTER)]
    return table_id if is_id(table_id) else None


def _headers(scope: Scope) -> dict[bytes, bytes] | None:
    """The headers, if each comes once and the body is JSON."""
    sent = list(scope["headers"])
    headers = dict(sent)
    if len(headers) != len(sent) or not headers.get(b"content-type", _NO_BODY).startswith(_JSON):
        return None
    return headers


def _once_more(message: HTTPReceiveMessage, receive: Receive) -> Receive:
    """`receive` from its beginning, after `message` was taken from it."""
    taken: list[Any] = [message]

    async def again() -> Any:
        return taken.pop() if taken else await receive()

    return again
