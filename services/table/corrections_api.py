"""After the settlement, over HTTP: an operator or the table's arbiter corrects a result, or annuls a pulka (deploy/docs/http.md: Table)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final

import msgspec
from litestar import Request, post
from litestar.di import NamedDependency, Provide
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, JSONBody

from services.table.api import Desk, known, refused_at, request_of
from services.table.guards import Sender
from services.table.table import Table, maker_of
from shared.eventlog.aggregates.aggregates import Committed, RefusedAt
from shared.rules.language.documents import text_like
from shared.rules.language.game_events import Event
from shared.rules.language.moves import Number
from shared.rules.language.one_line import UNSHOWN
from shared.rules.language.refusal import Refused
from shared.rules.pulka import corrections
from shared.rules.pulka.decider import Pulka
from shared.web.auth import OPERATE, OPERATOR, PLAY, Caller
from shared.web.idempotency import KeyHeader, idempotency_key
from shared.web.metrics import request_id
from shared.web.problems import Problem

MOST_SEATS: Final = 5  # of the largest table
# A sentence or a few for everybody to read, kept for ever.
Reason = Annotated[
    str,
    text_like(
        rf"^[^\s{UNSHOWN}][^{UNSHOWN}]*$(?!\n)",
        "must be 1 to 1000 characters on one line, the first of them no space",
        most=1_000,
    ),
]

_encode = msgspec.json.Encoder(order="deterministic").encode


class Correction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`amounts`: whists by seat that are added to what was won, exact (`5`, `"-10/3"`); they sum to zero."""

    amounts: Annotated[tuple[Number, ...], msgspec.Meta(max_length=MOST_SEATS)]
    reason: Reason


class Annulment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why the pulka counts for nothing."""

    reason: Reason


class Author(msgspec.Struct, frozen=True):
    """Who decides something after the end: by what right, and the command's sender."""

    caller: Caller
    sender: Sender


def correction_routes(desk: Callable[[], Desk]) -> list[HTTPRouteHandler]:
    """The handlers; `desk()` raises 503 `unavailable` before the service has started."""

    @post(
        "/v1/tables/{table_id:str}/corrections",
        status_code=200,
        tags=["table"],
        summary="Correct the result of a settled pulka: an operator, or its arbiter",
        dependencies=by_author(desk),
    )
    async def correct(table_id: FromPath[str], data: JSONBody[Correction], author: NamedDependency[Author]) -> dict[str, Any]:
        amounts = corrections.read_amounts(data.amounts)
        told = Correction(tuple(str(number) for number in amounts), data.reason)  # 5, "5" and "10/2" are one command
        return await _decided(
            desk(),
            known(table_id),
            author,
            b"correction " + _encode(told),
            lambda pulka: corrections.correct_within_bounds(pulka, author.caller.player, amounts, data.reason),
        )

    @post(
        "/v1/tables/{table_id:str}/annulment",
        status_code=200,
        tags=["table"],
        summary="Annul a settled pulka: an operator, or its arbiter",
        dependencies=by_author(desk),
    )
    async def annul(table_id: FromPath[str], data: JSONBody[Annulment], author: NamedDependency[Author]) -> dict[str, Any]:
        return await _decided(
            desk(),
            known(table_id),
            author,
            b"annulment " + _encode(data),
            lambda pulka: corrections.annul(pulka, author.caller.player, data.reason),
        )

    return [correct, annul]


def by_author(desk: Callable[[], Desk]) -> dict[str, Provide]:
    """`author: NamedDependency[Author]`, who sent the request; 401 without a token, 400 without an idempotency key."""

    def author(request: Request[Any, Any, Any], key: KeyHeader = None) -> Author:
        at = desk()
        now = at.clock()
        caller = at.tokens.caller(request, now)
        return Author(caller, Sender(caller.player, idempotency_key(key), None, request_id(request), now))

    return {"author": Provide(author, sync_to_thread=False)}


def entitled(table: Table, caller: Caller) -> bool:
    """Whether `caller` may correct and annul: an operator at every table, an arbiter, in their own name, at theirs (4.2.16)."""
    if caller.player.startswith(OPERATOR):  # so that the author in the log tells by what right it was
        return OPERATE in caller.scopes
    return PLAY in caller.scopes and caller.player == table.terms.arbiter


async def _decided(
    desk: Desk, table_id: str, author: Author, payload: bytes, decide: Callable[[Pulka], tuple[Event, ...] | Refused]
) -> dict[str, Any]:
    """Decide, make it durable, and answer what a commit frame says. Raises `Problem`, and what `transact` raises."""
    loaded = await desk.tables.load(table_id)
    if not entitled(loaded.state, author.caller):  # terms never change, and before a pulka there is nobody to judge it
        raise Problem(403, "scope_missing", f"This needs an operator's token with the scope {OPERATE!r}, or that of the table's arbiter.")
    outcome = await desk.tables.after_the_end(table_id, decide, request_of(desk.keys, table_id, author.sender, payload))
    if isinstance(outcome, RefusedAt):
        raise refused_at(table_id, outcome, path="amounts")
    assert isinstance(outcome, Committed), "what is decided here makes an event"  # noqa: S101 - says what the rules promise
    desk.committed(outcome)
    eye = maker_of(outcome.loaded.state, author.caller.player)
    return desk.reader.shown(outcome.commit, outcome.hash, outcome.stored.position, eye)
