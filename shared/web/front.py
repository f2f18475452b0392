"""What a visitor without a map finds: an index under `/`, and what each problem code means."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, Final

from litestar import Request, Response, get
from litestar.enums import MediaType
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath

from shared.web.headers import listed
from shared.web.problems import TITLES, Problem
from shared.web.service import Service

_METHODS: Final = ("get", "post", "put", "patch", "delete")


def front_routes(services: Sequence[Service]) -> list[HTTPRouteHandler]:
    """`/` and `/problems/{code}`; `services` are those of this process."""

    @get("/", include_in_schema=False)
    async def index(request: Request[Any, Any, Any]) -> Response[Any]:
        operations = _operations(request.app.openapi_schema.to_schema())
        links = {"openapi": "/schema/openapi.json", "health": "/health", "metrics": "/metrics"}
        if "text/html" in (listed(request, "accept") or ""):
            return Response(_page(operations, links), media_type=MediaType.HTML)
        names = [service.name for service in services]
        return Response({"name": "pulka", "services": names, **links, "operations": [f"{method} {path}" for method, path, _ in operations]})

    @get("/problems/{code:str}", tags=["operation"], summary="What the code of a problem document means")
    async def problem(code: FromPath[str]) -> dict[str, str]:
        if code not in TITLES:
            raise Problem(404, "not_found", "There is no such code.")
        return {"code": code, "title": TITLES[code]}

    return [index, problem]


def _operations(document: dict[str, Any]) -> list[tuple[str, str, str]]:
    found = [
        (method.upper(), path, str(item[method].get("summary") or ""))
        for path, item in document["paths"].items()
        for method in _METHODS
        if method in item
    ]
    return sorted(found, key=lambda one: (one[1], one[0]))


def _page(operations: list[tuple[str, str, str]], links: dict[str, str]) -> str:
    rows = "".join(f"<tr><td>{method}<td><code>{escape(path)}</code><td>{escape(summary)}" for method, path, summary in operations)
    foot = " · ".join(f'<a href="{address}">{name}</a>' for name, address in links.items())
    return f"<!doctype html><html lang=en><meta charset=utf-8><title>Pulka</title><h1>Pulka</h1><table>{rows}</table><p>{foot}"
