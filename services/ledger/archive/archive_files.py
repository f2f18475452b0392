"""The archive: a folder with a file a table, `<partition>/<table>.ndjson.gz`, the container that strangers check too (`export_file`).

A file appears whole or not at all, and is read back before anybody relies on it. Beside it lies `<table>.pending` from before it is written
until the table has left the log: what an interrupted run has begun is found there.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import tempfile
import zlib
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from shared.eventlog.port import EventLog, Stored
from shared.events.address import MOST, is_id, table
from shared.events.archive_mark import is_mark
from shared.events.checkpoint_document import Signed
from shared.events.commit import decode_head
from shared.events.export_file import BadExport, ExportedProof, ExportedTable, ExportHeader, ExportWriter, lines_of, read_export, written_to
from shared.projections.core.history import RefusedToRun

ENDING: Final = ".ndjson.gz"
PENDING: Final = ".pending"
WRITING: Final = ".writing.gz"  # of a file that is not whole yet; compressed by its name as the finished one is
ARCHIVE: Final = "archive"  # what the header calls itself
_PIECE: Final = 1 << 20  # bytes of a file that are hashed at a time


class BadArchive(RefusedToRun):
    """The file of a table is damaged, or is another table's; `path` is where it lies. No books are written from it."""

    reason = "archive_damaged"

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(f"{path}: {message}")
        self.path = path


class ArchivedTable(msgspec.Struct, frozen=True):
    """What a file holds: a table's commits in order, each with its place in the stream; and its proof, when it was in a checkpoint."""

    records: Sequence[Stored]
    head: str
    checkpoint: Signed | None = None
    proof: ExportedProof | None = None


def file_of(folder: Path, table_id: str) -> Path:
    """Where the file of a table lies, or would."""
    return _of_partition(folder, table_id) / f"{table_id}{ENDING}"


def require_room(folder: Path, *, make: bool) -> None:
    """Returns where files can be written into the folder and what there is of its partitions; `make`: it is there afterwards, and that was
    tried, else nothing is touched. Raises `OSError` with the path.
    """
    if make:
        folder.mkdir(parents=True, exist_ok=True)
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    places = [there, *(own for partition in range(MOST) if (own := folder / str(partition)).exists())]
    for place in places:
        if not place.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(place))
        if not os.access(place, os.R_OK | os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(place))
        if make:
            _try(place)


def _try(place: Path) -> None:
    """Write a byte to the disk and take it back: a full disk, or one that was mounted to be read only, refuses no sooner."""
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"\0")
            file.flush()
            os.fsync(file.fileno())
    except OSError as wrong:
        raise OSError(wrong.errno, wrong.strerror, str(place)) from wrong


def write(folder: Path, at: int, kept: ArchivedTable) -> Path:
    """Write a table's file, in the place of an earlier one, and sync it to the disk. `at`: milliseconds since 1970. Raises `OSError`."""
    records = kept.records
    path = file_of(folder, records[0].address.id)
    path.parent.mkdir(parents=True, exist_ok=True)
    writing = path.with_name(path.name.removesuffix(ENDING) + WRITING)
    writing.unlink(missing_ok=True)  # an interrupted run's
    writer = ExportWriter()
    with written_to(writing) as file:
        file.write(writer.header(at, ARCHIVE))
        file.write(writer.table(records[0].address.id, [one.data for one in records], [one.sequence for one in records]))
        if kept.checkpoint is not None and kept.proof is not None:
            file.write(writer.checkpoint(kept.checkpoint))
            file.write(writer.proof(kept.proof.leaf, kept.proof.path))
        file.write(writer.end())
    _sync(writing)
    writing.replace(path)
    _sync(path.parent)
    return path


def read(path: Path) -> ArchivedTable:
    """What the file holds, to its last byte. Raises `BadArchive`, and `FileNotFoundError` where there is none."""
    try:
        with lines_of(path) as lines:
            header, *parts = read_export(lines)
    except FileNotFoundError:
        raise
    except (BadExport, OSError, EOFError, zlib.error) as wrong:
        raise BadArchive(path, str(wrong)) from wrong
    tables = [part for part in parts if isinstance(part, ExportedTable)]
    if not isinstance(header, ExportHeader) or header.kind != ARCHIVE or len(tables) != 1:
        raise BadArchive(path, "not the archive of one table")
    (found,) = tables
    if path.name != f"{found.table}{ENDING}" or len(found.sequences) != len(found.commits):
        raise BadArchive(path, f"it holds table {found.table}, with {len(found.sequences)} places for {len(found.commits)} commits")
    checkpoint = next((part for part in parts if isinstance(part, Signed)), None)
    proof = next((part for part in parts if isinstance(part, ExportedProof)), None)
    return ArchivedTable(tuple(_records(path, found)), found.head, checkpoint, proof)


def _records(path: Path, found: ExportedTable) -> Iterator[Stored]:
    address = table(found.table)
    for sequence, data in zip(found.sequences, found.commits, strict=True):
        try:
            revision = decode_head(data).revision
        except msgspec.DecodeError as wrong:
            raise BadArchive(path, f"what lay at {found.stream}:{sequence} is no commit ({wrong})") from None
        yield Stored(address, found.stream, sequence, revision, data)


def digest_of(path: Path) -> str:
    """SHA-256 of the file, hex. Raises `OSError`."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


def begin(folder: Path, table_id: str) -> None:
    """Note that a table is being archived. Raises `OSError`."""
    pending = _pending(folder, table_id)
    pending.parent.mkdir(parents=True, exist_ok=True)
    pending.touch()
    _sync(pending.parent)


def finish(folder: Path, table_id: str) -> None:
    """Note that it has left the log. Raises `OSError`."""
    _pending(folder, table_id).unlink(missing_ok=True)
    _sync(_of_partition(folder, table_id))


def begun(folder: Path) -> list[str]:
    """The tables that an earlier run has begun and not finished."""
    return [path.name.removesuffix(PENDING) for path in _listed(folder, PENDING)]


def files_in(folder: Path) -> Iterator[Path]:
    """Every table's file, by partition and id. Raises `OSError` for a folder that cannot be read."""
    yield from _listed(folder, ENDING)


def not_there(folder: Path | None, tables: Iterable[str]) -> list[str]:
    """Those of `tables` of which `folder` has no file; all of them where there is no folder."""
    return sorted(one for one in tables if folder is None or not file_of(folder, one).is_file())


def _listed(folder: Path, ending: str) -> Iterator[Path]:
    for partition in range(MOST):
        own = folder / str(partition)
        if own.is_dir():
            yield from sorted(path for path in own.iterdir() if path.name.endswith(ending) and is_id(path.name.removesuffix(ending)))


async def batches(log: EventLog, folder: Path) -> AsyncIterator[list[Stored]]:
    """The commits of the tables that were archived from this log, a table a batch: what a rebuild applies before it.

    A table that the log does not call archived is left to the log; another's is none of ours. Raises `BadArchive` for a file whose end is
    not what the log's last commit names, `Unavailable`.
    """
    for path in files_in(folder):
        head = await log.head(table(path.name.removesuffix(ENDING)))
        if head is None or not is_mark(head.data):
            continue
        kept = await asyncio.to_thread(read, path)
        if decode_head(head.data).prev_hash != kept.head:
            raise BadArchive(path, "its last commit is not the one that the log goes on from")
        yield list(kept.records)


def _pending(folder: Path, table_id: str) -> Path:
    return _of_partition(folder, table_id) / f"{table_id}{PENDING}"


def _of_partition(folder: Path, table_id: str) -> Path:
    return folder / table_id.partition("-")[0]


def _sync(path: Path) -> None:
    """Let what was written to a file or a folder be on the disk before anything is done that relies on it."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
