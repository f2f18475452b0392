"""Where aggregates live: subjects, streams and ids."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.events.address import PARTITIONS, Address, from_subject, is_id, new_id, table


@given(entropy=st.binary(min_size=17, max_size=64))
def test_a_new_id_is_an_id(entropy):
    """Every id is recognised, names a partition that exists, and has its subject in that partition's stream."""
    made = new_id(entropy)
    assert is_id(made)
    assert 0 <= table(made).partition < PARTITIONS
    assert table(made).subject == f"table.{made[0]}.{made}"
    assert table(made).stream == f"TABLE_{made[0]}"


def test_ids_differ():
    """One changed byte of entropy makes another id, and all partitions are used."""
    ids = {new_id(bytes([first]) + number.to_bytes(16, "big")) for first in range(8) for number in range(100)}
    assert len(ids) == 800
    assert {made[0] for made in ids} == set(map(str, range(PARTITIONS)))


@pytest.mark.parametrize(
    "text",
    ["", "3", "3-", "3-abc", "8-" + "a" * 26, "03-" + "a" * 26, "٣-" + "a" * 26, "3-" + "A" * 26, "3-" + "a" * 27, "3-" + "a" * 25 + "."],
)
def test_what_is_no_id(text):
    """Text that is no id is told apart before anything is looked up: another length, partition, spelling or letter."""
    assert not is_id(text)


def test_an_id_needs_entropy():
    """An id that could be guessed is not made."""
    with pytest.raises(ValueError, match="17 bytes"):
        new_id(b"e" * 16)


ADDRESSES = [
    table("3-" + "a" * 26),
    Address("lobby", "player", "0-" + "b" * 26),
    Address("lobby", "table", "7-" + "c" * 26),
    Address("ledger", "parking", "x"),
]


@pytest.mark.parametrize("where", ADDRESSES, ids=lambda where: where.subject)
def test_a_subject_leads_back(where):
    """From its subject an aggregate's address is found again, of every service."""
    assert from_subject(where.subject) == where
    assert where.stream.startswith(where.service.upper())


@pytest.mark.parametrize("subject", ["planet", "table", "table.3", "lobby.3.x", "table.3.x.y.z"])
def test_what_is_no_subject(subject):
    """A subject of another shape is refused."""
    with pytest.raises(ValueError, match=subject):
        from_subject(subject)
