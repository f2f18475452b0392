"""A real server killed with SIGKILL between write and ack, in mid-publish, under readers: nothing acknowledged is lost or there twice."""

import asyncio
import os
import signal
from contextlib import aclosing

import pytest

from services.cli.embedded import EmbeddedServers
from shared.eventlog.jetstream.log import open_log
from shared.eventlog.port import OutcomeUnknown, Unavailable
from tests.contracts.commits import PATIENCE, fill, insist, some_commit, some_table, take
from tests.contracts.proxy import Proxy

pytestmark = [pytest.mark.servers, pytest.mark.chaos]


class Killed:
    """A server of this test's own, a client behind a wire, and a second one without."""

    def __init__(self, servers):
        self._servers = servers
        account, _, place = servers.nats_url.rpartition("@")
        self._account = account
        self.proxy = Proxy("127.0.0.1", int(place.rpartition(":")[2]))
        self.log = self.other = None

    async def open(self):
        await self.proxy.open()
        self.log = await open_log(f"{self._account}@127.0.0.1:{self.proxy.port}", heartbeat=0.1)
        self.other = await open_log(self._servers.nats_url, heartbeat=0.1)

    async def close(self):
        await self.log.close()
        await self.other.close()
        await self.proxy.cut()

    async def kill(self):
        lost = asyncio.Event()
        self.other._connection.on_lost.append(lost.set)
        pid = self._servers.pids["nats"]
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # noqa: ASYNC222 - milliseconds; it is gone; its status is left to those who started it
        await asyncio.wait_for(lost.wait(), PATIENCE)

    async def revive(self):
        self._servers.revive()
        await asyncio.wait_for(self.other._connection.wait_connected(), PATIENCE)


@pytest.fixture
async def server(tmp_path):
    with EmbeddedServers(tmp_path, postgres=False) as servers:
        server = Killed(servers)
        await server.open()
        yield server
        await server.close()


async def test_killed_between_write_and_ack(server):
    """The server wrote, and died before its ack came through: after its restart the caller hears of success, with the right place."""
    table = some_table()
    data = some_commit(table, 1)
    server.proxy.mute = True
    appending = asyncio.create_task(server.log.append(table, data, 0))
    await asyncio.wait_for(server.proxy.swallowed.wait(), PATIENCE)  # the ack is on the wire: it is written
    await server.kill()
    server.proxy.mute = False
    await server.revive()
    recorded = await asyncio.wait_for(appending, 2 * PATIENCE)
    assert await server.other.read(table) == [recorded]


async def test_killed_in_mid_publish(server):
    """Killed again and again under sixteen writers: every acknowledged commit is there, every command once, and revisions have no gap."""
    tables = [some_table() for _ in range(16)]
    acknowledged = []
    over = asyncio.Event()

    async def write(number, table):
        for turn in range(1000):
            if over.is_set():
                return
            command = f"{number}-{turn}"
            while True:
                try:
                    acknowledged.append((command, await insist(server.log, table, command)))
                    break
                except (Unavailable, OutcomeUnknown):
                    await asyncio.wait_for(server.log._connection.wait_connected(), PATIENCE)

    writing = [asyncio.create_task(write(number, table)) for number, table in enumerate(tables)]
    for _ in range(3):
        seen = len(acknowledged)
        async with aclosing(server.log.follow(tables[0].stream)) as followed:
            while len(acknowledged) < seen + 50:
                await asyncio.wait_for(anext(followed), PATIENCE)
        await server.kill()
        await server.revive()
    over.set()
    await asyncio.wait_for(asyncio.gather(*writing), 2 * PATIENCE)
    stored = {table: await server.other.read(table) for table in tables}
    for records in stored.values():
        assert [record.revision for record in records] == list(range(1, len(records) + 1))
    everything = [record for records in stored.values() for record in records]
    assert len(everything) == len(acknowledged)
    for _, recorded in acknowledged:
        assert recorded in stored[recorded.address]


async def test_readers_go_on_after_a_kill(server):
    """Followers and watchers of a killed server see everything once it is back, each commit once."""
    table = some_table(partition=0)
    records = await fill(server.other, table, 3)
    seen = []
    async with aclosing(server.log.follow("TABLE_0")) as followed, aclosing(server.log.watch(table)) as watched:
        watched_seen = await asyncio.wait_for(take(watched, 3), PATIENCE)
        while len(seen) < 3:
            seen += await asyncio.wait_for(anext(followed), PATIENCE)
        await server.kill()
        await server.revive()
        for revision in range(4, 8):
            records.append(await server.other.append(table, some_commit(table, revision), records[-1].sequence))
        while len(seen) < 7:
            seen += await asyncio.wait_for(anext(followed), PATIENCE)
        watched_seen += await asyncio.wait_for(take(watched, 4), PATIENCE)
    assert seen == watched_seen == records
