"""Signed checkpoints: what is signed, and what is not; once a day, by whoever leads; rows made again from the log."""

from __future__ import annotations

import asyncio
import json

import msgspec
import pytest

from services.ledger.audit.against import wrong_with_signed
from services.ledger.audit.gathering import NotToBeSigned
from services.ledger.audit.signing import DAY_MS, Checkpoints, DailySigner, signing_key
from services.ledger.own.own_events import ARCHIVE, CHECKPOINTS, OwnEvents
from shared.eventlog.aggregates.aggregates import Mismatch
from shared.eventlog.memory import MemoryLog, MemoryStore
from shared.events import key_files
from shared.events.checkpoint_document import Signed, in_order, leaf_of, wrong_in_row
from shared.events.commit import hash_of
from shared.events.keys import SigningKey
from shared.events.ledger_events import CheckpointSigned, TableArchived
from shared.web.settings import Settings
from tests.services.ledger.played import PlayedTable

pytestmark = pytest.mark.servers

KEY = SigningKey("s1", b"k" * 32)
OURS = frozenset({KEY.public})
NOW = 1_800_000_000_000 // DAY_MS * DAY_MS + 5  # five milliseconds into a day


async def read(projector, *tables):
    for played in tables:
        assert await projector.at_least.wait(played.commits[-1].position)


def leaf(played, commits=None):
    return leaf_of(played.id, [hash_of(recorded.data) for recorded in played.commits[:commits]])


async def test_the_heads_of_all_tables_are_signed(log, projector, checkpoints):
    """Each checkpoint is over every commit that the log holds at that moment, names the one before, and lies in the log itself."""
    one, two = PlayedTable(log, 1), PlayedTable(log, 2)
    await one.play(commits=10)
    await read(projector, one)
    first, leaves = await checkpoints.sign(KEY, NOW)
    assert leaves == [leaf(one)]
    assert (first.header.number, first.header.tables, first.header.commits, first.header.at) == (1, 1, 10, NOW)
    await one.play(commits=25)
    await two.play(commits=5)
    second, leaves = await checkpoints.sign(KEY, NOW - 1000)
    assert leaves == in_order([leaf(one), leaf(two)])
    assert (second.header.number, second.header.commits, second.header.previous) == (2, 30, first.digest)
    assert second.header.at == NOW, "time never goes back"
    assert wrong_in_row([first, second], OURS) == []
    assert [event.signed for event in await checkpoints.signed()] == [first.signed, second.signed]


async def test_two_instances_sign_one(log, projector, checkpoints, readers, proofs, postgres_dsn):
    """The log takes each number once: at the same moment one of them is refused, one after the other there are two."""
    played = await PlayedTable(log, 3).play(commits=8)
    await read(projector, played)
    other = Checkpoints(log, readers, proofs, postgres_dsn)
    done = await asyncio.gather(checkpoints.sign(KEY, NOW), other.sign(KEY, NOW + 1), return_exceptions=True)
    refused = [type(result) for result in done if isinstance(result, BaseException)]
    assert refused in ([Mismatch], [])
    assert [event.number for event in await checkpoints.signed()] == list(range(1, 3 - len(refused)))


async def test_one_a_day_by_the_leader(log, projector, checkpoints, connection, proofs):
    """The first look of a day signs, while it leads and has a key, once there is a table; others keep their rows up to date."""
    now, leads = [NOW], [False]
    signer = DailySigner(log, checkpoints, lambda: KEY, lambda: leads[0], lambda: now[0])
    assert not await signer.look()
    leads[0] = True
    assert not await signer.look(), "there is no table yet"
    played = await PlayedTable(log, 4).play(commits=8)
    await read(projector, played)
    assert await signer.look()
    now[0] += DAY_MS - 10
    assert not await signer.look()
    keyless = DailySigner(log, checkpoints, lambda: None, lambda: True, lambda: now[0] + DAY_MS)
    assert not await keyless.look()
    now[0] += 10
    assert await signer.look()
    assert await proofs.newest(connection) == 2


async def test_a_new_key_signs_without_a_restart(log, projector, checkpoints, tmp_path):
    """From the next checkpoint on, in the same chain; while its file cannot be read nothing is signed, and why is told."""
    path, now, new = tmp_path / "signing", [NOW], ("s2", b"x" * 32)
    settings = Settings(signing_key_file=str(path))
    key_files.create(path, key_files.lines([("s1", b"y" * 32)]))
    signer = DailySigner(log, checkpoints, lambda: signing_key(settings), lambda: True, lambda: now[0])
    await read(projector, await PlayedTable(log, 4).play(commits=8))
    assert await signer.look()
    now[0] += DAY_MS
    key_files.replace(path, "secret-word")
    await signer.look_and_tell()
    assert "line 1" in signer.refused
    assert "secret" not in signer.refused
    key_files.replace(path, key_files.lines([new]))
    await signer.look_and_tell()
    assert signer.refused is None
    events = await checkpoints.signed()
    assert [event.key for event in events] == [SigningKey("s1", b"y" * 32).public, SigningKey(*new).public]
    assert wrong_in_row([Signed(event.signed, event.signature) for event in events], frozenset(event.key for event in events)) == []


async def test_rows_are_made_again_from_the_log(log, projector, checkpoints, connection, proofs):
    """After the loss of its rows every leaf of every checkpoint is what it was; an archived table's come from the books."""
    one, two = PlayedTable(log, 5), PlayedTable(log, 6)
    for commits in (7, 19, 30):
        await one.play(commits=commits)
        await two.play(commits=commits // 2)
        await read(projector, one, two)
        await checkpoints.sign(KEY, NOW)
    before = [await proofs.leaves(connection, number) for number in (1, 2, 3)]
    assert before[1] == in_order([leaf(one, 19), leaf(two, 9)])
    await connection.execute(f'TRUNCATE "{proofs.schema}".leaves, "{proofs.schema}".signed')
    log.store.purge(two.address)
    with pytest.raises(NotToBeSigned, match=f"{two.id} revision 1: missing"):
        await checkpoints.catch_up()
    own = OwnEvents(log)
    await own.append(
        ARCHIVE, "archive:1", NOW, TableArchived(two.id, "file", "digest", len(two.commits), hash_of(two.commits[-1].data), "me")
    )
    await checkpoints.catch_up()
    assert [await proofs.leaves(connection, number) for number in (1, 2, 3)] == before


async def test_an_archived_table_stays_in_the_checkpoints(log, projector, checkpoints):
    """Of its history one commit is left in the log; the others are known from the books, and only if the archive is known of."""
    whole = await PlayedTable(MemoryLog(MemoryStore()), 16).play(commits=9)
    last = whole.commits.pop()
    for recorded in whole.commits:
        log.store.store(whole.address, recorded.data, recorded.revision)
    position = log.store.stream("TABLE_0")[-1].position
    assert await projector.at_least.wait(position)
    await checkpoints.sign(KEY, NOW)
    log.store.purge(whole.address)
    log.store.store(whole.address, last.data, last.revision)
    with pytest.raises(NotToBeSigned, match=f"{whole.id} revision 9: broken"):
        await checkpoints.sign(KEY, NOW)
    await OwnEvents(log).append(
        ARCHIVE, "archive:2", NOW, TableArchived(whole.id, "file", "digest", 8, hash_of(whole.commits[-1].data), "me")
    )
    _, leaves = await checkpoints.sign(KEY, NOW)
    whole.commits.append(last)
    assert leaves == [leaf(whole)]


@pytest.mark.parametrize(
    ("damage", "where"),
    [
        (lambda stored: stored.replace(b'"actor":"', b'"actor":"x'), "revision 5: broken"),
        (lambda _: b"{}", "revision 4: unreadable"),
        (lambda _: None, "revision 4: broken"),
    ],
)
async def test_a_broken_log_is_not_signed(log, projector, checkpoints, damage, where):
    """A commit that was changed, is none, or is missing: nothing is signed, and it is named."""
    played = await PlayedTable(log, 7).play(commits=9)
    await read(projector, played)
    stream = log.store.stream("TABLE_0")
    data = damage(stream[3].data)
    stream[3:4] = [] if data is None else [msgspec.structs.replace(stream[3], data=data)]
    with pytest.raises(NotToBeSigned, match=f"{played.id} {where}"):
        await checkpoints.sign(KEY, NOW)
    assert await checkpoints.signed() == []


async def test_a_log_that_ends_before_what_was_signed_is_not_signed(log, projector, checkpoints):
    """Restored from an older copy: the tables that it lost would otherwise stand in the next checkpoint as they were."""
    played = await PlayedTable(log, 19).play(commits=9)
    await read(projector, played)
    seen = []
    checkpoints._progress = lambda done, every: seen.append((done, every))
    await checkpoints.sign(KEY, NOW)
    await played.play(commits=14)
    await checkpoints.sign(KEY, NOW)
    log.store._last["TABLE_0"] = 12
    with pytest.raises(NotToBeSigned, match="TABLE_0 revision 0: missing: it ends at sequence 12, and was signed up to 14"):
        await checkpoints.sign(KEY, NOW)
    assert all(done <= every for done, every in seen)


async def test_a_log_that_is_not_the_one_that_was_read_is_not_signed(log, projector, checkpoints, connection):
    """Books that hold another hash, a chain of checkpoints that does not hold, leaves that are not those that were signed."""
    played = await PlayedTable(log, 8).play(commits=9)
    await read(projector, played)
    await connection.execute("UPDATE audit_trail SET hash = repeat('0', 64) WHERE revision = 6")
    with pytest.raises(NotToBeSigned, match=f"{played.id} revision 6: changed"):
        await checkpoints.sign(KEY, NOW)
    await connection.execute("UPDATE audit_trail SET hash = $1 WHERE revision = 6", hash_of(played.commits[5].data))
    await checkpoints.sign(KEY, NOW)
    proofs = checkpoints._proofs
    await connection.execute(f"UPDATE \"{proofs.schema}\".leaves SET head = repeat('0', 64)")
    with pytest.raises(NotToBeSigned, match="checkpoints revision 1: checkpoint_root"):
        await checkpoints.sign(KEY, NOW)
    forged = CheckpointSigned(2, json.dumps({**json.loads((await checkpoints.signed())[0].signed), "number": 2}), "00", KEY.public)
    await OwnEvents(log).append(CHECKPOINTS, "checkpoint:2", NOW, forged)
    with pytest.raises(NotToBeSigned, match="checkpoints revision 2: checkpoint_signature"):
        await checkpoints.sign(KEY, NOW)


async def test_a_refusal_is_told_and_looked_at_again(log, projector, checkpoints, connection):
    """What keeps a checkpoint from being signed stays told until it is mended; a log that is away is waited for."""
    played = await PlayedTable(log, 17).play(commits=9)
    await read(projector, played)
    signer = DailySigner(log, checkpoints, lambda: KEY, lambda: True, lambda: NOW)
    await connection.execute("UPDATE audit_trail SET hash = repeat('0', 64) WHERE revision = 6")
    await signer.look_and_tell()
    assert f"{played.id} revision 6: changed" in signer.refused
    await connection.execute("UPDATE audit_trail SET hash = $1 WHERE revision = 6", hash_of(played.commits[5].data))
    log.disconnect()
    await signer.look_and_tell()
    assert signer.refused is not None
    log.reconnect()
    await signer.look_and_tell()
    assert signer.refused is None
    assert len(await checkpoints.signed()) == 1


async def test_checkpoints_that_were_tampered_with_are_named(log, projector, checkpoints, connection, readers, proofs):
    """In the rows, in their leaves, or in the log itself: forged, left out, or not the one that it was."""
    played = await PlayedTable(log, 18).play(commits=9)
    await read(projector, played)
    for _ in range(3):
        await checkpoints.sign(KEY, NOW)

    async def wrong(keys=OURS):
        return [(problem.revision, problem.code) for problem in await wrong_with_signed(log, readers, proofs, keys)]

    assert await wrong() == []
    assert await wrong(frozenset({"0" * 64})) == [(number, "checkpoint_key") for number in (1, 2, 3)]
    for change in ("UPDATE {0}.signed SET signature = 'x' WHERE number = 2", "UPDATE {0}.signed SET text = text || ' ' WHERE number = 2"):
        await connection.execute(change.format(f'"{proofs.schema}"'))
        assert await wrong() == [(2, "rows_differ")]
    events = await checkpoints.signed()
    await connection.execute(
        f'UPDATE "{proofs.schema}".signed SET text = $1, signature = $2 WHERE number = 2', events[1].signed, events[1].signature
    )
    await connection.execute(f'UPDATE "{proofs.schema}".leaves SET revision = revision + 1')
    assert await wrong() == [(1, "rows_differ")]
    await connection.execute(f'UPDATE "{proofs.schema}".leaves SET revision = revision - 1')
    stream = log.store.stream("LEDGER")
    aggregate = log.store.aggregate(CHECKPOINTS)
    kept = list(aggregate)
    for damage, named in (
        (kept[:2], (3, "missing")),
        ([kept[0], kept[2]], (2, "missing")),
        ([kept[0], msgspec.structs.replace(kept[1], data=kept[1].data.replace(b'"number":2', b'"number":7')), kept[2]], (2, "changed")),
    ):
        aggregate[:] = stream[:] = damage
        assert named in await wrong()
    forged = json.loads(kept[2].data)
    text = forged["events"][0]["signed"].replace('"commits":9', '"commits":8')
    forged["events"][0]["signed"] = text
    aggregate[:] = stream[:] = [*kept[:2], msgspec.structs.replace(kept[2], data=msgspec.json.encode(forged))]
    assert (3, "checkpoint_signature") in await wrong()
