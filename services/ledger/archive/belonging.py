"""Whether an archive's tables left this log: of each its last commit stays there, and no two clubs have a table of one id."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

import msgspec

from services.ledger.archive import archive_files
from shared.eventlog.port import EventLog
from shared.events import address


class Belonging(msgspec.Struct, frozen=True):
    """How many tables have a file in a folder, and of which of them the log has nothing."""

    tables: int
    strangers: frozenset[str]

    @property
    def elsewhere(self) -> bool:
        """All of them left another log; what this one says of others would only mislead."""
        return 0 < self.tables == len(self.strangers)


async def belonging(log: EventLog, folder: Path, told: Container[str]) -> Belonging:
    """Ask the log for every table in `folder` but those of which it has `told` that they were archived. Raises `Unavailable`."""
    here = [path.name.removesuffix(archive_files.ENDING) for path in archive_files.files_in(folder)]
    untold = [table_id for table_id in here if table_id not in told]
    return Belonging(len(here), frozenset([table_id for table_id in untold if await log.head(address.table(table_id)) is None]))
