"""The envelope: the bytes that are stored, hashed and read back."""

from __future__ import annotations

import hashlib

import msgspec
import pytest

from shared.events.commit import CommitHead, decode, decode_head, encode, hash_of
from tests.events import story

DATA = story.stored(story.whole())[4]


def test_stored_bytes_come_back_to_the_byte():
    """A commit that is read and written again is the same bytes, so its hash is that of any copy."""
    assert encode(decode(DATA)) == DATA
    assert hash_of(DATA) == hashlib.sha256(DATA).hexdigest()


def test_the_head_says_who_it_is():
    """What identifies a commit is read without its events."""
    commit = decode(DATA)
    assert decode_head(DATA) == CommitHead(commit.aggregate, commit.revision, commit.command_id, commit.actor, commit.prev_hash)
    assert decode_head(DATA.replace(b'"type":"DeckCut"', b'"type":"DeckGut"')) == decode_head(DATA)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", DATA[:-1], DATA.replace(b'"revision":5', b'"revision":"5"'), b"\xff"])
def test_what_is_no_commit(data):
    """Bytes that are no commit raise one family of errors, whatever is wrong with them."""
    with pytest.raises(msgspec.DecodeError):
        decode(data)
