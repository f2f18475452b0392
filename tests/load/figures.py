"""How a benchmark tells what it measured: one JSON line a figure, the median first."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence

import msgspec


def tell(name: str, unit: str, runs: Sequence[float], **more: object) -> float:
    """Print the figure of `runs`, whole numbers above 100 and else three digits; returns the median."""
    rounded = [round(run) if abs(run) >= 100 else round(run, 3) for run in runs]
    median = statistics.median(rounded)
    sys.stdout.write(msgspec.json.encode({"name": name, **more, "median": median, "unit": unit, "runs": rounded}).decode() + "\n")
    sys.stdout.flush()
    return median
