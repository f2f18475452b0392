"""Requests read strictly: a body goes straight into the handler's type, so `"3"` is no number and an unknown field is refused."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import msgspec
from litestar import Request
from litestar.enums import ParamType
from litestar.exceptions import InternalServerException
from litestar.handlers.base import BaseRouteHandler
from litestar.params import ParameterKwarg

from shared.web.problems import malformed, unreadable

_DECODER = "pulka_decoder"  # what is worked out once for a handler is kept in its `opt`, which Litestar leaves to the application
_QUERY = "pulka_query"


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
            return decoder.decode(body)
        except (msgspec.DecodeError, RecursionError) as wrong:
            raise unreadable(wrong) from None


async def known_parameters(request: Request[Any, Any, Any]) -> None:
    """Before each request: query parameters that the handler does not know, or that come twice, are refused instead of ignored.

    No guard, since Litestar copies the handler for those; a coroutine, since it would run anything else in a thread.
    """
    if not request.scope["query_string"]:
        return
    given, handler = request.query_params, request.route_handler
    known = handler.opt.get(_QUERY)
    if known is None:
        known = handler.opt[_QUERY] = _query_names(handler)
    for name in given:
        if name not in known:
            raise malformed(name, "unknown query parameter")
        if len(values := given.getall(name)) > 1:
            raise malformed(name, "given more than once")
        if "\0" in values[0]:
            raise malformed(name, "must not hold the character NUL")  # Postgres has no text with it


def _query_names(handler: BaseRouteHandler) -> frozenset[str]:
    names: set[str] = set()
    waiting = [handler.parsed_fn_signature]
    provided = handler.resolve_dependencies()
    while waiting:
        for name, field in waiting.pop().parameters.items():
            if name in provided:
                waiting.append(provided[name].parsed_fn_signature)
            elif isinstance(field.kwarg_definition, ParameterKwarg) and field.kwarg_definition.param_type is ParamType.QUERY:
                names.add(field.kwarg_definition.name or name)
    return frozenset(names)
