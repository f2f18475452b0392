"""The in-memory twin of the leases, by the contract; that in Postgres is held to it where its rows are: clocks and lobby."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from shared.leases.memory import MemoryLeaseRows, MemoryLeases
from shared.leases.port import LeaseStore
from tests.leases.lease_contract import LeaseContract


class World(NamedTuple):
    """Two clients of the same rows."""

    store: LeaseStore
    other: LeaseStore


class TestMemory(LeaseContract):
    """The twin."""

    @pytest.fixture
    def world(self):
        rows = MemoryLeaseRows()
        return World(MemoryLeases(rows), MemoryLeases(rows))
