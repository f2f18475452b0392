"""Moves over HTTP where half of the tables are outside of the cache, against all inside. JSON lines.

Two table services of the same size but for `PULKA_CACHE_MB`, each with tables of its own, are played at in turns: at 32 of its tables at a
time, the next one chosen by lot among those that nobody moves at. There are as many tables that half of the moves find theirs outside of
the small cache; the share is told with the figure. The deals before are played into the log by a seeded lot.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Final

import uvloop

from services.cli.embedded import EmbeddedServers
from shared.eventlog.jetstream.log import JetStreamLog, open_log
from shared.events import key_files
from shared.web.auth import PLAY, READ
from tests.journeys.club import Club
from tests.load.bench_moves import TableLoad
from tests.load.figures import tell
from tests.services.ledger.played import PlayedTable
from tests.token_keys import ISSUER

AT_ONCE: Final = 32  # moves under way, whose tables are in the cache
TABLES: Final = {5: 106, 50: 98}  # of each service, by deals: of those that nobody moves at, a megabyte holds half
LARGE, SMALL = "64", "1"  # megabytes
MASTER_KEY: Final = ("test", bytes(range(32)))  # of `PlayedTable`
TERMS: Final = {"clock": {"move_s": 3600, "cut_s": 3600}}  # nobody's time runs out while the others play
NAMESPACE: Final = "outside"


class Lot:
    """Lets so many in at once, and of those who wait the next one by lot."""

    def __init__(self) -> None:
        self._free = AT_ONCE
        self._waiting: list[asyncio.Future[None]] = []
        self._random = random.Random(3)

    async def __aenter__(self) -> None:
        if self._free:
            self._free -= 1
            return
        self._waiting.append(asyncio.get_running_loop().create_future())
        await self._waiting[-1]

    async def __aexit__(self, *_: object) -> None:
        if self._waiting:
            self._waiting.pop(self._random.randrange(len(self._waiting))).set_result(None)
        else:
            self._free += 1


class Chosen(TableLoad):
    """A table whose turn to be asked comes by lot."""

    lot: Lot

    async def ask(self, method: str, path: str, body: object, headers: str) -> tuple[int, bytes]:
        """See `TableLoad.ask`."""
        async with self.lot:
            return await self.connection.ask(method, path, body, headers)


async def dealt(log: JetStreamLog, seed: int, deals: int) -> Chosen:
    """A table after so many deals, and its players."""
    now = int(time.time())
    played = PlayedTable(log, seed, partition=seed % 8, target=10_000, terms=TERMS, began=1000 * (now - 50 * deals))
    await played.play(deals=deals)
    await played.step()  # the next deal waits for its cut
    load = Chosen(seed)
    load.path = f"/v1/tables/{played.id}"
    load.authorizations = [f"Authorization: Bearer {ISSUER.issue(player, (PLAY, READ), now)}\r\n" for player in played.seats]
    return load


async def all_dealt(nats_url: str, deals: int) -> list[Chosen]:
    """The tables of both services, played side by side."""
    log = await open_log(nats_url, NAMESPACE, durable=True)
    loads = await asyncio.gather(*(dealt(log, seed, deals) for seed in range(2 * TABLES[deals])))
    await log.close()
    return loads


async def rate(loads: list[Chosen], url: str, seconds: float) -> float:
    """Moves a second, after a second that warms up."""
    lot = Lot()
    for load in loads:
        load.lot = lot
        await load.sit_down(url)
    end = time.perf_counter() + 1 + seconds
    playing = [asyncio.create_task(load.play(end)) for load in loads]
    await asyncio.wait(playing, timeout=1)
    made, began = sum(load.moves for load in loads), time.perf_counter()
    await asyncio.gather(*playing)
    for load in loads:
        await load.connection.close()
    return (sum(load.moves for load in loads) - made) / (time.perf_counter() - began)


def cached(url: str) -> dict[str, float]:
    """What the service's cache of tables says of itself."""
    with urllib.request.urlopen(f"{url}/metrics") as answer:  # noqa: S310 - our own address
        return {name: float(value) for name, value in re.findall(r'pulka_cache_(\w+){cache="tables"} (\S+)', answer.read().decode())}


def main() -> None:
    """Run and print."""
    options = argparse.ArgumentParser()
    options.add_argument("--deals", type=int, choices=TABLES, default=5)
    options.add_argument("--seconds", type=float, default=2.0)
    options.add_argument("--rounds", type=int, default=15)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="pulka-bench-") as home, EmbeddedServers(Path(home) / "home") as servers:
        loads = uvloop.run(all_dealt(servers.nats_url, chosen.deals))
        key_files.create(Path(home) / "master_keys", key_files.lines([MASTER_KEY]))
        servers_of = (servers.nats_url, servers.postgres_dsn, NAMESPACE, Path(home), "table")
        rates: dict[str, list[float]] = {LARGE: [], SMALL: []}
        with Club(*servers_of, PULKA_CACHE_MB=LARGE) as large, Club(*servers_of, PULKA_CACHE_MB=SMALL) as small:
            tables = {LARGE: (loads[::2], large.url), SMALL: (loads[1::2], small.url)}
            for part, url in tables.values():  # each table is touched once, and begins a deal
                uvloop.run(rate(part, url, chosen.seconds))
            before, made = cached(small.url), sum(load.moves for load in loads[1::2])
            for _ in range(chosen.rounds):
                for size, (part, url) in tables.items():
                    rates[size].append(uvloop.run(rate(part, url, chosen.seconds)))
            after, moves = cached(small.url), sum(load.moves for load in loads[1::2]) - made
    misses = after["misses_total"] - before["misses_total"]
    name = f"http_moves_half_outside_{chosen.deals}_deals"
    tell(f"http_moves_all_inside_{chosen.deals}_deals", "moves/s", rates[LARGE])
    held = f"{after['aggregates']:.0f} of {len(loads) // 2} tables held, {misses / moves:.0%} of moves outside"
    tell(name, "moves/s", rates[SMALL], held=held)
    tell(f"{name}_to_inside", "ratio", [small / large for large, small in zip(rates[LARGE], rates[SMALL], strict=True)])


if __name__ == "__main__":
    main()
