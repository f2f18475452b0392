"""Requests read strictly: a body goes straight into the handler's type, so `"3"` is no number and an unknown field is refused."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from typing import Any, Final
from urllib.parse import unquote_to_bytes

import msgspec
from litestar import Request, Response
from litestar.exceptions import InternalServerException, NotFoundException
from litestar.types import Scope

from shared.rules.language.documents import require_json, require_single
from shared.web.methods import answer_to_options
from shared.web.parameters import Parameters, parameters_of
from shared.web.problems import NO_JSON, malformed, unreadable

_DECODER: Final = "pulka_decoder"  # what is worked out once for a handler is kept in its `opt`, which Litestar leaves to the application
_WHOLE: Final = re.compile(r"0|-?[1-9][0-9]*")  # one spelling a number: no sign before it, no blanks, no fraction, no other digits
#: Headers that say one thing: which of two would hold is not ours to choose (RFC 9110, 5.3).
_SINGLE: Final = {
    name.lower().encode(): name
    for name in ("Host", "Authorization", "Content-Length", "Content-Type", "Idempotency-Key", "If-Match", "Last-Event-ID")
}
_NOT_THERE: Final = frozenset({"/schema", "/schema/{path}"})  # where Litestar would answer with a page of its own that there is nothing


class StrictRequest(Request[Any, Any, Any]):
    """Litestar decodes a body to plain values and converts those leniently; this decodes it once, into the declared type."""

    async def stream(self) -> AsyncGenerator[bytes, None]:
        """The body's pieces; a client that goes away before its end is no defect of ours, and nobody reads the answer."""
        try:
            async for piece in super().stream():
                yield piece
        except InternalServerException:
            raise malformed("", "the body ended early") from None

    async def json(self) -> Any:
        """The body as the type that the handler declares for `data`; raises a 400 problem with the path of what is wrong."""
        body = await self.body()
        handler = self.route_handler
        decoder = handler.opt.get(_DECODER)
        if decoder is None:
            decoder = handler.opt[_DECODER] = msgspec.json.Decoder(handler.parsed_fn_signature.parameters["data"].annotation)
        try:
            read = decoder.decode(body)
        except msgspec.ValidationError as wrong:
            _require_document(body)  # a wrong shape is seen before the rest is read
            raise unreadable(wrong) from None
        except (msgspec.DecodeError, RecursionError) as wrong:
            raise unreadable(wrong) from None
        require_single(body)
        return read


def _require_document(body: bytes) -> None:
    """Raises 400 for a body that is no JSON, wherever in it, or names a member twice."""
    try:
        require_json(body)
    except (msgspec.DecodeError, UnicodeError):
        raise malformed("", NO_JSON) from None
    require_single(body)


async def in_good_order(request: Request[Any, Any, Any]) -> Response[None] | None:
    """Before each request: what can be read in two ways, or is not known here, is refused (400) instead of guessed or ignored.

    A header that says one thing comes once; path and query are UTF-8; a query parameter is one that the handler knows, comes once, and is
    spelled as every program spells it when it is a whole number. `OPTIONS` is answered here.

    No guard, since Litestar copies the handler for those; a coroutine, since it would run anything else in a thread.
    """
    _require_single_headers(request.scope)
    _require_text(request.scope)
    if request.scope["path_template"] in _NOT_THERE:
        raise NotFoundException
    if request.method == "OPTIONS":
        return answer_to_options(request)
    known = parameters_of(request.route_handler)
    if request.scope["path_params"] and known.whole:
        _require_whole_in_path(request.scope, known)
    if request.scope["query_string"]:
        _require_known(request, known)
    return None


def _require_single_headers(scope: Scope) -> None:
    seen: set[bytes] = set()
    for name, _ in scope["headers"]:
        if name in _SINGLE:
            if name in seen:
                raise malformed(_SINGLE[name], "given more than once")
            seen.add(name)


def _require_text(scope: Scope) -> None:
    """Servers and libraries put a replacement character for what is no UTF-8, and what was asked for is then another thing."""
    if not _is_text(scope.get("raw_path") or b""):
        raise malformed("", "the path is not UTF-8")
    if not _is_text(scope["query_string"]):
        pairs = (pair.partition(b"=") for pair in scope["query_string"].split(b"&"))
        name = next(name for name, _, value in pairs if not (_is_text(name) and _is_text(value)))
        raise malformed(unquote_to_bytes(name).decode() if _is_text(name) else "", "not UTF-8")


def _is_text(encoded: bytes) -> bool:
    if encoded.isascii() and b"%" not in encoded:
        return True
    try:
        unquote_to_bytes(encoded).decode()
    except UnicodeDecodeError:
        return False
    return True


def _require_whole_in_path(scope: Scope, known: Parameters) -> None:
    """The router has read them already, as Python reads numbers; this looks at them as they were sent."""
    for place, text in zip(scope["path_template"].split("/"), scope["path"].split("/"), strict=False):  # a path may end with a slash
        name = place.strip("{}")
        if place != name and name in known.whole and _WHOLE.fullmatch(text) is None:
            raise malformed(name, "must be a whole number")


def _require_known(request: Request[Any, Any, Any], known: Parameters) -> None:
    given = request.query_params
    for name in given:
        if name not in known.query:
            raise malformed(name, "unknown query parameter")
        if len(values := given.getall(name)) > 1:
            raise malformed(name, "given more than once")
        if "\0" in values[0]:
            raise malformed(name, "must not hold the character NUL")  # Postgres has no text with it
        if name in known.whole and _WHOLE.fullmatch(values[0]) is None:
            raise malformed(name, "must be a whole number")
