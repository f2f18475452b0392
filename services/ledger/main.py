"""The ledger, wired: the log to read, the projection into its rows, the readers, HTTP. It holds no master key."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import Any, Final

from services.ledger.archive.at_hand import ArchiveAtHand
from services.ledger.archive.whole_log import WholeLog, archive_folder, archived_in
from services.ledger.audit.audit_api import audit_routes, proof_routes
from services.ledger.audit.proof_reads import ProofReads
from services.ledger.audit.proofs import Proofs
from services.ledger.audit.signing import Checkpoints, DailySigner, signing_key
from services.ledger.books import Books
from services.ledger.desk.desk import Desk
from services.ledger.desk.player_names import LobbyNames
from services.ledger.desk.readers import Readers
from services.ledger.desk.table_api import table_routes
from services.ledger.exports.export_api import export_routes
from services.ledger.own.own_events import OwnEvents
from services.ledger.own.parked import ParkingChronicle
from services.ledger.own.switches import announce
from services.ledger.players import rating_rows
from services.ledger.players.players_api import rating_routes, stats_routes
from services.ledger.players.rating_keeper import RatingKeeper
from services.ledger.sheet.sheet_api import sheet_routes
from services.ledger.whists.statement_api import player_routes, statement_routes
from shared.eventlog.jetstream.log import JetStreamLog
from shared.projections.core.history import RefusedToRun
from shared.projections.following.follow import Pace
from shared.projections.versions.live_version import LiveVersion
from shared.projections.versions.versions import Version, Versions
from shared.web.log_connection import connected_log
from shared.web.postgres_connection import AWAY, postgres_away, postgres_started
from shared.web.problems import unavailable
from shared.web.service import CannotStart, Service
from shared.web.settings import Settings

PACE: Final = Pace(calm=60, seconds=0.05)  # up to 480 commits a second in all partitions are readable at once, more within 50 ms


def create(settings: Settings) -> Service:
    """The service; opens nothing before `start`."""
    ledger = Ledger(settings)
    routes = [
        *table_routes(ledger.desk),
        *sheet_routes(ledger.desk, ledger.names),
        *audit_routes(ledger.desk),
        *player_routes(ledger.desk),
        *statement_routes(ledger.desk),
        *export_routes(ledger.desk, ledger.names),
        *proof_routes(ledger.proofs),
        *stats_routes(ledger.desk),
        *rating_routes(ledger.desk, ledger.ratings),
    ]
    return Service(name="ledger", routes=routes, start=ledger.start, drain=ledger.drain, stop=ledger.stop, health=ledger.health)


class Ledger:
    """One life of the service in one process."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.names = LobbyNames(settings.lobby_url)
        self._log: JetStreamLog | None = None
        self._books: LiveVersion | None = None
        self._readers: Readers | None = None
        self._desk: Desk | None = None
        self._proofs: ProofReads | None = None
        self._archive: ArchiveAtHand | None = None
        self._signer: DailySigner | None = None
        self._signing: asyncio.Task[None] | None = None

    def desk(self) -> Desk:
        """What the handlers work with; raises 503 before the start and after the stop."""
        if self._desk is None:
            raise unavailable("The ledger is not open.")
        return self._desk

    def proofs(self) -> ProofReads:
        """What the handlers of proofs work with; as `desk`."""
        if self._proofs is None:
            raise unavailable("The ledger is not open.")
        return self._proofs

    def ratings(self) -> RatingKeeper:
        """Who keeps the ratings; raises as `desk`."""
        keeper = self._books.beside if self._books is not None else None
        if not isinstance(keeper, RatingKeeper):
            raise unavailable("The ledger is not open.")
        return keeper

    async def start(self) -> None:
        """Connect and begin to follow. Raises `ServersUnreachable`, and `CannotStart` when the log is not the one that the books are of, or
        the books are a newer program's.
        """
        settings, books, proofs = self._settings, Books(), Proofs(self._settings.namespace)
        signing_key(settings)  # a file that cannot be used is told at the start, not at midnight
        versions = Versions(books.name, settings.namespace)
        await postgres_started(settings)
        self._log = await connected_log(settings, "pulka ledger")
        own_events = OwnEvents(self._log)

        async def switched(version: Version) -> None:
            await announce(own_events, books.name, version)

        self._books = LiveVersion(
            self._log,
            books,
            self._log.partitions.table_streams,
            settings.postgres_dsn,
            versions,
            pace=PACE,
            announce=switched,
            chronicle=ParkingChronicle(own_events, books.name),
            stage=rating_rows.recompute,
            beside=lambda schema: RatingKeeper(settings.postgres_dsn, schema),
            archive=partial(archived_in, self._log, settings),
        )
        self._readers = Readers(settings.postgres_dsn, versions, books.version)
        try:
            await proofs.prepare(settings.postgres_dsn)
            await self._readers.open()
            await self._books.start()
        except RefusedToRun as refused:
            raise CannotStart(f"the ledger refuses to run: {refused.reason}: {refused}") from refused
        except AWAY as wrong:
            raise postgres_away(settings, wrong) from wrong
        self._archive = ArchiveAtHand(self._log, archive_folder(settings))
        whole = WholeLog(self._log, archive_folder(settings))
        self._desk = Desk(whole, self._readers, self._books.at_least)
        self._proofs = ProofReads(self._desk, proofs)
        checkpoints = Checkpoints(whole, self._readers, proofs, settings.postgres_dsn)
        self._signer = DailySigner(self._log, checkpoints, partial(signing_key, settings), self._leads, lambda: int(time.time() * 1000))
        self._signing = asyncio.create_task(self._signer.run())

    def _unsigned(self) -> str | None:
        """Why no checkpoint is signed any more; None when all is well, or log and database are only waited for."""
        if self._signing is not None and self._signing.done():
            return "stopped"
        return self._signer.refused if self._signer is not None else None

    def _leads(self) -> bool:
        """Whether this instance is the one that signs: the holder of the first stream's lease in the version that is read."""
        states = self._books.status() if self._books is not None else []
        return bool(states) and states[0].state == "following"

    async def drain(self) -> None:
        """Nothing to end: reads are short."""

    async def stop(self) -> None:
        """Give up the leases and close everything, also what a start that failed has left."""
        self._desk = self._proofs = None
        if self._signing is not None:
            self._signing.cancel()
            await asyncio.gather(self._signing, return_exceptions=True)
        if self._archive is not None:
            await self._archive.close()
        if self._books is not None:
            await self._books.stop()
        if self._readers is not None:
            await self._readers.close()
        await self.names.close()
        if self._log is not None:
            await self._log.close()

    async def health(self) -> dict[str, Any]:
        """`down` without Postgres or when a stream is refused; `degraded` while the log is away, the books are late, a checkpoint was not
        signed, or archived tables are not at hand.
        """
        if self._log is None or self._books is None or self._readers is None or self._archive is None:
            return {"status": "down", "reason": "not started"}
        log, books = self._log.connected(), self._books.health()
        postgres, archive = await asyncio.gather(self._readers.answers(), self._archive.trouble())
        refused = self._unsigned()
        keeper = self._books.beside
        ratings = keeper.health() if isinstance(keeper, RatingKeeper) else {"status": "down", "reason": "being_filled"}
        trouble = self._log.trouble()
        streams = self._log.streams_health()
        parts_well = books["status"] == ratings["status"] == streams["status"] == "ok"
        well = log and trouble is None and parts_well and refused is None and archive is None
        return {
            "status": "down" if not postgres or books["status"] == "down" else "ok" if well else "degraded",
            "log": (trouble or "connected") if log else "away",
            "log_streams": streams,
            "durability": self._log.durability(),
            "postgres": "connected" if postgres else "away",
            "books": books,
            "checkpoints": refused,
            "archive": archive,
            "ratings": ratings,
        }
