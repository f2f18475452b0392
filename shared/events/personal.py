"""Personal data: sealed under a key per person, so that who is erased cannot be read any more, in no copy of the log.

A person's key is kept wrapped under a master key in the lobby's vault, outside the log. Destroying the wrapped key is the erasure.
"""

from __future__ import annotations

import hashlib
from typing import Final

from shared.events.keys import MasterKeys
from shared.events.sealed import KEY_BYTES, SALT_BYTES, BoxKey, Opened, Sealed, nonce_from
from shared.rules.deck.shuffle import framed

ROOM: Final = 64  # bytes: names and hashes are filled up to a multiple, so that a box does not tell a short name from a long one
_VAULT: Final = "vault"  # stands where an aggregate's subject stands in the derivation of other keys; no subject is spelled so


class PersonKeys:
    """Makes, wraps and unwraps the keys of persons. Keeps none."""

    def __init__(self, keys: MasterKeys) -> None:
        self._keys = keys

    def new(self, person: str, entropy: bytes) -> Sealed:
        """A new key for `person` (a player id), wrapped under the sealing master key: what the vault keeps. Raises `ValueError` for under
        32 bytes of entropy.
        """
        if len(entropy) < KEY_BYTES:
            raise ValueError(f"a key needs {KEY_BYTES} bytes of entropy")
        return self._wrapped(person, _hashed("pulka person key 1", entropy, person), entropy)

    def unwrap(self, person: str, wrapped: Sealed) -> BoxKey:
        """The key that opens and seals what is known of `person`. Raises `UnknownKey`, or `TamperedBox` (also for another person's key)."""
        opened = self._keys.box_key(_VAULT, wrapped.key).open(wrapped, _place_of_key(person))
        return BoxKey(f"person:{person}", bytes.fromhex(opened.text))

    def rewrap(self, person: str, wrapped: Sealed, entropy: bytes) -> Sealed:
        """The same key wrapped under the master key that seals now. Raises as `unwrap`."""
        opened = self._keys.box_key(_VAULT, wrapped.key).open(wrapped, _place_of_key(person))
        return self._wrapped(person, bytes.fromhex(opened.text), entropy)

    def _wrapped(self, person: str, key: bytes, entropy: bytes) -> Sealed:
        place = _place_of_key(person)
        salt = _hashed("pulka person key salt 1", entropy, person)[:SALT_BYTES]
        return self._keys.box_key(_VAULT).seal(Opened(key.hex(), salt.hex()), nonce_from(entropy, place, 0), place)


def seal_personal(key: BoxKey, field: str, text: str, entropy: bytes) -> Sealed:
    """`text` as the person's `field` (`name`, `password`, …), sealed under `key`. The salt comes from entropy that is kept nowhere, so the
    digest too dies with the key.
    """
    place = _place_of_field(key, field)
    salt = _hashed("pulka personal salt 1", entropy, place)[:SALT_BYTES]
    return key.seal(Opened(text, salt.hex()), nonce_from(entropy, place, 0), place, room=ROOM)


def open_personal(key: BoxKey, field: str, sealed: Sealed) -> str:
    """The text of the person's `field`. Raises `TamperedBox`, also for a box of another person or field."""
    return key.open(sealed, _place_of_field(key, field)).text


def _place_of_key(person: str) -> bytes:
    return framed("pulka person key 1", person)


def _place_of_field(key: BoxKey, field: str) -> bytes:
    return framed("pulka personal 1", key.id, field)


def _hashed(purpose: str, entropy: bytes, place: str | bytes) -> bytes:
    return hashlib.sha256(framed(purpose, entropy, place)).digest()
