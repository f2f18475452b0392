"""The log that projections are tried on: in memory, or both adapters one after the other."""

import pytest

from shared.eventlog.jetstream import open_log
from shared.eventlog.memory import MemoryLog, MemoryStore


@pytest.fixture
def log():
    return MemoryLog(MemoryStore(), heartbeat=0.05)


@pytest.fixture(params=["memory", "jetstream"])
async def any_log(request, nats_url, namespace):
    """Both adapters of the log, one after the other."""
    log = MemoryLog(MemoryStore(), heartbeat=0.05) if request.param == "memory" else await open_log(nats_url, namespace, heartbeat=0.2)
    yield log
    await log.close()
