"""The JetStream adapter keeps the log's contract, on a real server behind a wire that can fail."""

import asyncio
import json
from contextlib import aclosing, asynccontextmanager
from urllib.parse import urlsplit, urlunsplit

import nats
import pytest
from structlog.testing import capture_logs

from shared.eventlog.jetstream import reading
from shared.eventlog.jetstream.log import open_log
from shared.eventlog.jetstream.streams import Namespace, configurations
from shared.eventlog.jetstream.upkeep import StreamDrift
from shared.eventlog.port import STORAGE_FULL, Conflict, NotPermitted, Unavailable
from shared.events.address import Address, new_id
from shared.events.commit import decode_head
from tests.contracts.commits import PATIENCE, fill, follow_batches, some_commit, some_table
from tests.contracts.log_contract import LogContract
from tests.contracts.proxy import Proxy
from tests.contracts.reading_contract import ReadingContract

pytestmark = pytest.mark.servers

BEAT = 0.1  # seconds
APPEND_SECONDS = 1.0  # for an append with all its tries; where a test breaks the wire for good it waits as long


class JetStreamWorld:
    def __init__(self, urls, namespace):
        self._urls = urls
        self._spaces = [namespace]
        url = urlsplit(urls.service.split(",")[0])
        self.proxy = Proxy(url.hostname, url.port)
        self._url = url
        self.log = self.other = None
        self._small = self._operators = None

    async def open(self):
        await self.proxy.open()
        self.log = await open_log(self.near, self._spaces[0], heartbeat=BEAT, append_seconds=APPEND_SECONDS)
        self.other = await open_log(self._urls.service, self._spaces[0], heartbeat=BEAT)
        self.operator = await nats.connect(self._urls.operator)

    @property
    def near(self):
        """The URL of the wire that can fail."""
        account, _, _ = self._url.netloc.rpartition("@")
        return urlunsplit(self._url._replace(netloc=f"{account}@127.0.0.1:{self.proxy.port}".lstrip("@")))

    async def close(self):
        for log in (self.log, self.other, self._small, self._operators):
            if log is not None:
                await log.close()
        for space in self._spaces[1:]:
            for configuration in configurations(Namespace(space), 1, None):
                await self.operator.request(f"$JS.API.STREAM.DELETE.{configuration['name']}", timeout=5)
        await self.operator.close()
        await self.proxy.cut()

    async def small(self):
        self._spaces.append(f"{self._spaces[0]}small")
        self._small = await open_log(self._urls.service, self._spaces[-1], max_bytes=16 * 1024)
        return self._small

    async def operators(self):
        self._operators = await open_log(self._urls.operator, self._spaces[0])
        return self._operators

    async def cut(self):
        lost = asyncio.Event()
        self.log._connection.on_lost.append(lost.set)
        await self.proxy.cut()
        await asyncio.wait_for(lost.wait(), PATIENCE)

    async def heal(self):
        await self.proxy.open()
        await asyncio.wait_for(self.log._connection.wait_connected(), PATIENCE)

    @asynccontextmanager
    async def lose_ack(self):
        self.proxy.mute = True
        async with self._cut_once_swallowed():
            yield

    @asynccontextmanager
    async def lose_request(self):
        self.proxy.deaf = True
        async with self._cut_once_swallowed():
            yield

    @asynccontextmanager
    async def _cut_once_swallowed(self):
        async def cut():
            await self.proxy.swallowed.wait()
            await self.proxy.cut()

        cutting = asyncio.create_task(cut())
        yield
        await asyncio.wait_for(cutting, PATIENCE)

    async def purge(self, address):
        for space in map(Namespace, self._spaces):
            order = json.dumps({"filter": space.subject(address)}).encode()
            await self.operator.request(f"$JS.API.STREAM.PURGE.{space.stream(address.stream)}", order, timeout=5)

    async def batched(self, stream):
        """How many of a stream's commits came in a group commit."""
        space = Namespace(self._spaces[0])
        last = await self.other.last_sequence(stream)
        manager = self.operator.jsm()
        messages = [await manager.get_msg(space.stream(stream), sequence) for sequence in range(1, last + 1)]
        return sum("Nats-Batch-Id" in (message.headers or {}) for message in messages)

    @staticmethod
    def command_of(recorded):
        return decode_head(recorded.data).command_id

    @staticmethod
    def address(service, kind):
        return Address(service, kind, new_id(bytes(range(33))))


@pytest.fixture
async def world(nats_urls, namespace):
    world = JetStreamWorld(nats_urls, namespace)
    await world.open()
    yield world
    await world.close()


class TestJetStreamLog(LogContract, ReadingContract):
    """See `LogContract` and `ReadingContract`; and what only a real server can show."""

    async def test_a_service_may_not_purge(self, world, nats_urls):
        """Only the operator's user takes anything out: another is told so, and everything stays."""
        if nats_urls.service == nats_urls.operator:
            pytest.skip("this server has one user for everything")
        table = some_table()
        records = await fill(world.log, table, 2)
        with pytest.raises(NotPermitted):
            await world.other.purge(table, records[-1].sequence)
        assert await world.other.read(table) == records

    async def test_many_at_once_share_a_sync_and_few_go_singly(self, world):
        """Group commit sets in when much is queued, and a lone commit does not wait for company."""
        tables = [some_table(partition=1) for _ in range(100)]
        await world.log.append(tables[0], some_commit(tables[0], 1), 0)
        assert await world.batched("TABLE_1") == 0
        await asyncio.gather(*(world.log.append(table, some_commit(table, 1), 0) for table in tables[1:]))
        assert await world.batched("TABLE_1") > 50

    async def test_many_histories_at_once_do_not_cost_the_connection(self, world, monkeypatch):
        """Histories of 100 MB, asked for at once, come a few at a time: the server drops a connection with 64 MB that nobody has read."""
        monkeypatch.setattr(reading, "PATIENCE_SECONDS", PATIENCE)  # a busy machine takes seconds
        table = some_table()
        stored = await fill(world.other, table, 40, size=60_000)
        lost = asyncio.Event()
        world.other._connection.on_lost.append(lost.set)
        answers = await asyncio.gather(*(world.other.read(table) for _ in range(40)))
        assert all(answer == stored for answer in answers)
        assert not lost.is_set()

    async def test_two_commits_of_one_aggregate_do_not_share_a_batch(self, world):
        """The server would refuse both and all their neighbours: the second waits for the next turn."""
        tables = [some_table(partition=1) for _ in range(80)]
        tables.insert(41, tables[40])
        answers = await asyncio.gather(*(world.log.append(table, some_commit(table, 1), 0) for table in tables), return_exceptions=True)
        assert [place for place, answer in enumerate(answers) if isinstance(answer, Conflict)] == [41]
        assert await world.batched("TABLE_1") > 50

    async def test_members_of_a_refused_batch_go_singly(self, world):
        """One stale expectation refuses the whole batch at the server; all the others are stored all the same."""
        tables = [some_table(partition=1) for _ in range(100)]
        answers = await asyncio.gather(
            *(world.log.append(table, some_commit(table, 1), 0 if table is not tables[60] else 7) for table in tables),
            return_exceptions=True,
        )
        assert [answer for answer in answers if isinstance(answer, Exception)] == [answers[60]]
        assert isinstance(answers[60], Conflict)
        assert await world.batched("TABLE_1") == 0
        assert await world.log.last_sequence("TABLE_1") == 99

    async def test_an_ack_lost_between_write_and_answer_is_found_again(self, world):
        """The wire breaks after the write and before its ack, and heals: the caller hears of success, once and truly."""
        table = some_table()
        data = some_commit(table, 1)
        async with world.lose_ack():
            appending = asyncio.create_task(world.log.append(table, data, 0))
        await world.heal()
        recorded = await asyncio.wait_for(appending, PATIENCE)
        assert await world.other.read(table) == [recorded]

    async def test_a_request_lost_on_its_way_is_sent_again(self, world):
        """The wire breaks before the request arrives, and heals: the caller hears of success, once and truly."""
        table = some_table()
        data = some_commit(table, 1)
        async with world.lose_request():
            appending = asyncio.create_task(world.log.append(table, data, 0))
        await world.heal()
        recorded = await asyncio.wait_for(appending, PATIENCE)
        assert await world.other.read(table) == [recorded]

    async def test_a_batch_whose_ack_is_lost_is_found_again(self, world):
        """A whole group commit is written and its ack lost: each of its members hears of its own place, and who was not sent, of that."""
        tables = [some_table(partition=1) for _ in range(100)]
        async with world.lose_ack():
            appending = [asyncio.create_task(world.log.append(table, some_commit(table, 1), 0)) for table in tables]
        await world.heal()
        answers = await asyncio.wait_for(asyncio.gather(*appending, return_exceptions=True), PATIENCE)
        for table, answer in zip(tables, answers, strict=True):
            assert await world.other.read(table) == ([] if isinstance(answer, Unavailable) else [answer])
        assert await world.batched("TABLE_1") > 50

    async def test_one_consumer_serves_a_long_follow(self, world):
        """Far more commits than one request asks for come without a pause or a restart."""
        await asyncio.gather(*(fill(world.log, some_table(partition=0), 30) for _ in range(20)))
        with capture_logs() as lines:
            batches = await asyncio.wait_for(follow_batches(world.log, "TABLE_0", 0, 600, 10), PATIENCE)
        assert sum(map(len, batches)) == 600
        assert [line for line in lines if line["event"] == "follow_restarts"] == []

    async def test_what_is_not_in_the_log_is_not_shown(self, world, namespace):
        """A live message whose forerunner the watcher does not know sends it to the log; only what the log has is shown."""
        table = some_table()
        (first,) = await fill(world.log, table, 1)
        async with aclosing(world.log.watch(table)) as watched:
            assert await asyncio.wait_for(anext(watched), PATIENCE) == first
            claims = {"Nats-Sequence": "99", "Nats-Last-Sequence": "98"}
            await world.operator.publish(Namespace(namespace).live_subject(table), some_commit(table, 9), headers=claims)
            await world.operator.flush()
            second = await world.other.append(table, some_commit(table, 2), first.sequence)
            assert await asyncio.wait_for(anext(watched), PATIENCE) == second

    async def test_a_read_does_not_lag_behind_what_the_leader_has_shown(self, world, namespace):
        """A replica that is behind answers reads too: what lies up to `until` is there all the same, each time."""
        table = some_table(partition=1)
        records = await fill(world.log, table, 5)
        stream = Namespace(namespace).stream("TABLE_1")
        lagging = {"name": f"{stream}_LAGGING", "mirror": {"name": stream}, "mirror_direct": True, "max_msgs": 2, "discard": "new"}
        await world.operator.request(f"$JS.API.STREAM.CREATE.{lagging['name']}", json.dumps(lagging).encode(), timeout=5)
        try:
            short = 0
            async with asyncio.timeout(PATIENCE):
                while short < 10:  # the replica joins in after a second at most, and is then asked every other time
                    assert await world.other.read(table, until=records[-1].sequence) == records
                    assert await world.other.read(table, after=records[2].sequence, until=records[-1].sequence) == records[3:]
                    short += await world.other.read(table) == records[:2]
        finally:
            await world.operator.request(f"$JS.API.STREAM.DELETE.{lagging['name']}", timeout=5)

    async def test_a_stream_with_another_configuration_is_refused(self, world, nats_urls, namespace):
        """Drift is an error that names the stream and the field, never quietly repaired."""
        configuration = next(c for c in configurations(Namespace(namespace), 1, None) if c["name"].endswith("LEDGER"))
        changed = {**configuration, "discard": "old"}
        await world.operator.request(f"$JS.API.STREAM.UPDATE.{configuration['name']}", json.dumps(changed).encode(), timeout=5)
        with pytest.raises(StreamDrift, match="LEDGER: discard is 'old', must be 'new'"):
            await open_log(nats_urls.service, namespace)

    async def test_a_server_that_does_not_answer_is_said_in_time(self, world, namespace):
        """Nobody there: one error after the time that was given. A wrong password: another, at once, since trying again changes nothing."""
        await world.proxy.cut()
        with pytest.raises(Unavailable, match="no NATS answers"):
            await open_log(world.near, namespace, open_seconds=0.3)
        await world.heal()  # the world's own log is back before it is closed
        if "@" in world.near:  # only a server with accounts can refuse one
            stranger = f"nats://nobody:wrong@{world.near.rpartition('@')[2]}"
            with pytest.raises(Unavailable, match="user or password refused"):
                await open_log(stranger, namespace)

    async def test_an_end_for_ever_is_told(self, world, namespace):
        """When the server throws the client out (its rights expired), whoever opened the log hears of it and can end the process."""
        told = asyncio.Event()
        log = await open_log(world.near, namespace, on_closed=told.set)
        world.proxy.say(b"-ERR 'User Authentication Expired'\r\n")
        await asyncio.wait_for(told.wait(), PATIENCE)
        assert not log.connected()
        with pytest.raises(Unavailable):
            await log.append(some_table(), some_commit(some_table(), 1), 0)
        await log.close()

    @pytest.mark.parametrize("name", ["", "Upper", "a.b", "1a", "a-b", "a" * 41, "a b"])
    async def test_an_impossible_namespace_is_refused(self, nats_url, name):
        """What would not fit into stream, subject and schema names alike."""
        with pytest.raises(ValueError, match="namespace"):
            await open_log(nats_url, name)

    async def test_durability_is_what_whoever_set_up_the_server_says(self, world, nats_urls, namespace):
        """A client cannot see how often a server syncs: without a word it is unverified."""
        assert world.log.durability() == "unverified"
        declared = await open_log(nats_urls.service, namespace, durable=True)
        assert declared.durability() == "verified"
        await declared.close()

    async def test_namespaces_do_not_see_each_other(self, world):
        """Two systems on one server share nothing, live subjects included."""
        apart = await world.small()
        table = some_table()
        first = await world.log.append(table, some_commit(table, 1), 0)
        assert await apart.head(table) is None
        assert (await apart.append(table, some_commit(table, 1), 0)).sequence == 1
        assert await world.other.read(table) == [first]


async def test_f22_a_trouble_is_over_with_the_next_commit_that_is_stored(nats_url, namespace):
    """F22: what one stream refused is told until that stream takes a commit again; what another one takes says nothing of it."""
    log = await open_log(nats_url, namespace)
    here, there = some_table(0), some_table(1)
    log._troubles[here.stream] = STORAGE_FULL  # as an append leaves it that the server refused
    await fill(log, there, 1)
    assert log.trouble() == STORAGE_FULL
    await fill(log, here, 1)
    assert log.trouble() is None
    await log.close()


async def test_a_watcher_that_is_stopped_while_it_subscribes_leaves_nobody_deaf(nats_urls, namespace):
    """The other watcher of the same table subscribes in its place, and hears of what comes."""
    log = await open_log(nats_urls.service, namespace, heartbeat=BEAT)
    table, subscribe = some_table(), log._live._connection.subscribe
    begun, go = asyncio.Event(), asyncio.Event()

    async def slowly(*args):
        begun.set()
        await go.wait()
        return await subscribe(*args)

    log._live._connection.subscribe = slowly
    first = asyncio.create_task(anext(log.watch(table, 0)))
    await begun.wait()
    async with aclosing(log.watch(table, 0)) as other:
        second = asyncio.create_task(anext(other))
        channel = log._live._channels[table]
        while len(channel.watchers) < 2:  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait([first])
        go.set()
        stored = await fill(log, table, 2)
        assert [await second, await anext(other)] == stored  # by the log, at its first look or at its next comparison
        heard = asyncio.create_task(anext(other))
        async with asyncio.timeout(PATIENCE):
            while channel.leave is None:  # noqa: ASYNC110 - nobody tells of it
                await asyncio.sleep(BEAT)
        last = await log.append(table, some_commit(table, 3), stored[-1].sequence)
        assert await heard == last
    await log.close()
