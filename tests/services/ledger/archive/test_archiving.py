"""Archiving on a real log and a real Postgres: nothing lost wherever it is killed, and everything is read as before."""

from __future__ import annotations

import asyncio
import gzip
import signal
import sys

import pytest

from services.ledger.archive import archive_files
from services.ledger.archive.archive_files import BadArchive
from services.ledger.archive.whole_log import WholeLog
from services.ledger.audit.verify import verify_table
from services.ledger.books import Books
from shared.eventlog.memory import MemoryLog
from shared.events.commit import decode, hash_of
from shared.projections.following.projector import Projector
from tests.partitions import TABLE_STREAMS
from tests.services.ledger.archive.conftest import NOW
from tests.services.ledger.played import BEGAN, PlayedTable
from tests.services.ledger.views.test_imported import recorded_table

pytestmark = pytest.mark.servers

STEPS = ("verify", "write", "mark", "books", "tell", "purge", "finish")


async def left(log, table):
    """What lies in the log of a table."""
    return [decode(one.data).events[0] for one in await log.read(table.address)]


async def test_a_settled_table_moves_and_is_read_as_before(club):
    """Its commits lie in a file and one in the log; the ledger's own log tells where; the audit holds; tables in play stay."""
    over, going = await PlayedTable(club.log, 1, target=2).play(), await PlayedTable(club.log, 2, target=40).play(deals=1)
    await club.read(over, going)
    before = await club.verdict(over)
    moved = await club.archive()
    assert {table_id: one.state for table_id, one in moved.items()} == {over.id: "archived"}
    (mark,) = await club.log.read(over.address)
    assert (mark.revision, decode(mark.data).prev_hash) == (len(over.commits) + 1, hash_of(over.commits[-1].data))
    path = archive_files.file_of(club.folder, over.id)
    assert list(archive_files.read(path).records) == over.commits
    (event,) = await club.told()
    assert (event.table, event.digest, event.commits) == (over.id, archive_files.digest_of(path), len(over.commits))
    assert event.head == hash_of(over.commits[-1].data)
    assert await club.whole.read(over.address) == [*over.commits, mark]
    verdict = await club.verdict(over)
    assert verdict == before | {"commits": len(over.commits) + 1, "head": hash_of(mark.data)}
    assert verdict["verified"]
    assert len(await club.log.read(going.address)) == len(going.commits)
    assert await club.archive() == {}
    assert archive_files.begun(club.folder) == []


async def test_the_end_of_a_read_is_found_in_the_archive(club):
    """Whatever place a reader goes on from, he gets what he would have got."""
    over = await PlayedTable(club.log, 3, target=2).play()
    await club.read(over)
    await club.archive()
    (mark,) = await club.log.read(over.address)
    whole = [*over.commits, mark]
    for place in (0, 1, 7, len(whole) - 2, len(whole) - 1):
        assert await club.whole.read(over.address, after=whole[place].sequence) == whole[place + 1 :]
    assert await club.whole.read(over.address, after=whole[0].sequence - 1) == whole


async def test_only_what_is_old_enough_goes(club):
    """`--older-than` counts from a table's last commit."""
    one, two = await PlayedTable(club.log, 4, target=2).play(), await PlayedTable(club.log, 5).play()
    await club.read(one, two)
    ends = sorted((BEGAN + 1000 * len(table.commits), table.id) for table in (one, two))
    assert ends[0][0] < ends[1][0]
    assert list(await club.archive(ends[0][0])) == []
    assert list(await club.archive(ends[1][0])) == [ends[0][1]]
    assert list(await club.archive()) == [ends[1][1]]


@pytest.mark.parametrize("step", STEPS)
async def test_killed_before_any_step_the_next_run_ends_the_work(club, nats_urls, namespace, postgres_dsn, schema, step):
    """A process that is killed before a step leaves a table that can be read and verified, and a run that follows archives it, once."""
    over = await PlayedTable(club.log, 6, target=2).play()
    await club.read(over)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.services.ledger.archive.archiver", nats_urls.operator, namespace, postgres_dsn, schema,
        str(club.folder),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    while (line := (await process.stdout.readline()).decode().split())[1] != step:
        process.stdin.write(b"\n")
        await process.stdin.drain()
    process.send_signal(signal.SIGKILL)
    await process.wait()
    assert line == [over.id, step]
    verdict = await club.verdict(over)
    assert verdict["verified"], verdict
    assert (await club.whole.read(over.address))[: len(over.commits)] == over.commits
    expected = {} if step == "finish" and not archive_files.begun(club.folder) else {over.id: "archived"}
    assert {table_id: one.state for table_id, one in (await club.archive()).items()} == expected
    (mark,) = await club.log.read(over.address)
    assert mark.revision == len(over.commits) + 1
    assert [event.table for event in await club.told()] == [over.id]
    assert (await club.told())[0].digest == archive_files.digest_of(archive_files.file_of(club.folder, over.id))
    assert (await club.verdict(over))["verified"]
    assert await club.archive() == {}
    assert {path.name for path in archive_files.files_in(club.folder)} == {f"{over.id}.ndjson.gz"}


async def test_what_is_not_sure_stays(club):
    """A table whose books are parked or behind, that does not verify, or that the log does not know is left, with the reason."""
    tables = [await PlayedTable(club.log, seed, target=2).play() for seed in (7, 8, 9)]
    await club.read(*tables)
    parked, wrong, behind = tables
    await club.connection.execute(
        "INSERT INTO parked (aggregate, sequence, stream, revision, reason, hash) VALUES ($1, 999999, 'TABLE_0', 999, 'x', '')",
        parked.address.subject,
    )
    await club.connection.execute("UPDATE scores SET written = replace(written, ':', ': ') WHERE table_id = $1", wrong.id)
    await club.projector.stop()
    await club.connection.execute("UPDATE tables SET hash = repeat('0', 64) WHERE table_id = $1", behind.id)
    moved = await club.archive()
    assert {table_id: (one.state, one.reason) for table_id, one in moved.items()} == {
        parked.id: ("left", "parked"), wrong.id: ("left", "not_verified"), behind.id: ("left", "books_behind"),
    }  # fmt: skip
    for table in tables:
        assert await club.log.read(table.address) == table.commits
    going = await PlayedTable(club.log, 10, target=40).play(deals=1)
    assert (await club.archiver().move(going.id)).reason == "books_behind"
    assert (await club.archiver().move("0-" + "a" * 26)).reason == "not_in_log"
    assert await club.told() == []


async def test_a_word_in_a_commit_is_no_mark(club):
    """Whatever somebody has written into his file, no commit of his is taken for the one that the archive leaves."""
    deal = {
        "contract": "all_pass",
        "tricks": [2, 5, 3],
        "infractions": [{"rule": "PulkaArchived", "seat": 0, "pool": [1, 0, 0], "reason": "PulkaAnnulled"}],
    }
    table = await recorded_table(club.log, 25, {"convention": "sochi", "players": 3, "deals": [deal]})
    assert b'"PulkaArchived"' in table.commits[0].data
    await club.read(table)
    assert await club.whole.read(table.address) == table.commits
    await table.correct(5, -3, -2)
    await club.read(table)
    assert [one.state for one in (await club.archive()).values()] == ["archived"]
    assert list(archive_files.read(archive_files.file_of(club.folder, table.id)).records) == table.commits
    (mark,) = await club.log.read(table.address)
    assert b'"annulled":false' in mark.data
    assert (await club.verdict(table))["verified"]


async def test_a_table_in_play_is_not_moved(club):
    """Even when it is named."""
    going = await PlayedTable(club.log, 11, target=40).play(deals=1)
    await club.read(going)
    assert (await club.archiver().move(going.id)).reason == "in_play"
    assert await club.log.read(going.address) == going.commits


async def test_nothing_is_purged_before_the_books_know(club, monkeypatch):
    """With the ledger down the table is marked and stays whole; when it is back the next run ends the work."""
    monkeypatch.setattr("services.ledger.archive.archiving.BOOKS_S", 0.1)
    over = await PlayedTable(club.log, 12, target=2).play()
    await club.read(over)
    await club.projector.stop()
    (moved,) = (await club.archive()).values()
    assert (moved.state, moved.reason) == ("left", "books_behind")
    there = await club.log.read(over.address)
    assert there[:-1] == over.commits
    again = Projector(club.log, Books(), TABLE_STREAMS[:1], club.projector._dsn, club.projector.schema)
    await again.start()
    assert await again.at_least.wait(there[-1].position, 10.0)
    (moved,) = (await club.archive()).values()
    await again.stop()
    assert moved.state == "archived"
    assert await club.log.read(over.address) == there[-1:]


async def test_the_books_start_again_after_their_last_table_was_archived(club):
    """A ledger whose checkpoint lies on an archived table's last commit goes on as if nothing had happened."""
    over = await PlayedTable(club.log, 13, target=2).play()
    await club.read(over)
    await club.archive()
    await club.projector.stop()
    again = Projector(club.log, Books(), TABLE_STREAMS[:1], club.projector._dsn, club.projector.schema)
    await again.start()
    later = await PlayedTable(club.log, 14).play(commits=3)
    assert await again.at_least.wait(later.commits[-1].position, 10.0)
    await again.stop()


async def test_a_changed_file_is_named(club):
    """A byte that was changed, a file that was cut off, another's in its place, none: the audit says so and does not verify."""
    over, other = await PlayedTable(club.log, 15, target=2).play(), await PlayedTable(club.log, 16).play()
    await club.read(over, other)
    await club.archive()
    path = archive_files.file_of(club.folder, over.id)
    whole = path.read_bytes()
    plain = gzip.decompress(whole)
    forged = plain.replace(b'"actor":"service"', b'"actor":"servicf"', 1)
    for damage in (whole[:-20], whole[:100] + b"x" + whole[101:], gzip.compress(forged), gzip.compress(plain[:-5]), b"", None):
        path.unlink(missing_ok=True)
        if damage is not None:
            path.write_bytes(damage)
            with pytest.raises(BadArchive):
                archive_files.read(path)
        verdict = await club.verdict(over)
        assert [problem["code"] for problem in verdict["problems"]] == ["not_in_archive"]
        assert not verdict["verified"]
    path.write_bytes(archive_files.file_of(club.folder, other.id).read_bytes())
    assert not (await club.verdict(over))["verified"]
    nowhere = await verify_table(WholeLog(club.log, None), over.address, club.connection)
    assert "PULKA_ARCHIVE_DIR" in nowhere["problems"][0]["message"]
    assert (await club.verdict(other))["verified"]


async def test_a_file_that_was_written_anew_is_found_out_by_the_chain(club):
    """Whoever changes a commit and writes a file that is in order has another head than the log's last commit names."""
    over = await PlayedTable(club.log, 17, target=2).play()
    await club.read(over)
    await club.archive()
    kept = archive_files.read(archive_files.file_of(club.folder, over.id))
    records = list(kept.records)
    data = records[5].data.replace(b'"at":', b'"at": ')
    records[5] = type(records[5])(records[5].address, records[5].stream, records[5].sequence, records[5].revision, data)
    archive_files.write(club.folder, NOW, archive_files.ArchivedTable(tuple(records), kept.head))
    assert (6, "changed") in [(problem["revision"], problem["code"]) for problem in (await club.verdict(over))["problems"]]


async def test_a_file_must_not_differ_once_the_table_is_marked(club):
    """Between mark and purge a file that does not hold what the log does stops the run; taken away, it is written again."""
    over = await PlayedTable(club.log, 18, target=2).play()
    await club.read(over)

    def dies(_table, step):
        if step == "books":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await club.archiver(dies).move(over.id)
    path = archive_files.file_of(club.folder, over.id)
    path.write_bytes(path.read_bytes()[:-9])
    moved = await club.archiver().move(over.id)
    assert (moved.state, moved.reason) == ("left", "archive_differs")
    assert len(await club.log.read(over.address)) == len(over.commits) + 1
    path.unlink()
    assert (await club.archiver().move(over.id)).state == "archived"
    assert (await club.verdict(over))["verified"]


async def test_an_archive_is_read_table_by_table(club):
    """What a rebuild gets: every table's commits in order, each as it lay in the log."""
    tables = [await PlayedTable(club.log, seed, target=2).play() for seed in (19, 20)]
    await club.read(*tables)
    await club.archive()
    foreign = await PlayedTable(MemoryLog(), 99, target=2).play()
    archive_files.write(club.folder, NOW, archive_files.ArchivedTable(tuple(foreign.commits), foreign._head))
    found = [batch async for batch in archive_files.batches(club.log, club.folder)]
    assert found == [table.commits for table in sorted(tables, key=lambda table: table.id)]
    path = archive_files.file_of(club.folder, tables[0].id)
    archive_files.write(club.folder, NOW, archive_files.ArchivedTable(tuple(tables[0].commits[:-1]), hash_of(tables[0].commits[-2].data)))
    with pytest.raises(BadArchive, match="not the one that the log goes on from"):
        _ = [batch async for batch in archive_files.batches(club.log, club.folder)]
    assert path.exists()
