"""Which bot host plays in which share of the tables: rows in a Postgres schema of their own, which a host asks for over HTTP.

Nothing there is worth a backup: hosts that find no row begin anew.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from services.lobby.database import Database
from shared.leases.port import Instance, ShareLease
from shared.leases.postgres import LeaseTables


class BotLeases:
    """A `LeaseStore`. Raises what Postgres raises when it is away."""

    def __init__(self, database: Database, namespace: str) -> None:
        self._database = database
        schema = f"{namespace}_bots" if namespace else "bots"
        self._tables = LeaseTables(f'"{schema}".lease', f'"{schema}".host')
        self.ddl = f'CREATE SCHEMA IF NOT EXISTS "{schema}";{self._tables.ddl}'

    async def standing(self) -> tuple[list[ShareLease], list[Instance]]:
        """See `LeaseStore.standing`."""
        async with self._database.connection() as connection:
            return await self._tables.standing(connection)

    async def renew(self, holder: str, names: Collection[str], held: Mapping[str, int]) -> frozenset[str]:
        """See `LeaseStore.renew`."""
        async with self._database.connection() as connection:
            return await self._tables.renew(connection, holder, names, held)

    async def take(self, holder: str, seen: ShareLease) -> ShareLease | None:
        """See `LeaseStore.take`."""
        async with self._database.connection() as connection:
            return await self._tables.take(connection, holder, seen)

    async def release(self, held: Mapping[str, int]) -> None:
        """See `LeaseStore.release`."""
        async with self._database.connection() as connection:
            await self._tables.release(connection, held)

    async def leave(self, holder: str) -> None:
        """See `LeaseStore.leave`."""
        async with self._database.connection() as connection:
            await self._tables.leave(connection, holder)
