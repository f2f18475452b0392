"""A leader of three nodes is killed under load, then all three: `python -m tests.chaos.cluster_kills` does it twenty times."""

import pytest

from tests.chaos.cluster_kills import run

pytestmark = [pytest.mark.servers, pytest.mark.chaos]

WORST = 20.0  # seconds without a move in some partition: an election takes 4 to 9


async def test_nothing_acknowledged_is_lost_when_nodes_are_killed(tmp_path):
    """One leader, then every node: moves go on after the election, none is lost, none is stored twice, every chain holds."""
    world = await run(tmp_path, 1, 3, all_three=True)
    assert len(world.acknowledged) > 100
    assert max(world.gaps) <= WORST
