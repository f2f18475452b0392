"""What a handler's parameters are called by its clients, and which of them are whole numbers: worked out once for a handler."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, cast

import msgspec
from litestar.enums import ParamType
from litestar.handlers.base import BaseRouteHandler
from litestar.params import ParameterKwarg
from litestar.typing import FieldDefinition

_KEPT: Final = "pulka_parameters"  # in the handler's `opt`, which Litestar leaves to the application


class Parameters(msgspec.Struct, frozen=True):
    """`query`: the names that a query may hold. `whole`: those of them, and of the path, whose value is a whole number.

    `called`: the client's name of every parameter by the argument's, where they differ (`from` of `since`).
    """

    query: frozenset[str]
    whole: frozenset[str]
    called: dict[str, str]


def parameters_of(handler: BaseRouteHandler) -> Parameters:
    """The parameters of `handler` and of everything that it depends on."""
    known = handler.opt.get(_KEPT)
    if known is None:
        known = handler.opt[_KEPT] = _worked_out(handler)
    return cast("Parameters", known)


def _worked_out(handler: BaseRouteHandler) -> Parameters:
    query: set[str] = set()
    whole: set[str] = set()
    called: dict[str, str] = {}
    for argument, field in _fields(handler):
        if not isinstance(field.kwarg_definition, ParameterKwarg):
            continue
        name = field.kwarg_definition.name or argument
        if name != argument:
            called[argument] = name
        if field.kwarg_definition.param_type is ParamType.QUERY:
            query.add(name)
        if field.kwarg_definition.param_type in (ParamType.QUERY, ParamType.PATH) and int in _kinds(field):
            whole.add(name)
    return Parameters(frozenset(query), frozenset(whole), called)


def _fields(handler: BaseRouteHandler) -> Iterator[tuple[str, FieldDefinition]]:
    provided = handler.resolve_dependencies()
    waiting = [handler.parsed_fn_signature]
    while waiting:
        for argument, field in waiting.pop().parameters.items():
            if argument in provided:
                waiting.append(provided[argument].parsed_fn_signature)
            else:
                yield argument, field


def _kinds(field: FieldDefinition) -> set[Any]:
    return {field.annotation, *(inner.annotation for inner in field.inner_types)}
