"""Where aggregates live: subjects, streams and ids."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.events.address import FEWEST, SIZES, Address, Partitions, from_subject, is_id, new_id, size_for, table


@given(entropy=st.binary(min_size=17, max_size=64))
def test_a_new_id_is_an_id(entropy):
    """Every id is recognised, names a partition that exists, and has its subject in that partition's stream."""
    made = new_id(entropy)
    assert is_id(made)
    assert 0 <= table(made).partition < FEWEST
    assert table(made).subject == f"table.{made[0]}.{made}"
    assert table(made).stream == f"TABLE_{made[0]}"


def test_ids_differ():
    """One changed byte of entropy makes another id, and all partitions are used."""
    ids = {new_id(bytes([first]) + number.to_bytes(16, "big")) for first in range(8) for number in range(100)}
    assert len(ids) == 800
    assert {made[0] for made in ids} == set(map(str, range(FEWEST)))


@given(entropy=st.binary(min_size=17, max_size=64), used=st.sampled_from(SIZES))
def test_an_id_is_found_again_once_there_are_more_partitions(entropy, used):
    """What an instance makes of given bytes is among what any other that knows as many partitions would look for, and no more than three
    others are.
    """
    here = Partitions(known=64, used=used)
    made = here.new_id(entropy)
    assert is_id(made)
    assert table(made).partition < used
    for other in SIZES:
        there = Partitions(known=64, used=other)
        assert made in {there.new_id(entropy), *there.former_ids(entropy)}
    assert len(here.former_ids(entropy)) <= 3
    assert made not in here.former_ids(entropy)
    assert {one.partition("-")[2] for one in here.former_ids(entropy)} <= {made.partition("-")[2]}


def test_a_log_that_never_grew_has_one_id_for_given_bytes():
    """Nothing else is looked for where only one number of partitions was ever used."""
    assert Partitions().former_ids(bytes(range(40))) == ()
    assert Partitions().new_id(bytes(range(40))) == new_id(bytes(range(40)))


@pytest.mark.parametrize(("known", "used"), [(8, 16), (7, 7), (16, 12), (128, 8), (0, 0)])
def test_partitions_that_cannot_be(known, used):
    """Doublings of eight up to 64; none is used that is not known."""
    with pytest.raises(ValueError, match="partitions used of"):
        Partitions(known, used)


def test_what_an_instance_knows():
    """Its own streams, by number; what lies in another partition, or is no id at all, is not known; the ledger's own events always are."""
    eight = Partitions()
    assert eight.table_streams == tuple(f"TABLE_{number}" for number in range(8))
    assert Partitions(known=16).lobby_streams[-1] == "LOBBY_15"
    assert [eight.know(table(f"{partition}-" + "a" * 26)) for partition in ("7", "8", "07", "")] == [True, False, False, False]
    assert eight.know(Address("ledger", "own", "x"))
    assert [size_for(count) for count in (0, 1, 8, 9, 64)] == [8, 8, 8, 16, 64]
    with pytest.raises(ValueError, match="64 at most"):
        size_for(65)


@pytest.mark.parametrize(
    "text",
    ["", "3", "3-", "3-abc", "64-" + "a" * 26, "03-" + "a" * 26, "٣-" + "a" * 26, "3-" + "A" * 26, "3-" + "a" * 27, "3-" + "a" * 25 + "."],
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
