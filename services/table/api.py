"""The table over HTTP: read it, move, follow it (deploy/docs/http.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec
from litestar import Request, Response, get, post
from litestar.di import NamedDependency, Provide
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, FromQuery, JSONBody
from litestar.response import Stream

from services.table.guards import Asked, Guard, Sender, admitted, move_guards
from services.table.link_gathering import LinkGathering
from services.table.table import maker_of
from services.table.tables import Result, Tables
from services.table.viewer_stream import Reader
from services.table.viewers import sees_now
from shared.eventlog.aggregates import aggregates
from shared.eventlog.aggregates.aggregates import Committed, Nothing, RefusedAt
from shared.events import address
from shared.events.address import is_id
from shared.events.keys import MasterKeys, command_digest, former_digests
from shared.rules.language.moves import AnyMove, CallAttention, OpenLink, Ruling
from shared.rules.language.one_line import BROKEN, is_one_line
from shared.web.auth import Caller, Tokens
from shared.web.idempotency import KeyHeader, SignatureHeader, TagHeader
from shared.web.metrics import request_id
from shared.web.problems import Problem, malformed, refusal
from shared.web.streams.streaming import Streams

_encode = msgspec.json.Encoder(order="deterministic").encode

MOVES: Final = "/v1/tables/{table_id:str}/moves"


class Desk(msgspec.Struct):
    """What the handlers work with once the service has started."""

    tables: Tables
    reader: Reader
    keys: MasterKeys
    streams: Streams
    tokens: Tokens
    clock: Callable[[], int]
    committed: Callable[[Committed[Any, Any]], None]  # told of every commit that was made here, once it is stored
    further: tuple[Guard, ...] = ()  # which a move has to pass behind those that every move passes
    guards: tuple[Guard, ...] = ()  # of a move, all of them; made here
    links: LinkGathering | None = None  # made here

    def __post_init__(self) -> None:
        self.guards = move_guards(self.tokens, self.further)
        self.links = LinkGathering(self.tables, self.clock)

    async def decided(self, table_id: str, sender: Sender, wanted: AnyMove, request: aggregates.Request) -> Result:
        """What becomes of a move; a link waits for those that come with it. Raises what `transact` raises."""
        if isinstance(wanted, OpenLink) and self.links is not None:
            return await self.links.open(table_id, sender.player, wanted, request)
        return await self.tables.move(table_id, sender.player, wanted, sender.seen, request, sender.signature)


def routes(desk: Callable[[], Desk]) -> list[HTTPRouteHandler]:
    """The handlers; `desk()` raises 503 `unavailable` before the service has started."""

    def sender(request: Request[Any, Any, Any], key: KeyHeader = None, tag: TagHeader = None, signature: SignatureHeader = None) -> Sender:
        """All that a move needs besides its body, in one dependency: Litestar runs several in a task group, which is dear."""
        at, authorization = desk(), request.headers.get("authorization")
        address = request.client.host if request.client else ""
        return admitted(at.guards, Asked(authorization, key, tag, address, request_id(request), at.clock(), signature))

    @get("/v1/tables/{table_id:str}", tags=["table"], summary="The table as you may see it")
    async def table(table_id: FromPath[str], viewer: NamedDependency[Caller | None]) -> Response[dict[str, Any]]:
        shown = await desk().reader.now(known(table_id), viewer)
        return Response(shown, headers={"ETag": f'"{shown["revision"]}"', "Cache-Control": "no-store"})

    @post(
        MOVES,
        status_code=200,
        tags=["table"],
        summary="Make one move",
        dependencies={"sender": Provide(sender, sync_to_thread=False)},
    )
    async def move(
        table_id: FromPath[str],
        data: JSONBody[AnyMove],
        sender: NamedDependency[Sender],
    ) -> dict[str, Any]:
        return await make_move(desk(), known(table_id), sender, data)

    @get("/v1/tables/{table_id:str}/events", tags=["table"], summary="Follow the table: Server-Sent Events, or NDJSON by Accept")
    async def events(
        request: Request[Any, Any, Any],
        table_id: FromPath[str],
        viewer: NamedDependency[Caller | None],
        resume_after: NamedDependency[int | None],
        follow: FromQuery[bool] = True,  # noqa: FBT002 - a query parameter, named by whoever gives it
    ) -> Stream:
        at = desk()
        watching, frames = await at.reader.watching(known(table_id), viewer, resume_after, follow=follow)
        return at.streams.open(request, viewer, frames, watching.heartbeat, watching)

    return [table, move, events]


def request_of(keys: MasterKeys, table_id: str, sender: Sender, payload: bytes) -> aggregates.Request:
    """The command that `payload` spells out, as the log is told of it."""
    subject = address.table(table_id).subject
    return aggregates.Request(
        command_id=sender.key,
        actor=sender.player,
        digest=command_digest(keys, subject, payload),
        now=sender.now,
        correlation=sender.request_id,
        former_digests=former_digests(keys, subject, payload),
    )


async def make_move(desk: Desk, table_id: str, sender: Sender, wanted: AnyMove) -> dict[str, Any]:
    """Decide one move, make it durable, and answer what a commit frame says to its sender. Raises `Problem`, and what `transact` raises."""
    _require_one_line(wanted)
    request = request_of(desk.keys, table_id, sender, _encode(wanted))
    with desk.streams.deliveries.behind():
        outcome = await desk.decided(table_id, sender, wanted, request)
    if isinstance(outcome, RefusedAt):
        now = (await desk.tables.load(table_id)).state
        raise refused_at(table_id, outcome, tells=sees_now(now, sender.player))
    if isinstance(outcome, Nothing):  # a promise or a link that the log has already
        at = outcome.loaded
        position = f"{at.address.stream}:{at.sequence}"
        return {"revision": at.revision, "position": position, "at": at.at, "hash": at.head_hash, "events": []}
    desk.committed(outcome)
    eye = maker_of(outcome.loaded.state, sender.player)
    shown = desk.reader.shown(outcome.commit, outcome.hash, outcome.stored.position, eye)
    return shown if sees_now(outcome.loaded.state, sender.player) else shown | {"revision": None, "position": None}


def _require_one_line(wanted: AnyMove) -> None:
    """What a move says in words is shown to the whole table. Asked here alone: logs and deal records may hold other texts."""
    words = {"rule": wanted.rule} if isinstance(wanted, CallAttention | Ruling) else {}
    if isinstance(wanted, Ruling):
        words["reason"] = wanted.reason
    for name, text in words.items():
        if not is_one_line(text):
            raise malformed(name, BROKEN)


def known(table_id: str) -> str:
    """An id that has the shape of one; everything else is no table of ours."""
    if not is_id(table_id):
        raise Problem(404, "no_such_table", "There is no such table.")
    return table_id


def refused_at(table_id: str, outcome: RefusedAt, path: str = "", *, tells: bool = True) -> Problem:
    """The problem of a refused command; `path` is the place in its body that the state alone can call malformed. Not `tells`: without the
    revision, which whoever sent it may not see.
    """
    if not outcome.revision:
        return Problem(404, "no_such_table", f"No pulka has begun at table {table_id}.")
    problem = refusal(outcome.refused, outcome.revision if tells else None)
    if problem.code == "malformed" and path:
        problem.path = path
    return problem
