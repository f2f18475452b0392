"""The keys of a HOME: made once, before its log begins; never over an existing log."""

from __future__ import annotations

import secrets
from pathlib import Path

import msgspec

from services.cli.embedded.home import Home
from shared.events.keys import KeyFileError, MasterKeys, SigningKey
from shared.web.service import CannotStart

ENTROPY_BYTES = 32  # as many as the key has
INSTEAD = {  # by the file's name: what a key that is lost for good means
    "master_keys": "another one does not open what the log holds",
    "signing_key": "if it is lost for good, a new one may be made in its place: operating.md, Signed checkpoints",
}


class KeyFiles(msgspec.Struct, frozen=True):
    """Where the keys are; both files are readable by their owner alone."""

    master_keys: Path
    signing_key: Path


def ensure_keys(home: Home, master_keys: Path | None = None, signing_key: Path | None = None) -> KeyFiles:
    """The key files of an open `home`, new ones when it has no log yet; a file given elsewhere must exist.

    Raises `CannotStart` when there is a log but a key is missing (with a new one nothing sealed before could be opened), and
    when a key file cannot be read.
    """
    files = KeyFiles(master_keys or home.keys / "master_keys", signing_key or home.keys / "signing_key")
    for own, given, create in ((files.master_keys, master_keys, MasterKeys.create), (files.signing_key, signing_key, SigningKey.create)):
        if given is not None:
            continue
        if not home.has_log:
            if own.exists() and own.stat().st_size == 0:
                own.unlink()  # a full disk, or a kill, in the middle of the first start
            if not own.exists():
                create(own, f"k{secrets.token_hex(4)}", secrets.token_bytes(ENTROPY_BYTES))
        elif not own.exists():
            raise CannotStart(f"{home.path} has a log but its key {own} is missing: put it back ({INSTEAD[own.name]})")
    check_keys(files)
    return files


def check_keys(files: KeyFiles) -> None:
    """Raises `CannotStart` with one line for a key file that cannot be used."""
    try:
        MasterKeys.load(files.master_keys)
        SigningKey.load(files.signing_key)
    except KeyFileError as wrong:
        raise CannotStart(str(wrong)) from None
    except OSError as wrong:
        raise CannotStart(f"key file {wrong.filename}: {wrong.strerror}") from None
