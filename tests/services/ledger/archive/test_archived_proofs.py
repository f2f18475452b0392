"""What archived tables still prove: to a stranger, in signed checkpoints, and in books that are written anew."""

from __future__ import annotations

import asyncio
import gzip
import sys
from pathlib import Path

import pytest

from services.ledger.archive import archive_files
from services.ledger.archive.archive_files import BadArchive
from services.ledger.archive.whole_log import WholeLog
from services.ledger.audit.gathering import NotToBeSigned
from services.ledger.audit.signing import Checkpoints
from services.ledger.books import Books
from services.ledger.desk.readers import Readers
from shared.events.checkpoint_document import leaf_of
from shared.events.commit import hash_of
from shared.events.keys import SigningKey
from shared.projections.core.history import HistoryDiffers
from shared.projections.versions.rebuild import fingerprint, rebuild
from tests.partitions import TABLE_STREAMS
from tests.services.ledger.archive.conftest import NOW
from tests.services.ledger.played import PlayedTable
from tests.services.ledger.views.test_imported import recorded_table

pytestmark = pytest.mark.servers

VERIFY = Path(__file__).resolve().parents[4] / "deploy" / "verify" / "verify.py"


async def test_the_proof_goes_with_it(club, postgres_dsn, versions, tmp_path):
    """A table that is in a signed checkpoint takes its proof along; a stranger's program accepts the file, and refuses a changed one."""
    tables = [await PlayedTable(club.log, seed, target=2).play() for seed in (21, 22, 23)]
    await club.read(*tables)
    readers = Readers(postgres_dsn, versions, Books.version)
    await readers.open()
    await club.proofs.prepare(postgres_dsn)
    checkpoints, key = Checkpoints(club.log, readers, club.proofs, postgres_dsn), SigningKey("test", b"s" * 32)
    signed, _ = await checkpoints.sign(key, NOW)
    await club.archive()
    for table in tables:
        path = archive_files.file_of(club.folder, table.id)
        kept = archive_files.read(path)
        assert kept.checkpoint == signed
        assert kept.proof.leaf.head == kept.head
        assert kept.proof.path.leads_to(kept.proof.leaf.entry) == signed.header.root
        status, told = await by_a_stranger(path)
        assert status == 4, told
        changed = tmp_path / "changed.ndjson.gz"
        changed.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()).replace(b'"at":17', b'"at":18', 1)))
        assert (await by_a_stranger(changed))[0] == 1
    later = await PlayedTable(club.log, 24).play(deals=1)
    await club.read(later)
    assert await club.projector.at_least.wait((await club.log.read(tables[0].address))[0].position, 10.0)
    again, leaves = await checkpoints.sign(key, NOW + 1)
    assert [leaf.revision for leaf in leaves if leaf.table == tables[0].id] == [len(tables[0].commits) + 1]
    assert (again.header.number, again.header.tables) == (2, 4)
    await club.connection.execute(f'DROP SCHEMA "{club.proofs.schema}" CASCADE')
    await club.proofs.prepare(postgres_dsn)
    await checkpoints.catch_up()
    assert [leaf.revision for leaf in await club.proofs.leaves(club.connection, 2)] == [leaf.revision for leaf in leaves]
    await readers.close()


@pytest.fixture
async def signing(club, postgres_dsn, versions):
    """What signs checkpoints: by way of the log with the archive behind it, or of any other."""
    readers = Readers(postgres_dsn, versions, Books.version)
    await readers.open()
    await club.proofs.prepare(postgres_dsn)

    async def sign(log=club.whole):
        return await Checkpoints(log, readers, club.proofs, postgres_dsn).sign(SigningKey("test", b"s" * 32), NOW)

    yield sign
    await readers.close()


async def archived_and_read(club, table):
    """Archive it and wait for the books; all its commits."""
    await club.read(table)
    await club.archive()
    (mark,) = await club.log.read(table.address)
    assert await club.projector.at_least.wait(mark.position, 10.0)
    return [*table.commits, mark]


def whole_leaf(table, commits):
    return leaf_of(table.id, [hash_of(one.data) for one in commits])


SWAP = "UPDATE audit_trail SET hash = reverse(hash) WHERE table_id = $1 AND revision = 4"


async def test_rows_of_an_archived_table_are_not_signed_unseen(club, signing):
    """No checkpoint had it: what is signed is what its file holds, and a row that differs is named; without the file nothing."""
    over = await PlayedTable(club.log, 41, target=2).play()
    commits = await archived_and_read(club, over)
    await club.connection.execute(SWAP, over.id)
    with pytest.raises(NotToBeSigned, match=f"{over.id} revision 4: changed"):
        await signing()
    for blind in (WholeLog(club.log, None), club.log):
        with pytest.raises(NotToBeSigned, match=f"{over.id} revision 1: not_in_archive"):
            await signing(blind)
    await club.connection.execute(SWAP, over.id)
    with pytest.raises(NotToBeSigned, match="PULKA_ARCHIVE_DIR"):
        await signing(WholeLog(club.log, None))
    _, leaves = await signing()
    assert leaves == [whole_leaf(over, commits)]


async def test_a_signed_leaf_proves_the_rows_of_an_archived_table(club, signing):
    """Signed before it was archived: without the file its rows are taken as they were signed, and not otherwise."""
    over = await PlayedTable(club.log, 42, target=2).play()
    await club.read(over)
    await signing()
    commits = await archived_and_read(club, over)
    blind = WholeLog(club.log, None)
    await club.connection.execute(SWAP, over.id)
    with pytest.raises(NotToBeSigned, match=f"{over.id} revision 1: not_in_archive"):
        await signing(blind)
    await club.connection.execute(SWAP, over.id)
    _, leaves = await signing(blind)
    assert leaves == [whole_leaf(over, commits)]


async def test_what_no_checkpoint_holds_yet_is_left_until_one_does(club, signing):
    """Corrected after the last checkpoint, or played since: whole in the log, and no file; then they go with their proofs."""
    corrected = await PlayedTable(club.log, 43, target=2).play()
    await club.read(corrected)
    await signing()
    await corrected.correct(5, -3, -2)
    late = await PlayedTable(club.log, 44, target=2).play()
    await club.read(corrected, late)
    moved = await club.archive()
    assert {table_id: (one.state, one.reason) for table_id, one in moved.items()} == {
        table.id: ("left", "not_signed_yet") for table in (corrected, late)
    }
    assert "pulka audit checkpoint" in moved[late.id].detail
    assert not club.folder.exists()
    for table in (corrected, late):
        assert await club.log.read(table.address) == table.commits
    signed, _ = await signing()
    assert {table_id: (one.state, one.proved) for table_id, one in (await club.archive()).items()} == {
        table.id: ("archived", True) for table in (corrected, late)
    }
    for table in (corrected, late):
        kept = archive_files.read(archive_files.file_of(club.folder, table.id))
        assert (kept.checkpoint, kept.proof.leaf) == (signed, whole_leaf(table, table.commits))


async def interrupted(club, table, step):
    def dies(_table, before):
        if before == step:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await club.archiver(dies).move(table.id)


async def test_a_file_without_its_proof_is_written_again(club, signing):
    """Written by a run that was interrupted when nobody had signed anything: the next run writes it anew, with the proof."""
    over = await PlayedTable(club.log, 45, target=2).play()
    await club.read(over)
    await interrupted(club, over, "mark")
    path = archive_files.file_of(club.folder, over.id)
    assert archive_files.read(path).proof is None
    signed, _ = await signing()
    assert (await club.archiver().move(over.id)).proved
    assert archive_files.read(path).checkpoint == signed
    assert [event.digest for event in await club.told()] == [archive_files.digest_of(path)]


async def test_a_marked_table_keeps_the_proof_that_it_had(club, signing):
    """Its newest leaf is the mark's: a file that has to be written once more leads to the last checkpoint that held it without."""
    over = await PlayedTable(club.log, 46, target=2).play()
    await club.read(over)
    first, _ = await signing()
    await interrupted(club, over, "tell")
    await signing()
    path = archive_files.file_of(club.folder, over.id)
    path.unlink()
    assert (await club.archiver().move(over.id)).proved
    kept = archive_files.read(path)
    assert (kept.checkpoint, kept.proof.leaf) == (first, whole_leaf(over, over.commits))
    assert kept.proof.path.leads_to(kept.proof.leaf.entry) == first.header.root


async def by_a_stranger(path):
    """Exit status and words of the program that needs nothing of ours."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(sys.executable, VERIFY, path, stdout=pipe, stderr=asyncio.subprocess.STDOUT)
    told, _ = await process.communicate()
    return process.returncode, told.decode()


async def test_a_rebuild_from_archive_and_log_equals_live(club, postgres_dsn, schema):
    """Every row the same, byte for byte, some tables archived, one marked, one in play, one recorded, one corrected, one annulled."""
    tables = [await PlayedTable(club.log, seed, target=2).play() for seed in (31, 32, 33)]
    recorded_one, going = await recorded_table(club.log, 34), await PlayedTable(club.log, 35, target=40).play(deals=1)
    await tables[0].correct(5, -3, -2)
    await tables[1].annul()
    await club.read(*tables, recorded_one, going)
    assert [one.state for one in (await club.archive()).values()] == ["archived"] * 4
    late = await PlayedTable(club.log, 36, target=2).play()
    await going.play(deals=2)
    await club.read(late, going)

    def dies(_table, step):
        if step == "tell":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await club.archiver(dies).move(late.id)
    marks = {table.id: (await club.log.read(table.address))[-1] for table in tables}
    assert [b'"annulled":true' in marks[table.id].data for table in tables] == [False, True, False]
    assert (await club.verdict(tables[1]))["verified"]
    for table in (*tables, recorded_one, late):
        assert await club.projector.at_least.wait((await club.log.read(table.address))[-1].position, 10.0)
    await club.projector.stop()
    archived = archive_files.batches(club.log, club.folder)
    await rebuild(club.log, Books(), TABLE_STREAMS[:1], postgres_dsn, schema + "_again", archived=archived)
    live = await fingerprint(club.connection, schema)
    assert await fingerprint(club.connection, schema + "_again") == live
    with pytest.raises(HistoryDiffers):
        await rebuild(club.log, Books(), TABLE_STREAMS[:1], postgres_dsn, schema + "_without")
    path = archive_files.file_of(club.folder, tables[0].id)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(BadArchive):
        await rebuild(
            club.log, Books(), TABLE_STREAMS[:1], postgres_dsn, schema + "_broken", archived=archive_files.batches(club.log, club.folder)
        )
