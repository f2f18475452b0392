"""`deploy/verify/verify.py`: it needs Python alone, accepts what was really played, and does the same sums as we do."""

from __future__ import annotations

import ast
import asyncio
import gzip
import json
import re
import subprocess
import sys

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.eventlog.memory import MemoryLog, MemoryStore
from shared.events import checkpoint_document as document
from shared.events.commit import decode
from shared.events.export_file import ExportWriter
from shared.events.keys import SigningKey
from tests.audit import stranger, vectors
from tests.services.ledger.views.test_adjudicated import TERMS, Misplayed

pytestmark = pytest.mark.slow

CLUB = {"preset": "classic", "shared_misere": True, "misere_no_talon": True}
RFC_8032 = (  # 7.1: public key, message, signature
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
)


def run(*arguments):
    """The program in a process of its own that finds nothing of ours."""
    command = [sys.executable, "-I", "-S", str(stranger.PROGRAM), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_it_imports_the_standard_library_alone():
    """Nothing of ours, and nothing that has to be installed."""
    tree = ast.parse(stranger.PROGRAM.read_text(encoding="utf-8"), feature_version=(3, 9))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names


@pytest.mark.parametrize(
    ("convention", "players"),
    [("sochi", 3), ("leningrad", 4), ("rostov", 4), ("sochi", 2), ("rostov", 5), ("classic", 3), (CLUB, 4), ("federation", 3), ("code", 4)],
)
def test_whole_pulkas_are_accepted(tmp_path, convention, players):
    """Of every size and convention, with every deal that was revealed in them; the last one may still go on."""
    target = None if convention == "federation" else 6
    tables = stranger.played(31, 32, deals=9, convention=convention, players=players, target=target)
    (tmp_path / "export").write_bytes(stranger.exported(tables, stranger.signed(tables), stranger.leaves(tables)))
    verdict = stranger.verify().check(str(tmp_path / "export"), keys=(stranger.KEY.public,))
    events = [bytes(event) for commits in tables.values() for data in commits for event in decode(data).events]
    revealed = sum(event.startswith(b'{"type":"DealRevealed"') for event in events)
    assert verdict["problems"] == []
    assert (verdict["tables"], verdict["commits"], verdict["deals"]) == (2, sum(map(len, tables.values())), revealed)
    assert verdict["checkpoint"] == {"number": 1, "at": 1_800_000_000_000, "key": stranger.KEY.public, "tables": 2}


@pytest.mark.parametrize("seed", range(6))
def test_tables_where_rules_are_broken_are_accepted(tmp_path, seed):
    """Adjudicated play: talons taken too early and given back, peeks, revokes, tricks taken back, deals dealt anew; sheets kept by hand."""

    async def play():
        terms = TERMS | ({"entries": "by_hand"} if seed % 2 else {})
        table = Misplayed(MemoryLog(MemoryStore()), 900 + seed, players=3 + seed % 2, target=20, terms=terms)
        await table.play(deals=5)
        return {table.id: [recorded.data for recorded in table.commits]}

    tables = asyncio.run(play())
    verdict = stranger.verify().check(str(_written(tmp_path / "export", stranger.exported(tables))))
    assert (verdict["problems"], verdict["deals"]) == ([], 5)


def test_seats_that_were_drawn_for_are_checked(tmp_path):
    """The draw's promise, cards and seats; one that came out otherwise is named."""
    (table,) = (tables := stranger.played(33, deals=1, terms={"seating": "drawn"}))
    assert stranger.problems(tmp_path / "export", stranger.exported(tables)) == []
    place = next(place for place, data in enumerate(tables[table]) if b'"SeatsDrawn"' in data)
    cards = json.loads(tables[table][place])["events"][-1]["cards"]
    forged = tables[table][place].replace(f'"{cards[0]}"'.encode(), f'"{cards[1]}"'.encode())
    tables[table] = stranger.rechained([*tables[table][:place], forged, *tables[table][place + 1 :]])
    assert (table, place + 1, "draw") in stranger.problems(tmp_path / "export", stranger.exported(tables))


def test_the_command_line(tmp_path):
    """Status 0 and OK, 1 and what is wrong, 2 for no file; plain or compressed, in words or as JSON, by one process or several."""
    tables = stranger.played(34, 35, 36, deals=3)
    good, bad, packed, kept = (tmp_path / name for name in ("good.ndjson", "bad.ndjson", "good.ndjson.gz", "kept"))
    whole = stranger.exported(tables, stranger.signed(tables), stranger.leaves(tables))
    good.write_bytes(whole)
    packed.write_bytes(gzip.compress(whole))
    bad.write_bytes(whole.replace(b'"type":"DeckCut"', b'"type":"DeckHut"', 1))
    kept.write_bytes(document.kept_text(stranger.signed(tables), stranger.leaves(tables)))
    for path in (good, packed):
        for processes in (1, 3):
            done = run(path, "--key", stranger.KEY.public, "--processes", processes, "--against", kept)
            assert (done.returncode, done.stdout.splitlines()[-1], done.stderr) == (0, "OK", "")
    done = run(bad, "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["verified"], {one["table"] for one in told["problems"]}) == (1, False, {next(iter(tables)), None})
    assert re.search(
        rf"{next(iter(tables))} revision \d+: changed: .*\nNOT OK", run(bad).stdout.replace("\n3 tables", "\nNOT OK"), re.DOTALL
    )
    assert run(tmp_path / "none").returncode == 2
    assert "no checkpoint" in run(_written(tmp_path / "bare", stranger.exported(tables))).stdout
    packed.write_bytes(gzip.compress(whole)[:-200])
    assert run(packed).returncode == 1
    packed.write_bytes(b"")
    assert run(packed).returncode == 2


def test_only_what_is_proved_is_said(tmp_path):
    """With another key, a broken signature, or a changed commit the checkpoint proves nothing, and no key is called its signer."""
    tables = stranger.played(37, deals=2)
    whole = stranger.exported(tables, stranger.signed(tables), stranger.leaves(tables))
    path, sign = tmp_path / "export", stranger.signed(tables).signature.encode()
    assert "signed by key" in run(_written(path, whole)).stdout
    turned = whole.replace(sign, b"00" + sign[2:] if sign[:2] != b"00" else b"01" + sign[2:])
    changed = whole.replace(b'"type":"DeckCut"', b'"type":"DeckHut"', 1)
    for data, *options in ((whole, "--key", "0" * 64), (turned,), (changed,)):
        done = run(_written(path, data), *options)
        assert (done.returncode, "signed by key" in done.stdout) == (1, False)
        assert "checkpoint 1 proves none of them\nNOT OK" in done.stdout
        assert json.loads(run(path, *options, "--json").stdout)["checkpoint"]["tables"] == 0


def test_a_club_that_changed_its_key_has_two(tmp_path):
    """A checkpoint that one of the keys signed holds, under the old key or the new; by another key alone it does not."""
    tables, new = stranger.played(37, deals=2), SigningKey("s2", bytes(range(1, 33)))
    old_way, new_way = (stranger.exported(tables, stranger.signed(tables, key=key), stranger.leaves(tables)) for key in (stranger.KEY, new))
    both = ("--key", stranger.KEY.public, "--key", new.public.upper())
    for data, key, other in ((old_way, stranger.KEY, new), (new_way, new, stranger.KEY)):
        path = _written(tmp_path / "export", data)
        assert run(path, *both).returncode == run(path, "--key", key.public).returncode == 0
        assert "checkpoint_key" in run(path, "--key", other.public).stdout
    assert run(path, "--key", new.public, "--key", "00").returncode == 2


def test_one_changed_byte_is_told_in_a_few_lines(tmp_path):
    """In the line about a table or in a compressed file it spoils every line behind it: the first is named, the others are counted."""
    tables = stranger.played(37, deals=2)
    whole = stranger.exported(tables)
    done = run(_written(tmp_path / "head", whole.replace(b'{"table":', b'{"tible":', 1)))
    assert re.search(r"^  and \d\d+ more$", done.stdout, re.MULTILINE)
    assert (done.returncode, len(done.stdout.splitlines()) < 8) == (1, True)
    packed = bytearray(gzip.compress(whole))
    packed[len(packed) // 2] ^= 1
    done = run(_written(tmp_path / "packed", bytes(packed)))
    assert (done.returncode, len(done.stdout.splitlines()) < 16) == (1, True)


def test_what_is_no_export_is_said_to_be_none(tmp_path):
    """A server's refusal, a page, another's JSON, a folder, a key that is none: status 2 and a sentence. The help tells the statuses."""
    path = _written(tmp_path / "export", stranger.exported(stranger.played(37, deals=1)))
    refused = _written(tmp_path / "refused", b'{"status":404,"detail":"The ledger knows no pulka with that id.","code":"no_such_table"}')
    for arguments, said in (
        ((refused,), "the server refused: no_such_table: The ledger knows no pulka with that id."),
        ((_written(tmp_path / "page", b"<!doctype html><title>502</title>"),), "it is a page for people"),
        ((_written(tmp_path / "other", b'{"error":1}'),), "that is another's"),
        ((_written(tmp_path / "text", b"hello"),), "another's text"),
        ((_written(tmp_path / "empty", b""),), "it is empty"),
        ((_kept(tmp_path, *next(iter(stranger.played(37, deals=1).items()))),), "it is a checkpoint"),
        ((tmp_path,), "is a folder"),
        ((path, "--key", "00"), "a public key is 64 hex digits"),
    ):
        done = run(*arguments)
        assert (done.returncode, said in done.stderr, done.stdout) == (2, True, "")
    assert "exit status: 0" in run("--help").stdout


def test_a_key_that_nothing_is_signed_by_proves_nothing(tmp_path):
    """Whoever gives a key wants a signature: a file from which the checkpoint was taken is not in order for him."""
    path = _written(tmp_path / "export", stranger.exported(stranger.played(37, deals=1)))
    done = run(path, "--key", stranger.KEY.public)
    assert (done.returncode, "checkpoint_missing" in done.stdout, "NOT OK" in done.stdout) == (1, True, True)
    assert "written anew" in run(path).stdout


def test_a_deal_that_is_left_out_is_not_called_missing(tmp_path):
    """Where the file says so, what a checkpoint knows beyond it is named as not compared; where it does not, it is missing."""
    ((table, commits),) = stranger.played(37, deals=2).items()
    cut = commits[: next(at for at, data in enumerate(commits) if b'"DealStarted"' in data)]
    kept, path = _kept(tmp_path, table, commits), tmp_path / "export"
    verdict = _compared(path, table, cut, kept, hidden=True)
    assert (verdict["verified"], verdict["not_compared"], verdict["checkpoint"]["tables"]) == (True, {table: len(commits)}, 0)
    done = run(path, "--against", kept)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (3, "OK but for the ends of 1 table, not compared")
    assert "compare it when that is over" in done.stdout
    verdict = _compared(path, table, cut, kept, hidden=False)
    assert [(one["revision"], one["code"]) for one in verdict["problems"]] == [(len(cut) + 1, "missing")]


def test_nothing_is_left_out_of_a_table_that_is_over(tmp_path):
    """A file that says so all the same is not believed."""
    ((table, commits),) = stranger.played(11).items()
    kept = _kept(tmp_path, table, [*commits, commits[-1]])
    verdict = _compared(tmp_path / "export", table, commits, kept, hidden=True)
    assert [(one["revision"], one["code"]) for one in verdict["problems"]] == [(len(commits) + 1, "missing")]


def _kept(folder, table, commits):
    tables = {table: commits}
    return _written(folder / "kept", document.kept_text(stranger.signed(tables), stranger.leaves(tables)))


def _compared(path, table, commits, against, *, hidden):
    writer = ExportWriter()
    path.write_bytes(b"".join([writer.header(1), writer.table(table, commits, hidden=hidden), writer.end()]))
    return stranger.verify().check(str(path), against=str(against))


def test_a_table_that_goes_on_is_named(tmp_path):
    """It is checked as far as it has come, and said to go on; one that is over is not."""
    tables = stranger.played(37, deals=1)
    done = run(_written(tmp_path / "open", stranger.exported(tables)))
    assert (done.returncode, f"{next(iter(tables))} goes on" in done.stdout, "1 table, " in done.stdout) == (4, True, True)
    over = run(_written(tmp_path / "over", stranger.exported(stranger.played(38, target=4))))
    assert (over.returncode, "goes on" in over.stdout) == (4, False)


def _written(path, data):
    path.write_bytes(data)
    return path


# ---- the same sums ---------------------------------------------------------------------------------------------------------------------

KEPT = json.loads(vectors.FILE.read_text(encoding="utf-8"))


def test_the_published_vectors_are_those_of_the_code():
    """`deploy/verify/vectors.json` is what our own code makes today."""
    assert json.loads(json.dumps(vectors.msgspec.to_builtins(vectors.made()))) == KEPT


@pytest.mark.parametrize("number", range(len(vectors.DEALS)))
def test_it_deals_as_published(number):
    """Promise, hands, talon and salts of every published deal."""
    program, given, gives = stranger.verify(), KEPT["deals"][number]["given"], KEPT["deals"][number]["gives"]
    seed, about = bytes.fromhex(given["server_seed"]), (given["table"], given["number"], given["rules_digest"])
    seeds = [part for pair in given["seeds"] for part in pair]
    assert program.promise(seed, about) == gives["commitment"]
    assert program.dealt(seed, about, seeds, None, given["cut_at"], given["players"], given["dealer"]) == (gives["hands"], gives["talon"])
    assert {label: program.keyed(seed, "pulka salt 1", label)[:16].hex() for label in gives["salts"]} == gives["salts"]


@pytest.mark.parametrize("number", range(len(vectors.DRAWS)))
def test_it_draws_as_published(number):
    """Promise, cards and order of every published draw."""
    given, gives = KEPT["draws"][number]["given"], KEPT["draws"][number]["gives"]
    drawn = [{"seat": seat, "place": place} for seat, place in given["drawn"]]
    names = [f"player {seat}" for seat in range(len(drawn))]
    started = {"commitment": gives["commitment"], "server_seed": {"digest": ""}}
    told = {"server_seed": given["server_seed"], "cards": gives["cards"], "seats": [names[one] for one in gives["lowest_first"]]}
    opened = {"rules_digest": given["rules_digest"], "seats": names}
    assert [code for code, _ in stranger.verify().wrong_in_draw(given["table"], opened, started, drawn, told, None)] == [
        "digest"
    ]  # no box here


@pytest.mark.parametrize("number", range(len(vectors.ROUNDS)))
def test_it_deals_with_chains_as_published(number):
    """Ends, promise, hands, talon and first dealer of every published round of algorithm 2."""
    program, given, gives = stranger.verify(), KEPT["rounds"][number]["given"], KEPT["rounds"][number]["gives"]
    table, seed, about = given["table"], given["server_seed"], (given["number"], given["rules_digest"])
    chains = program.Chains(table)
    chains.known = {None: (gives["server_end"], -1)} | {int(seat): (end, -1) for seat, end in gives["ends"].items()}
    chains.round, chains.opened = given["number"], [tuple(pair) for pair in given["links"]]
    assert chains.fits(None, seed)
    assert all(chains.fits(seat, link) for seat, link in given["links"])
    assert program.next_link(table, seed) == gives["commitment"]
    seeds, seated = [part for pair in given["seeds"] for part in pair], (given["cut_at"], given["players"], given["dealer"])
    dealt = program.dealt(bytes.fromhex(seed), (table, *about), seeds, chains.links(), *seated)
    assert dealt == (gives["hands"], gives["talon"])
    drawn = {"server_seed": seed, "seat": gives["first_dealer"]}
    opened = {"rules_digest": given["rules_digest"], "players": given["players"]}
    assert list(program.wrong_dealer(table, opened, drawn, chains.links())) == []
    assert list(program.wrong_dealer(table, opened, drawn | {"seat": 9}, chains.links())) != []


def test_it_proves_as_published():
    """Trees, paths and signature of the published checkpoint."""
    program, about = stranger.verify(), KEPT["checkpoint"]
    header = json.loads(about["checkpoint"]["signed"])
    for table, revision, head, tree in about["leaves"]:
        hashes = list(map(bytes.fromhex, about["hashes"][table]))
        assert (len(hashes), hashes[-1].hex(), program.tree_root(hashes)) == (revision, head, tree)
    proof = about["proof"]
    assert program.root_from(bytes.fromhex(proof["commit"]), proof["in_table"]) == proof["leaf"][3]
    known = {proof["leaf"][0]: b"".join(map(bytes.fromhex, about["hashes"][proof["leaf"][0]]))}
    assert list(program.wrong_proof({"leaf": proof["leaf"], "path": proof["in_checkpoint"]}, header, known, {})) == []
    assert list(program.wrong_checkpoint(about["checkpoint"], stranger.KEY.public)) == []


def test_signatures_of_the_rfc():
    """The first three examples of RFC 8032 hold; none with a changed key, message or signature, nor one whose scalar is not reduced."""
    signs = stranger.verify().is_signed
    for key, message, signature in RFC_8032:
        assert signs(key, bytes.fromhex(message), signature)
        assert not signs(key, bytes.fromhex(message) + b"!", signature)
        assert not signs(RFC_8032[0][0] if key != RFC_8032[0][0] else RFC_8032[1][0], bytes.fromhex(message), signature)
        scalar = int.from_bytes(bytes.fromhex(signature)[32:], "little") + stranger.verify().ORDER
        assert not signs(key, bytes.fromhex(message), signature[:64] + scalar.to_bytes(32, "little").hex())
        for short in (signature[:-2], signature + "00", "", "zz"):
            assert not signs(key, bytes.fromhex(message), short)
    for key in ("", "00" * 31, "ff" * 32, "02" + "00" * 31):
        assert not signs(key, b"", RFC_8032[0][2])


@settings(max_examples=25, deadline=None)  # a signature takes it a few milliseconds
@given(st.binary(min_size=32, max_size=32), st.binary(max_size=200), st.integers(0, 511))
def test_signatures_are_checked_as_the_library_does(seed, message, bit):
    """Every signature of the library holds; with any one bit of it turned it does not."""
    key = Ed25519PrivateKey.from_private_bytes(seed)
    public, signature = key.public_key().public_bytes_raw().hex(), key.sign(message)
    assert stranger.verify().is_signed(public, message, signature.hex())
    turned = bytearray(signature)
    turned[bit // 8] ^= 1 << bit % 8
    assert not stranger.verify().is_signed(public, message, bytes(turned).hex())


def test_a_checkpoint_as_http_gives_it_is_compared(tmp_path):
    """The same one says nothing; another of its number, and one that does not lead here, are named; of any other it says that it cannot."""
    tables = stranger.played(38, deals=2)
    over = stranger.leaves(tables)
    first, lie = (document.sign(stranger.KEY, 1, at, over, None) for at in (1_800_000_000_000, 1_800_000_000_001))
    second = document.sign(stranger.KEY, 2, 1_800_000_100_000, over, first)
    kept, file = tmp_path / "kept", tmp_path / "export"

    def found(here, then):
        kept.write_text(json.dumps({"number": 9, "signed": then.signed, "signature": then.signature}))
        file.write_bytes(stranger.exported(tables, here, over))
        verdict = stranger.verify().check(str(file), keys=(stranger.KEY.public,), against=str(kept))
        return [one["code"] for one in verdict["problems"]], verdict["told"]

    assert found(first, first) == ([], [])
    assert found(first, lie) == (["checkpoint_other"], [])
    assert found(second, first) == ([], [])
    assert found(second, lie) == (["checkpoint_previous"], [])
    assert found(first, second)[1] == ["not compared: checkpoint 2 was kept, and here is 1"]
