"""A leader that is cut off from its peers goes on answering what it knew: nothing that is refused may rest on that."""

import asyncio
from itertools import permutations

import pytest

from shared.eventlog.aggregates.aggregates import Committed, RefusedAt
from shared.eventlog.jetstream.log import open_log
from shared.eventlog.port import Unavailable
from tests.contracts.cluster import ELECTION, Cluster, insisting
from tests.contracts.commits import some_table
from tests.contracts.counter import LIMIT, add, counters, request
from tests.contracts.proxy import Proxy

pytestmark = [pytest.mark.servers, pytest.mark.chaos]

PAIRS = tuple(permutations(range(3), 2))  # who opens a route to whom


@pytest.fixture
async def cut_cluster(tmp_path):
    """Three nodes whose routes go through wires, and `cut(node)`, which leaves one alone."""
    wires = {pair: Proxy("127.0.0.1", 0) for pair in PAIRS}
    for wire in wires.values():
        await wire.open()
    cluster = Cluster(tmp_path, {pair: wire.port for pair, wire in wires.items()})
    for (_, other), wire in wires.items():
        wire._upstream = ("127.0.0.1", cluster.route_port(other))

    async def cut(number):
        await asyncio.gather(*(wire.cut() for pair, wire in wires.items() if number in pair))

    async def heal():
        for wire in wires.values():
            await wire.cut()
            await wire.open()

    with cluster:
        cluster.cut, cluster.heal = cut, heal
        yield cluster
        for wire in wires.values():
            await wire.cut()


async def log_at(cluster, *numbers):
    """A client that knows these nodes alone."""
    url = ",".join(map(cluster.url_of, numbers))
    return await open_log(url, replicas=3, append_seconds=ELECTION, open_seconds=ELECTION)


async def test_no_refusal_rests_on_a_leader_that_is_cut_off(cut_cluster):
    """One client is cut off together with the leader, another commits at its successor: the first hears 503 and no stale refusal."""
    table = some_table(partition=0)
    everywhere = await log_at(cut_cluster, 0, 1, 2)
    await insisting(lambda: counters(everywhere).transact(table, request("full"), add(LIMIT)))
    leader = int((await cut_cluster.leader("TABLE_0"))[1:])
    others = [number for number in range(3) if number != leader]
    alone, among_many = await log_at(cut_cluster, leader), await log_at(cut_cluster, *others)
    cut_off, elsewhere = counters(alone), counters(among_many)
    await asyncio.gather(cut_off.load(table), elsewhere.load(table))
    assert isinstance(await cut_off.transact(table, request("before"), add(1)), RefusedAt)  # it is full, and a majority says so
    await cut_cluster.cut(leader)
    emptied = await insisting(lambda: elsewhere.transact(table, request("emptied"), add(-LIMIT)))
    assert isinstance(emptied, Committed)
    with pytest.raises(Unavailable):
        await cut_off.transact(table, request("after"), add(1))
    assert (await elsewhere.transact(table, request("after"), add(1))).loaded.state == 1
    await cut_cluster.heal()
    again = await insisting(lambda: cut_off.transact(table, request("after"), add(1)))
    assert (again.loaded.state, again.repeated) == (1, True)
    for log in (everywhere, alone, among_many):
        await log.close()


async def test_a_cut_off_leader_answers_stale_reads_as_it_did(cut_cluster):
    """Why the majority is asked: when its successor has stored a commit, the old leader tells of the one before, and is not believed."""
    table = some_table(partition=0)
    everywhere = await log_at(cut_cluster, 0, 1, 2)
    first = await insisting(lambda: counters(everywhere).transact(table, request("first"), add(1)))
    leader = int((await cut_cluster.leader("TABLE_0"))[1:])
    alone = await log_at(cut_cluster, leader)
    among_many = await log_at(cut_cluster, *(number for number in range(3) if number != leader))
    await cut_cluster.cut(leader)
    second = await insisting(lambda: counters(among_many).transact(table, request("second"), add(1)))
    try:
        told = await alone.head(table)
    except Unavailable:
        told = first.stored  # it has stepped down in time: later releases may, and then nobody is told anything
    assert told == first.stored != second.stored
    with pytest.raises(Unavailable):
        await alone.newest(table)
    for log in (everywhere, alone, among_many):
        await log.close()
