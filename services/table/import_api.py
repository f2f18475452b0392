"""Import of a pulka that was played elsewhere, over HTTP: an operator sends its score file (deploy/docs/http.md: Table)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any, Final, Literal

import msgspec
from litestar import post
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import JSONBody

from services.table.api import Desk, request_of
from services.table.corrections_api import Author, by_author
from services.table.table import RECORDED, Table
from services.table.tables import Tables
from shared.eventlog.aggregates import aggregates
from shared.eventlog.aggregates.aggregates import Committed, Mismatch, RefusedAt
from shared.events import address
from shared.events.address import Address, is_id, new_id
from shared.events.commit import decode
from shared.rules.deck.seats import MOST
from shared.rules.deck.shuffle import framed
from shared.rules.language.game_events import Event
from shared.rules.pulka.imported import PulkaRecorded, imported
from shared.web.auth import OPERATE, OPERATOR
from shared.web.problems import Problem, malformed, refusal

ROUTE: Final = "/v1/tables/recorded"
EARLIEST: Final = date(1900, 1, 1)  # preferans is older; a year of two digits is a slip
AHEAD: Final = timedelta(days=1)  # it is tomorrow in Vladivostok while it is today by UTC
PURPOSE: Final = "pulka recorded table 1"  # keeps the ids of imported pulkas apart from whatever else is ever made of the same parts

_encode = msgspec.json.Encoder(order="sorted").encode


class NewImport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is written down. `seats`: player ids clockwise, none where they are not known here; `played_on`: the day, if it is known."""

    score_file: dict[str, Any]
    seats: Annotated[tuple[str, ...], msgspec.Meta(max_length=MOST)] = ()
    visibility: Literal["public", "private"] = "public"
    played_on: date | None = None

    @property
    def said(self) -> dict[str, Any]:
        """The fields that make the command; a day that is not told is none of them, as in commands of before it could be."""
        fields: dict[str, Any] = msgspec.to_builtins(self)
        return fields if self.played_on is not None else {name: value for name, value in fields.items() if name != "played_on"}


class AnnulledSince(msgspec.Struct, frozen=True):
    """Who annulled the pulka after it was written down, and why."""

    author: str
    reason: str


class Imported(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where it is to be found from now on, in the books of the ledger; `annulled`, of a repeat: it counts for nothing by now (4.2.16)."""

    table_id: str
    revision: int
    position: str
    hash: str
    annulled: AnnulledSince | None = None


def import_routes(desk: Callable[[], Desk]) -> list[HTTPRouteHandler]:
    """The handler; `desk()` raises 503 `unavailable` before the service has started."""

    @post(
        ROUTE,
        tags=["table"],
        summary="Record a pulka that was played elsewhere: an operator",
        dependencies=by_author(desk),
    )
    async def import_pulka(data: JSONBody[NewImport], author: NamedDependency[Author]) -> Imported:
        at = desk()
        if not author.caller.player.startswith(OPERATOR) or OPERATE not in author.caller.scopes:
            raise Problem(403, "scope_missing", f"This needs an operator's token with the scope {OPERATE!r}.")
        day = data.played_on
        if day is not None and not EARLIEST <= day <= datetime.fromtimestamp(at.clock() // 1000, UTC).date() + AHEAD:
            raise malformed("played_on", f"must be a day from {EARLIEST} to today")
        event = imported(data.score_file, data.seats, data.visibility, author.caller.player, None if day is None else day.isoformat())
        for place, player in enumerate(data.seats):
            if not is_id(player) or await at.tables.log.head(Address("lobby", "player", player)) is None:
                raise malformed(f"seats[{place}]", "the lobby knows no such player")
        table_id = id_of(author.sender.key)
        request = request_of(at.keys, table_id, author.sender, _encode(data.said))
        done = await _recorded(at.tables, table_id, event, request)
        since = (await at.tables.load(table_id, at_leader=True)).state.pulka.annulled
        annulled = None if since is None else AnnulledSince(since.author, since.reason)
        return Imported(table_id, done.loaded.revision, done.stored.position, done.hash, annulled)

    return [import_pulka]


async def _recorded(tables: Tables, table_id: str, event: PulkaRecorded, request: aggregates.Request) -> Committed[Table, Event]:
    """The table's first commit, whoever's it is. Raises 410 `archived`, 422 `idempotency_mismatch` when the key made another pulka."""
    try:
        done = await tables.import_pulka(table_id, event, request)
        if isinstance(done, RefusedAt) and done.refused is RECORDED:  # another operator's, who used the same key
            where = address.table(table_id)
            head = await tables.log.head(where)
            first, *_ = await tables.log.read(where, until=head.sequence if head is not None else 0)
            done = await tables.import_pulka(table_id, event, msgspec.structs.replace(request, actor=decode(first.data).actor))
    except Mismatch:
        told = f"Table {table_id} was imported under this Idempotency-Key, with other deals, seats or visibility."
        raise Problem(422, "idempotency_mismatch", told) from None
    if isinstance(done, RefusedAt):
        refused = msgspec.structs.replace(done.refused, message=f"Table {table_id}: {done.refused.message}")
        raise refusal(refused, done.revision)
    assert isinstance(done, Committed), "recording is never nothing"  # noqa: S101 - says what `Tables.import_pulka` decides
    return done


def id_of(key: str) -> str:
    """The id of the table that this command makes: the same for a repeat by any operator, so that it finds what was made.

    It lies in one of the first partitions for ever: another number of them must not make the same pulka twice, and nobody plays there.
    """
    return new_id(hashlib.sha256(framed(PURPOSE, key)).digest())
