"""A pulka that was played elsewhere is written down, over HTTP: an operator sends its score file (docs/formats.md: Table)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Annotated, Any, Final, Literal

import msgspec
from litestar import Request, post
from litestar.di import NamedDependency, Provide
from litestar.handlers import HTTPRouteHandler
from litestar.params import JSONBody

from services.table.api import Desk
from services.table.corrections_api import Author, author_of
from shared.eventlog import aggregates
from shared.eventlog.aggregates import Committed
from shared.events import address
from shared.events.address import Address, is_id, new_id
from shared.events.keys import command_digest, former_digests
from shared.rules.recorded_pulka import recorded
from shared.rules.seats import MOST
from shared.rules.shuffle import framed
from shared.web.auth import OPERATE, OPERATOR
from shared.web.idempotency import KeyHeader
from shared.web.problems import Problem, malformed

ROUTE: Final = "/v1/tables/recorded"
PURPOSE: Final = "pulka recorded table 1"  # keeps the ids of recorded pulkas apart from whatever else is ever made of the same parts

_encode = msgspec.json.Encoder(order="sorted").encode


class NewRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is written down. `seats`: player ids clockwise, none where they are not known here."""

    score_file: dict[str, Any]
    seats: Annotated[tuple[str, ...], msgspec.Meta(max_length=MOST)] = ()
    visibility: Literal["public", "private"] = "public"


class Recorded(msgspec.Struct, frozen=True):
    """Where it is to be found from now on, in the books of the ledger."""

    table_id: str
    revision: int
    position: str
    hash: str


def recording_routes(desk: Callable[[], Desk]) -> list[HTTPRouteHandler]:
    """The handler; `desk()` raises 503 `unavailable` before the service has started."""

    def author(request: Request[Any, Any, Any], key: KeyHeader = None) -> Author:
        return author_of(desk(), request, key)

    @post(
        ROUTE,
        tags=["table"],
        summary="Record a pulka that was played elsewhere: an operator",
        dependencies={"author": Provide(author, sync_to_thread=False)},
    )
    async def record(data: JSONBody[NewRecord], author: NamedDependency[Author]) -> Recorded:
        at = desk()
        if not author.caller.player.startswith(OPERATOR) or OPERATE not in author.caller.scopes:
            raise Problem(403, "scope_missing", f"This needs an operator's token with the scope {OPERATE!r}.")
        event = recorded(data.score_file, data.seats, data.visibility, author.caller.player)
        for place, player in enumerate(data.seats):
            if not is_id(player) or await at.tables.log.head(Address("lobby", "player", player)) is None:
                raise malformed(f"seats[{place}]", "the lobby knows no such player")
        table_id = id_of(author.caller.player, author.key)
        subject, payload = address.table(table_id).subject, _encode(data)
        request = aggregates.Request(
            command_id=author.key,
            actor=author.caller.player,
            digest=command_digest(at.keys, subject, payload),
            now=author.now,
            correlation=author.request_id,
            former_digests=former_digests(at.keys, subject, payload),
        )
        done = await at.tables.record(table_id, event, request)
        assert isinstance(done, Committed), "nothing but this command makes this table, and a repeat is answered as the first"  # noqa: S101 - says what `id_of` promises
        return Recorded(table_id, done.loaded.revision, done.recorded.position, done.hash)

    return [record]


def id_of(author: str, key: str) -> str:
    """The id of the table that this command of `author` makes: the same for a repeat, so that it finds what it made."""
    return new_id(hashlib.sha256(framed(PURPOSE, author, key)).digest())
