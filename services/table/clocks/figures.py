"""What the clocks show on `/metrics`."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter, Gauge, Histogram

_BUCKETS: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 30.0)  # seconds; three are promised, a quarter is the rule

STREAMS: Final = Gauge("pulka_clock_streams", "Streams whose clocks this process keeps")
TABLES: Final = Gauge("pulka_clock_tables", "Tables in play whose clocks this process keeps")
OVERDUE: Final = Gauge("pulka_clock_turns_overdue", "Turns whose time is up and that have not ended yet")
LATE: Final = Histogram(
    "pulka_clock_late_seconds", "How long after its time, outages included, a turn that ran out was ended", buckets=_BUCKETS
)
CREDIT: Final = Counter("pulka_clock_credit_seconds", "Time that turns which ran out had got back for outages")
OUTAGES: Final = Counter("pulka_clock_outage_seconds", "Silences of the log that this process has written down as outages", ["stream"])
