"""A log that somebody changed, and books: every kind of damage is found by the verification, and named by table and revision.

The log in memory is filled with damaged bytes; a kept checkpoint shows what no chain can. On real servers: `test_audit_commands.py`.
"""

from __future__ import annotations

import random

import msgspec
import pytest

from services.ledger.audit.against import held_to
from services.ledger.audit.verify import verify_table
from shared.eventlog.memory import MemoryLog, MemoryStore
from shared.events import checkpoint_document as document
from shared.events.address import table
from shared.events.checkpoint_document import KeptCheckpoint
from tests.audit import stranger

TABLES = stranger.played(51, 52, deals=2)
ONE, TWO = TABLES
COMMITS, OTHERS = TABLES[ONE], TABLES[TWO]
LAST = len(COMMITS)
((OTHER, SMUGGLED),) = stranger.played(53, deals=1).items()
SIGNED = stranger.signed(TABLES)
KEPT = held_to(KeptCheckpoint(SIGNED.signed, SIGNED.signature, tuple(stranger.leaves(TABLES))))


async def found(commits, of=ONE, kept=KEPT):
    """Revision and code of what is wrong with a table whose log holds these commits."""
    log = MemoryLog(MemoryStore())
    for revision, data in enumerate(commits, 1):
        log.store.store(table(of), data, revision)
    verdict = await verify_table(log, table(of), kept=kept)
    assert verdict["verified"] == (not verdict["problems"])
    return [(problem["revision"], problem["code"]) for problem in verdict["problems"]]


async def test_it_is_verified_as_it_was_written():
    """Nothing is wrong before anything is changed, with a checkpoint or without."""
    assert await found(COMMITS) == await found(COMMITS, kept=None) == []


@pytest.mark.parametrize("seed", range(3))
async def test_any_byte_that_is_changed_is_found(seed):
    """Random bytes at random places of random commits: each is found and blamed on its own commit, the last one too."""
    chance = random.Random(seed)
    for _ in range(120):
        place = chance.choice([chance.randrange(LAST), LAST - 1])
        data = bytearray(COMMITS[place])
        data[chance.randrange(len(data))] ^= chance.randrange(1, 256)
        wrong = await found([*COMMITS[:place], bytes(data), *COMMITS[place + 1 :]])
        assert {revision for revision, _ in wrong} == {place + 1}, (place, wrong)


@pytest.mark.parametrize(
    ("commits", "expected"),
    [
        ([*COMMITS[:7], *COMMITS[8:]], [(8, "missing")]),
        (COMMITS[1:], [(1, "missing")]),
        ([*COMMITS[:7], COMMITS[8], COMMITS[7], *COMMITS[9:]], [(9, "swapped")]),
        ([*COMMITS[:8], COMMITS[7], *COMMITS[8:]], [(8, "added")]),
        ([*COMMITS[:7], COMMITS[7][:-9], *COMMITS[8:]], [(8, "unreadable")]),
        ([*COMMITS[:7], OTHERS[7], *COMMITS[8:]], [(8, "missing"), (8, "foreign")]),
        (COMMITS[:-1], [(LAST, "missing")]),
        (COMMITS[:9], [(10, "missing")]),
        ([], [(1, "missing")]),
    ],
)
async def test_a_commit_that_is_not_what_it_was_is_named(commits, expected):
    """Missing, out of its place, added, cut off, another table's, or dropped at the end, down to the whole table."""
    assert sorted(await found(commits)) == sorted(expected)


async def test_only_the_checkpoint_shows_an_end_that_was_cut_off():
    """The chain holds, and so does what was written anew from some commit on; the signed head does not."""
    assert await found(COMMITS[: LAST - 3], kept=None) == []
    forged = stranger.rechained([*COMMITS[:9], COMMITS[9].replace(b'"command_id":"', b'"command_id":"x'), *COMMITS[10:]])
    assert await found(forged, kept=None) == []
    assert await found(forged) == [(LAST, "changed")]


async def test_tables_that_exchanged_their_commits_are_named():
    """Every commit of the one lies under the name of the other."""
    for of, commits in ((ONE, OTHERS), (TWO, COMMITS)):
        wrong = await found(commits, of)
        assert {(revision, "foreign") for revision in range(1, len(commits) + 1)} <= set(wrong)


async def test_a_table_that_was_smuggled_in_is_named():
    """It says that it began before the checkpoint, which does not have it; one that began later may be there."""
    assert await found(SMUGGLED, OTHER) == [(1, "added")]
    later = held_to(KeptCheckpoint(document.sign(stranger.KEY, 1, 1_700_000_000_000, [], None).signed, "", ()))
    assert await found(SMUGGLED, OTHER, later) == []


async def test_a_signed_tree_that_is_not_that_of_the_commits_is_named():
    """Though head and revision are: whoever signed it did not sign this history."""
    leaf = KEPT.leaves[ONE]
    wrong = msgspec.structs.replace(leaf, tree="0" * 64)
    assert await found(COMMITS, kept=msgspec.structs.replace(KEPT, leaves={ONE: wrong})) == [(LAST, "checkpoint_tree")]
