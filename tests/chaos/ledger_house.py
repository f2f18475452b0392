"""Servers of a test's own, which it may break, and the ledger on them."""

from __future__ import annotations

import asyncio
import os
import signal

import asyncpg

from services.cli.embedded import EmbeddedServers
from services.ledger import main
from services.ledger.books import Books
from shared.eventlog.jetstream.log import open_log
from shared.projections.versions.versions import Versions
from shared.web.settings import Settings
from tests.chaos.ledger_play import differences

NAMESPACE = "faults"
SCHEMA = Versions(Books.name, NAMESPACE).schema(1)
PATIENCE = 60.0  # seconds for what comes by itself; it takes one or two


class House:
    """Servers of a test's own, which it may break, and the ledger on them."""

    def __init__(self, servers: EmbeddedServers):
        self.servers = servers
        self.settings = Settings(nats_url=servers.nats_url, postgres_dsn=servers.postgres_dsn, namespace=NAMESPACE, nats_durable=True)
        self.log = None
        self.service = None

    async def open(self):
        self.log = await open_log(self.servers.nats_url, NAMESPACE, durable=True, heartbeat=0.2)

    async def start(self):
        self.service = main.create(self.settings)
        await self.service.start()

    async def stop(self):
        if self.service is not None:
            service, self.service = self.service, None
            await service.stop()

    async def close(self):
        await self.stop()
        await self.log.close()

    @property
    def desk(self):
        return self.service.start.__self__.desk()

    async def shown(self, played):
        """What the books show of a table, once they have its last commit: its revision."""
        async with self.desk.table(played.id, None, played.commits[-1].position) as (connection, seen):
            assert await connection.fetchval("SELECT count(*) FROM audit_trail WHERE table_id = $1", played.id) == seen.revision
            return seen.revision

    async def says(self, *, status, **problems):
        """Wait until `/health` says so; `problems` by stream."""
        found = {}
        try:
            async with asyncio.timeout(PATIENCE):
                while (found.get("status"), found.get("problems")) != (status, problems):
                    found = (await self.service.health())["books"]
                    await asyncio.sleep(0.02)  # the interval of a poll
        except TimeoutError:
            raise AssertionError(found) from None

    def kill(self, name):
        os.kill(self.servers.pids[name], signal.SIGKILL)
        os.waitid(os.P_PID, self.servers.pids[name], os.WEXITED | os.WNOWAIT)  # dead, and left for its owner to reap

    async def differences(self):
        connection = await asyncpg.connect(self.servers.postgres_dsn)
        try:
            return await differences(connection, self.log, self.servers.postgres_dsn, SCHEMA)
        finally:
            await connection.close()
