"""Headers that a request may spread over several lines."""

from __future__ import annotations

from typing import Any

from litestar import Request


def listed(request: Request[Any, Any, Any], name: str) -> str | None:
    """All values of the header `name`, which is a list, as one; None without it. Lines of one name are one list (RFC 9110, 5.3)."""
    values = request.headers.getall(name, [])
    return ", ".join(values) if values else None
