"""Files of keys: one key a line, `id:64 hex digits`; made whole or not at all, read by their owner alone, looked at again in use.

Nothing here ever shows a key: errors name the file and the line.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import re
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

from shared.events.sealed import KEY_BYTES
from shared.rules.deck.shuffle import framed

Keys: TypeAlias = tuple[tuple[str, bytes], ...]

LARGEST_FILE: Final = 1 << 16  # bytes: a thousand keys; a file that is larger, or a device without end, holds something else
LOOK_S: Final = 1.0  # seconds between two looks at a file: a look costs a microsecond, and whoever rotates keys waits for it
OTHERS: Final = 0o077  # bits of a file's mode that let anybody but its owner in
_WORLD: Final = 0o007  # of these, those of people who are not even in its group
_LINE: Final = re.compile(r"([a-z0-9][a-z0-9_-]{0,31}):([0-9a-fA-F]{64})")


class KeyFileError(Exception):
    """A key file cannot be used; says the file and the line, never what stands on it."""


def text_of(path: Path) -> str:
    """What stands in a file of keys. Raises `KeyFileError` for what can be none, or `OSError` when it cannot be read."""
    found_at = path.stat()
    if not stat.S_ISREG(found_at.st_mode) or found_at.st_size > LARGEST_FILE:
        raise KeyFileError(f"{path}: no file of keys")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise KeyFileError(f"{path}: no file of keys") from None


def keys_in(path: Path, text: str) -> Keys:
    """The keys (id, 32 bytes) of the lines of `text`, which stood in `path`; blank lines are passed over. Raises `KeyFileError`."""
    keys: dict[str, bytes] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        found = _LINE.fullmatch(line.strip())
        if found is None:
            raise KeyFileError(f"{path}, line {number}: not `id:64 hex digits`")
        if found[1] in keys:
            raise KeyFileError(f"{path}, line {number}: key {found[1]} stands twice")
        keys[found[1]] = bytes.fromhex(found[2])
    if not keys:
        raise KeyFileError(f"{path}: no key")
    return tuple(keys.items())


def read(path: Path) -> Keys:
    """The keys in the file at `path`, in its order. Raises `KeyFileError`, or `OSError` when it cannot be read."""
    return keys_in(path, text_of(path))


def new_key(key_id: str, entropy: bytes) -> tuple[str, bytes]:
    """A key from at least 32 bytes of entropy. Raises `ValueError` for fewer, and for an id that no file could hold."""
    if len(entropy) < KEY_BYTES:
        raise ValueError(f"a key needs {KEY_BYTES} bytes of entropy")
    key = hashlib.sha256(framed("pulka new key 1", entropy)).digest()
    if _LINE.fullmatch(f"{key_id}:{key.hex()}") is None:
        raise ValueError(f"no key id: {key_id!r}")
    return key_id, key


def lines(keys: Iterable[tuple[str, bytes]]) -> str:
    """The text of a file of these keys."""
    return "".join(f"{key_id}:{key.hex()}\n" for key_id, key in keys)


def create(path: Path, text: str) -> None:
    """Write a new file that only its owner can read, whole or not at all, safe on disk when this returns. Made by root, it belongs to
    whoever has the folder: a service need not be root.

    Raises `FileExistsError`: a key is never written over another. Whoever calls this has made sure that nothing needs an older key.
    """
    with _part(path, text) as part:
        _give(part, path.parent.stat())
        os.link(part, path)  # unlike a rename it never takes the place of what is there


def replace(path: Path, text: str) -> None:
    """Put `text` in the place of the file, which keeps its owner and group; nobody ever reads half of it.

    It keeps its mode too, but for people outside its group: a service that reads it through its group goes on reading it.
    Raises `PermissionError` when it is another user's, who could not read what takes its place.
    """
    path = path.resolve()  # what a link leads to, not the link
    there = path.stat()
    if os.geteuid() not in (0, there.st_uid):
        raise PermissionError(errno.EPERM, "it belongs to another user: run this as they", str(path))
    with _part(path, text) as part:
        _give(part, there)
        part.chmod(stat.S_IMODE(there.st_mode) & ~_WORLD)
        part.rename(path)


@contextlib.contextmanager
def held(path: Path) -> Iterator[None]:
    """The folder of `path` is this process's to change: of two rotations at once one waits, and neither loses the other's key."""
    folder = os.open(path.resolve().parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _give(part: Path, owner: os.stat_result) -> None:
    if os.geteuid() == 0:
        os.chown(part, owner.st_uid, owner.st_gid)


@contextlib.contextmanager
def _part(path: Path, text: str) -> Iterator[Path]:
    """A file beside `path` with `text`, mode 0600, on disk; gone at the end unless it was renamed."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # made 0600
    part = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        yield part
    finally:
        part.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # a log sealed under a key whose file a crash forgot could never be read
    finally:
        os.close(folder)


class ChangingFile:
    """Tells whether a file was replaced since it was read. Who uses it asks as often as they like; it looks once in `LOOK_S` seconds."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen = self._look()
        self._next = time.monotonic() + LOOK_S

    def changed(self, *, now: bool = False) -> bool:
        """Whether it is another file than at the last look, once for each change; `now`: look, whenever the last time was."""
        at = time.monotonic()
        if not now and at < self._next:
            return False
        self._next = at + LOOK_S
        found = self._look()
        if found == self._seen:
            return False
        self._seen = found
        return True

    def _look(self) -> tuple[int, ...] | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size  # ctime: it was made readable
