"""Links that come together go into one commit: a deal costs one more than before, however many players have chains.

The first link of a round waits a moment for the others. What is acknowledged is in the log, as with every move; a link needs no key of its
own, since it is the only one that fits and opening it again changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from services.table.table import Table, seat_of
from services.table.tables import Result, Tables
from shared.eventlog.aggregates.aggregates import Committed, Request
from shared.rules.language.moves import OpenLink
from shared.rules.pulka import rounds

WAIT_S: Final = 0.1  # for the other links: a round trip over a usual line, and a third of what a deal may take longer for all this


class _Gathering:
    """The links of one table's round that have come, by seat, and what becomes of them."""

    def __init__(self, timer: asyncio.TimerHandle) -> None:
        self.timer = timer
        self.links: dict[int, str] = {}
        self.done: asyncio.Future[Result] = asyncio.get_running_loop().create_future()


class LinkGathering:
    """Opens the links that players send to this instance. Others gather their own: the log takes every link once."""

    def __init__(self, tables: Tables, clock: Callable[[], int]) -> None:
        self._tables = tables
        self._clock = clock
        self._open: dict[str, _Gathering] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self, table_id: str, player: str, wanted: OpenLink, request: Request) -> Result:
        """One player's link, with those of the others as far as they come in time; a move like any other where it does not fit, or the
        links that came with it did not. Raises as `Tables.move`.
        """
        table = (await self._tables.load(table_id)).state
        seat = seat_of(table, player)
        if seat is not None and fits(table, seat, wanted.link):
            result = await self._gathered(table_id, table, seat, wanted.link)
            if isinstance(result, Committed):
                return result
        return await self._tables.move(table_id, player, wanted, None, request)

    async def _gathered(self, table_id: str, table: Table, seat: int, link: str) -> Result:
        gathering = self._open.get(table_id)
        if gathering is None:
            timer = asyncio.get_running_loop().call_later(WAIT_S, self._close, table_id)
            gathering = self._open[table_id] = _Gathering(timer)
        gathering.links[seat] = link
        if gathering.links.keys() >= set(table.pulka.chains.waiting):
            self._close(table_id)
        return await asyncio.shield(gathering.done)  # whoever hangs up does not take the others' links along

    def _close(self, table_id: str) -> None:
        gathering = self._open.pop(table_id)
        gathering.timer.cancel()
        task = asyncio.create_task(self._commit(table_id, gathering), name="links")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _commit(self, table_id: str, gathering: _Gathering) -> None:
        try:
            gathering.done.set_result(await self._tables.open_links(table_id, tuple(gathering.links.items()), self._clock()))
        except Exception as wrong:  # noqa: BLE001 - for whoever sent the links
            gathering.done.set_exception(wrong)


def fits(table: Table, seat: int, link: str) -> bool:
    """Whether `link` is the one that `seat` is asked for, as far as is known here."""
    pulka = table.pulka
    own = pulka.chains.seats[seat] if seat in pulka.chains.waiting else None
    return own is not None and own.fits(pulka.table_id, link, rounds.present(pulka))
