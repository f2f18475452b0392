"""The keys, none of which is ever in the log: master keys, the keys derived from them for each aggregate, and the signing key.

The first master key of a file seals, all of them open: a new one is added behind, made the first once all instances know it, and an old one
goes only when no box names it any more. A process that uses the file takes up what is changed there without a restart.
"""

from __future__ import annotations

import hmac
from pathlib import Path
from typing import Any, Final, TypeVar

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from shared.events import key_files
from shared.events.key_files import ChangingFile, KeyFileError, Keys
from shared.events.sealed import KEY_BYTES, BoxKey
from shared.rules.deck.shuffle import framed

_Kept = TypeVar("_Kept")
KEPT: Final = 4096  # derived keys remembered: as many tables as an instance has in play, at 0.5 kB each


class UnknownKey(Exception):
    """Something was sealed under a key that is not here; `key_id` names it."""

    def __init__(self, key_id: str) -> None:
        super().__init__(f"no key {key_id} among the master keys")
        self.key_id = key_id


class MasterKeys:
    """The master keys by id, and what is derived from them. Never shows a key.

    Keys that come from a file follow it: what is added there opens from then on, what is made the first seals. A key that is no longer
    there goes on opening until the process ends, and a file that cannot be read changes nothing: no move may fail by it.
    """

    def __init__(self, keys: Keys) -> None:
        """`keys` are (id, 32 bytes), the sealing one first. Raises `ValueError` for none, or for an id that stands twice."""
        if not keys or len(dict(keys)) != len(keys):
            raise ValueError("at least one master key, each id once")
        self._keys = dict(keys)
        self._box_keys: dict[tuple[str, str], BoxKey] = {}
        self._digest_keys: dict[tuple[str, str], bytes] = {}
        self._file: ChangingFile | None = None
        self.trouble: str | None = None  # why the file that was put there is not used

    @classmethod
    def load(cls, path: Path) -> MasterKeys:
        """The keys in the file at `path`. Raises `KeyFileError`, or `OSError` when it cannot be read."""
        file = ChangingFile(path)  # before it is read: what is changed meanwhile is seen at the next look
        keys = cls(key_files.read(path))
        keys._file = file
        return keys

    @classmethod
    def create(cls, path: Path, key_id: str, entropy: bytes) -> MasterKeys:
        """A first key from `entropy`, written to a new file that only its owner can read. Raises `FileExistsError`: a key is never written
        over another.

        Whoever calls this has made sure that there is no log yet whose boxes would need an older key.
        """
        key_files.create(path, key_files.lines([key_files.new_key(key_id, entropy)]))
        return cls.load(path)

    def __repr__(self) -> str:
        return f"MasterKeys({', '.join(self._keys)})"

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids, the sealing key's first."""
        self.refresh()
        return tuple(self._keys)

    def told(self) -> dict[str, Any]:
        """For `/health`: the ids of the key that seals and of all that open; `trouble` says why a changed file is not used."""
        ids = self.ids
        return {"seals": ids[0], "opens": list(ids), "trouble": self.trouble}

    def require(self, key_ids: frozenset[str]) -> None:
        """Raises `UnknownKey`, naming the first of `key_ids` that is not here. Services ask this before they start on a log."""
        if key_ids - self._keys.keys():
            self.refresh(now=True)
        for key_id in sorted(key_ids - self._keys.keys()):
            raise UnknownKey(key_id)

    def refresh(self, *, now: bool = False) -> None:
        """Take up what was changed in the file, if there is one; it is looked at once a second at most, or `now`."""
        if self._file is None or not self._file.changed(now=now):
            return
        try:
            told = dict(key_files.read(self._file.path))
        except KeyFileError as wrong:
            self.trouble = str(wrong)
            return
        except OSError as wrong:
            self.trouble = f"{self._file.path}: {wrong.strerror}"
            return
        if changed := [key_id for key_id, key in told.items() if self._keys.get(key_id, key) != key]:
            self.trouble = f"{self._file.path}: key {changed[0]} is another one than before; an id is never used again"
            return
        self.trouble = None
        self._keys = told | {key_id: key for key_id, key in self._keys.items() if key_id not in told}

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
            self.refresh(now=True)  # another instance may have begun to seal under a new key in this second
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
        return cls(*key_files.read(path)[0])

    @classmethod
    def create(cls, path: Path, key_id: str, entropy: bytes) -> SigningKey:
        """A key from `entropy`, written to a new file that only its owner can read. Raises `FileExistsError`."""
        key = key_files.new_key(key_id, entropy)
        key_files.create(path, key_files.lines([key]))
        return cls(*key)

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
