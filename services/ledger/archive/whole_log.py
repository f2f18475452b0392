"""The log with the archive behind it: an archived table is read as if it had never left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from pathlib import Path

from services.ledger.archive import archive_files
from services.ledger.archive.archive_files import BadArchive
from shared.eventlog.port import FOLLOW_BATCH, EventLog, LastCommits, NotInArchive, Stored
from shared.events.address import Address, Partitions
from shared.events.archive_mark import is_mark
from shared.projections.versions.filling import Archive
from shared.web.settings import Settings


def archive_folder(settings: Settings) -> Path | None:
    """Where the settings say that archived tables are."""
    return Path(settings.archive_dir).expanduser() if settings.archive_dir else None


def archived_in(log: EventLog, settings: Settings) -> Archive | None:
    """What a filling of the books has to read before `log`; None where the settings name no archive."""
    folder = archive_folder(settings)
    return None if folder is None else archive_files.batches(log, folder)


class WholeLog:
    """An `EventLog` whose `read` knows the archive in `folder`, None where there is none; everything else is the log's own."""

    def __init__(self, log: EventLog, folder: Path | None) -> None:
        self._log = log
        self._folder = folder
        self.snapshots = log.snapshots

    @property
    def partitions(self) -> Partitions:
        """See `EventLog.partitions`."""
        return self._log.partitions

    async def read(self, address: Address, after: int = 0, until: int = 0) -> list[Stored]:
        """See `EventLog.read`. Raises `NotInArchive` besides."""
        there = await self._log.read(address, after, until)
        if not there or there[0].revision == 1 or there[0].sequence == after + 1 or not is_mark(there[0].data):
            return there
        return [*(one for one in await self._archived(address) if after < one.sequence < there[0].sequence), *there]

    async def _archived(self, address: Address) -> list[Stored]:
        if self._folder is None:
            raise NotInArchive(f"table {address.id} lies in the archive, and PULKA_ARCHIVE_DIR is not set")
        path = archive_files.file_of(self._folder, address.id)
        try:
            return list((await asyncio.to_thread(archive_files.read, path)).records)
        except FileNotFoundError:
            raise NotInArchive(f"table {address.id} lies in an archive, and {path} is not there") from None
        except BadArchive as wrong:
            raise NotInArchive(str(wrong)) from wrong

    async def append(self, address: Address, data: bytes, expected: int) -> Stored:
        """See `EventLog.append`."""
        return await self._log.append(address, data, expected)

    async def head(self, address: Address) -> Stored | None:
        """See `EventLog.head`."""
        return await self._log.head(address)

    async def newest(self, address: Address) -> Stored | None:
        """See `EventLog.newest`."""
        return await self._log.newest(address)

    async def confirm(self, stream: str, /) -> None:
        """See `EventLog.confirm`."""
        await self._log.confirm(stream)

    async def heads(self, addresses: Sequence[Address], after: int = 0) -> LastCommits:
        """See `EventLog.heads`."""
        return await self._log.heads(addresses, after)

    def follow(self, stream: str, after: int = 0, batch: int = FOLLOW_BATCH) -> AsyncGenerator[list[Stored], None]:
        """See `EventLog.follow`."""
        return self._log.follow(stream, after, batch)

    def watch(self, address: Address, after: int = 0) -> AsyncGenerator[Stored, None]:
        """See `EventLog.watch`."""
        return self._log.watch(address, after)

    async def hear(self, address: Address, heard: Callable[[Stored], None]) -> Callable[[], Awaitable[None]]:
        """See `EventLog.hear`."""
        return await self._log.hear(address, heard)

    def connected(self) -> bool:
        """See `EventLog.connected`."""
        return self._log.connected()

    def trouble(self) -> str | None:
        """See `EventLog.trouble`."""
        return self._log.trouble()

    def durability(self) -> str:
        """See `EventLog.durability`."""
        return self._log.durability()

    async def last_sequence(self, stream: str) -> int:
        """See `EventLog.last_sequence`."""
        return await self._log.last_sequence(stream)

    async def next_after(self, stream: str, after: int) -> int:
        """See `EventLog.next_after`."""
        return await self._log.next_after(stream, after)

    async def purge(self, address: Address, before: int) -> int:
        """See `EventLog.purge`."""
        return await self._log.purge(address, before)

    async def close(self) -> None:
        """See `EventLog.close`."""
        await self._log.close()
