"""What projections are tried on: the log, in memory or both adapters one after the other, and the rows of a tally."""

import pytest

from shared.eventlog.jetstream import open_log
from shared.eventlog.memory import MemoryLog, MemoryStore
from shared.projections.core.projection import schema_of
from tests.contracts.followers import Running
from tests.contracts.projection_subject import Tally


@pytest.fixture
def log():
    return MemoryLog(MemoryStore(), heartbeat=0.05)


@pytest.fixture(params=["memory", "jetstream"])
async def any_log(request, nats_url, namespace):
    """Both adapters of the log, one after the other."""
    log = MemoryLog(MemoryStore(), heartbeat=0.05) if request.param == "memory" else await open_log(nats_url, namespace, heartbeat=0.2)
    yield log
    await log.close()


@pytest.fixture
def schema(namespace):
    return schema_of(Tally(), namespace)


@pytest.fixture
async def running(postgres_dsn, schema):
    running = Running(postgres_dsn, schema)
    yield running
    await running.end()
