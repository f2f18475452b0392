"""How the work is shared out: fair shares, few changes."""

from __future__ import annotations

from collections import Counter

import pytest

from shared.leases.shares import shares

MANY = tuple(f"TABLE_{number}" for number in range(64))


@pytest.mark.parametrize("count", [1, 2, 3, 5, 7, 64, 70])
def test_each_gets_a_fair_share(count):
    """Every stream has one holder, and no two shares differ by more than one."""
    live = {f"i{number:02}": MANY for number in range(count)}
    found = shares(live, {})
    assert set(found) == set(MANY)
    sizes = [Counter(found.values())[holder] for holder in live]
    assert max(sizes) - min(sizes) <= 1


def test_few_streams_change_hands():
    """What is held fairly stays; a newcomer gets its share and nothing else moves; the share of one who left goes to the others."""
    three = shares(dict.fromkeys("abc", MANY), {})
    assert shares(dict.fromkeys("abc", MANY), three) == three
    four = shares(dict.fromkeys("abcd", MANY), three)
    assert {four[stream] for stream in MANY if four[stream] != three[stream]} == {"d"}
    assert Counter(four.values()) == dict.fromkeys("abcd", 16)
    assert shares({"a": MANY[:1], "b": MANY[:1]}, {"TABLE_0": "b"}) == {"TABLE_0": "b"}
    left = shares(dict.fromkeys("bcd", MANY), four)
    assert all(left[stream] == four[stream] for stream in MANY if four[stream] != "a")
    assert sorted(Counter(left.values()).values()) == [21, 21, 22]


def test_a_stream_that_only_one_knows_is_its_own():
    """While the number of partitions grows, one that knows the old ones only gets none of the new ones, and all are looked after."""
    found = shares({"old": MANY[:8], "new": MANY[:16]}, dict.fromkeys(MANY[:8], "old"))
    assert all(found[stream] == "new" for stream in MANY[8:16])
    assert Counter(found.values()) == {"old": 8, "new": 8}
