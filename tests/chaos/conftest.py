"""A house of a test's own."""

import pytest

from services.cli.embedded import EmbeddedServers
from tests.chaos.ledger_house import House


@pytest.fixture
async def house(tmp_path):
    with EmbeddedServers(tmp_path / "home") as servers:
        house = House(servers)
        await house.open()
        yield house
        await house.close()
