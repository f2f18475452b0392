"""The in-memory twin keeps the log's contract."""

from contextlib import asynccontextmanager

import pytest

from shared.eventlog.memory import MemoryLog, MemoryStore
from shared.events.address import Address, new_id
from shared.events.commit import decode_head
from tests.contracts.log_contract import LogContract
from tests.contracts.reading_contract import ReadingContract

BEAT = 0.1  # seconds


class MemoryWorld:
    def __init__(self):
        self._stores = [MemoryStore()]
        self.log = MemoryLog(self._stores[0], heartbeat=BEAT)
        self.other = MemoryLog(self._stores[0], heartbeat=BEAT)

    async def small(self):
        self._stores.append(MemoryStore(max_bytes=16 * 1024))
        return MemoryLog(self._stores[-1])

    async def operators(self):
        return self.other

    async def cut(self):
        self.log.disconnect()

    async def heal(self):
        self.log.reconnect()

    @asynccontextmanager
    async def lose_ack(self):
        self.log.lose_next_ack(written=True)
        yield

    @asynccontextmanager
    async def lose_request(self):
        self.log.lose_next_ack(written=False)
        yield

    async def purge(self, address):
        for store in self._stores:
            store.purge(address)

    @staticmethod
    def command_of(recorded):
        return decode_head(recorded.data).command_id

    @staticmethod
    def address(service, kind):
        return Address(service, kind, new_id(bytes(range(33))))


@pytest.fixture
def world():
    return MemoryWorld()


class TestMemoryLog(LogContract, ReadingContract):
    """See `LogContract` and `ReadingContract`."""
