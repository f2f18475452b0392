"""The export file: tables' commits as they are stored, to the byte, one a line, with counts, a checkpoint and proofs; `.ndjson`, or
compressed `.ndjson.gz`. A stranger checks it with `deploy/verify/verify.py`; archives of settled tables use the same container.

Lines, in this order (deploy/docs/export-file.md): the header; for each table a line about it and then its commits from revision 1 on;
if there is one, a checkpoint and the proof of each table in it; the end, with counts and the SHA-256 of all bytes before it.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path as FilePath
from typing import IO, Any, Final

import msgspec

from shared.events.address import is_id, table
from shared.events.checkpoint_document import Leaf, Path, Signed
from shared.events.commit import hash_of

FORMAT: Final = 1
GZIP: Final = b"\x1f\x8b"  # how a compressed file begins, whatever its name is
ENDING: Final = ".gz"  # of the name of a file that is to be compressed
LEVEL: Final = 6  # of compression: a third of the size at 30 MB/s; 9 takes three times as long for two hundredths

_encode: Final = msgspec.json.Encoder(order="deterministic").encode


class BadExport(Exception):
    """The file is damaged or is none; `line` counts from 1."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"line {line}: {message}")
        self.line = line


class ExportHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The first line. `at`: when it was written, milliseconds since 1970. `kind`: `export`, or `archive` (then `sequences` are given)."""

    pulka_export: int
    at: int
    kind: str


class ExportedTable(msgspec.Struct, frozen=True):
    """A table's commits: stored bytes, from revision 1 on. `head`: hash of the last. `sequences`: of each in its stream, or none."""

    table: str
    stream: str
    head: str
    commits: tuple[bytes, ...]
    sequences: tuple[int, ...] = ()


class ExportedProof(msgspec.Struct, frozen=True):
    """That a table, as far as `leaf` says, is in the file's checkpoint."""

    leaf: Leaf
    path: Path


Exported = ExportHeader | ExportedTable | Signed | ExportedProof


class _TableLine(msgspec.Struct, frozen=True, omit_defaults=True):
    table: str
    stream: str
    commits: int
    head: str
    sequences: tuple[int, ...] = ()
    hidden: bool = False


class _End(msgspec.Struct, frozen=True):
    tables: int
    commits: int
    sha256: str


class _Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """Any line that is no header's, no table's and no commit."""

    checkpoint: Signed | None = None
    proof: ExportedProof | None = None
    end: _End | None = None


_decode_header = msgspec.json.Decoder(ExportHeader).decode
_decode_table = msgspec.json.Decoder(_TableLine).decode
_decode_line = msgspec.json.Decoder(_Line).decode


class ExportWriter:
    """Makes the file's bytes; each method gives those that come next, in the order of the methods."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._tables = self._commits = 0

    def header(self, at: int, kind: str = "export") -> bytes:
        """The first line."""
        return self._taken(_encode(ExportHeader(pulka_export=FORMAT, at=at, kind=kind)) + b"\n")

    def table(self, table_id: str, commits: Sequence[bytes], sequences: Sequence[int] = (), *, hidden: bool = False) -> bytes:
        """A table with at least one commit; `hidden`: those of a deal that is not revealed are left out.

        Raises `ValueError` for a commit that is no line of text: it was never stored so.
        """
        if not commits or (sequences and len(sequences) != len(commits)):
            raise ValueError("a table has commits, and as many sequences or none")
        if any(b"\n" in data for data in commits):
            raise ValueError(f"a commit of {table_id} has a line feed in it: nothing of ours writes such a one")
        self._tables += 1
        self._commits += len(commits)
        about = _TableLine(table_id, table(table_id).stream, len(commits), hash_of(commits[-1]), tuple(sequences), hidden)
        return self._taken(b"\n".join([_encode(about), *commits, b""]))

    def checkpoint(self, checkpoint: Signed) -> bytes:
        """The checkpoint to which the proofs lead."""
        return self._taken(_encode(_Line(checkpoint=checkpoint)) + b"\n")

    def proof(self, leaf: Leaf, path: Path) -> bytes:
        """That a table of this file is in the checkpoint."""
        return self._taken(_encode(_Line(proof=ExportedProof(leaf, path))) + b"\n")

    def end(self) -> bytes:
        """The last line."""
        return _encode(_Line(end=_End(self._tables, self._commits, self._hash.hexdigest()))) + b"\n"

    def _taken(self, data: bytes) -> bytes:
        self._hash.update(data)
        return data


def read_export(lines: Iterable[bytes]) -> Iterator[Exported]:
    """What is in a file, one after another, a table at a time in memory. Raises `BadExport` for what is no export, is cut off or changed.

    The digest is that of the whole file: only who has come to the end without an exception knows that all of it holds. The chains are
    the reader's to check (`verify_chain`).
    """
    numbered, digest = enumerate(lines, 1), hashlib.sha256()
    number, line = next(numbered, (1, b""))
    header = _decoded(_decode_header, number, line)
    if header.pulka_export != FORMAT:
        raise BadExport(number, f"this program does not know format {header.pulka_export}")
    digest.update(line)
    yield header
    tables = commits = 0
    for number, line in numbered:
        if line.startswith(b'{"table":'):
            digest.update(line)
            found, kept = _decoded(_decode_table, number, line), []
            for _ in range(found.commits):
                number, data = next(numbered, (number + 1, b""))  # noqa: PLW2901 - the table's commits are lines of the same file
                if not data.endswith(b"\n"):
                    raise BadExport(number, f"the file is cut off among the commits of {found.table}")
                digest.update(data)
                kept.append(data[:-1])
            tables, commits = tables + 1, commits + len(kept)
            yield _table(number, found, tuple(kept))
            continue
        other = _decoded(_decode_line, number, line)
        if other.end is not None:
            _check_end(number, other.end, _End(tables, commits, digest.hexdigest()), more=next(numbered, None) is not None)
            return
        digest.update(line)
        if other.checkpoint is None and other.proof is None:
            raise BadExport(number, "neither a table nor a checkpoint, a proof or the end")
        yield from (part for part in (other.checkpoint, other.proof) if part is not None)
    raise BadExport(number + 1, "the file is cut off: its last line is missing")


def _check_end(number: int, told: _End, found: _End, *, more: bool) -> None:
    if more:
        raise BadExport(number + 1, "something stands behind the end")
    if told != found:
        raise BadExport(number, "counts or digest are not those of this file: it was changed")


def _table(number: int, about: _TableLine, commits: tuple[bytes, ...]) -> ExportedTable:
    if not is_id(about.table) or table(about.table).stream != about.stream or not commits:
        raise BadExport(number, f"{about.table!r} in {about.stream!r} with {len(commits)} commits is no table")
    if about.sequences and len(about.sequences) != len(commits):
        raise BadExport(number, f"{about.table} has {len(commits)} commits and {len(about.sequences)} sequences")
    if hash_of(commits[-1]) != about.head:
        raise BadExport(number, f"the last commit of {about.table} is not the one that its head is of")
    return ExportedTable(about.table, about.stream, about.head, commits, about.sequences)


def _decoded(decode: Any, number: int, line: bytes) -> Any:
    try:
        return decode(line)
    except msgspec.DecodeError as wrong:
        raise BadExport(number, f"no line of an export ({wrong})") from None


@contextmanager
def lines_of(path: FilePath) -> Iterator[IO[bytes]]:
    """The lines of a plain or compressed file. Raises `OSError`; reading on raises `OSError` or `EOFError` for a damaged compressed one."""
    with path.open("rb") as file:
        begins = file.read(len(GZIP))
        file.seek(0)
        if begins != GZIP:
            yield file
            return
        with gzip.open(file, "rb") as unpacked:
            yield unpacked  # type: ignore[misc] # a GzipFile is read like any file of bytes


@contextmanager
def written_to(path: FilePath) -> Iterator[IO[bytes]]:
    """A new file to write to, compressed when its name ends in `.gz`. Raises `FileExistsError`: nothing is written over."""
    with path.open("xb") as file:
        if path.name.endswith(ENDING):
            with gzip.GzipFile("", "wb", LEVEL, file, mtime=0) as packed:  # no time in it: the same tables give the same bytes
                yield packed  # type: ignore[misc] # see lines_of
        else:
            yield file
