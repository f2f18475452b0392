"""Sealed boxes: what goes in comes out for its key and place, and for no other."""

from __future__ import annotations

import hashlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.events.sealed import BoxKey, Opened, TamperedBox, digest_of, matches, nonce_from

KEY = BoxKey("k1", b"k" * 32)
NONCE = b"n" * 12
HAND = Opened("AS KS QS JS TS 9S AH KH AD KD", "5a" * 16)
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@given(text=TEXTS, salt=st.binary(min_size=16, max_size=16), room=st.integers(1, 100))
def test_what_goes_in_comes_out(text, salt, room):
    """Any text and salt come back as they were, also from stored bytes, whatever room the text was given."""
    opened = Opened(text, salt.hex())
    box = KEY.seal(opened, NONCE, b"here", room)
    stored = msgspec.json.decode(msgspec.json.encode(box), type=type(box))
    assert KEY.open(stored, b"here") == opened
    assert matches(box.digest, opened)


def test_no_byte_can_be_changed():
    """Not a bit of box, nonce or digest can be changed without its being noticed; nor can bytes be cut off or added."""
    box = KEY.seal(HAND, NONCE, b"here")
    for field in ("box", "nonce"):
        whole = getattr(box, field)
        damaged = [bytes([*whole[:at], whole[at] ^ 1 << bit, *whole[at + 1 :]]) for at in range(len(whole)) for bit in range(8)]
        for data in (*damaged, whole[:-1], whole + b"\0", b""):
            with pytest.raises(TamperedBox):
                KEY.open(msgspec.structs.replace(box, **{field: data}), b"here")
    for at in range(len(box.digest)):
        digest = box.digest[:at] + ("0" if box.digest[at] != "0" else "1") + box.digest[at + 1 :]
        with pytest.raises(TamperedBox, match="digest"):
            KEY.open(msgspec.structs.replace(box, digest=digest), b"here")


def test_a_box_belongs_to_its_place_and_key():
    """A box carried to another place, or tried with another key, does not open."""
    box = KEY.seal(HAND, NONCE, b"here")
    with pytest.raises(TamperedBox):
        KEY.open(box, b"there")
    with pytest.raises(TamperedBox):
        BoxKey("k1", b"x" * 32).open(box, b"here")


def test_the_digest_needs_no_key():
    """Told salt and text, anybody checks the digest with SHA-256 alone."""
    box = KEY.seal(HAND, NONCE, b"here")
    assert box.digest == hashlib.sha256(bytes.fromhex(HAND.salt) + HAND.text.encode()).hexdigest()
    assert box.digest == digest_of(HAND.salt, HAND.text)
    assert not matches(box.digest, Opened(HAND.text, "5b" * 16))


def test_room_hides_the_length():
    """With room, a short text and a longer one make boxes of one size."""
    short, longer = (KEY.seal(Opened(text, "00" * 16), NONCE, b"here", room=64) for text in ("Jo", "Wolfeschlegelsteinhausenbergerdorff"))
    assert len(short.box) == len(longer.box)


def test_what_cannot_be_sealed_is_refused():
    """A salt that is too short, and a text that the room would eat, are refused rather than lost."""
    with pytest.raises(ValueError, match="salt"):
        KEY.seal(Opened("AS", "00"), NONCE, b"here")
    with pytest.raises(ValueError, match="zero byte"):
        KEY.seal(Opened("AS\0", "00" * 16), NONCE, b"here")


def test_nonces_differ():
    """Entropy, place in the commit and associated data each change the nonce; too little entropy is refused."""
    nonces = {
        nonce_from(b"e" * 16, b"a", 0),
        nonce_from(b"f" * 16, b"a", 0),
        nonce_from(b"e" * 16, b"b", 0),
        nonce_from(b"e" * 16, b"a", 1),
    }
    assert len(nonces) == 4
    assert nonce_from(b"e" * 17, b"", 0) != nonce_from(b"e" * 16, b"e", 0)
    with pytest.raises(ValueError, match="entropy"):
        nonce_from(b"e" * 15, b"a", 0)
