"""A table that the clocks look after, on their in-memory store."""

import pytest

from services.table.clocks.memory import MemoryRows
from services.table.table import shortest_turn
from tests.services.table.playing import TABLE_ID, Playing


@pytest.fixture
def rows():
    """What would lie in Postgres."""
    return MemoryRows()


@pytest.fixture
async def playing(rows):
    """A table in its first auction, which the clocks look after."""
    playing = await Playing(terms={"clock": {"move_s": 30, "cut_s": 5}}).open()
    await playing.until("auction")
    rows.runs(TABLE_ID, shortest_turn((await playing.table()).terms))
    return playing
