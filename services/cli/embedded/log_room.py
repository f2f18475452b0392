"""How much the log may still grow: the free space of its volume, less what must stay free."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

import msgspec

from services.cli.embedded.home import LEAST_FREE, Home

LEAST_ROOM: Final = 8 * 1024 * 1024  # bytes; a dozen pulkas and NATS's own files: below that a start would end in refused moves
SMALL_ROOM: Final = 256 * 1024 * 1024  # bytes; a small club's month: a start with less says how much it is
OWN_SHARE: Final = 4  # of a volume that only the log uses a fourth stays free, at most LEAST_FREE: Postgres lives elsewhere


class LogRoom(msgspec.Struct, frozen=True):
    """Bytes: what the log's files hold, and how much more they may come to."""

    used: int
    left: int

    @property
    def limit(self) -> int:
        """What the server is told: it refuses appends there, before the disk itself is full."""
        return self.used + self.left

    @property
    def megabytes(self) -> int:
        """`left` as it is said."""
        return self.left >> 20


def room_of(home: Home) -> LogRoom:
    """As of now. HOME/nats may be a volume of its own. Raises `OSError`."""
    used = sum(size for path in home.log.rglob("*") if (size := _size(path)))
    free = shutil.disk_usage(home.nats).free
    alone = home.nats.stat().st_dev != home.path.stat().st_dev
    spare = min(LEAST_FREE, free // OWN_SHARE) if alone else LEAST_FREE
    return LogRoom(used, max(0, free - spare))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:  # the server has just taken it away
        return 0
