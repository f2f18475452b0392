"""Leases in Postgres: two tables, whose names the caller gives, and statements over a connection that is the caller's too."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypeAlias

from shared.leases.port import Instance, ShareLease

Connection: TypeAlias = Any  # asyncpg ships no types


class LeaseTables:
    """The two tables, called `leases` and `instances` in SQL. What a share is called there is `stream`, as when only streams had leases."""

    def __init__(self, leases: str, instances: str) -> None:
        self.ddl = f"""
CREATE TABLE IF NOT EXISTS {leases} (
    stream   text   PRIMARY KEY,
    holder   text   NOT NULL,
    epoch    bigint NOT NULL,
    renewals bigint NOT NULL
);
CREATE TABLE IF NOT EXISTS {instances} (
    holder   text   PRIMARY KEY,
    streams  text[] NOT NULL,
    renewals bigint NOT NULL
);
"""
        self._leases = f"SELECT stream, holder, epoch, renewals FROM {leases}"  # noqa: S608 - our own words, here and below
        self._instances = f"SELECT holder, streams, renewals FROM {instances}"  # noqa: S608
        self._instance = f"""
INSERT INTO {instances} AS i (holder, streams, renewals) VALUES ($1, $2, 1)
ON CONFLICT (holder) DO UPDATE SET streams = excluded.streams, renewals = i.renewals + 1
"""  # noqa: S608
        self._renew = f"""
UPDATE {leases} AS l SET renewals = l.renewals + 1 FROM unnest($1::text[], $2::bigint[]) AS h (stream, epoch)
WHERE l.stream = h.stream AND l.epoch = h.epoch AND l.holder <> '' RETURNING l.stream
"""  # noqa: S608
        self._take = f"""
INSERT INTO {leases} AS l (stream, holder, epoch, renewals)
SELECT $1, $2, 1, 1 WHERE ($3, $4::bigint, $5::bigint) = ('', 0, 0) OR EXISTS (SELECT FROM {leases} WHERE stream = $1)
ON CONFLICT (stream) DO UPDATE SET holder = $2, epoch = l.epoch + 1, renewals = l.renewals + 1
WHERE l.holder = $3 AND l.epoch = $4 AND l.renewals = $5
RETURNING stream, holder, epoch, renewals
"""  # noqa: S608
        self._release = f"""
UPDATE {leases} AS l SET holder = '' FROM unnest($1::text[], $2::bigint[]) AS h (stream, epoch)
WHERE l.stream = h.stream AND l.epoch = h.epoch
"""  # noqa: S608
        self._leave = f"DELETE FROM {instances} WHERE holder = $1"  # noqa: S608

    async def standing(self, connection: Connection) -> tuple[list[ShareLease], list[Instance]]:
        """See `LeaseStore.standing`."""
        leases = await connection.fetch(self._leases)
        instances = await connection.fetch(self._instances)
        return [ShareLease(*row) for row in leases], [Instance(row["holder"], tuple(row["streams"]), row["renewals"]) for row in instances]

    async def renew(self, connection: Connection, holder: str, names: Collection[str], held: Mapping[str, int]) -> frozenset[str]:
        """See `LeaseStore.renew`."""
        async with connection.transaction():
            await connection.execute(self._instance, holder, list(names))
            kept = await connection.fetch(self._renew, list(held), list(held.values())) if held else []
        return frozenset(row["stream"] for row in kept)

    async def take(self, connection: Connection, holder: str, seen: ShareLease) -> ShareLease | None:
        """See `LeaseStore.take`."""
        row = await connection.fetchrow(self._take, seen.name, holder, seen.holder, seen.epoch, seen.renewals)
        return None if row is None else ShareLease(*row)

    async def release(self, connection: Connection, held: Mapping[str, int]) -> None:
        """See `LeaseStore.release`."""
        await connection.execute(self._release, list(held), list(held.values()))

    async def leave(self, connection: Connection, holder: str) -> None:
        """See `LeaseStore.leave`."""
        await connection.execute(self._leave, holder)
