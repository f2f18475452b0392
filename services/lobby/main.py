"""The lobby's composition root: what it is made of, and what happens at its start and stop."""

from __future__ import annotations

from typing import Any

from litestar import Router

from services.lobby.api import name_route, player_routes
from services.lobby.bot_host_api import bot_routes, host_only, lease_routes
from services.lobby.bot_leases import BotLeases
from services.lobby.database import Database
from services.lobby.desk import Desk
from services.lobby.erasure_api import erasure_routes
from services.lobby.erasures import Erasures
from services.lobby.passwords import Passwords
from services.lobby.players import Players
from services.lobby.projection import LobbyRows
from services.lobby.queries import Reads
from services.lobby.table_api import orders, seat_routes, table_routes
from services.lobby.table_progress import Progress
from services.lobby.tables import Tables
from services.lobby.vault import Vault
from shared.eventlog.jetstream.log import JetStreamLog
from shared.projections.core.history import RefusedToRun
from shared.projections.core.projection import schema_of
from shared.projections.following.projector import Projector
from shared.web import cache_figures
from shared.web.application import now_ms
from shared.web.auth import issuing, master_keys, verifying
from shared.web.log_connection import connected_log
from shared.web.postgres_connection import AWAY, postgres_away, postgres_started
from shared.web.problems import unavailable
from shared.web.service import CannotStart, Service
from shared.web.settings import Settings


def create(settings: Settings) -> Service:
    """The lobby; it opens nothing before its start. Raises `CannotStart` when master keys or token keys are missing."""
    lobby = Lobby(settings)
    tables = Router("/", route_handlers=[*table_routes(lobby.desk), *seat_routes(lobby.desk)], dependencies={"order": orders(lobby.desk)})
    bots = Router("/", route_handlers=[*lease_routes(lobby.desk), *bot_routes(lobby.desk)], dependencies={"host": host_only()})
    routes = [*player_routes(lobby.desk), name_route(lobby.desk), *erasure_routes(lobby.desk), tables, bots]
    return Service(name="lobby", routes=routes, start=lobby.start, stop=lobby.stop, health=lobby.health)


class Lobby:
    """The parts of one lobby and their life."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._keys = master_keys(settings)
        self._tokens, self._issuer = verifying(settings), issuing(settings)
        self._database = Database(settings.postgres_dsn)
        self._log: JetStreamLog | None = None
        self._projector: Projector | None = None
        self._progress: Progress | None = None
        self._erasures: Erasures | None = None
        self._desk: Desk | None = None

    async def start(self) -> None:
        """Connect and begin to follow. Raises `ServersUnreachable`, `CannotStart`."""
        settings, rows = self._settings, LobbyRows()
        schema = schema_of(rows, settings.namespace)
        vault = Vault(self._database, self._keys, settings.namespace)
        leases = BotLeases(self._database, settings.namespace)
        await postgres_started(settings)
        event_log = self._log = await connected_log(settings, "pulka lobby")
        self._projector = Projector(event_log, rows, event_log.partitions.lobby_streams, settings.postgres_dsn, schema)
        try:
            await self._database.open(vault.ddl + leases.ddl)
            await self._projector.start()
        except RefusedToRun as refused:
            raise CannotStart(f"the lobby refuses to run: {refused.reason}: {refused}") from refused
        except AWAY as wrong:
            raise postgres_away(settings, wrong) from wrong
        self._progress = Progress(event_log, self._database, schema)
        self._progress.start()
        players, tables = Players(event_log, self._keys, vault, self._issuer, Passwords()), Tables(event_log, self._keys)
        cache_figures.show("lobby players", players.cache)
        cache_figures.show("lobby tables", tables.cache)
        reads = Reads(self._database, vault, players, schema)
        self._erasures = Erasures(event_log, vault, reads, self._projector.at_least)
        await self._erasures.start()
        self._desk = Desk(event_log, players, tables, reads, self._projector.at_least, self._tokens, leases, now_ms)

    def desk(self) -> Desk:
        """What the handlers work with; raises 503 before the start and after the stop."""
        if self._desk is None:
            raise unavailable("The lobby is not open.")
        return self._desk

    async def stop(self) -> None:
        """End what was begun; close everything, also what a start that failed has left."""
        desk, self._desk = self._desk, None
        if desk is not None:
            await desk.tables.drain()
            await desk.players.drain()
        if self._erasures is not None:
            await self._erasures.stop()
        if self._progress is not None:
            await self._progress.stop()
        if self._projector is not None:
            await self._projector.stop()
        await self._database.close()
        if self._log is not None:
            await self._log.close()

    async def health(self) -> dict[str, Any]:
        """`down` without the log; `degraded` without Postgres (seats and ready go on), or while the rows are late."""
        if self._log is None or self._projector is None or self._progress is None:
            return {"status": "down", "reason": "not started"}
        log, postgres = self._log.connected(), await self._database.answers()
        rows, progress = self._projector.health(), self._progress.health()
        trouble, keys = self._log.trouble(), self._keys.told()
        streams = self._log.streams_health()
        well = postgres and trouble is None and keys["trouble"] is None
        well = well and rows["status"] == progress["status"] == streams["status"] == "ok"
        return {
            "status": "down" if not log else "ok" if well else "degraded",
            "log": log,
            "log_trouble": trouble,
            "log_streams": streams,
            "durability": self._log.durability(),
            "postgres": postgres,
            "rows": rows,
            "progress": progress,
            "token_key": self._issuer.signer.id,
            "master_keys": keys,
            "without_key": self._erasures.without_key if self._erasures is not None else 0,
        }
