"""What the commands of `pulka audit` have in common: two connections, opened as the settings say, and one line for whatever is missing."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from services.cli.console.logs import log_to
from services.cli.operator.connections import connections, told_in_words
from services.ledger.archive.whole_log import WholeLog, archive_folder
from services.ledger.audit.gathering import Progress
from services.ledger.audit.proofs import Proofs
from services.ledger.audit.signing import Checkpoints
from services.ledger.books import Books
from services.ledger.desk.readers import Readers
from shared.eventlog.port import EventLog
from shared.events.address import is_id
from shared.projections.versions.versions import Versions
from shared.web.log_connection import connected_log
from shared.web.service import CannotStart
from shared.web.settings import Settings


class Access(msgspec.Struct, frozen=True):
    """The log and the ledger's rows."""

    settings: Settings
    log: EventLog
    readers: Readers
    proofs: Proofs

    def checkpoints(self, progress: Progress) -> Checkpoints:
        """What was signed, and signing."""
        return Checkpoints(self.log, self.readers, self.proofs, self.settings.postgres_dsn, progress)


def audit_settings() -> Settings:
    """The settings, once both servers are named and answer. Raises `CannotStart`, `ServersUnreachable`."""
    settings = connections()
    log_to(sys.stderr, "warning")  # standard output is the verdict's; retries and the like are no news
    return settings


def require_id(table_id: str) -> None:
    """Raises `CannotStart` for what is not a table's id."""
    if not is_id(table_id):
        raise CannotStart(f"{table_id!r} is not a table's id")


@asynccontextmanager
async def access(settings: Settings, *, writes: bool = False) -> AsyncIterator[Access]:
    """Both connections, for as long as the context lasts; `writes`: to the rows of proofs too.

    Raises `ServersUnreachable`, `CannotStart` without books.
    """
    readers = Readers(settings.postgres_dsn, Versions(Books.name, settings.namespace), Books.version)
    proofs = Proofs(settings.namespace)
    log = WholeLog(await connected_log(settings, "pulka audit", on_closed=None), archive_folder(settings))
    try:
        with told_in_words(settings):
            if writes:
                await proofs.prepare(settings.postgres_dsn)
            await readers.open()
            yield Access(settings, log, readers, proofs)
    finally:
        await readers.close()
        await log.close()
