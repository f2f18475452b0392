"""The keys, none of which is ever in the log: master keys, the keys derived from them for each aggregate, and the signing key.

A key file has one key a line, `id:64 hex digits`. The first master key seals, all of them open: a new one is put in front, an old one goes
only when no box names it any more.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import stat
from pathlib import Path
from typing import Final, TypeVar

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from shared.events.sealed import KEY_BYTES, BoxKey
from shared.rules.deck.shuffle import framed

_Kept = TypeVar("_Kept")
KEPT: Final = 4096  # derived keys remembered: as many tables as an instance has in play, at 0.5 kB each
LARGEST_FILE: Final = 1 << 16  # bytes: a thousand keys; a file that is larger, or a device without end, holds something else
_LINE: Final = re.compile(r"([a-z0-9][a-z0-9_-]{0,31}):([0-9a-fA-F]{64})")


class KeyFileError(Exception):
    """A key file cannot be used; says the file and the line, never what stands on it."""


class UnknownKey(Exception):
    """Something was sealed under a key that is not here; `key_id` names it."""

    def __init__(self, key_id: str) -> None:
        super().__init__(f"no key {key_id} among the master keys")
        self.key_id = key_id


class MasterKeys:
    """The master keys by id, and what is derived from them. Never shows a key."""

    def __init__(self, keys: tuple[tuple[str, bytes], ...]) -> None:
        """`keys` are (id, 32 bytes), the sealing one first. Raises `ValueError` for none, or for an id that stands twice."""
        if not keys or len(dict(keys)) != len(keys):
            raise ValueError("at least one master key, each id once")
        self._keys = dict(keys)
        self._box_keys: dict[tuple[str, str], BoxKey] = {}
        self._digest_keys: dict[tuple[str, str], bytes] = {}

    @classmethod
    def load(cls, path: Path) -> MasterKeys:
        """The keys in the file at `path`. Raises `KeyFileError`, or `OSError` when it cannot be read."""
        return cls(_read(path))

    @classmethod
    def create(cls, path: Path, key_id: str, entropy: bytes) -> MasterKeys:
        """A first key from `entropy`, written to a new file that only its owner can read. Raises `FileExistsError`: a key is never written
        over another.

        Whoever calls this has made sure that there is no log yet whose boxes would need an older key.
        """
        return cls(_write(path, key_id, entropy))

    def __repr__(self) -> str:
        return f"MasterKeys({', '.join(self._keys)})"

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids, the sealing key's first."""
        return tuple(self._keys)

    def require(self, key_ids: frozenset[str]) -> None:
        """Raises `UnknownKey`, naming the first of `key_ids` that is not here. Services ask this before they start on a log."""
        for key_id in sorted(key_ids - self._keys.keys()):
            raise UnknownKey(key_id)

    def box_key(self, aggregate: str, key_id: str | None = None) -> BoxKey:
        """The key of one aggregate's boxes, derived from master key `key_id`, or from the sealing one. Raises `UnknownKey`."""
        key_id = key_id or self.ids[0]
        known = self._box_keys.get((aggregate, key_id))
        if known is None:
            known = BoxKey(key_id, self._derived(key_id, "pulka boxes 1", aggregate))
            _remember(self._box_keys, (aggregate, key_id), known)
        return known

    def digest_key(self, aggregate: str, key_id: str) -> bytes:
        """The key of one aggregate's command digests. Raises `UnknownKey`."""
        known = self._digest_keys.get((aggregate, key_id))
        if known is None:
            known = self._derived(key_id, "pulka command digests 1", aggregate)
            _remember(self._digest_keys, (aggregate, key_id), known)
        return known

    def _derived(self, key_id: str, purpose: str, aggregate: str) -> bytes:
        if key_id not in self._keys:
            raise UnknownKey(key_id)
        return HKDF(SHA256(), KEY_BYTES, salt=None, info=framed(purpose, aggregate)).derive(self._keys[key_id])


def command_digest(keys: MasterKeys, aggregate: str, payload: bytes) -> str:
    """The digest of a command's payload that its commit remembers, hex: keyed, since a secret move has few possibilities. `aggregate` is
    its subject.
    """
    return _digest(keys, aggregate, keys.ids[0], payload)


def former_digests(keys: MasterKeys, aggregate: str, payload: bytes) -> tuple[str, ...]:
    """The same digest under every older master key: a command may be repeated after a new key was put in front."""
    return tuple([_digest(keys, aggregate, key_id, payload) for key_id in keys.ids[1:]])


class SigningKey:
    """The Ed25519 key that signs checkpoints and exports; `id` names it to those who hold its public half."""

    def __init__(self, key_id: str, seed: bytes) -> None:
        self.id = key_id
        self._key = Ed25519PrivateKey.from_private_bytes(seed)

    @classmethod
    def load(cls, path: Path) -> SigningKey:
        """The first key in the file at `path`. Raises `KeyFileError`, or `OSError` when it cannot be read."""
        return cls(*_read(path)[0])

    @classmethod
    def create(cls, path: Path, key_id: str, entropy: bytes) -> SigningKey:
        """A key from `entropy`, written to a new file that only its owner can read. Raises `FileExistsError`."""
        return cls(*_write(path, key_id, entropy)[0])

    def __repr__(self) -> str:
        return f"SigningKey({self.id})"

    @property
    def public(self) -> str:
        """The public half, hex."""
        return self._key.public_key().public_bytes_raw().hex()

    def sign(self, message: bytes) -> str:
        """The signature, hex."""
        return self._key.sign(message).hex()


def verify_signature(public: str, message: bytes, signature: str) -> bool:
    """Whether `signature` (hex) over `message` was made by the holder of `public` (hex)."""
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)).verify(bytes.fromhex(signature), message)
    except (InvalidSignature, ValueError):  # ValueError: not hex, or not 32 bytes of key
        return False
    return True


def _digest(keys: MasterKeys, aggregate: str, key_id: str, payload: bytes) -> str:
    return hmac.digest(keys.digest_key(aggregate, key_id), payload, "sha256").hex()


def _remember(known: dict[tuple[str, str], _Kept], place: tuple[str, str], value: _Kept) -> None:
    if len(known) >= KEPT:
        del known[next(iter(known))]  # the oldest: a derived key costs microseconds to make again
    known[place] = value


def _read(path: Path) -> tuple[tuple[str, bytes], ...]:
    keys: dict[str, bytes] = {}
    found_at = path.stat()
    if not stat.S_ISREG(found_at.st_mode) or found_at.st_size > LARGEST_FILE:
        raise KeyFileError(f"{path}: no file of keys")
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
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


def _write(path: Path, key_id: str, entropy: bytes) -> tuple[tuple[str, bytes], ...]:
    if len(entropy) < KEY_BYTES:
        raise ValueError(f"a key needs {KEY_BYTES} bytes of entropy")
    key = hashlib.sha256(framed("pulka new key 1", entropy)).digest()
    line = f"{key_id}:{key.hex()}"
    if _LINE.fullmatch(line) is None:
        raise ValueError(f"no key id: {key_id!r}")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(line + "\n")
        file.flush()
        os.fsync(file.fileno())
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # a log sealed under a key whose file a crash forgot could never be read
    finally:
        os.close(folder)
    return ((key_id, key),)
