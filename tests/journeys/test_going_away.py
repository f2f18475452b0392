"""Instances that are restarted one after the other, or killed, under tables in play: what clients meet, and how long.

`python -m tests.journeys.restarts` does more of the first, and `tests/load/bench_going_away.py` has the figure of the second.
"""

from __future__ import annotations

import pytest

from tests.journeys.restarts import LONG, house_of, killed, restarted

pytestmark = [pytest.mark.servers, pytest.mark.chaos, pytest.mark.timeout(300)]

ELSEWHERE = 2.0  # seconds: the promise of issue 12
SHORT = {"move_s": 6, "cut_s": 6}
LATE = 5_000  # milliseconds: three for the lease that is taken over, and this machine has more to do; `bench_clocks` has the figure


async def test_a_rolling_restart_costs_nobody_more_than_one_retry(nats_url, postgres_dsn, namespace, tmp_path):
    """Sixty-four tables in play, half of them with affinity, over two instances that are restarted twice in turn: each request of players,
    onlookers and newcomers succeeds with one retry at most, after a refused or cut connection or 503; each acknowledged move is in the log
    once; each stream is told to go elsewhere, and goes on there without a gap or a repeat.
    """
    async with house_of(nats_url, postgres_dsn, namespace, tmp_path, 64, affinity=32, clock=LONG) as house:
        async with house.in_play():
            stops = await restarted(house, rounds=2)
        moves = await house.nothing_is_lost_or_doubled(nats_url, namespace)
        assert len(stops) == 4
        assert moves > 4 * 64
        assert house.tally.lost == []
        assert house.tally.again.total() > 0
        assert all(table.refused == 0 for table in house.tables)
        assert house.tally.streams["leaving"] >= 2 * 64  # with affinity each is told once a round, without it as often as chance has it
        assert set(house.tally.streams) == {"leaving"}


async def test_the_tables_of_a_killed_instance_answer_at_the_other(nats_url, postgres_dsn, namespace, tmp_path):
    """Within two seconds of the kill every table that it served shows a view and takes a move elsewhere, nothing acknowledged is lost, and
    every turn that then waits ends in time: no clock is lost.
    """
    async with house_of(nats_url, postgres_dsn, namespace, tmp_path, 32, affinity=32, clock=SHORT) as house:
        async with house.in_play():
            took = await killed(house, house.clubs[0])
            await house.some_moves()
            house.ended.set()  # now all of them sleep
            before = [len(flags(table)) for table in house.tables]
            await house.until(lambda: all(len(flags(table)) > had for table, had in zip(house.tables, before, strict=True)))
        assert max(took) <= ELSEWHERE
        assert house.tally.lost == []
        await house.nothing_is_lost_or_doubled(nats_url, namespace)
        late = [at - deadline for table in house.tables for at, deadline in flags(table)]
        assert all(0 <= one <= LATE for one in late), late


def flags(table):
    """Each turn that ran out at a table: the commit's time, and the time when it was to end."""
    frames = list(table.followed.values())
    return [(frame["at"], event["deadline"]) for frame in frames for event in frame["events"] if event["type"] == "TurnTimedOut"]
