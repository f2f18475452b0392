"""A sealed box: a text that only a holder of its key can read now, and that anybody can check once it is revealed.

The box holds a 16-byte salt and the text under AES-256-GCM-SIV (RFC 8452), bound by its associated data to the one place it belongs to.
Beside it stands `digest = SHA-256(salt ‖ text)`; who is told salt and text later checks them with SHA-256 alone. The salt keeps the digest
of a guessable text (a discard has few possibilities) from saying anything before.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Final

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCMSIV

KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12  # the size that RFC 8452 fixes
SALT_BYTES: Final = 16
ENTROPY_BYTES: Final = 16  # at least, of a command: 128 bits never come twice


class Sealed(msgspec.Struct, frozen=True, gc=False):
    """The stored form: `key` is the id of the key, never the key; `nonce` and `box` are base64 in JSON; `digest` is hex."""

    key: str
    nonce: bytes
    box: bytes
    digest: str


class Opened(msgspec.Struct, frozen=True, gc=False):
    """What was in a box: the text, and the salt (hex) that opens its digest."""

    text: str
    salt: str


class TamperedBox(Exception):
    """The box was not made by this key for this place, or was changed since."""


class BoxKey:
    """One key that seals and opens; `id` is what its boxes name. Never shows the key itself."""

    __slots__ = ("_cipher", "id")

    def __init__(self, key_id: str, key: bytes) -> None:
        self.id = key_id
        self._cipher = AESGCMSIV(key)

    def __repr__(self) -> str:
        return f"BoxKey({self.id!r})"

    def seal(self, opened: Opened, nonce: bytes, associated: bytes, room: int = 1) -> Sealed:
        """The box of `opened` for the place `associated`. The text is filled up to a multiple of `room` bytes, so that the box does not
        tell its length.

        Raises `ValueError` for a salt that is not 16 bytes of hex, or a text with a zero byte.
        """
        salt = bytes.fromhex(opened.salt)
        text = opened.text.encode()
        if len(salt) != SALT_BYTES:
            raise ValueError("a salt is 16 bytes, 32 hex digits")
        if b"\0" in text:
            raise ValueError("a sealed text holds no zero byte: they fill up the room")
        filled = text.ljust(-(-len(text) // room) * room, b"\0")
        return Sealed(self.id, nonce, self._cipher.encrypt(nonce, salt + filled, associated), digest_of(opened.salt, opened.text))

    def seal_bytes(self, data: bytes, associated: bytes) -> bytes:
        """A box of bytes for the place `associated`, its random nonce in front."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, data, associated)

    def open_bytes(self, box: bytes, associated: bytes) -> bytes:
        """What `seal_bytes` sealed. Raises `TamperedBox`."""
        try:
            return self._cipher.decrypt(box[:NONCE_BYTES], box[NONCE_BYTES:], associated)
        except (InvalidTag, ValueError) as wrong:
            raise TamperedBox("this box is not of this place") from wrong

    def open(self, sealed: Sealed, associated: bytes) -> Opened:
        """The text and salt in the box. Raises `TamperedBox`."""
        try:
            content = self._cipher.decrypt(sealed.nonce, sealed.box, associated)
        except (InvalidTag, ValueError) as error:  # ValueError: a nonce or a box of a size that was never sealed
            raise TamperedBox(f"a box under key {self.id} does not open") from error
        opened = Opened(content[SALT_BYTES:].rstrip(b"\0").decode(), content[:SALT_BYTES].hex())
        if not matches(sealed.digest, opened):
            raise TamperedBox(f"a box under key {self.id} has another digest than its content")
        return opened


def digest_of(salt: str, text: str) -> str:
    """SHA-256 of the 16 salt bytes and the text, hex. Raises `ValueError` when `salt` is not hex."""
    return hashlib.sha256(bytes.fromhex(salt) + text.encode()).hexdigest()


def matches(digest: str, opened: Opened) -> bool:
    """Whether `digest` is that of the text and salt in `opened`, in a time that does not tell how nearly."""
    return hmac.compare_digest(digest.encode(), digest_of(opened.salt, opened.text).encode())


def nonce_from(entropy: bytes, associated: bytes, place: int) -> bytes:
    """The nonce of the box at `place` of a commit, from the command's entropy: fresh entropy for every decision, so that one taken again
    uses other nonces.

    Raises `ValueError` for less than 16 bytes of entropy.
    """
    if len(entropy) < ENTROPY_BYTES:
        raise ValueError(f"entropy of {len(entropy)} bytes, {ENTROPY_BYTES} are needed")
    return hashlib.sha256(b"pulka nonce 1" + place.to_bytes(4, "big") + len(entropy).to_bytes(4, "big") + entropy + associated).digest()[
        :NONCE_BYTES
    ]
