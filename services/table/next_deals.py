"""After a pulka has opened, and after each deal, the next deal is started at once by the instance that saw the end.

Should it die in between, the clocks find the table between two deals and start it; started twice it is started once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from services.table.table import Result, Tables, next_deal
from shared.eventlog.aggregates.aggregates import BrokenChain, Committed, QueueFull
from shared.eventlog.port import LogError

log = structlog.get_logger(__name__)


class NextDeals:
    """Starts deals beside the requests that made them due."""

    def __init__(self, tables: Tables, clock: Callable[[], int]) -> None:
        self._tables = tables
        self._clock = clock
        self._tasks: set[asyncio.Task[None]] = set()

    def after(self, result: Result) -> None:
        """Start the deal that is due after `result`, if one is."""
        if isinstance(result, Committed) and not result.repeated and (number := next_deal(result.loaded.state)) is not None:
            task = asyncio.create_task(self._start(result.loaded.address.id, number), name="next_deal")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def drain(self) -> None:
        """Wait for the deals that are being started."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _start(self, table_id: str, number: int) -> None:
        try:
            await self._tables.start_deal(table_id, number, self._clock())
        except (LogError, QueueFull) as passing:
            log.warning("deal_waits", table=table_id, number=number, reason=type(passing).__name__)  # the clocks will start it
        except BrokenChain as damaged:  # nobody waits for this task, so that it would be told nowhere
            log.error("log_damaged", table=table_id, revision=damaged.revision, reason=str(damaged))  # noqa: TRY400 - no fault of the code
