"""What a person is told of a server that does not answer over HTTP."""

from __future__ import annotations

from typing import Final

import httpx

_UNANSWERED: Final[tuple[tuple[type[Exception], str], ...]] = (  # the first that fits
    (httpx.ConnectTimeout, "no connection in time"),
    (httpx.ConnectError, "nothing answers there"),
    (httpx.TimeoutException, "no answer in time"),
    (httpx.UnsupportedProtocol, "no address of a server"),
    (httpx.InvalidURL, "no address of a server"),
    (httpx.TransportError, "the connection broke off"),
)


def why_unanswered(wrong: Exception) -> str:
    """What came of asking a server over HTTP, in words for a person who knows nothing of the library that met it."""
    return next((said for kind, said in _UNANSWERED if isinstance(wrong, kind)), "it cannot be asked")
