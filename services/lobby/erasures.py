"""Keys of erased people stay destroyed: a crash may have come before it, or the vault be put back from an older backup, at any time.

Such a vault also lacks the keys of people who signed up since. That can only be reported, not repaired: without their key a player
has no name and no password.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

import structlog

from services.lobby.queries import Reads
from services.lobby.vault import Vault
from shared.eventlog.port import EventLog
from shared.projections.core.at_least import AtLeast
from shared.projections.core.status import PASSING

AGAIN_S: Final = 30.0  # seconds between two looks, of three statements: a tenth of a second for a hundred thousand people
SETTLE_S: Final = 2.0  # seconds that a start waits for the first look; with a long way to the log's end it comes later

log = structlog.get_logger(__name__)


class Erasures:
    """Destroys what keys there are of people whom the log has erased: when the rows know all that it had at the start, and ever again."""

    def __init__(self, event_log: EventLog, vault: Vault, reads: Reads, at_least: AtLeast) -> None:
        self.without_key = 0
        """People who are not erased and have no key, as of the last look."""
        self._log = event_log
        self._vault = vault
        self._reads = reads
        self._at_least = at_least
        self._looked = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin; returns after the first look, or when that takes too long."""
        self._looking = asyncio.create_task(self._look_again_and_again(), name="erasures")
        with suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_S):
                await self._looked.wait()

    async def stop(self) -> None:
        """End."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    async def look(self) -> None:
        """Destroy the keys of all who are erased, as far as the rows know, and count who lacks one. Raises what Postgres raises."""
        await self._vault.destroy(await self._reads.erased())
        with suppress(*PASSING):  # a count that is not to be had now is as before
            lacking = await self._reads.without_key()
            if lacking > self.without_key:
                log.warning("keys_missing", persons=lacking)
            self.without_key = lacking

    async def _look_again_and_again(self) -> None:
        told = False
        while True:
            try:
                if self._looked.is_set() or await self._caught_up():
                    await self.look()
                    self._looked.set()
                    told = False
            except PASSING as away:
                if not told:
                    log.warning("erasures_not_checked", reason=type(away).__name__)  # with Postgres away no key can be read either
                told = True
            if self._looked.is_set() or told:
                await asyncio.sleep(AGAIN_S if self._looked.is_set() else SETTLE_S)

    async def _caught_up(self) -> bool:
        """Whether the rows are where the log ends now; waits a moment for them."""
        ends = [f"{stream}:{await self._log.last_sequence(stream)}" for stream in self._log.partitions.lobby_streams]
        return all([await self._at_least.wait(end) for end in ends])
