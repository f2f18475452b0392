"""Personal data: readable with the person's own key, and gone for ever without it."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.events.keys import MasterKeys, UnknownKey
from shared.events.personal import PersonKeys, open_personal, seal_personal
from shared.events.sealed import Sealed, TamperedBox, digest_of

MASTER = MasterKeys((("k1", b"k" * 32),))
PERSONS = PersonKeys(MASTER)
WRAPPED = PERSONS.new("0-anna", b"e" * 32)
ANNA = PERSONS.unwrap("0-anna", WRAPPED)


@given(
    name=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=200),
    entropy=st.binary(min_size=16, max_size=32),
)
def test_a_name_comes_back(name, entropy):
    """Whoever has the person's key reads the name, from the vault's stored wrapping on."""
    stored = msgspec.json.decode(msgspec.json.encode(WRAPPED), type=Sealed)
    sealed = seal_personal(ANNA, "name", name, entropy)
    assert open_personal(PERSONS.unwrap("0-anna", stored), "name", sealed) == name


def test_nobody_elses_key_opens():
    """Neither another person's key nor another field's place opens a box, and a wrapped key unwraps for its person only."""
    boris = PERSONS.unwrap("0-boris", PERSONS.new("0-boris", b"e" * 32))
    name = seal_personal(ANNA, "name", "Анна", b"f" * 32)
    with pytest.raises(TamperedBox):
        open_personal(boris, "name", name)
    with pytest.raises(TamperedBox):
        open_personal(ANNA, "password", name)
    with pytest.raises(TamperedBox):
        PERSONS.unwrap("0-boris", WRAPPED)


def test_a_box_tells_neither_name_nor_length():
    """The stored box holds no byte of the name, its size is any short name's, and its digest is no plain one."""
    sealed = seal_personal(ANNA, "name", "Annabella", b"f" * 32)
    stored = msgspec.json.encode(sealed)
    assert b"Annabella" not in stored
    assert b"0-anna" in stored
    assert len(stored) == len(msgspec.json.encode(seal_personal(ANNA, "name", "Al", b"f" * 32)))
    assert sealed.digest != digest_of("", "Annabella")


def test_same_name_other_box():
    """Two boxes of one name have nothing in common that would show that it is the same name."""
    one, two = (seal_personal(ANNA, "name", "Anna", entropy * 32) for entropy in (b"1", b"2"))
    assert len({one.box, two.box, one.digest, two.digest, one.nonce, two.nonce}) == 6


def test_a_wrapped_key_moves_to_a_new_master_key():
    """After a rewrap the old master key is no longer needed, and the person's boxes open as before."""
    name = seal_personal(ANNA, "name", "Anna", b"f" * 32)
    both = MasterKeys((("k2", b"2" * 32), ("k1", b"k" * 32)))
    rewrapped = PersonKeys(both).rewrap("0-anna", WRAPPED, b"g" * 32)
    only_new = PersonKeys(MasterKeys((("k2", b"2" * 32),)))
    assert open_personal(only_new.unwrap("0-anna", rewrapped), "name", name) == "Anna"
    with pytest.raises(UnknownKey, match="k1"):
        only_new.unwrap("0-anna", WRAPPED)


def test_a_key_needs_entropy():
    """Keys made of little entropy are refused, and each person's key is another."""
    with pytest.raises(ValueError, match="entropy"):
        PERSONS.new("0-anna", b"e" * 31)
    sealed = seal_personal(PERSONS.unwrap("0-x", PERSONS.new("0-x", b"1" * 32)), "name", "X", b"f" * 32)
    with pytest.raises(TamperedBox):
        open_personal(PERSONS.unwrap("0-x", PERSONS.new("0-x", b"2" * 32)), "name", sealed)
