"""A club whose settled tables are archived, on a real log and a real Postgres."""

from __future__ import annotations

import asyncpg
import pytest

from services.ledger.archive.archiving import Archiver
from services.ledger.archive.whole_log import WholeLog
from services.ledger.audit.proofs import Proofs
from services.ledger.audit.verify import verify_table
from services.ledger.books import Books
from services.ledger.own.own_events import ARCHIVE, OwnEvents
from shared.eventlog.jetstream.log import open_log
from shared.projections.versions.live_version import LiveVersion
from tests.partitions import TABLE_STREAMS
from tests.services.ledger.archive.archiver import NEVER

NOW = 1_800_000_000_000


@pytest.fixture
async def log(nats_url, namespace):
    log = await open_log(nats_url, namespace, heartbeat=0.2)
    yield log
    await log.close()


@pytest.fixture
async def operators(nats_urls, namespace):
    """The log as the user who may purge."""
    log = await open_log(nats_urls.operator, namespace)
    yield log
    await log.close()


class Club:
    """A log, books that follow it, and an archive."""

    def __init__(self, log, operators, projector, connection, books, folder, namespace):
        self.log, self.operators, self.projector, self.connection, self.books, self.folder = (
            log, operators, projector, connection, books, folder,
        )  # fmt: skip
        self.own = OwnEvents(operators)
        self.proofs = Proofs(namespace)
        self.whole = WholeLog(log, folder)

    def archiver(self, told=lambda _table, _step: None, **other):
        log = other.get("log", self.operators)
        return Archiver(log, self.books, self.own, self.proofs, self.folder, author="operator:test", clock=lambda: NOW, told=told)

    async def read(self, *tables):
        """Wait until the books have read these tables."""
        for table in tables:
            assert await self.projector.at_least.wait(table.commits[-1].position, 10.0)

    async def archive(self, older_than=NEVER):
        """What a whole run says, by table."""
        archiver = self.archiver()
        return {table_id: await archiver.move(table_id) async for table_id, _ in archiver.due(older_than)}

    async def verdict(self, table):
        return await verify_table(self.whole, table.address, self.connection)

    async def told(self):
        return [event for _, event in await self.own.read(ARCHIVE)]


@pytest.fixture
async def club(log, operators, connection, postgres_dsn, versions, namespace, tmp_path):
    projector = LiveVersion(log, Books(), TABLE_STREAMS[:1], postgres_dsn, versions)
    await projector.start()
    books = await asyncpg.connect(postgres_dsn, server_settings={"search_path": versions.schema(1)})
    yield Club(log, operators, projector, connection, books, tmp_path / "archive", namespace)
    await books.close()
    await projector.stop()
