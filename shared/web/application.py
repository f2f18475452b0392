"""One Litestar application over one to three services: their routes side by side, and what they have in common around them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

from litestar import Litestar
from litestar.exceptions import HTTPException

from shared.web import auth, idempotency, metrics
from shared.web.front import front_routes
from shared.web.health import health_routes
from shared.web.methods import heads
from shared.web.openapi import Documented
from shared.web.problems import on_exception
from shared.web.service import Life, Service
from shared.web.settings import Settings
from shared.web.streams import streaming
from shared.web.strict_request import StrictRequest, in_good_order

BODY_LIMIT: Final = 64 * 1024  # bytes; the longest request, a table with its convention, has under 4 KB


def now_ms() -> int:
    """The wall clock, milliseconds since 1970 UTC."""
    return time.time_ns() // 1_000_000


def build(services: Sequence[Service], settings: Settings, life: Life | None = None) -> Litestar:
    """The application that serves `services`, which whoever runs it starts, drains and stops, and says so in `life`. It opens nothing.

    Raises `CannotStart` when the public keys of tokens are missing: every request's token is verified here.
    """
    tokens = auth.verifying(settings)
    routes: list[Any] = [route for service in services for route in service.routes]
    app = Litestar(
        route_handlers=[*routes, *health_routes(services, tokens.public, life or Life()), metrics.metrics, *front_routes(services)],
        dependencies={
            **auth.dependencies(tokens, now_ms),
            **idempotency.DEPENDENCIES,
            **streaming.DEPENDENCIES,
            **metrics.DEPENDENCIES,
        },
        exception_handlers={HTTPException: on_exception, Exception: on_exception},
        before_request=in_good_order,
        middleware=[metrics.observed],
        plugins=[Documented()],
        request_class=StrictRequest,
        request_max_body_size=BODY_LIMIT,
        logging_config=None,  # problems and requests are logged here, without texts that may hold secrets
        debug=False,
    )
    app.asgi_handler = heads(app.asgi_handler)
    for service in services:
        if service.express is not None:
            app.asgi_handler = service.express(app.asgi_handler)
    return app
