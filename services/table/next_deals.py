"""After a pulka has opened, and after each deal, the next deal is started at once by the instance that saw the end.

Should it die in between, any other starts it for whoever looks at the table, and if nobody does, the clocks find it between two deals;
started twice it is started once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final

import structlog

from services.table.table import Table, next_deal
from services.table.tables import Result, Tables
from shared.eventlog.aggregates.aggregates import BrokenChain, Committed, Loaded, QueueFull
from shared.eventlog.port import LogError

log = structlog.get_logger(__name__)


MISSED: Final = 0.5  # seconds between two deals after which whoever saw the end has not started the next one; it takes milliseconds


class NextDeals:
    """Starts deals beside the requests that made them due."""

    def __init__(self, tables: Tables, clock: Callable[[], int]) -> None:
        self._tables = tables
        self._clock = clock
        self._tasks: set[asyncio.Task[None]] = set()
        self._looked_at: dict[str, asyncio.TimerHandle] = {}  # tables that were seen between two deals

    def after(self, result: Result) -> None:
        """Start the deal that is due after `result`, if one is."""
        if isinstance(result, Committed) and not result.repeated and (number := next_deal(result.loaded.state)) is not None:
            self._begin(self._start(result.loaded.address.id, number))

    def looked_at(self, loaded: Loaded[Table]) -> None:
        """Somebody looks at a table. If its next deal is due, and still is when it should long have begun, start it."""
        table_id = loaded.address.id
        if table_id not in self._looked_at and next_deal(loaded.state) is not None:
            self._looked_at[table_id] = asyncio.get_running_loop().call_later(MISSED, self._missed, table_id)

    async def drain(self) -> None:
        """Wait for the deals that are being started."""
        for timer in self._looked_at.values():
            timer.cancel()
        self._looked_at.clear()
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _missed(self, table_id: str) -> None:
        del self._looked_at[table_id]
        self._begin(self._start(table_id))

    def _begin(self, start: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(start, name="next_deal")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _start(self, table_id: str, number: int | None = None) -> None:
        """Start deal `number`, or the one that is due if one is."""
        try:
            if number is None:
                number = next_deal((await self._tables.load(table_id, at_leader=True)).state)
            if number is not None:
                await self._tables.start_deal(table_id, number, self._clock())
        except (LogError, QueueFull) as passing:
            log.warning("deal_waits", table=table_id, number=number, reason=type(passing).__name__)  # the clocks will start it
        except BrokenChain as damaged:  # nobody waits for this task, so that it would be told nowhere
            log.error("log_damaged", table=table_id, revision=damaged.revision, reason=str(damaged))  # noqa: TRY400 - no fault of the code
