"""Partitions grow on three nodes while two of them fall, one after the other; see `growing_kills`."""

import pytest

from tests.chaos.growing_kills import run

pytestmark = [pytest.mark.servers, pytest.mark.chaos, pytest.mark.timeout(600)]  # seconds; some 130 on two cores


async def test_partitions_grow_while_nodes_are_killed(tmp_path):
    """No acknowledged move is lost or there twice, every turn ends in time plus outages, every table answers and verifies."""
    growth = await run(tmp_path, 2)
    assert len(growth.noting.acknowledged) > 200
    assert len(growth.late) > 100
    assert len(growth.fell) == 2
