"""How every version of a projection is doing, as Postgres and the log say it: for an operator, with or without a running service."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import msgspec

from shared.eventlog.port import EventLog
from shared.projections.core import checkpoint
from shared.projections.core.checkpoint import LEASE_S
from shared.projections.core.history import RefusedToRun, check_against_log
from shared.projections.core.projection import Connection
from shared.projections.versions.versions import RETIRED, Version, Versions

NOBODY: Final = "nobody_follows"

Due: TypeAlias = Callable[[Connection], Awaitable[Mapping[str, Any]]]  # asked with the version's schema as the search path


class Stream(msgspec.Struct, frozen=True):
    """One stream of one version. `position`: the last sequence that the rows show; `lag_commits`: sequences in the log after it, 0 where
    they were purged; `lag_seconds`: age of the newest commit in the rows while there are newer ones. `parked`: commits that wait.

    `worker`: `following`, `stale` (nobody has renewed the lease for two seconds), `none` (nobody ever took it) or `ended` (readers have
    left this version). `reason`: one word for what is wrong, `detail` a sentence.
    """

    stream: str
    position: int
    lag_commits: int
    lag_seconds: float
    parked: int
    worker: str
    holder: str | None
    epoch: int
    reason: str | None = None
    detail: str | None = None


class Report(msgspec.Struct, frozen=True):
    """One version, its streams, and their sums. `derived`: by name, what is still to be computed of what is derived from its rows."""

    version: Version
    state: str
    streams: Sequence[Stream]
    position: int
    lag_commits: int
    lag_seconds: float
    parked: int
    reason: str | None
    derived: Mapping[str, Mapping[str, Any]]


async def report(
    connection: Connection, event_log: EventLog, versions: Versions, streams: Sequence[str], rows: int,
    derived: Mapping[str, Due] = MappingProxyType({}),
) -> list[Report]:  # fmt: skip
    """Every version, oldest first; `rows` are those that this program writes, `derived` tell what of each kind is due in a version.

    Raises `LogError`, and what asyncpg raises. Leaves the connection's search path at one of the versions.
    """
    found = []
    for version in await versions.known(connection):
        schema = versions.schema(version.number)
        there: list[Stream] = []
        due: dict[str, Mapping[str, Any]] = {}
        if await connection.fetchval("SELECT to_regclass($1)", f'"{schema}".lease') is not None:
            await connection.execute(f'SET search_path TO "{schema}"')
            there = [await _stream(connection, event_log, version, stream) for stream in streams]
            if version.rows == rows:  # another program's may be derived in another way
                due = {name: await ask(connection) for name, ask in derived.items()}
        found.append(_summed(version, there, rows, due))
    return found


def _summed(version: Version, found: Sequence[Stream], rows: int, due: Mapping[str, Mapping[str, Any]]) -> Report:
    reason = next((one.reason for one in found if one.reason), None)
    if version.live and version.rows != rows:
        reason = "newer_rows" if version.rows > rows else "older_rows"
    return Report(
        version,
        version.state,
        found,
        sum(one.position for one in found),
        sum(one.lag_commits for one in found),
        max((one.lag_seconds for one in found), default=0.0),
        sum(one.parked for one in found),
        reason,
        due,
    )


async def _stream(connection: Connection, event_log: EventLog, version: Version, stream: str) -> Stream:
    at = await checkpoint.read(connection, stream)
    last = await event_log.last_sequence(stream)
    behind = last > at.sequence and await event_log.next_after(stream, at.sequence) != 0
    lease = await connection.fetchrow(
        "SELECT holder, epoch, renewed > clock_timestamp() - $2 * interval '1 second' AS fresh FROM lease WHERE stream = $1",
        stream,
        LEASE_S,
    )
    parked = await connection.fetchval("SELECT count(*) FROM parked WHERE stream = $1", stream)
    worker = "none" if lease is None else "following" if lease["fresh"] else "stale"
    if version.state == "retired" or (lease is not None and lease["holder"] == RETIRED):
        worker = "ended"
    reason, detail = None, None
    if version.live:
        try:
            await check_against_log(event_log, at, connection)
        except RefusedToRun as refused:
            reason, detail = refused.reason, str(refused)
        if reason is None and worker != "following":
            reason, detail = NOBODY, "no process renews this stream's lease"
    return Stream(
        stream,
        at.sequence,
        last - at.sequence if behind else 0,
        round(max(0.0, time.time() - at.at / 1000), 3) if behind and at.at else 0.0,
        parked,
        worker,
        lease["holder"] if lease is not None else None,
        lease["epoch"] if lease is not None else 0,
        reason,
        detail,
    )
