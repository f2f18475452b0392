"""The OpenAPI document: Litestar's, with the component schemas that msgspec gives, the problems as responses, and the token as security.

Litestar leaves out `discriminator` and `additionalProperties: false`, without which a client cannot be generated or a request be checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from litestar import Litestar, Request
from litestar.config.app import AppConfig
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme
from litestar.plugins import InitPlugin
from litestar.routes import HTTPRoute
from litestar.typing import FieldDefinition

from shared.web.problems import MEDIA_TYPE, ProblemDocument

VERSION: Final = "1"  # of the HTTP interface; every path begins with it
_REF: Final = "#/components/schemas/{name}"


class Documented(InitPlugin):
    """Serves the completed document under `/schema/openapi.json`."""

    def on_app_init(self, app_config: AppConfig) -> AppConfig:
        """Adds the configuration."""
        app_config.openapi_config = OpenAPIConfig(
            title="Pulka",
            version=VERSION,
            description="An online club for Russian preferans. Errors are problem documents (RFC 9457) with a stable `code`.",
            path="/schema",
            render_plugins=[_Completed()],
            components=Components(security_schemes={"token": SecurityScheme(type="http", scheme="bearer", description="from sign-up")}),
            security=[{}, {"token": []}],
        )
        return app_config


class _Completed(JsonRenderPlugin):
    """Renders the document once it is complete."""

    def __init__(self) -> None:
        super().__init__(path="/openapi.json")
        self._document: bytes | None = None

    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:
        """The document, made at the first request: routes do not change afterwards."""
        if self._document is None:
            self._document = self.render_json(request, complete(openapi_schema, request.app))
        return self._document


def complete(document: dict[str, Any], app: Litestar) -> dict[str, Any]:
    """`document` with msgspec's component schemas, the bodies' discriminators, and a problem as every operation's other answer."""
    bodies = dict(_bodies(app))
    structs = list(dict.fromkeys([ProblemDocument, *_structs(app), *bodies.values()]))
    schemas, components = msgspec.json.schema_components(structs, ref_template=_REF)
    shapes = dict(zip(structs, schemas, strict=True))
    document["components"]["schemas"] = {**document["components"].get("schemas", {}), **components}
    problem = {"description": "A problem (RFC 9457)", "content": {MEDIA_TYPE: {"schema": {"$ref": _REF.format(name="ProblemDocument")}}}}
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if not isinstance(operation, dict) or "responses" not in operation:
                continue
            operation["responses"].pop("400", None)  # Litestar's own form of it, which we do not send
            operation["responses"]["default"] = problem
            if (path, method.upper()) in bodies:
                for content in operation["requestBody"]["content"].values():
                    content["schema"] = shapes[bodies[path, method.upper()]]
    return document


def _bodies(app: Litestar) -> Iterator[tuple[tuple[str, str], Any]]:
    for route in app.routes:
        if isinstance(route, HTTPRoute):
            for handler in route.route_handlers:
                if (field := handler.parsed_fn_signature.parameters.get("data")) is not None:
                    for method in handler.http_methods:
                        yield (route.path_format, str(method)), field.annotation


def _structs(app: Litestar) -> Iterator[type[msgspec.Struct]]:
    for route in app.routes:
        if isinstance(route, HTTPRoute):
            for handler in route.route_handlers:
                yield from _within(handler.parsed_return_field)


def _within(field: FieldDefinition) -> Iterator[type[msgspec.Struct]]:
    if isinstance(field.annotation, type) and issubclass(field.annotation, msgspec.Struct):
        yield field.annotation
    for inner in field.inner_types:
        yield from _within(inner)
