"""What several contracts are tried on: the log in memory, on one node, or on three, and the rows of a tally."""

import pytest

from shared.eventlog.jetstream.log import open_log
from shared.eventlog.memory import MemoryLog, MemoryStore
from shared.projections.core.projection import schema_of
from tests.contracts.cluster import Cluster
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


@pytest.fixture(params=["memory", pytest.param("jetstream", marks=pytest.mark.servers)])
async def logs(request, namespace):
    """Two clients of one log."""
    if request.param == "memory":
        store = MemoryStore()
        yield MemoryLog(store), MemoryLog(store)
        return
    url = request.getfixturevalue("nats_url")
    one, two = await open_log(url, namespace), await open_log(url, namespace)
    one.operator_url = request.getfixturevalue("nats_urls").operator
    yield one, two
    await one.close()
    await two.close()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Three nodes, for the tests of one module."""
    with Cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture
def schema(namespace):
    return schema_of(Tally(), namespace)


@pytest.fixture
async def running(postgres_dsn, schema):
    running = Running(postgres_dsn, schema)
    yield running
    await running.end()
