"""The table service, wired: log, keys, commands, read tables, clocks, HTTP."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import Any, Final

import structlog

from services.table.api import Desk, routes
from services.table.clocks.clocks import Clocks
from services.table.clocks.outages import Outages
from services.table.clocks.postgres import PostgresClockStore
from services.table.corrections_api import correction_routes
from services.table.fast_path import Express
from services.table.import_api import import_routes
from services.table.keys_seen import KeysSeen
from services.table.next_deals import NextDeals
from services.table.openings import Openings
from services.table.tables import Tables
from services.table.tokens_watched import TokensWatched
from services.table.viewer_stream import Reader
from shared.eventlog.jetstream.log import JetStreamLog
from shared.events.keys import UnknownKey
from shared.events.redaction import PublicCodec
from shared.events.sealing import TableCodec
from shared.projections.core.history import RefusedToRun
from shared.projections.core.projection import schema_of
from shared.projections.following.projector import Projector
from shared.web import cache_figures
from shared.web.application import now_ms
from shared.web.auth import master_keys, verifying
from shared.web.cache_figures import capacity
from shared.web.log_connection import connected_log
from shared.web.problems import unavailable
from shared.web.service import CannotStart, Service
from shared.web.settings import Settings
from shared.web.streams.streaming import Streams

log = structlog.get_logger(__name__)

FINISH_SECONDS: Final = 0.3  # for what is in hand at a stop; a commit takes milliseconds, and leases need the rest of the second


def create(settings: Settings) -> Service:
    """The service; opens nothing before `start`."""
    run = _Run(settings)
    return Service(
        name="table",
        routes=[*routes(run.desk), *correction_routes(run.desk), *import_routes(run.desk)],
        express=partial(Express, run.desk),
        start=run.start,
        drain=run.drain,
        stop=run.stop,
        health=run.health,
    )


class _Run:
    """One life of the service in one process."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._desk: Desk | None = None
        self._log: JetStreamLog | None = None
        self._next_deals: NextDeals | None = None
        self._clocks: Clocks | None = None
        self._openings: Projector | None = None
        self._keys: KeysSeen | None = None
        self._tokens: TokensWatched | None = None

    def desk(self) -> Desk:
        if self._desk is None or self._log is None or not self._log.connected():
            raise unavailable("The table service is not connected to the log.")
        return self._desk

    async def start(self) -> None:
        settings, keys, tokens = self._settings, master_keys(self._settings), verifying(self._settings)
        self._log = await connected_log(settings, "pulka table")
        tables = Tables(self._log, TableCodec(keys), capacity(settings.cache_mb))
        cache_figures.show("tables", tables.cache)
        next_deals = self._next_deals = NextDeals(tables, now_ms)
        outages = Outages()
        reader = Reader(tables, PublicCodec(keys), now_ms, outages.credit, next_deals.looked_at)
        openings = Openings(tables, now_ms, next_deals.after)
        schema = schema_of(openings, settings.namespace)
        self._openings = Projector(self._log, openings, self._log.partitions.lobby_streams, settings.postgres_dsn, schema)
        try:
            await self._openings.start()
        except RefusedToRun as refused:
            raise CannotStart(f"the table service refuses to run: {refused.reason}: {refused}") from None
        self._keys = KeysSeen(settings.postgres_dsn, schema, keys)
        try:
            await self._keys.begin()
        except UnknownKey as unknown:
            raise CannotStart(f"{unknown}: the log holds deals sealed under it; add it to the master keys file") from None
        store = PostgresClockStore(settings.postgres_dsn, schema)
        self._clocks = Clocks(tables, store, self._log.partitions.table_streams, now_ms, next_deals.after, outages=outages)
        await self._clocks.begin()
        streams = Streams()
        self._tokens = TokensWatched(tokens, streams, now_ms)
        self._tokens.begin()
        self._desk = Desk(tables=tables, reader=reader, keys=keys, streams=streams, tokens=tokens, clock=now_ms, committed=next_deals.after)

    async def drain(self) -> None:
        if self._desk is not None:
            await self._desk.streams.close()

    async def stop(self) -> None:
        await self.drain()
        await self._finished()
        if self._clocks is not None:
            await self._clocks.stop()  # behind the moves: whoever takes over looks for tables between two deals, and there is none
            await self._finished()
        if self._tokens is not None:
            await self._tokens.stop()
        if self._keys is not None:
            await self._keys.stop()
        if self._openings is not None:
            await self._openings.stop()
        if self._log is not None:
            await self._log.close()
        self._desk = None

    async def _finished(self) -> None:
        """Moves in hand are stored, the deals that follow are started, and snapshots are written; a log that is away is not waited for."""
        with suppress(TimeoutError):
            async with asyncio.timeout(FINISH_SECONDS):
                if self._next_deals is not None:
                    await self._next_deals.drain()
                if self._desk is not None:
                    await self._desk.tables.drain()

    async def health(self) -> dict[str, Any]:
        if self._desk is None or self._log is None or self._clocks is None or self._openings is None or self._keys is None:
            return {"status": "down", "reason": "not started"}
        openings = self._openings.health()
        connected = self._log.connected()
        sweeps, skew, trouble = self._clocks.state in {"sweeping", "standby"}, self._clocks.skew(), self._log.trouble()
        kept = self._log.streams_health()
        keys = self._keys.health()
        well = (
            keys["trouble"] is None
            and connected
            and trouble is None
            and sweeps
            and not skew
            and openings["status"] == kept["status"] == "ok"
        )
        return {
            "status": "ok" if well else "degraded" if connected else "down",
            "log": (trouble or "connected") if connected else "away",
            "log_streams": kept,
            "durability": self._log.durability(),
            "clocks": self._clocks.state,
            **({"clock_skew": skew} if skew else {}),
            "streams": self._desk.streams.count,
            "master_keys": keys,
            "projections": [openings],
        }
