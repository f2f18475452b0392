"""The keys of tokens: Ed25519, one that signs and is the lobby's alone, and public ones by which every service verifies.

A process that holds no more than public keys makes no token, so one that is stolen from a table or a ledger is no operator's. The public
file has lines `id:64 hex digits`, and may have one line `hmac-before:SECONDS`: in a club that is older than these keys it is the moment
(since 1970) from which tokens are signed with them. Until then the lobby signs as it did, by HMAC under the master keys, and a player's
token from that time is good to its end. In a club without the line nothing is ever taken by HMAC.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import jwt
import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from shared.events import key_files
from shared.events.key_files import ChangingFile, KeyFileError, Keys
from shared.events.keys import MasterKeys

EDDSA: Final = "EdDSA"
HMAC: Final = "HS256"
BY_HMAC: Final = frozenset({"play", "read", "bot"})  # scopes that a token signed by HMAC can carry: whoever holds a master key can make one
_BEFORE: Final = re.compile(r"^[ \t]*hmac-before:([0-9]{1,12})[ \t]*$", re.MULTILINE)


class TokenHeader(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that a token of ours has before its first dot: no other algorithm, and no key of the sender's own choice, can be named in it."""

    alg: str
    typ: str
    kid: str = ""


def hmac_key(keys: MasterKeys, key_id: str) -> bytes:
    """The key of the tokens of former times; no aggregate is called so, so it signs nothing else. Raises `UnknownKey`."""
    return keys.digest_key("tokens", key_id)


class PublicKeys:
    """By which tokens are verified. Follows its file: a key that is added there counts within a second, one that is gone too."""

    def __init__(self, keys: Keys, hmac_before: int = 0) -> None:
        """`keys` are (id, 32 bytes). Raises `ValueError` for bytes that are no public key."""
        self._file: ChangingFile | None = None
        self.trouble: str | None = None  # why the file that was put there is not used
        self.changes = 0  # counted, so that who remembers what was verified knows when to forget it
        self._take(keys, hmac_before)

    @classmethod
    def load(cls, path: Path) -> PublicKeys:
        """The keys in the file at `path`. Raises `KeyFileError`, or `OSError` when it cannot be read."""
        file = ChangingFile(path)
        found = cls(*read_public(path))
        found._file = file
        return found

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the keys that are known now."""
        self.refresh()
        return tuple(self._keys)

    def key(self, key_id: str) -> Ed25519PublicKey | None:
        """The key called so; None where there is none."""
        if key_id not in self._keys:
            self.refresh(now=True)  # the lobby may have begun to sign with it in this second
        return self._keys.get(key_id)

    def refresh(self, *, now: bool = False) -> None:
        """Take up what was changed in the file, if there is one; a file that cannot be read changes nothing."""
        if self._file is None or not self._file.changed(now=now):
            return
        try:
            told = read_public(self._file.path)
        except KeyFileError as wrong:
            self.trouble = str(wrong)
        except OSError as wrong:
            self.trouble = f"{self._file.path}: {wrong.strerror}"
        else:
            self.trouble = None
            self._take(*told)

    def _take(self, keys: Keys, hmac_before: int) -> None:
        self._keys = {key_id: Ed25519PublicKey.from_public_bytes(key) for key_id, key in keys}
        self.hmac_before = hmac_before
        self.changes += 1


def read_public(path: Path) -> tuple[Keys, int]:
    """The public keys in a file, and the moment until which tokens were signed by HMAC (0: they never were).

    Raises `KeyFileError`, or `OSError` when it cannot be read.
    """
    text = key_files.text_of(path)
    told = _BEFORE.findall(text)
    if len(told) > 1:
        raise KeyFileError(f"{path}: hmac-before stands twice")
    return key_files.keys_in(path, _BEFORE.sub("", text)), int(told[0]) if told else 0


def public_text(keys: Iterable[tuple[str, bytes]], hmac_before: int = 0) -> str:
    """The text of a file of public keys."""
    return key_files.lines(keys) + (f"hmac-before:{hmac_before}\n" if hmac_before else "")


def public_half(key: bytes) -> bytes:
    """The public half of a private key, both 32 bytes."""
    return Ed25519PrivateKey.from_private_bytes(key).public_key().public_bytes_raw()


class TokenSigner:
    """Makes tokens. Follows its file: the first key there signs. Never shows a key."""

    def __init__(self, keys: Keys, hmac_before: int = 0, old: MasterKeys | None = None) -> None:
        """`keys` are (id, 32 bytes), the signing one first. With `old`, tokens before `hmac_before` are signed by HMAC under them."""
        self._file: ChangingFile | None = None
        self._old = old
        self._hmac_before = hmac_before
        self._take(keys)

    @classmethod
    def load(cls, path: Path, hmac_before: int = 0, old: MasterKeys | None = None) -> TokenSigner:
        """With the keys in the file at `path`. Raises `KeyFileError`, or `OSError` when it cannot be read."""
        file = ChangingFile(path)
        found = cls(key_files.read(path), hmac_before, old)
        found._file = file
        return found

    def __repr__(self) -> str:
        return f"TokenSigner({self._id})"

    @property
    def id(self) -> str:
        """The id of the key that signs now."""
        self._refresh()
        return self._id

    @property
    def public(self) -> tuple[str, bytes]:
        """Id and public half of the key that signs now."""
        self._refresh()
        return self._id, self._key.public_key().public_bytes_raw()

    def sign(self, claims: dict[str, Any]) -> str:
        """The token of these claims (`iat` and `scope` among them)."""
        if self._old is not None and claims["iat"] < self._hmac_before and BY_HMAC.issuperset(claims["scope"].split()):
            return jwt.encode(claims, hmac_key(self._old, self._old.ids[0]), algorithm=HMAC)
        self._refresh()
        return jwt.encode(claims, self._key, algorithm=EDDSA, headers={"kid": self._id})

    def _refresh(self) -> None:
        if self._file is None or not self._file.changed():
            return
        try:
            self._take(key_files.read(self._file.path))
        except (KeyFileError, OSError):
            return  # the key in hand goes on signing; `pulka keys check` says what is wrong with the file

    def _take(self, keys: Keys) -> None:
        self._id, private = keys[0]
        self._key = Ed25519PrivateKey.from_private_bytes(private)
