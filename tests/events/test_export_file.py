"""The export file: what was written is read back to the byte; whatever else is in it, or is not, is refused with its line."""

from __future__ import annotations

import io
import json

import msgspec
import pytest

from shared.events import checkpoint_document as document
from shared.events.commit import hash_of
from shared.events.export_file import BadExport, ExportedProof, ExportedTable, ExportHeader, ExportWriter, lines_of, read_export, written_to
from shared.events.keys import SigningKey

ONE, TWO = "3-" + "a" * 26, "0-" + "b" * 26
COMMITS = {ONE: [b'{"aggregate":"one","n":1}', b'{"aggregate":"one","n":2}'], TWO: [b'{"table":"looks like another line"}', "{“}".encode()]}
LEAVES = document.in_order(document.leaf_of(table, [hash_of(data) for data in commits]) for table, commits in COMMITS.items())
SIGNED = document.sign(SigningKey("s1", b"k" * 32), 1, 1000, LEAVES, None)
PATHS = [document.path_in(document.tree_of(LEAVES), place) for place in range(2)]


def written(*, sequences=()):
    export = ExportWriter()
    return b"".join([
        export.header(1000, "archive" if sequences else "export"),
        *(export.table(table, commits, sequences) for table, commits in COMMITS.items()),
        export.checkpoint(SIGNED),
        *map(export.proof, LEAVES, PATHS),
        export.end(),
    ])  # fmt: skip


def read(data):
    return list(read_export(io.BytesIO(data)))


def test_it_is_read_back():
    """Header, tables with their commits to the byte and with sequences where they were given, checkpoint, proofs."""
    header, *tables, signed, first, second = read(written())
    assert header == ExportHeader(pulka_export=1, at=1000, kind="export")
    assert tables == [ExportedTable(table, f"TABLE_{table[0]}", hash_of(commits[-1]), tuple(commits)) for table, commits in COMMITS.items()]
    assert signed == SIGNED
    assert [first, second] == [ExportedProof(*pair) for pair in zip(LEAVES, PATHS, strict=True)]
    assert read(written(sequences=(7, 19)))[1].sequences == (7, 19)


def test_an_empty_export_is_one():
    """No table: a header and an end."""
    export = ExportWriter()
    assert len(read(export.header(1) + export.end())) == 1


@pytest.mark.parametrize("name", ["export.ndjson", "export.ndjson.gz"])
def test_it_is_kept_plain_or_compressed(tmp_path, name):
    """By the name when it is written, by its content when it is read; nothing is written over; the same content gives the same bytes."""
    with written_to(tmp_path / name) as file:
        file.write(written())
    (tmp_path / "renamed").write_bytes((tmp_path / name).read_bytes())
    with lines_of(tmp_path / "renamed") as lines:
        assert list(read_export(lines)) == read(written())
    with pytest.raises(FileExistsError), written_to(tmp_path / name):
        pass
    (tmp_path / "sub").mkdir()
    with written_to(tmp_path / "sub" / name) as file:
        file.write(written())
    assert (tmp_path / "sub" / name).read_bytes() == (tmp_path / name).read_bytes()


def test_every_changed_byte_is_refused():
    """Whichever it is: at the latest by the digest in the last line."""
    whole = written()
    for place in range(len(whole) - 1):  # the last one is the line feed after the end
        damaged = bytearray(whole)
        damaged[place] ^= 1
        with pytest.raises(BadExport):
            read(bytes(damaged))


def test_every_cut_is_refused():
    """A file that ends too early, or goes on after its end."""
    whole = written()
    for end in range(len(whole) - 1):
        with pytest.raises(BadExport):
            read(whole[:end])
    with pytest.raises(BadExport, match="line 12: something stands behind"):
        read(whole + b"{}\n")


def resealed(change):
    """The file with lines changed by who knows how its digest is made."""
    lines = change(written().splitlines(keepends=True)[:-1])
    end = json.loads(written().splitlines()[-1])["end"]
    digest = hash_of(b"".join(lines))
    return b"".join(lines) + msgspec.json.encode({"end": {**end, "sha256": digest}}) + b"\n"


@pytest.mark.parametrize(
    ("change", "line", "why"),
    [
        (lambda lines: [lines[0].replace(b":1,", b":2,"), *lines[1:]], 1, "format 2"),
        (lambda lines: lines[1:], 1, "no line of an export"),
        (lambda lines: [lines[0], *lines[2:]], 2, "neither"),
        (lambda lines: [*lines[:3], *lines[4:]], 4, "last commit"),
        (lambda lines: [*lines[:2], *lines[3:]], 4, "last commit"),
        (lambda lines: [lines[0], *lines[4:]], 8, "counts or digest"),
        (lambda lines: [lines[0], lines[1].replace(b"TABLE_3", b"TABLE_4"), *lines[2:]], 4, "is no table"),
        (lambda lines: [lines[0], lines[1].replace(b'"stream"', b'"sequences":[1],"stream"'), *lines[2:]], 4, "1 sequences"),
        (lambda lines: [*lines, b"{}\n"], 11, "neither"),
    ],
)
def test_what_does_not_fit_together_is_refused_by_its_line(change, line, why):
    """Though the digest fits: another format, lines that are missing, counts and heads that are not those of the commits."""
    with pytest.raises(BadExport, match=why) as refused:
        read(resealed(change))
    assert refused.value.line == line


def test_what_was_never_stored_so_is_not_written():
    """A commit of two lines, a table without commits, sequences that are not as many."""
    for commits, sequences in (([b"{\n}"], ()), ([], ()), ([b"{}"], (1, 2))):
        with pytest.raises(ValueError, match=r"line feed|has commits"):
            ExportWriter().table(ONE, commits, sequences)
