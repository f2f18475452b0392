"""Versions over a log with gaps: what was archived and purged is taken from the archive, or counts as read."""

import json

import nats
import pytest

from shared.eventlog.jetstream.streams import Namespace
from shared.eventlog.memory import MemoryLog, MemoryStore
from shared.projections.core.history import HistoryDiffers
from shared.projections.versions.rebuild import fingerprint
from shared.projections.versions.report import report
from tests.contracts.projection_subject import Tally, Writer
from tests.contracts.versions.conftest import PATIENCE, STREAMS, states

pytestmark = pytest.mark.servers


async def test_a_purged_end_of_the_log_counts_as_read(any_log, world, connection, versions, nats_urls, namespace):
    """Archiving may take a stream's last commits: a filling does not wait for them, and nothing lags behind them."""
    writer = Writer(any_log)
    live = await world.follow(any_log)
    kept, gone = writer.aggregate(), writer.aggregate()
    for address in (kept, gone, gone):
        last = await writer.append(address)
    assert await live.at_least.wait(last.position, PATIENCE)
    await purge(any_log, nats_urls, namespace, gone)
    done = await world.next(any_log).fill("ann")
    assert done.version.marks == {"LOBBY_0": 3}
    assert {row["aggregate"] for row in await connection.fetch(f'SELECT aggregate FROM "{versions.schema(2)}".tally')} == {kept.subject}
    (_, now) = await report(connection, any_log, versions, STREAMS, Tally.version)
    assert (now.position, now.lag_commits, now.parked) == (3, 0, 0)


async def purge(log, nats_urls, namespace, address):
    """Take an aggregate out of the log, as only an operator can."""
    if isinstance(log, MemoryLog):
        log.store.purge(address)
        return
    client = await nats.connect(nats_urls.operator)
    body = json.dumps({"filter": Namespace(namespace).subject(address)}).encode()
    answer = await client.request(f"$JS.API.STREAM.PURGE.{Namespace(namespace).stream(address.stream)}", body, timeout=5)
    assert json.loads(answer.data)["success"]
    await client.close()


async def archive(*tables):
    """What lies in archive files, a batch a table."""
    for table in tables:
        yield table


async def test_archive_and_log_together_give_the_live_rows(log, world, connection, versions):
    """Tables that were archived and purged, one that was archived and is still there, and the rest: the same bytes as before."""
    writer = Writer(log)
    live = await world.follow(log)
    addresses = [writer.aggregate() for _ in range(4)]
    for _ in range(5):
        for address in addresses:
            last = await writer.append(address)
    assert await live.at_least.wait(last.position)
    before = await fingerprint(connection, versions.schema(1))
    kept, gone, last_one = [await log.read(addresses[place]) for place in (1, 2, 3)]
    log.store.purge(addresses[2])
    log.store.purge(addresses[3])
    await world.next(log).fill("ann", archived=archive(kept, gone, last_one))
    assert await fingerprint(connection, versions.schema(2)) == before


async def test_an_archive_of_another_table_is_refused(log, world, connection, versions):
    """What was archived has to be a chain from its first commit on, and the same one as in the log: else nothing is switched."""
    writer = Writer(log)
    await world.follow(log)
    address = writer.aggregate()
    for _ in range(4):
        await writer.append(address)
    commits = await log.read(address)
    with pytest.raises(HistoryDiffers):
        await world.next(log).fill("ann", archived=archive(commits[1:]))
    other = MemoryLog(MemoryStore())
    elsewhere = Writer(other, seed=1)
    assert elsewhere.aggregate() == address
    for event in ("Happened", "Otherwise"):
        await elsewhere.append(address, event)
    with pytest.raises(HistoryDiffers):
        await world.next(log).fill("ann", archived=archive(await other.read(address)))
    assert await states(connection, versions) == {1: "live"}


async def test_the_table_of_the_checkpoint_may_be_archived(log, world):
    """A service starts again where its last commit was purged with its table; not where another log stands in the place of the old one."""
    writer = Writer(log)
    live = await world.follow(log)
    kept, gone = writer.aggregate(), writer.aggregate()
    await writer.append(kept)
    last = await writer.append(gone)
    assert await live.at_least.wait(last.position)
    await live.stop()
    log.store.purge(gone)
    again = await world.follow(log)
    last = await writer.append(kept)
    assert await again.at_least.wait(last.position)
    await again.stop()
    other = MemoryLog(MemoryStore())
    await Writer(other, seed=2).spread(30, 2)
    with pytest.raises(HistoryDiffers):
        await world.follow(other)
