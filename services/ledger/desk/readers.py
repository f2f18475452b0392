"""Reading the ledger's rows: a small pool of connections, each read as of one moment, of one version, and with a deadline."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import asyncpg

from shared.projections.core.projection import Connection
from shared.projections.versions.versions import Versions
from shared.web.problems import Problem

POOL: Final = 8  # connections: a read takes a millisecond or two, so these serve thousands a second
PATIENCE: Final = 2.0  # seconds to get a connection, and for a statement; then the answer is 503
TRIES: Final = 3  # at a version that is read: a switch comes between two of them at most once


class NoBooks(Problem):
    """503: there is no version that this program can read; one is being filled, or the books are another program's, or nobody's."""

    def __init__(self) -> None:
        super().__init__(503, "unavailable", "The books are being written anew for this program; `/health` says how far they are.")


class Readers:
    """Connections to the version that is read at the moment of each read.

    A read's first statement asks for the registry's row in the read's own snapshot, along with its BEGIN: so whichever process reads, it
    never sees a version that readers have left, and no message has to arrive for that.
    """

    def __init__(self, dsn: str, versions: Versions, rows: int) -> None:
        """`rows`: the rows that this program can read; a version of others is as good as none."""
        self._dsn = dsn
        self._versions = versions
        self._rows = rows
        self._pool: asyncpg.Pool | None = None
        self._live: int | None = None
        self._begin = ""
        self._ending: set[asyncio.Task[None]] = set()  # reads that have all they wanted, but still a transaction open
        self._paths: dict[int, int] = {}  # by the connection's process id at the server: the version in its search path

    async def open(self) -> None:
        """Connect. Raises `OSError` or asyncpg's errors when Postgres is away."""
        self._pool = await asyncpg.create_pool(
            self._dsn,
            min_size=1,
            max_size=POOL,
            timeout=PATIENCE,
            command_timeout=PATIENCE,
            init=self._forget_path,
            reset=_keep,
            server_settings={"application_name": self._versions.readers},
        )

    async def close(self) -> None:
        """Give the connections back, whatever they are doing."""
        if self._pool is not None:
            self._pool.terminate()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Connection]:
        """A connection that sees the rows as of one moment, in a transaction already.

        Raises what asyncpg raises, `ConnectionError`, `TimeoutError`, and `NoBooks`.
        """
        if self._pool is None:
            raise ConnectionError("not opened")
        try:
            async with asyncio.timeout(PATIENCE):
                connection = await self._pool.acquire()
            begun = True  # until it is known that nothing is: a BEGIN that was cut off may have come there all the same
            try:
                await self._begin_on(connection)
                yield connection
            except NoBooks:
                begun = False
                raise
            finally:
                ending = asyncio.create_task(self._end(self._pool, connection, begun=begun))
                self._ending.add(ending)
                ending.add_done_callback(self._ending.discard)
        except asyncpg.InternalClientError as lost:  # the server's farewell came between two statements
            raise ConnectionError("the connection was lost") from lost

    async def answers(self) -> bool:
        """Whether Postgres answers now."""
        if self._pool is None:
            return False
        try:
            async with asyncio.timeout(0.5):  # seconds: half of what `/health` waits
                await self._pool.fetchval("SELECT 1")
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError):
            return False
        return True

    async def _begin_on(self, connection: Connection) -> None:
        for _ in range(TRIES):
            if self._live is None:
                await self._find(connection)
            server = connection.get_server_pid()
            if self._paths.get(server) != self._live:
                await connection.execute(f'SET search_path TO "{self._versions.schema(self._live or 0)}"')
                self._paths[server] = self._live or 0
            if (await connection.execute(self._begin)).endswith(" 1"):  # the SELECT's one row
                return
            await connection.execute("ROLLBACK")
            self._live = None
        raise NoBooks

    async def _find(self, connection: Connection) -> None:
        live = await self._versions.live(connection)
        if live is None or live.rows != self._rows:
            raise NoBooks
        self._live = live.number
        self._begin = (
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; "
            f"SELECT FROM \"{self._versions.registry}\".live WHERE projection = '{self._versions.name}' AND number = {live.number}"
        )

    async def _end(self, pool: asyncpg.Pool, connection: Any, *, begun: bool) -> None:
        """End a read's transaction and give its connection back: nobody waits for that, since a read has nothing to commit."""
        lost = OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError  # then the pool drops it
        with suppress(*lost):
            if begun:
                await connection.execute("ROLLBACK")
        with suppress(*lost):
            await pool.release(connection, timeout=PATIENCE)

    async def _forget_path(self, connection: Connection) -> None:
        self._paths.pop(connection.get_server_pid(), None)  # it may have been another connection's


async def _keep(_connection: Any) -> None:
    """A connection goes back as it is: a read leaves nothing behind, and the usual clearing would cost each of them a round trip."""


async def live_books(dsn: str, versions: Versions) -> Connection:
    """A connection of one's own to the rows that are read now. Raises `LookupError` when there are none, and what asyncpg raises."""
    connection = await asyncpg.connect(dsn)
    live = await versions.live(connection)
    if live is None:
        await connection.close()
        raise LookupError("no version of the books is read here")
    await connection.execute(f'SET search_path TO "{versions.schema(live.number)}"')
    return connection
