"""What a path can be asked besides its own methods: `OPTIONS` says which there are, `HEAD` asks as `GET` does and gets no body.

Litestar answers neither: its `OPTIONS` knows only the methods that a path had when its first one was added.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from litestar import Request, Response
from litestar.enums import ScopeType
from litestar.routes import HTTPRoute
from litestar.types import ASGIApp, HTTPDisconnectEvent, HTTPReceiveMessage, Message, Receive, Scope, Send


def allow(methods: Iterable[str]) -> str:
    """The value of `Allow` for a path that answers `methods`."""
    answered = {str(method) for method in methods}
    return ", ".join(sorted(answered | {"OPTIONS"} | ({"HEAD"} if "GET" in answered else set())))


def answer_to_options(request: Request[Any, Any, Any]) -> Response[None]:
    """204 with every method of the path."""
    template = request.scope["path_template"]
    routes = [route for route in request.app.routes if isinstance(route, HTTPRoute) and route.path_format == template]
    return Response(None, status_code=204, headers={"Allow": allow(method for route in routes for method in route.methods)})


def heads(app: ASGIApp) -> ASGIApp:
    """`app`, asked by `HEAD` as by `GET`: the same status and headers, and no body.

    A stream ends with its head: it is told that nobody reads on.
    """

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP or scope["method"] != "HEAD":
            await app(scope, receive, send)
            return
        done = False

        async def head_only(message: Message) -> None:
            nonlocal done
            if message["type"] == "http.response.start":
                done = True
                await send(message)
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        async def until_answered() -> HTTPReceiveMessage | HTTPDisconnectEvent:
            return {"type": "http.disconnect"} if done else cast("HTTPReceiveMessage", await receive())

        await app(cast("Scope", {**scope, "method": "GET"}), until_answered, head_only)

    return answered
