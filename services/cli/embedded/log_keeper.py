"""Keeps the embedded log writable: a stream that met a full disk takes nothing more until its server is started anew, room or no room.

NATS remembers a failed write for its life, and the limit that it was given at its start. So when there is room again for a log that had
none, it is ended in order and started with the limit of now; that takes a tenth of a second, and the services connect again by themselves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final

import structlog

from services.cli.embedded.log_room import LEAST_ROOM, LogRoom
from shared.web.service import CannotStart

log = structlog.get_logger()

LOOK_SECONDS: Final = 1.0  # between two looks at the server's log and the disk: a few system calls
AT_THE_LIMIT: Final = 1024 * 1024  # bytes below the limit at which the next large commit is refused
FULL: Final = b"no space left on device"  # how the server's log says that a write failed


class LogKeeper:
    """`room()` is the room of now, `renew()` starts the server with it, or raises `CannotStart` or `OSError`; `server_log` is where the
    server writes what it meets.
    """

    def __init__(self, server_log: Path, given: LogRoom, room: Callable[[], LogRoom], renew: Callable[[], None]) -> None:
        self._server_log = server_log
        self.given = given  # the room at the server's last start
        self._room = room
        self._renew = renew
        self._read = _length(server_log)
        self._failed = False
        self._said = False

    async def watch(self) -> None:
        """Look again and again; runs until cancelled, from the main thread's loop."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                self.look(await asyncio.to_thread(self._room))
            except (OSError, CannotStart) as wrong:  # the folder is away, or the room has gone again meanwhile: looked at again
                log.warning("log_room_unknown", reason=str(wrong))

    def look(self, now: LogRoom) -> None:
        """Start the server anew if it refuses what there is room for."""
        self._failed = self._failed or self._write_failed()
        if not self._failed and now.used < self.given.limit - AT_THE_LIMIT:
            self._said = False
            return
        if now.left < LEAST_ROOM:
            if not self._said:
                log.error("log_full", left=now.left, needed=LEAST_ROOM, write_failed=self._failed)
            self._said = True
            return
        log.warning("log_has_room_again", left=now.left, write_failed=self._failed)
        self._renew()
        self.given, self._failed, self._said, self._read = now, False, False, _length(self._server_log)

    def _write_failed(self) -> bool:
        """Whether the server's log says so since the last look."""
        length = _length(self._server_log)
        begin = self._read if length >= self._read else 0  # put aside and begun anew
        self._read = length
        if length == begin:
            return False
        with self._server_log.open("rb") as told:
            told.seek(max(0, begin - len(FULL)))  # half of the words may have been there at the last look
            return FULL in told.read(length - begin + len(FULL))


def _length(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0
