"""The audit over HTTP (deploy/docs/proofs.md): commits, whether they hold, what was signed and what it proves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any, Final

import msgspec
from litestar import Response, get
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, FromQuery, QueryParameter
from litestar.response import Stream

from services.ledger.audit.proof_reads import ProofReads
from services.ledger.audit.verify import verify_table
from services.ledger.desk.desk import Desk, Seen
from services.ledger.desk.requests import NO_STORE, PAGE, Limit
from services.ledger.views import audit_trail, deal_history
from shared.events import address
from shared.events.checkpoint_document import Signed, key_id
from shared.web.auth import Caller
from shared.web.paging import LARGEST, begins_after, paged
from shared.web.problems import Problem, unavailable

NDJSON: Final = "application/x-ndjson"
VERIFICATIONS: Final = 2  # at a time: each is a thread's work, and moves of the tables must go on beside them
VERIFY_S: Final = 20.0  # seconds that a verification may wait and take; a long pulka takes half of one
Revision = Annotated[int, QueryParameter(name="revision", ge=1, le=LARGEST)]
Number = Annotated[int | None, QueryParameter(name="checkpoint", ge=1, le=LARGEST)]


def audit_routes(desk: Callable[[], Desk]) -> list[HTTPRouteHandler]:
    """A table's commits, and whether they hold; `desk()` raises 503 `unavailable` before the service has started."""
    turns = asyncio.Semaphore(VERIFICATIONS)

    @get("/v1/ledger/tables/{table_id:str}/audit", tags=["ledger"], summary="Every commit; its bytes once its deal is revealed")
    async def audit(
        table_id: FromPath[str],
        viewer: NamedDependency[Caller | None],
        *,
        cursor: FromQuery[str | None] = None,
        limit: Limit = PAGE,
        at_least: FromQuery[str | None] = None,
    ) -> Response[dict[str, Any]]:
        after = begins_after(cursor, int) or 0
        at = desk()
        async with at.table(table_id, viewer, at_least) as (connection, seen):
            found = await audit_trail.read(connection, table_id, seen.sight.last_deal, after=after, limit=limit + 1)
            revealed = await deal_history.revealed_deals(connection, table_id)
        page, following = paged(found, limit, lambda step: step.revision)
        try:
            commits = await audit_trail.with_bytes(at.log, seen.sight.table, page, revealed)
        except LookupError as lost:
            raise Problem(500, "log_differs", f"{lost}; see the verification".capitalize()) from None
        return Response({"commits": commits, "cursor": following, **seen.marks}, headers=NO_STORE)

    @get("/v1/ledger/tables/{table_id:str}/audit/verify", tags=["ledger"], summary="Hashes, deals, rules and rows, checked now")
    async def verify(
        table_id: FromPath[str], viewer: NamedDependency[Caller | None], at_least: FromQuery[str | None] = None
    ) -> Response[dict[str, Any]]:
        at = desk()
        async with at.table(table_id, viewer, at_least) as (_, seen):
            pass
        return Response(await _verified(at, table_id, seen, turns), headers=seen.headers | NO_STORE)

    return [audit, verify]


async def _verified(desk: Desk, table_id: str, seen: Seen, turns: asyncio.Semaphore) -> dict[str, Any]:
    """The verdict on what of the table is seen. Raises 503 when it would take too long now."""
    try:
        async with asyncio.timeout(VERIFY_S), turns, desk.readers.reading() as connection:
            last = None if seen.sight.whole else seen.revision
            return await verify_table(desk.log, address.table(table_id), connection, last)
    except TimeoutError:
        raise unavailable("Too many verifications are running.") from None


def proof_routes(reads: Callable[[], ProofReads]) -> list[HTTPRouteHandler]:
    """What is proved to anybody; `reads()` raises 503 `unavailable` before the service has started."""

    @get("/v1/ledger/checkpoints", tags=["ledger"], summary="Signed checkpoints, newest first")
    async def checkpoints(*, cursor: FromQuery[str | None] = None, limit: Limit = PAGE) -> dict[str, Any]:
        at = reads()
        async with at.desk.readers.reading() as connection:
            found = await at.proofs.page(connection, begins_after(cursor, int), limit + 1)
        page, following = paged(found, limit, lambda signed: signed.header.number)
        return {"checkpoints": [shown(one) for one in page], "cursor": following}

    @get("/v1/ledger/checkpoints/{number:int}", tags=["ledger"], summary="One signed checkpoint")
    async def checkpoint(number: FromPath[int]) -> dict[str, Any]:
        at = reads()
        async with at.desk.readers.reading() as connection:
            found = await at.proofs.one(connection, number) if 0 < number < 1 << 63 else None
        if found is None:
            raise Problem(404, "no_such_checkpoint", "There is no such checkpoint.")
        return shown(found)

    @get("/v1/ledger/tables/{table_id:str}/audit/proof", tags=["ledger"], summary="That a commit is in a signed checkpoint")
    async def proof(
        table_id: FromPath[str],
        viewer: NamedDependency[Caller | None],
        revision: Revision,
        *,
        number: Number = None,
        at_least: FromQuery[str | None] = None,
    ) -> Response[dict[str, Any]]:
        at = reads()
        async with at.desk.table(table_id, viewer, at_least) as (connection, seen):
            found = await at.proof(connection, seen, revision, number)
        return Response(msgspec.to_builtins(found), headers=seen.headers | NO_STORE)

    @get("/v1/ledger/tables/{table_id:str}/audit/deals/{number:int}", tags=["ledger"], summary="A revealed deal, dealt once more")
    async def deal(
        table_id: FromPath[str], number: FromPath[int], viewer: NamedDependency[Caller | None], at_least: FromQuery[str | None] = None
    ) -> Response[dict[str, Any]]:
        at = reads()
        async with at.desk.table(table_id, viewer, at_least) as (_, seen):
            if not 0 < number <= seen.sight.last_deal:
                raise Problem(404, "no_such_deal", "There is no such deal, or it is not over or not revealed to you.")
        return Response(msgspec.to_builtins(await at.deal(seen.sight.table, number)), headers=seen.headers | NO_STORE)

    @get("/v1/ledger/tables/{table_id:str}/audit/export", tags=["ledger"], summary="A finished table, to be checked elsewhere")
    async def export(table_id: FromPath[str], viewer: NamedDependency[Caller | None], at_least: FromQuery[str | None] = None) -> Stream:
        at = reads()
        async with at.desk.table(table_id, viewer, at_least) as (connection, seen):
            if seen.sight.table.status != "over":
                raise Problem(409, "pulka_goes_on", "A table can be exported only after its pulka is over.", revision=seen.revision)
            pieces: AsyncIterator[bytes] = await at.export(connection, seen.sight.table)
        name = {"Content-Disposition": f'attachment; filename="{table_id}.ndjson"'}
        return Stream(pieces, media_type=NDJSON, headers=seen.headers | NO_STORE | name)

    return [checkpoints, checkpoint, proof, deal, export]


def shown(signed: Signed) -> dict[str, Any]:
    """A checkpoint as a client gets it: what it says, read, and the text and signature to check."""
    header = signed.header
    return {**msgspec.to_builtins(header), "key_id": key_id(header.key), "signed": signed.signed, "signature": signed.signature}
