"""What the caches of this process hold, on `/metrics`; and how much they may hold."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from prometheus_client import REGISTRY
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from shared.eventlog.aggregates.cache import Cache

SHARE: Final = 8  # of the machine's memory one part is for cached aggregates: NATS, Postgres and other instances live there too
LEAST, MOST = 32 << 20, 1 << 30  # bytes: some 2,000 tables, below which an instance is of no use; and 70,000, which one core cannot serve
_LIMIT: Final = Path("/sys/fs/cgroup/memory.max")  # of the container, where there is one


def usual_capacity() -> int:
    """Bytes of aggregates that are kept where no setting says how many: by the memory of the machine, or of its container."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(max(min(machine, _container()) // SHARE, LEAST), MOST)


def capacity(cache_mb: int) -> int:
    """Bytes that `PULKA_CACHE_MB` allows; 0: the usual."""
    return cache_mb << 20 if cache_mb else usual_capacity()


def _container() -> int:
    try:
        return int(_LIMIT.read_text(encoding="ascii"))
    except (OSError, ValueError):  # none, or "max"
        return 1 << 62


class _Caches(Collector):
    """Asks every cache when it is asked itself, so that no hit pays for being counted twice."""

    def __init__(self) -> None:
        self._caches: dict[str, weakref.ReferenceType[Cache[Any, Any]]] = {}

    def add(self, name: str, cache: Cache[Any, Any]) -> None:
        self._caches[name] = weakref.ref(cache)

    def collect(self) -> Iterator[Metric]:
        size = GaugeMetricFamily("pulka_cache_bytes", "Memory of cached aggregates, as measured", labels=["cache"])
        most = GaugeMetricFamily("pulka_cache_capacity_bytes", "Memory that cached aggregates may take", labels=["cache"])
        held = GaugeMetricFamily("pulka_cache_aggregates", "Aggregates in the cache", labels=["cache"])
        hits = CounterMetricFamily("pulka_cache_hits", "Aggregates asked for that were in the cache", labels=["cache"])
        misses = CounterMetricFamily("pulka_cache_misses", "Aggregates asked for that had to be read", labels=["cache"])
        for name, reference in self._caches.items():
            cache = reference()
            if cache is not None:  # else its service has stopped
                size.add_metric([name], cache.bytes)
                most.add_metric([name], cache.capacity)
                held.add_metric([name], len(cache))
                hits.add_metric([name], cache.hits)
                misses.add_metric([name], cache.misses)
        yield from (size, most, held, hits, misses)


_caches = _Caches()
REGISTRY.register(_caches)


def show(name: str, cache: Cache[Any, Any]) -> None:
    """Let `/metrics` tell of `cache` under this name, in place of an earlier one."""
    _caches.add(name, cache)
