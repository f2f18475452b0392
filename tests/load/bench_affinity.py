"""Moves over HTTP at two table services, each request at one of them by lot, against each table's requests at one of them. JSON lines.

Both arrangements have two services, a log and 64 tables of their own, of over a thousand commits each, and are played at in turns.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import uvloop

from services.cli.embedded import EmbeddedServers
from shared.eventlog.jetstream.log import open_log
from shared.events import key_files
from tests.journeys.club import Club
from tests.load.bench_moves import TableLoad
from tests.load.bench_outside import MASTER_KEY, dealt
from tests.load.figures import tell
from tests.load.keep_alive import KeepAlive

TABLES: Final = 64
DEALS: Final = 30  # some 1,200 commits
HASHED, ANYWHERE = "hashed_by_table", "without_affinity"


class Spread(TableLoad):
    """A table whose requests go to one of its `connections` by lot."""

    connections: list[KeepAlive]

    async def ask(self, method: str, path: str, body: object, headers: str) -> tuple[int, bytes]:
        """See `TableLoad.ask`."""
        return await self.random.choice(self.connections).ask(method, path, body, headers)


async def tables(nats_url: str, namespace: str) -> list[Spread]:
    """Tables with a past."""
    log = await open_log(nats_url, namespace, durable=True)
    loads = []
    for played in await asyncio.gather(*(dealt(log, seed, DEALS) for seed in range(TABLES))):
        load = Spread(0)
        load.random, load.path, load.authorizations = random.Random(played.path), played.path, played.authorizations
        loads.append(load)
    await log.close()
    return loads


async def rate(loads: list[Spread], urls: list[str], kind: str, seconds: float) -> float:
    """Moves a second, after a second that warms up."""
    for number, load in enumerate(loads):
        load.connections = [await KeepAlive.open(url) for url in ([urls[number % len(urls)]] if kind == HASHED else urls)]
    end = time.perf_counter() + 1 + seconds
    playing = [asyncio.create_task(load.play(end)) for load in loads]
    await asyncio.wait(playing, timeout=1)
    made, began = sum(load.moves for load in loads), time.perf_counter()
    await asyncio.gather(*playing)
    for load in loads:
        for connection in load.connections:
            await connection.close()
    return (sum(load.moves for load in loads) - made) / (time.perf_counter() - began)


def main() -> None:
    """Run and print."""
    options = argparse.ArgumentParser()
    options.add_argument("--seconds", type=float, default=2.0)
    options.add_argument("--rounds", type=int, default=9)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="pulka-bench-") as home, EmbeddedServers(Path(home) / "home") as servers, ExitStack() as stack:
        key_files.create(Path(home) / "master_keys", key_files.lines([MASTER_KEY]))
        loads, urls = {}, {}
        for kind in (HASHED, ANYWHERE):
            loads[kind] = uvloop.run(tables(servers.nats_url, kind))
            clubs = [Club(servers.nats_url, servers.postgres_dsn, kind, Path(home), "table") for _ in range(2)]
            urls[kind] = [stack.enter_context(club).url for club in clubs]
            uvloop.run(rate(loads[kind], urls[kind], kind, 3.0))  # each table is touched once, and begins a deal
        rates: dict[str, list[float]] = {HASHED: [], ANYWHERE: []}
        for _ in range(chosen.rounds):
            for kind, found in rates.items():
                found.append(uvloop.run(rate(loads[kind], urls[kind], kind, chosen.seconds)))
    for kind, found in rates.items():
        tell(f"http_moves_{kind}", "moves/s", found)
    tell("http_moves_without_affinity_to_hashed", "ratio", [b / a for a, b in zip(rates[HASHED], rates[ANYWHERE], strict=True)])


if __name__ == "__main__":
    main()
