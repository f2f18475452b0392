"""Merkle trees: the published vectors of RFC 6962's reference implementation, and proofs of every entry of every size."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.events import merkle

ENTRIES = [
    bytes.fromhex(one) for one in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
]
ROOTS = (  # of the first 1, 2, … entries: the vectors of Certificate Transparency's own tests
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
)
PATHS = {  # (place, entries): the audit path, from the same tests
    (0, 1): (),
    (0, 8): (
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ),
    (5, 8): (
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ),
    (2, 3): ("fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",),
    (1, 5): (
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ),
}


def test_the_published_vectors():
    """Roots and audit paths are those of RFC 6962's reference implementation; over nothing it is SHA-256 of nothing."""
    assert merkle.root([]) == hashlib.sha256(b"").digest()
    assert [merkle.root(ENTRIES[:count]).hex() for count in range(1, 9)] == list(ROOTS)
    for (place, count), beside in PATHS.items():
        assert tuple(one.hex() for one in merkle.path(ENTRIES[:count], place)) == beside


@pytest.mark.parametrize("count", range(1, 34))
def test_every_entry_is_proved_by_its_own_path_alone(count):
    """Each entry's path leads to the root from its own place, and from no other place, entry or size."""
    entries = [bytes([one]) for one in range(count)]
    root = merkle.root(entries)
    for place, entry in enumerate(entries):
        beside = merkle.path(entries, place)
        assert len(beside) <= (count - 1).bit_length()
        assert merkle.root_of(entry, place, count, beside) == root
        assert [at for at in range(-1, count + 1) if merkle.root_of(entry, at, count, beside) == root] == [place]
        assert merkle.root_of(b"another", place, count, beside) != root
        assert merkle.root_of(entry, place, count, [*beside, root]) is None
        for short in range(len(beside)):
            assert merkle.root_of(entry, place, count, beside[:short]) is None


@given(st.lists(st.binary(max_size=4), min_size=1, max_size=40), st.data())
def test_the_root_binds_every_entry_and_their_order(entries, data):
    """Another entry in some place, one left out, or one twice: another root. A root that grew is the same as one made at once."""
    place = data.draw(st.integers(0, len(entries) - 1))
    others = [
        [*entries[:place], entries[place] + b"!", *entries[place + 1 :]],
        entries[:place] + entries[place + 1 :],
        [*entries, entries[-1]],
    ]
    assert merkle.root(entries) not in {merkle.root(other) for other in others}
    growing = merkle.Growing()
    for count, entry in enumerate(entries, 1):
        growing.add(entry)
        assert growing.root == merkle.root(entries[:count])
    assert merkle.Tree(entries).root == merkle.root(entries)
    with pytest.raises(IndexError):
        merkle.path(entries, len(entries))
