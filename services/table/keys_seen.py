"""Under which master keys was sealed: written down, so that no instance starts, or goes on unnoticed, without one of them."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import structlog

from services.table.running_tables import require_keys
from shared.events.keys import MasterKeys, UnknownKey
from shared.projections.core.status import PASSING

LOOK_S: Final = 1.0  # seconds between two looks whether another key seals: as often as its file is looked at

log = structlog.get_logger(__name__)


class KeysSeen:
    """Follows the key that seals here, which changes when the keys are rotated."""

    def __init__(self, postgres_dsn: str, schema: str, keys: MasterKeys) -> None:
        self._postgres_dsn = postgres_dsn
        self._schema = schema
        self._keys = keys
        self._told = ""  # the id that was written down last
        self._missing: str | None = None
        self._task: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Write down which key seals, and go on looking. Raises `UnknownKey` for one under which was sealed before and that is not here."""
        await self.look()
        self._task = asyncio.create_task(self._run())

    async def look(self) -> None:
        """Write the sealing key down if it is another one than before. Raises `UnknownKey`. With Postgres away it is done at a later look:
        tables are opened one by one, and each names a key it lacks.
        """
        sealing = self._keys.ids[0]
        if sealing == self._told:
            return
        try:
            await require_keys(self._postgres_dsn, self._schema, self._keys)
        except PASSING as away:
            log.warning("keys_not_checked", reason=type(away).__name__)
        else:
            if self._told:
                log.info("keys_rotated", seals=sealing, before=self._told)
            self._told = sealing

    async def stop(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def health(self) -> dict[str, Any]:
        """See `MasterKeys.told`; `trouble` also names a key under which was sealed and that is not here."""
        told = self._keys.told()
        return told | {"trouble": told["trouble"] or self._missing}

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                await self.look()
                self._missing = None
            except UnknownKey as unknown:
                self._missing = str(unknown)
