"""Three nodes, every commit on three disks: replicas may lag and a leader may fall, and the log's promises hold."""

import asyncio

import pytest

from shared.eventlog.jetstream.log import open_log
from shared.eventlog.port import Conflict, Unavailable
from tests.contracts.cluster import ELECTION
from tests.contracts.commits import fill, insist, some_commit, some_table

pytestmark = [pytest.mark.servers, pytest.mark.chaos]


@pytest.fixture
async def logs(cluster):
    """Two clients; both ask for three replicas."""
    one, two = [await open_log(cluster.url, replicas=3, append_seconds=ELECTION, open_seconds=ELECTION) for _ in range(2)]
    yield one, two
    await one.close()
    await two.close()


async def test_a_lost_race_is_a_conflict_here_too(logs):
    """In a cluster the loser hears another error number than on one node, and learns the same."""
    table = some_table()
    for _ in range(20):
        answers = await asyncio.gather(*(log.append(table, some_commit(table, 1), 0) for log in logs), return_exceptions=True)
        (stored,) = await logs[0].read(table, until=await _last(logs[0], table))
        assert [answer.head for answer in answers if isinstance(answer, Conflict)] == [stored]
        assert stored in answers
        table = some_table()


async def test_many_at_once_on_three_nodes(logs):
    """Group commit works on replicated streams."""
    tables = [some_table(partition=2) for _ in range(100)]
    answers = await asyncio.gather(*(fill(logs[0], table, 2) for table in tables))
    for table, answer in zip(tables, answers, strict=True):
        assert await logs[1].read(table, until=answer[-1].sequence) == answer


async def test_the_leader_is_killed_under_writers(cluster, logs):
    """Nothing acknowledged is lost and nothing is stored twice when a stream's leader falls; an append that is under way outlasts it."""
    tables = [some_table(partition=0) for _ in range(8)]
    acknowledged = []
    over = asyncio.Event()
    going = asyncio.Semaphore(0)

    async def write(number, table):
        head, turn = None, 1
        while not over.is_set():
            try:
                head = await logs[0].append(table, some_commit(table, turn, f"{number}-{turn}"), head.sequence if head else 0)
            except Unavailable:  # begun just when the client's own node had fallen: nothing was written
                await logs[0]._connection.wait_connected()
                continue
            turn += 1
            acknowledged.append(head)
            going.release()

    async with asyncio.timeout(2 * ELECTION), asyncio.TaskGroup() as writers:
        for number, table in enumerate(tables):
            writers.create_task(write(number, table))
        await _count(going, 100)
        cluster.kill(await cluster.leader("TABLE_0"))
        await _count(going, len(acknowledged) + 100)  # as many as there are, and a hundred of the new leader's
        over.set()
    stored = [record for table in tables for record in await logs[1].read(table, until=await _last(logs[1], table))]
    assert sorted(record.sequence for record in stored) == sorted(record.sequence for record in acknowledged)
    assert {record.data for record in stored} == {record.data for record in acknowledged}
    await insist(logs[1], tables[0], "after")


async def _count(semaphore, times):
    for _ in range(times):
        await semaphore.acquire()


async def _last(log, table):
    head = await log.head(table)
    return head.sequence if head else 0
