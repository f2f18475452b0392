"""The lobby's connections to Postgres: a small pool whose every use has a deadline, and which survives the server's restarts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import asyncpg

POOL: Final = 6  # connections; lists and sign-ups take a millisecond or two each
PATIENCE: Final = 2.0  # seconds for a connection and a statement together; then the answer is 503
DDL_LOCK: Final = 0x6C6F626279  # "lobby": advisory lock under which tables are made, since CREATE … IF NOT EXISTS races with itself


class Database:
    """Runs statements; raises asyncpg's errors, `OSError`, or `TimeoutError` when Postgres is away."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._pool: asyncpg.Pool | None = None

    async def open(self, ddl: str) -> None:
        """Connect, and make what is missing."""
        self._pool = await asyncpg.create_pool(
            self._dsn,
            min_size=1,
            max_size=POOL,
            timeout=PATIENCE,
            command_timeout=PATIENCE,
            server_settings={"application_name": "pulka lobby"},
        )
        async with self._pool.acquire() as connection, connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1)", DDL_LOCK)
            await connection.execute(ddl)

    async def close(self) -> None:
        """Give the connections back."""
        if self._pool is None:
            return
        pool, self._pool = self._pool, None
        try:
            async with asyncio.timeout(0.5):  # seconds: nothing is under way after a drain, but the server may be away
                await pool.close()
        except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
            pool.terminate()

    async def run(self, statement: str, *values: Any) -> None:
        """One statement without rows."""
        async with asyncio.timeout(PATIENCE):
            async with self._opened().acquire() as connection:
                await connection.execute(statement, *values)

    async def fetch(self, statement: str, *values: Any) -> list[Any]:
        """One statement's rows."""
        async with asyncio.timeout(PATIENCE):
            async with self._opened().acquire() as connection:
                rows: list[Any] = await connection.fetch(statement, *values)
                return rows

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Any]:
        """A connection for several statements, which share the deadline."""
        async with asyncio.timeout(PATIENCE):
            async with self._opened().acquire() as connection:
                yield connection

    async def answers(self) -> bool:
        """Whether Postgres answers now."""
        try:
            async with asyncio.timeout(0.5):  # seconds: half of what `/health` waits
                await self.fetch("SELECT 1")
        except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError):
            return False
        return True

    def _opened(self) -> Any:
        if self._pool is None:
            raise ConnectionError("not opened")
        return self._pool
