"""The rows of checkpoints and of all their leaves, old ones too, are held against what was signed; whoever changed one is told which."""

from __future__ import annotations

import msgspec
import pytest

from services.ledger.audit.against import wrong_with_signed
from services.ledger.own.own_events import ARCHIVE, OwnEvents
from shared.events.commit import hash_of
from shared.events.keys import SigningKey
from shared.events.ledger_events import TableArchived
from tests.services.ledger.played import PlayedTable

pytestmark = pytest.mark.servers

KEY = SigningKey("s1", b"k" * 32)
NOW = 1_800_000_000_000


@pytest.fixture
async def club(log, projector, checkpoints):
    """Four checkpoints: the first table alone, then the second too, then nothing new, then more of both."""
    one, two = PlayedTable(log, 71), PlayedTable(log, 72)
    for commits in ((7, 0), (19, 9), (19, 9), (30, 12)):
        for played, wanted in zip((one, two), commits, strict=True):
            if wanted:
                await played.play(commits=wanted)
                assert await projector.at_least.wait(played.commits[-1].position)
        await checkpoints.sign(KEY, NOW)
    return one, two


@pytest.fixture
def wrong(log, readers, proofs):
    async def wrong(keys=frozenset({KEY.public}), progress=lambda _done, _all: None):
        found = await wrong_with_signed(log, readers, proofs, keys, progress)
        return [(problem.revision, problem.code, problem.message) for problem in found]

    return wrong


@pytest.fixture
def tamper(connection, proofs):
    """Change the rows of `signed` or `leaves`; it tells how many."""

    async def tamper(statement, *values):
        return await connection.execute(statement.format(f'"{proofs.schema}"'), *values)

    return tamper


def changed(number, table):
    return number, "rows_differ", f"The row of the leaf of table {table.id} in it is not what was signed."


def lost(number, table):
    return number, "rows_differ", f"The leaf of table {table.id} in it is missing from the rows."


async def test_every_leaf_of_every_checkpoint_is_what_was_signed(club, wrong):
    """Untouched they all hold, also the one in which nothing had changed; each is counted as it is looked at."""
    assert club
    told = []
    assert await wrong(progress=lambda done, every: told.append((done, every))) == []
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


@pytest.mark.parametrize("change", ["revision = revision + 1", "head = repeat('0', 64)", "tree = reverse(tree)"])
@pytest.mark.parametrize("number", [1, 2, 4])
async def test_a_changed_leaf_is_named_by_table_and_checkpoint(club, wrong, tamper, number, change):
    """In whichever checkpoint, also one of long ago; the leaves that follow it are held against their own roots all the same."""
    one, _ = club
    assert await tamper(f"UPDATE {{}}.leaves SET {change} WHERE table_id = $1 AND number = $2", one.id, number) == "UPDATE 1"
    assert await wrong() == [changed(number, one)]


async def test_leaves_that_are_missing_or_added_are_named(club, wrong, tamper):
    """One less, one for another, one in a checkpoint in which its table had not changed, ones in checkpoints that do not exist."""
    one, two = club
    await tamper("DELETE FROM {}.leaves WHERE table_id = $1 AND number = 2", two.id)
    assert await wrong() == [lost(2, two)]
    await tamper("UPDATE {}.leaves SET head = reverse(head) WHERE table_id = $1 AND number = 1", one.id)
    await tamper("UPDATE {}.leaves SET number = 3 WHERE table_id = $1 AND number = 4", one.id)
    early = (3, "rows_differ", f"The rows have a new leaf of table {one.id} in it, which had not changed.")
    assert await wrong() == [changed(1, one), lost(2, two), early, lost(4, one)]
    await tamper("UPDATE {}.leaves SET number = 77 WHERE table_id = $1 AND number = 4", two.id)
    stray = (77, "rows_differ", f"The rows have a leaf of table {two.id} in it, and there is no such checkpoint.")
    assert await wrong() == [stray, changed(1, one), lost(2, two), early, *sorted((lost(4, one), lost(4, two)))]


async def test_leaves_of_an_archived_table_are_named_too(club, log, wrong, tamper):
    """Its commits have left the log: what the books say of them is proved by the signed root; where they say something else, so is that."""
    _, two = club
    await tamper("UPDATE {}.leaves SET tree = head WHERE table_id = $1 AND number = 2", two.id)
    log.store.purge(two.address)
    (_, _, message) = (await wrong())[0]
    assert f"nor can the log tell which of them are wrong ({two.id} revision 1: missing" in message
    own, event = OwnEvents(log), TableArchived(two.id, "file", "digest", len(two.commits), hash_of(two.commits[-1].data), "me")
    await own.append(ARCHIVE, "archive:1", NOW, event)
    assert await wrong() == [changed(2, two)]


async def test_what_the_log_cannot_tell_is_said(club, log, wrong, tamper, connection):
    """Where log and books were changed as well no leaf is called right: the checkpoint is named, and why no table is."""
    one, _ = club
    await tamper("UPDATE {}.leaves SET tree = head WHERE table_id = $1 AND number = 2", one.id)
    await connection.execute("UPDATE audit_trail SET hash = repeat('0', 64) WHERE table_id = $1 AND revision = 12", one.id)
    ((number, code, message),) = await wrong()
    assert (number, code) == (2, "rows_differ")
    assert f"which of them are wrong ({one.id} revision 12: changed" in message
    stream = log.store.stream("TABLE_0")
    place = next(place for place, stored in enumerate(stream) if stored.address == one.address and stored.revision == 12)
    stream[place] = msgspec.structs.replace(stream[place], data=stream[place].data.replace(b'"actor":"', b'"actor":"x'))
    ((number, _, message),) = await wrong()
    assert (number, "revision 13: broken" in message) == (2, True)


async def test_every_column_of_a_checkpoint_s_row_is_what_the_log_says(club, wrong, tamper):
    """Its time and its cut, which the text does not show, too; and one that was taken out or moved."""
    assert club
    other = (2, "rows_differ", "The rows have another checkpoint 2 than the log.")
    for column, change in (("at", "at + 1"), ("cut", "cut || ' '"), ("text", "text || ' '"), ("signature", "reverse(signature)")):
        await tamper("CREATE TABLE {0}.before AS SELECT * FROM {0}.signed")
        await tamper(f"UPDATE {{}}.signed SET {column} = {change} WHERE number = 2")
        assert await wrong() == [other]
        await tamper("TRUNCATE {}.signed")
        await tamper("INSERT INTO {0}.signed SELECT * FROM {0}.before")
        await tamper("DROP TABLE {}.before")
    assert await wrong() == []
    await tamper("DELETE FROM {}.signed WHERE number = 2")
    assert await wrong() == [(2, "rows_differ", "The rows do not have checkpoint 2.")]
    await tamper("UPDATE {}.signed SET number = -2 WHERE number = 3")
    assert {problem[:2] for problem in await wrong()} == {(-2, "rows_differ"), (2, "rows_differ"), (3, "rows_differ")}
