"""An export that somebody changed: every kind of damage is found by `verify.py`, and table and revision are named exactly."""

from __future__ import annotations

import json
import random
import re

import msgspec
import pytest

from shared.events import checkpoint_document as document
from shared.events.commit import decode, encode
from shared.events.export_file import ExportWriter
from shared.events.keys import SigningKey
from tests.audit import stranger

TABLES = stranger.played(41, 42, deals=2)
ONE, TWO = TABLES
SIGNED, LEAVES = stranger.signed(TABLES), stranger.leaves(TABLES)
WHOLE = stranger.exported(TABLES, SIGNED, LEAVES)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "export.ndjson"


def places():
    """By byte of the file: table and revision of the commit in whose line it lies, or None."""
    found, table, revision = [], None, 0
    for line in WHOLE.splitlines(keepends=True):
        if line.startswith(b'{"table":'):
            table, revision = json.loads(line)["table"], 0
        commit = line.startswith(b'{"aggregate":')
        revision += commit
        found += [(table, revision) if commit else None] * len(line)
    return found


PLACES = places()


def test_it_is_accepted_as_it_was_written(file):
    """Nothing is wrong before anything is changed."""
    assert stranger.problems(file, WHOLE, keys=(stranger.KEY.public,)) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_any_byte_that_is_changed_is_found(file, seed):
    """Random bytes at random places: never unnoticed; in a commit its table and revision are named, and no other table."""
    chance = random.Random(seed)
    for _ in range(60):
        place, damaged = chance.randrange(len(WHOLE) - 1), bytearray(WHOLE)
        damaged[place] ^= chance.randrange(1, 256)
        found = stranger.problems(file, bytes(damaged))
        assert found
        if PLACES[place] is not None:
            table, revision = PLACES[place]
            named = {(one[0], one[1]) for one in found if one[0] is not None}
            assert (table, revision) in named, (place, damaged[place])
            beside = (
                {(table, revision + 1)} if 10 in {WHOLE[place], damaged[place]} else set()
            )  # a line feed more or less: one line more or less
            assert named <= {(table, revision)} | beside


@pytest.mark.slow
def test_every_byte_of_a_commit_counts():
    """All of them, one after another, in three commits in a row, and each is blamed on its own commit alone."""
    program, commits = stranger.verify(), TABLES[ONE]
    head = document.leaf_of(ONE, [stranger.hash_of(data) for data in commits]).head
    for revision in (1, 2, len(commits)):
        data = commits[revision - 1]
        for place in range(len(data)):
            damaged = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
            problems, *_ = program.check_table(ONE, [*commits[: revision - 1], damaged, *commits[revision:]], len(commits), head)
            assert {(table, named) for table, named, _, _ in problems} == {(ONE, revision)}, (revision, place)


def changed(**tables):
    """The export with other commits of the tables called so, and whatever a forger can make to fit: counts, heads, the digest."""
    kept = {ONE: tables.get("one", TABLES[ONE]), TWO: tables.get("two", TABLES[TWO])}
    return stranger.exported({table: commits for table, commits in kept.items() if commits}, SIGNED, LEAVES)


COMMITS, OTHERS = TABLES[ONE], TABLES[TWO]
LAST = len(COMMITS)


@pytest.mark.parametrize(
    ("commits", "found"),
    [
        ([*COMMITS[:7], *COMMITS[8:]], {(8, "missing")}),
        (COMMITS[1:], {(1, "missing")}),
        ([*COMMITS[:7], *COMMITS[9:]], {(8, "missing")}),
        ([*COMMITS[:7], COMMITS[8], COMMITS[7], *COMMITS[9:]], {(9, "swapped")}),
        ([*COMMITS[:7], COMMITS[20], *COMMITS[8:20], COMMITS[7], *COMMITS[21:]], {(8, "swapped"), (21, "swapped")}),
        ([*COMMITS[:8], COMMITS[7], *COMMITS[8:]], {(8, "added")}),
        ([*COMMITS[:8], COMMITS[7].replace(b'"actor":"', b'"actor":"x'), *COMMITS[8:]], {(8, "added")}),
        ([*COMMITS[:7], COMMITS[7][:-9], *COMMITS[8:]], {(8, "unreadable")}),
        ([*COMMITS[:7], OTHERS[7], *COMMITS[8:]], {(8, "foreign")}),
        ([*COMMITS[:-1], COMMITS[-1][:-9]], {(LAST, "unreadable"), (LAST, "changed")}),
        (COMMITS[:-1], {(LAST, "missing")}),
        (COMMITS[:9], {(10, "missing")}),
    ],
)
def test_a_commit_that_is_not_what_it_was_is_named(file, commits, found):
    """Missing, out of its place, added, cut off, another table's, or the last one dropped, which only the checkpoint shows."""
    assert {one[1:] for one in stranger.problems(file, changed(one=commits)) if one[0] == ONE} == found
    assert {one for one in stranger.problems(file, changed(one=commits)) if one[0] == TWO} == set()
    assert stranger.verify().check(str(file))["checkpoint"]["tables"] == 1, "only the other table is proved"


def test_tables_that_exchanged_their_commits_are_named(file):
    """Each commit of the one under the name of the other."""
    found = stranger.problems(file, changed(one=OTHERS, two=COMMITS))
    assert {(ONE, revision, "foreign") for revision in range(1, len(OTHERS) + 1)} <= set(found)
    assert {(TWO, revision, "foreign") for revision in range(1, len(COMMITS) + 1)} <= set(found)


def test_a_table_that_is_missing_is_named(file):
    """The checkpoint's proof stands there, the table does not."""
    writer, tree = ExportWriter(), document.tree_of(LEAVES)
    lines = [writer.header(1), writer.table(TWO, OTHERS), writer.checkpoint(SIGNED)]
    lines += [writer.proof(leaf, document.path_in(tree, place)) for place, leaf in enumerate(LEAVES)]
    assert stranger.problems(file, b"".join([*lines, writer.end()])) == [(ONE, 0, "proof")]


def test_a_history_that_was_written_anew_is_told_by_the_checkpoint(file):
    """Hashed anew from some commit on, it is another one than was signed; one that was kept says so even when the file's is gone."""
    forged = stranger.rechained([*COMMITS[:9], COMMITS[9].replace(b'"command_id":"', b'"command_id":"x'), *COMMITS[10:]])
    assert stranger.problems(file, changed(one=forged)) == [(ONE, LAST, "changed")]
    without = stranger.exported({ONE: forged, TWO: OTHERS})
    assert stranger.problems(file, without) == []
    kept = file.with_name("kept")
    kept.write_bytes(document.kept_text(SIGNED, LEAVES))
    assert stranger.problems(file, without, against=str(kept)) == [(ONE, LAST, "changed")]
    assert stranger.problems(file, stranger.exported({ONE: COMMITS[:-1], TWO: OTHERS}), against=str(kept)) == [(ONE, LAST, "missing")]


def with_event(name, change):
    """The table's history with its first event called `name` changed, all hashes made to fit; and that event's revision."""
    for place, data in enumerate(COMMITS):
        commit = decode(data)
        events = [json.loads(event) for event in map(bytes, commit.events)]
        for event in events:
            if event["type"] == name:
                event.update({field: make(event[field]) for field, make in change.items()})
                raw = tuple(msgspec.Raw(msgspec.json.encode(event)) for event in events)
                forged = encode(msgspec.structs.replace(commit, events=raw))
                return stranger.rechained([*COMMITS[:place], forged, *COMMITS[place + 1 :]]), place + 1
    raise LookupError(name)


REVEALED = next(place for place, data in enumerate(COMMITS, 1) if b'"DealRevealed"' in data)


@pytest.mark.parametrize(
    ("event", "change", "code"),
    [
        ("DealRevealed", {"server_seed": lambda seed: seed[::-1]}, "commitment"),
        ("DealRevealed", {"talon": lambda talon: " ".join(reversed(talon.split()))}, "shuffle"),
        ("DealRevealed", {"hands": lambda hands: [*hands[1:], hands[0]]}, "shuffle"),
        ("DealRevealed", {"salts": lambda salts: salts | {"talon": "0" * 32}}, "salt"),
        ("DealRevealed", {"number": lambda number: number + 1}, "incomplete"),
        ("DealStarted", {"commitment": lambda _: "0" * 64}, "commitment"),
        ("DealStarted", {"server_seed": lambda box: box | {"digest": "0" * 64}}, "digest"),
        ("CardsDealt", {"talon": lambda box: box | {"digest": "0" * 64}}, "digest"),
        ("DeckCut", {"at": lambda at: 4 if at == 16 else 16}, "shuffle"),
        ("DeckCut", {"at": lambda _: 3}, "malformed"),
        ("PulkaOpened", {"target": lambda _: 7}, "rules_digest"),
    ],
)
def test_a_deal_that_was_not_dealt_so_is_named(file, event, change, code):
    """In a history whose hashes fit: promise, seeds, cut, boxes and cards must fit one another."""
    forged, revision = with_event(event, change)
    found = stranger.problems(file, stranger.exported({ONE: forged}))
    assert (ONE, revision if code == "rules_digest" else REVEALED, code) in found


def test_a_trick_or_a_settlement_that_cannot_be_is_named(file):
    """The highest card takes the trick; what one wins the others lose."""
    tables = stranger.played(43, target=2)
    (table, commits) = next(iter(tables.items()))
    closed = next(place for place, data in enumerate(commits, 1) if b'"PulkaClosed"' in data)
    forged = [re.sub(rb'("rounded":\[-?)', rb"\g<1>1", data) for data in commits]
    assert (table, closed, "zero_sum") in stranger.problems(file, stranger.exported({table: stranger.rechained(forged)}))
    won = next(place for place, data in enumerate(commits, 1) if b'"TrickWon"' in data and b"TalonCardOpened" not in data)
    event = next(event for event in json.loads(commits[won - 1])["events"] if event["type"] == "TrickWon")
    text = f'"type":"TrickWon","seat":{event["seat"]},'
    other = text.replace(f'"seat":{event["seat"]}', f'"seat":{(event["seat"] + 1) % 3}')
    forged = [*commits[: won - 1], commits[won - 1].replace(text.encode(), other.encode()), *commits[won:]]
    assert "trick" in {code for _, _, code in stranger.problems(file, stranger.exported({table: stranger.rechained(forged)}))}


def test_two_readers_never_understand_two_things(file):
    """A field that stands twice in a commit is no way past the chain: neither the hash before, nor anything else."""
    for field in (b'"prev_hash":"' + b"0" * 64 + b'"', b'"revision":1', b'"events":[]'):
        forged = stranger.rechained([*COMMITS[:-1], COMMITS[-1][:-1] + b"," + field + b"}"])
        assert stranger.problems(file, stranger.exported({ONE: forged})), field


STRANGER = SigningKey("s9", b"9" * 32)


@pytest.mark.parametrize(
    ("change", "signer", "code"),
    [
        ({"root": "0" * 64}, None, "checkpoint_signature"),
        ({"root": "0" * 64}, STRANGER, "checkpoint_signature"),
        ({"key": STRANGER.public}, STRANGER, "checkpoint_key"),
        ({"previous": "1" * 64}, None, "checkpoint_signature"),
        ({"number": 2}, None, "checkpoint_signature"),
        ({"at": 1}, None, "checkpoint_signature"),
        ({"root": "0" * 64}, stranger.KEY, "proof"),
        ({"tables": 3}, stranger.KEY, "proof"),
    ],
)
def test_a_forged_checkpoint_is_named(file, change, signer, code):
    """Root, predecessor, number, time, or another's key; and one of the club's own over other tables."""
    text = json.dumps(json.loads(SIGNED.signed) | change, separators=(",", ":"))
    forged = document.Signed(text, SIGNED.signature if signer is None else signer.sign(text.encode()))
    found = stranger.problems(file, stranger.exported(TABLES, forged, LEAVES), keys=(stranger.KEY.public,))
    assert code in {one[2] for one in found}
    assert stranger.problems(file, stranger.exported(TABLES, SIGNED, LEAVES), keys=(STRANGER.public,))[0][2] == "checkpoint_key"
