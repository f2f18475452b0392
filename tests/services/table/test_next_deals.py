"""A next deal whose starter has died is started for whoever looks at the table; nobody waits until the clocks are taken over."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from services.table.next_deals import NextDeals
from services.table.tables import Tables
from services.table.viewer_stream import Reader
from shared.events import address
from shared.events.redaction import PublicCodec
from shared.events.sealing import TableCodec
from tests.services.cli.processes import until_async
from tests.services.table.playing import KEYS, TABLE_ID, Playing


async def dead_between_two_deals():
    """The log of a table whose first deal is due, and another instance of its own: tables, next deals, and a reader."""
    playing = Playing()
    await playing.tables.open(TABLE_ID, playing.opening, playing.now, None)
    tables = Tables(playing.log, TableCodec(KEYS))
    next_deals = NextDeals(tables, lambda: playing.now)
    return playing, next_deals, Reader(tables, PublicCodec(KEYS), lambda: playing.now, looked_at=next_deals.looked_at)


async def started(playing):
    """How often a deal was started."""
    return sum(b'"DealStarted"' in one.data for one in await playing.log.read(address.table(TABLE_ID)))


@pytest.mark.parametrize("how", ["view", "stream"])
async def test_whoever_looks_gets_the_next_deal(how):
    """A view does, and a stream that comes back; however often they look, it is started once."""
    playing, next_deals, reader = await dead_between_two_deals()
    for _ in range(3):
        if how == "view":
            assert (await reader.now(TABLE_ID, None))["phase"] == "between_deals"
        else:
            async with aclosing(await reader.frames(TABLE_ID, None, None, follow=True)) as frames:
                assert (await anext(frames)).event == "view"
    assert await started(playing) == 0  # whoever saw the end has its time
    await until_async(lambda: not next_deals._looked_at)
    await next_deals.drain()
    assert await started(playing) == 1
    assert (await reader.now(TABLE_ID, None))["phase"] == "cut"


async def test_a_deal_that_is_started_in_time_is_left_alone():
    """Looks between two deals are many, and nearly always whoever saw the end has started the next one by then."""
    playing, next_deals, reader = await dead_between_two_deals()
    await reader.now(TABLE_ID, None)
    await playing.tables.start_deal(TABLE_ID, 1, playing.now)
    await until_async(lambda: not next_deals._looked_at)
    await next_deals.drain()
    assert await started(playing) == 1


async def test_a_stop_waits_for_no_look():
    """A process that stops does not start what was only seen to be due."""
    playing, next_deals, reader = await dead_between_two_deals()
    await reader.now(TABLE_ID, None)
    async with asyncio.timeout(0.2):
        await next_deals.drain()
    assert not next_deals._looked_at
    assert await started(playing) == 0
