"""Copies of the streams on three nodes: how many by themselves, that a start lowers nothing, and that they grow while tables play."""

import asyncio
import json
from functools import partial

import pytest
from click.testing import CliRunner

from services.cli.operator.streams import streams
from shared.eventlog.jetstream.connection import Connection
from shared.eventlog.jetstream.log import open_log
from shared.eventlog.jetstream.streams import Namespace
from shared.eventlog.jetstream.upkeep import Upkeep, Wanted
from tests.contracts.cluster import ELECTION, insisting
from tests.contracts.commits import fill, some_commit, some_table

pytestmark = [pytest.mark.servers, pytest.mark.chaos]


async def opened(cluster, namespace, **options):
    return await open_log(cluster.url, namespace, append_seconds=ELECTION, open_seconds=ELECTION, **options)


async def survey(cluster, namespace, **wanted):
    connection = Connection()
    await connection.open(cluster.url, "survey", ELECTION, None)
    try:
        return await Upkeep(connection, Namespace(namespace), Wanted(**wanted)).survey(ELECTION)
    finally:
        await connection.close()


async def test_three_nodes_keep_three_copies_and_a_start_never_lowers_them(cluster):
    """Without a setting the servers are asked; a start that wants fewer copies changes nothing, by no line of a log either."""
    first = await opened(cluster, "three")
    assert first.streams_health()["copies"] == {"least": 3, "wanted": 3, "nodes": 3}
    by_one_address = await open_log(cluster.url.split(",")[0], "three", open_seconds=ELECTION)
    assert by_one_address.streams_health()["copies"]["nodes"] == 3
    await by_one_address.close()
    one = await opened(cluster, "three", replicas=1)
    assert one.streams_health()["status"] == "ok"
    assert one.streams_health()["copies"] == {"least": 3, "wanted": 1, "nodes": 3}
    assert {stream.copies for stream in (await survey(cluster, "three")).streams} == {3}
    await first.close()
    await one.close()


async def test_copies_are_added_while_tables_play(cluster):
    """A log of one copy says so beside three nodes; `pulka streams apply` gives it three, under writers, and then a leader may fall: what
    was acknowledged is there, each commit once.
    """
    log = await opened(cluster, "grown", replicas=1)
    asking = await opened(cluster, "grown")
    told = asking.streams_health()
    assert (told["status"], told["copies"], told["problems"]["TABLE_0"]) == (
        "degraded", {"least": 1, "wanted": 3, "nodes": 3}, "1 of 3 copies",
    )  # fmt: skip
    tables, acknowledged, over = [some_table(partition=number % 8) for number in range(16)], [], asyncio.Event()

    async def write(table):
        head = None
        while not over.is_set():
            revision = head.revision + 1 if head else 1
            head = await log.append(table, some_commit(table, revision), head.sequence if head else 0)
            acknowledged.append(head)

    async with asyncio.timeout(4 * ELECTION), asyncio.TaskGroup() as writers:
        for table in tables:
            writers.create_task(write(table))
        checked = await asyncio.to_thread(command, cluster, "check")
        assert (checked.exit_code, json.loads(checked.stdout)["as_wanted"]) == (1, False)
        done = await asyncio.to_thread(command, cluster, "apply")
        document = json.loads(done.stdout)
        assert (done.exit_code, document["as_wanted"]) == (0, True)
        assert document["changed"][0] == {"stream": "TABLE_0", "change": "1 copy -> 3 copies"}
        assert document["changed"][-1] == {"stream": "SNAPSHOTS", "change": "1 copy -> 3 copies, emptied"}
        assert {tuple(stream["copies"].values()) for stream in document["streams"]} == {(3, 3)}
        assert not any(stream["behind"] for stream in document["streams"])
        checked = await asyncio.to_thread(command, cluster, "check")
        assert (checked.exit_code, json.loads(checked.stdout)["as_wanted"]) == (0, True)
        leader = await cluster.leader("GROWN_TABLE_0")
        if not leader:
            pytest.fail("a stream without a leader")
        over.set()
    cluster.kill(leader)
    for table in tables:
        own = [record for record in acknowledged if record.address == table]
        read = partial(asking.read, table, until=own[-1].sequence)
        assert await insisting(read) == own  # not at once: it may have been connected to the leader that fell
    seen = await survey(cluster, "grown")
    assert leader in {name for stream in seen.streams for name in stream.behind}
    assert seen.health()["status"] == "ok"
    assert seen.health()["behind"] == [leader]
    table = some_table(partition=0)
    assert len(await fill(log, table, 3)) == 3
    cluster.start(leader)
    await log.close()
    await asking.close()


async def test_partitions_that_are_added_have_as_many_copies(cluster):
    """The streams of partitions 8 to 15 lie on three nodes from their first commit on, beside an instance that knows eight."""
    older = await opened(cluster, "wider")
    (first,) = await fill(older, some_table(partition=1), 1)
    newer = await opened(cluster, "wider", partitions=16, used=16)
    table = some_table(partition=12)
    last = (await fill(newer, table, 3))[-1]
    assert await newer.read(first.address, until=first.sequence) == [first]
    seen = await survey(cluster, "wider")
    assert {stream.copies for stream in seen.streams} == {3}
    assert (seen.there, seen.begun) == (16, 16)
    assert await newer.read(table, until=last.sequence)
    await older.close()
    await newer.close()


async def test_fewer_copies_only_by_the_word_for_it(cluster):
    """PULKA_REPLICAS=1 beside three copies: told, left as it is, and taken away with `--lower` alone."""
    log = await opened(cluster, "fewer")
    await log.close()
    checked = await asyncio.to_thread(command, cluster, "check", namespace="fewer", replicas="1")
    assert (checked.exit_code, json.loads(checked.stdout)["streams"][0]["differs"]) == (1, ["3 copies, 1 are wanted"])
    left = await asyncio.to_thread(command, cluster, "apply", namespace="fewer", replicas="1")
    assert (left.exit_code, json.loads(left.stdout)["changed"]) == (0, [])
    lowered = await asyncio.to_thread(command, cluster, "apply", "--lower", namespace="fewer", replicas="1")
    assert (lowered.exit_code, json.loads(lowered.stdout)["changed"][0]["change"]) == (0, "3 copies -> 1 copy")
    assert {stream.copies for stream in (await survey(cluster, "fewer", replicas=1)).streams} == {1}


def command(cluster, *words, namespace="grown", replicas=""):
    """`pulka streams …` with `--json`, as an operator types it."""
    environment = {"PULKA_NATS_URL": cluster.url, "PULKA_NAMESPACE": namespace, "PULKA_REPLICAS": replicas, "PULKA_NATS_OPERATOR_URL": ""}
    return CliRunner().invoke(streams, [*words, "--json"], env=environment, catch_exceptions=False)
