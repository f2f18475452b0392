"""How much is cached, as an operator sees it, and how much may be."""

import pytest
from prometheus_client import REGISTRY

from shared.eventlog.aggregates.cache import Cache, size_of
from shared.web import cache_figures
from shared.web.cache_figures import LEAST, MOST


def test_metrics_tell_what_a_cache_holds_and_how_often_it_did():
    """Size, capacity, number, hits and misses, of the cache that was shown last under a name; of none that is gone."""
    cache = Cache[str, str](100)
    cache_figures.show("tests", Cache[str, str](1))
    cache_figures.show("tests", cache)
    cache.put("a", "A", 60)
    cache.put("b", "B", 30)
    assert (cache.get("a"), cache.get("c")) == ("A", None)
    names = ("bytes", "capacity_bytes", "aggregates", "hits_total", "misses_total")
    assert [REGISTRY.get_sample_value(f"pulka_cache_{name}", {"cache": "tests"}) for name in names] == [90, 100, 2, 1, 1]
    del cache
    assert REGISTRY.get_sample_value("pulka_cache_bytes", {"cache": "tests"}) is None


def test_the_value_used_longest_ago_makes_room():
    """By bytes; a value that grows counts for what it is now; one alone is kept however large."""
    cache = Cache[str, str](100)
    for key in "abc":
        cache.put(key, key.upper(), 30)
    cache.get("a")
    cache.put("d", "D", 30)
    assert [key for key in "abcd" if key in cache] == ["a", "c", "d"]
    cache.put("d", "D", 65)
    assert ([key for key in "abcd" if key in cache], cache.bytes) == (["a", "d"], 95)
    cache.put("e", "E", 1000)
    assert ([key for key in "abcde" if key in cache], cache.bytes) == (["e"], 1000)
    cache.pop("e")
    assert (len(cache), cache.bytes) == (0, 0)


def test_a_value_is_measured_with_all_that_it_holds_once():
    """What comes twice counts once, what is shared by many counts not."""
    text = "x" * 1000
    assert size_of([text, text]) < 1200
    assert size_of([text, "y" * 1000]) > 2000
    assert size_of([text], shared=(str,)) < 100


@pytest.mark.parametrize(("asked", "allowed"), [(1, 1 << 20), (2048, 2 << 30)])
def test_a_setting_says_how_much(asked, allowed):
    """In megabytes; without it the machine's memory does, within bounds."""
    assert cache_figures.capacity(asked) == allowed
    assert LEAST <= cache_figures.capacity(0) <= MOST
