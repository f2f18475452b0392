"""Whether the archive is at hand, for `/health`: before somebody asks for an archived table, or the books have to be written anew."""

from __future__ import annotations

import asyncio
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from services.ledger.own.own_events import ARCHIVE
from shared.eventlog.port import EventLog, LogError
from shared.events.commit import decode
from shared.events.ledger_events import TableArchived
from shared.events.upcast import NewerSchema, stored_ledger_events
from shared.web.settings import variable

LOOK_S: Final = 0.3  # seconds for log and disk together, which take a millisecond: a third of what `/health` waits

# No path: everybody may read `/health`. Whoever may mend it knows what the variable says.
_DIR: Final = variable("archive_dir")
NOT_SET: Final = f"tables were archived, and {_DIR} is not set: set it to the folder that has them and start again"
NOT_THERE: Final = f"the folder of {_DIR} cannot be read ({{}}): mount it or mend its permissions, else set the variable and start again"
OTHER: Final = (
    f"the folder of {_DIR} has no file of the table that was archived last: mount the right one, or bring the file back from a backup"
)
HANGS: Final = f"the folder of {_DIR} does not answer: see to the disk or the network behind it"


class ArchiveAtHand:
    """Looks when it is asked, one look at a time; a folder that hangs keeps nobody waiting."""

    def __init__(self, log: EventLog, folder: Path | None) -> None:
        self._log = log
        self._folder = folder
        self._look: asyncio.Task[str | None] | None = None
        self._at_disk = False
        self._known: str | None = None

    async def trouble(self) -> str | None:
        """What is wrong and what to do about it; None while nothing was archived, and when the file of what was archived last is there.

        Without the log it is what it was. Never raises.
        """
        if self._look is None or self._look.done():
            self._look = asyncio.create_task(self._looked())
        await asyncio.wait({self._look}, timeout=LOOK_S)
        if self._look.done():
            self._known = self._look.result()
        elif self._at_disk:
            self._known = HANGS
        return self._known

    async def close(self) -> None:
        """Look no more."""
        if self._look is not None:
            self._look.cancel()
            await asyncio.gather(self._look, return_exceptions=True)

    async def _looked(self) -> str | None:
        try:
            head = await self._log.head(ARCHIVE)
            events = [] if head is None else stored_ledger_events(decode(head.data))
        except (LogError, NewerSchema, msgspec.MsgspecError):  # away, or a newer program's word: nothing is known of the folder
            return self._known
        files = [event.file for event in events if isinstance(event, TableArchived)]
        if not files:
            return None
        if self._folder is None:
            return NOT_SET
        self._at_disk = True
        try:
            return await _apart(self._folder, files[-1])
        finally:
            self._at_disk = False


async def _apart(folder: Path, file: str) -> str | None:
    """`_wrong_with` in a thread that nobody has to wait for: one of the loop's own keeps the process from ending while the disk hangs."""
    loop = asyncio.get_running_loop()
    found: asyncio.Future[str | None] = loop.create_future()

    def tell(wrong: str | None) -> None:
        if not found.done():
            found.set_result(wrong)

    def look() -> None:
        wrong = _wrong_with(folder, file)
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(tell, wrong)

    threading.Thread(target=look, name="archive at hand", daemon=True).start()
    return await found


def _wrong_with(folder: Path, file: str) -> str | None:
    try:
        with os.scandir(folder) as entries:
            next(entries, None)
        if not (folder / file).exists():
            return OTHER
        with (folder / file).open("rb"):
            return None
    except OSError as wrong:
        return NOT_THERE.format(wrong.strerror)
