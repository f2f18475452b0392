"""The ledger over a log in memory and a real Postgres, and its routes in process."""

from __future__ import annotations

import time

import httpx
import pytest

from services.ledger.audit.audit_api import audit_routes
from services.ledger.audit.proofs import Proofs
from services.ledger.audit.signing import Checkpoints
from services.ledger.books import Books
from services.ledger.desk.desk import Desk
from services.ledger.desk.readers import Readers
from services.ledger.desk.table_api import table_routes
from services.ledger.exports.export_api import export_routes
from services.ledger.players.players_api import rating_routes, stats_routes
from services.ledger.players.rating_keeper import RatingKeeper
from services.ledger.sheet.sheet_api import sheet_routes
from services.ledger.whists.statement_api import player_routes, statement_routes
from shared.eventlog.memory import MemoryLog, MemoryStore
from shared.events.keys import MasterKeys
from shared.projections.versions.live_version import LiveVersion
from shared.projections.versions.versions import Versions
from shared.web import application
from shared.web.auth import READ, Issuer
from shared.web.service import Service
from shared.web.settings import Settings
from tests.partitions import TABLE_STREAMS
from tests.token_keys import ISSUER, token_files


@pytest.fixture
def log():
    return MemoryLog(MemoryStore(), heartbeat=0.05)


@pytest.fixture
def versions(namespace):
    return Versions(Books.name, namespace)


@pytest.fixture
def schema(versions):
    """Where the first version's rows are."""
    return versions.schema(1)


@pytest.fixture
async def projector(log, postgres_dsn, versions, connection):  # noqa: ARG001 - the connection clears away afterwards
    projector = LiveVersion(log, Books(), TABLE_STREAMS[:1], postgres_dsn, versions)  # the tests play in partition 0
    await projector.start()
    yield projector
    await projector.stop()


@pytest.fixture
async def readers(projector, postgres_dsn, versions):  # noqa: ARG001 - it makes the rows
    readers = Readers(postgres_dsn, versions, Books.version)
    await readers.open()
    yield readers
    await readers.close()


@pytest.fixture
async def proofs(namespace, postgres_dsn):
    proofs = Proofs(namespace)
    await proofs.prepare(postgres_dsn)
    return proofs


@pytest.fixture
def checkpoints(log, readers, proofs, postgres_dsn):
    return Checkpoints(log, readers, proofs, postgres_dsn)


class Site:
    """The ledger's routes, asked by somebody; `read` waits for the rows of everything that was played."""

    def __init__(self, client: httpx.AsyncClient, tokens: Issuer, log: MemoryLog) -> None:
        self.client, self._tokens, self._log = client, tokens, log

    def token(self, player: str, *scopes: str) -> dict[str, str]:
        """The header that names `player`."""
        return {"Authorization": f"Bearer {self._tokens.issue(player, scopes or (READ,), int(time.time()))}"}

    async def get(
        self, path: str, player: str | None = None, headers: dict[str, str] | None = None, **parameters: object
    ) -> httpx.Response:
        known = self.token(player) if player is not None else {}
        return await self.client.get(f"/v1/ledger{path}", params=parameters or None, headers=known | (headers or {}))

    async def read(self, played: object, path: str, player: str | None = None, **parameters: object) -> dict:
        """The JSON answer about a table, not before the rows show all of it."""
        parameters.setdefault("at_least", played.commits[-1].position)
        answer = await self.get(f"/tables/{played.id}{path}", player, **parameters)
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture
async def site(projector, log, postgres_dsn, versions, schema, tmp_path):
    readers = Readers(postgres_dsn, versions, Books.version)
    await readers.open()
    desk = Desk(log, readers, projector.at_least)
    keepers: list[RatingKeeper] = []

    def keeper() -> RatingKeeper:
        """Started by the first who waits for ratings: other tests compare rows with a rebuild's, which nobody has rated."""
        if not keepers:
            keepers.append(RatingKeeper(postgres_dsn, schema))
            keepers[0].start()
        return keepers[0]

    async def nothing() -> None:
        """Started and stopped by the fixtures."""

    async def health() -> dict:
        return projector.health()

    MasterKeys.create(tmp_path / "master_keys", "k1", b"k" * 32)
    made = (
        table_routes,
        sheet_routes,
        audit_routes,
        player_routes,
        statement_routes,
        export_routes,
        stats_routes,
    )
    routes = [route for make in made for route in make(lambda: desk)]
    routes += rating_routes(lambda: desk, keeper)
    service = Service(name="ledger", routes=routes, start=nothing, stop=nothing, health=health)
    app = application.build([service], Settings(master_keys_file=str(tmp_path / "master_keys"), **token_files(tmp_path)))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://ledger") as client:
        site = Site(client, ISSUER, log)
        site.app, site.desk = app, desk
        yield site
    for started in keepers:
        await started.stop()
    await readers.close()
