"""The keys of a HOME: made once, before its log begins; never over an existing log, but for the keys of tokens, which open nothing."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from services.cli.embedded.home import Home
from shared.events import key_files
from shared.events.key_files import KeyFileError
from shared.events.keys import MasterKeys, SigningKey
from shared.events.token_keys import TokenSigner, public_half, public_text, read_public
from shared.web.service import CannotStart

ENTROPY_BYTES = 32  # as many as the key has
INSTEAD = {  # by the file's name: what a key that is lost for good means
    "master_keys": "another one does not open what the log holds",
    "signing_key": "if it is lost for good, a new one may be made in its place by `pulka keys new`",
}


class KeyFiles(msgspec.Struct, frozen=True):
    """Where the keys are; the files are readable by their owner alone."""

    master_keys: Path
    signing_key: Path
    token_key: Path
    token_public_keys: Path


class GivenFiles(msgspec.Struct, frozen=True):
    """Key files that the settings name; None: the home's own."""

    master_keys: Path | None = None
    signing_key: Path | None = None
    token_key: Path | None = None
    token_public_keys: Path | None = None


def new_id() -> str:
    """An id for a new key, which no key had before."""
    return f"k{secrets.token_hex(4)}"


def ensure_keys(home: Home, given: GivenFiles) -> KeyFiles:
    """The key files of an open `home`, new ones when it has no log yet; a file given elsewhere must exist. The keys of tokens are made also
    beside a log: a home of former times has none, and a lost one costs no more than signing in again.

    Raises `CannotStart` when there is a log but a key is missing (with a new one nothing sealed before could be opened), and
    when a key file cannot be read.
    """
    own = {field: home.keys / field for field in KeyFiles.__struct_fields__}
    files = KeyFiles(**{field: getattr(given, field) or path for field, path in own.items()})
    younger = not files.master_keys.exists()  # than tokens signed by HMAC: nobody was here before
    for path, named, create in (
        (files.master_keys, given.master_keys, MasterKeys.create),
        (files.signing_key, given.signing_key, SigningKey.create),
    ):
        if named is not None:
            continue
        if not home.has_log:
            if path.exists() and path.stat().st_size == 0:
                path.unlink()  # a full disk, or a kill, in the middle of a first start of former versions
            if not path.exists():
                create(path, new_id(), secrets.token_bytes(ENTROPY_BYTES))
        elif not path.exists():
            raise CannotStart(f"{home.path} has a log but its key {path} is missing: put it back ({INSTEAD[path.name]})")
    if given.token_key is None and given.token_public_keys is None:
        with told_in_a_line():
            ensure_token_keys(files.token_key, files.token_public_keys, hmac_before=0 if younger else int(time.time()))
    check_keys(files)
    return files


def ensure_token_keys(private: Path, public: Path, hmac_before: int) -> bool:
    """Make the keys of tokens that are missing, and see that the public halves of the private ones are known; whether anything was made.

    `hmac_before` is written down where there was neither file: until then (seconds since 1970) tokens were signed by HMAC; 0: never.
    Raises `KeyFileError`, `OSError`.
    """
    made = None if private.exists() else key_files.new_key(new_id(), secrets.token_bytes(ENTROPY_BYTES))
    keys = [(key_id, public_half(key)) for key_id, key in ((made,) if made else key_files.read(private))]
    changed = True
    if not public.exists():  # the public file first: a kill between the two leaves a key that signs nothing
        key_files.create(public, public_text(keys, hmac_before if made else 0))
    else:
        known, before = read_public(public)
        there = dict(known)
        if other := [key_id for key_id, half in keys if there.get(key_id, half) != half]:
            raise KeyFileError(f"{public}: {other[0]} is not the public half of the key of that name in {private}")
        lacking = [(key_id, half) for key_id, half in keys if key_id not in there]
        changed = bool(lacking)
        if lacking:
            key_files.replace(public, public_text([*lacking, *known], before))
    if made:
        key_files.create(private, key_files.lines([made]))
    return changed or made is not None


def check_keys(files: KeyFiles) -> None:
    """Raises `CannotStart` with one line for a key file that cannot be used."""
    with told_in_a_line():
        MasterKeys.load(files.master_keys)
        SigningKey.load(files.signing_key)
        if files.token_key.exists():  # given public keys alone are a process without a lobby
            TokenSigner.load(files.token_key)
        read_public(files.token_public_keys)


@contextlib.contextmanager
def told_in_a_line() -> Iterator[None]:
    """What is wrong with a key file becomes `CannotStart`."""
    try:
        yield
    except KeyFileError as wrong:
        raise CannotStart(str(wrong)) from None
    except OSError as wrong:
        raise CannotStart(f"key file {wrong.filename}: {wrong.strerror}") from None
