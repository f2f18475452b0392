"""The log's figures through the adapter: `python -m tests.load.bench_eventlog` prints one JSON line a figure, the median of five runs.

* `log_appends`: durable appends a second, all through one client, for 1, 64 and 256 in flight, each of another table, over 8 partitions.
* `log_reads`: commits a second of one aggregate read whole; `log_follow`: commits a second of one stream followed from its beginning.

Runs on an embedded server of its own in a temporary folder, or on `PULKA_NATS_URL`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import tempfile
import time
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path

import structlog
import uvloop

from services.cli.embedded import EmbeddedServers
from shared.eventlog.jetstream.log import JetStreamLog, open_log
from shared.events.address import FEWEST, Address
from tests.contracts.commits import fill, some_table
from tests.load.figures import tell

RUNS = 5  # odd, so that the median is one of them
SIZE = 300  # bytes of the event in each commit; the whole commit then has the 550 to 700 of a real one


async def appends(log: JetStreamLog, in_flight: int, seconds: float) -> float:
    """Appends a second with `in_flight` tables, each of which appends its next commit as soon as it has the last one's ack."""
    over = time.perf_counter() + seconds
    done = 0

    async def play(number: int) -> None:
        nonlocal done
        while time.perf_counter() < over:
            stored = await fill(log, some_table(number % FEWEST), 20, size=SIZE)
            done += len(stored)  # not in one with the await, which would read `done` before it

    began = time.perf_counter()
    await asyncio.gather(*map(play, range(in_flight)))
    return done / (time.perf_counter() - began)


async def reads(log: JetStreamLog, table: Address, count: int) -> float:
    """Commits a second of one aggregate of `count` commits."""
    began = time.perf_counter()
    found = await log.read(table)
    if len(found) != count:
        raise RuntimeError(f"{len(found)} of {count} commits read")
    return count / (time.perf_counter() - began)


async def follows(log: JetStreamLog, stream: str) -> float:
    """Commits a second of one stream from its beginning to its present end."""
    last = await log.last_sequence(stream)
    seen = 0
    began = time.perf_counter()
    async with aclosing(log.follow(stream)) as followed:
        async for commits in followed:
            seen += len(commits)
            if commits and commits[-1].sequence >= last:
                break
    return seen / (time.perf_counter() - began)


@contextmanager
def server() -> Iterator[str]:
    """Where the log is."""
    with tempfile.TemporaryDirectory(prefix="pulka-bench-") as name:
        given = os.environ.get("PULKA_NATS_URL")
        if given:
            yield given
        else:
            with EmbeddedServers(Path(name), postgres=False) as servers:
                yield servers.nats_url


async def measure(url: str, seconds: float) -> None:
    """All figures, each printed as soon as it is known."""
    log = await open_log(url, f"bench{secrets.token_hex(4)}", durable=True)
    for in_flight in (1, 64, 256):
        tell("log_appends", "per second", [await appends(log, in_flight, seconds) for _ in range(RUNS)], in_flight=in_flight)
    table = some_table()
    await fill(log, table, 1500, size=SIZE)
    tell("log_reads", "per second", [await reads(log, table, 1500) for _ in range(RUNS)])
    tell("log_follow", "per second", [await follows(log, table.stream) for _ in range(RUNS)])
    await log.close()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0, help="length of one run of appends")
    arguments = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(30))  # warnings and worse: figures only on standard output
    with server() as url:
        uvloop.run(measure(url, arguments.seconds))


if __name__ == "__main__":
    main()
