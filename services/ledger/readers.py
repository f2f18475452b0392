"""Reading the books: a small pool of connections, each read as of one moment and with a deadline."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import asyncpg

from shared.projections.projection import Connection

POOL: Final = 8  # connections: a read takes a millisecond or two, so these serve thousands a second
PATIENCE: Final = 2.0  # seconds to get a connection, and for a statement; then the answer is 503


class Readers:
    """Connections whose search path is the schema that is read now."""

    def __init__(self, dsn: str, schema: str) -> None:
        self._dsn = dsn
        self._schema = schema
        self._pool: asyncpg.Pool | None = None

    async def open(self) -> None:
        """Connect. Raises `OSError` or asyncpg's errors when Postgres is away."""
        self._pool = await asyncpg.create_pool(
            self._dsn,
            min_size=1,
            max_size=POOL,
            timeout=PATIENCE,
            command_timeout=PATIENCE,
            server_settings={"application_name": f"pulka {self._schema} reads", "search_path": self._schema},
        )

    async def close(self) -> None:
        """Give the connections back, whatever they are doing."""
        if self._pool is not None:
            self._pool.terminate()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Connection]:
        """A connection that sees the rows as of one moment. Raises what asyncpg raises, `ConnectionError`, `TimeoutError`."""
        if self._pool is None:
            raise ConnectionError("not opened")
        try:
            async with asyncio.timeout(PATIENCE):
                connection = await self._pool.acquire()
            try:
                async with connection.transaction(isolation="repeatable_read", readonly=True):
                    yield connection
            finally:
                await self._pool.release(connection, timeout=PATIENCE)
        except asyncpg.InternalClientError as lost:  # the server's farewell came between two statements
            raise ConnectionError("the connection was lost") from lost

    async def answers(self) -> bool:
        """Whether Postgres answers now."""
        try:
            async with asyncio.timeout(0.5), self.reading() as connection:  # seconds: half of what `/health` waits
                await connection.fetchval("SELECT 1")
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            return False
        return True
