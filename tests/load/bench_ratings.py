"""Ratings recomputed: from nothing, and from a pulka in the middle that was annulled. JSON lines.

Runs on an embedded Postgres of its own in a temporary folder; results of a season are written straight into the books' rows.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from pathlib import Path

import asyncpg
import msgspec
import structlog
import uvloop

from services.cli.embedded import EmbeddedServers
from services.ledger.books import Books
from services.ledger.players import pulka_results, rating_rows
from services.ledger.players.pulka_results import PulkaResult
from shared.projections.core import checkpoint
from shared.projections.core.projection import Connection
from tests.load.figures import tell

PEOPLE = 500  # who play: each a few dozen pulkas
MINUTE = 60_000  # milliseconds between two pulkas that close


def season(pulkas: int) -> list[PulkaResult]:
    """Results of people drawn by a seeded lot."""
    draw = random.Random(1)
    found = []
    for number in range(pulkas):
        seats = draw.sample(range(PEOPLE), draw.choice((3, 4)))
        net = " ".join(str(draw.randrange(-100, 101)) for _ in seats)
        players = " ".join(f"player-{seat}" for seat in seats)
        at = MINUTE * number
        found.append(PulkaResult(f"table-{number}", 1, 1, at, at, players, net, annulled=False, unrated=""))
    return found


async def recomputed(connection: Connection) -> float:
    """Seconds that the ratings took to be up to date."""
    began = time.perf_counter()
    await rating_rows.recompute(connection)
    return time.perf_counter() - began


async def run(dsn: str, pulkas: int, rounds: int) -> None:
    """All figures."""
    connection = await asyncpg.connect(dsn)
    whole, annulled = [], []
    results = season(pulkas)
    for number in range(rounds):
        await checkpoint.prepare(connection, f"bench_ratings_{number}", Books.ddl)
        await pulka_results.write(connection, results)
        whole.append(pulkas / await recomputed(connection))
        middle = results[pulkas // 2]
        later = msgspec.structs.replace(middle, version=2, at=results[-1].at, annulled=True)
        await pulka_results.write(connection, [later])
        annulled.append(1000 * await recomputed(connection))
    tell("ratings_from_nothing", "pulkas/s", whole, of=f"{pulkas} pulkas, {PEOPLE} players")
    tell("ratings_after_an_annulment", "ms", annulled, of=f"{pulkas // 2} pulkas that followed it")
    await connection.close()


def main() -> None:
    """Run and print."""
    options = argparse.ArgumentParser()
    options.add_argument("--pulkas", type=int, default=2_000)
    options.add_argument("--rounds", type=int, default=5)
    chosen = options.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(30))  # warnings and worse: figures only
    with tempfile.TemporaryDirectory() as home, EmbeddedServers(Path(home) / "home") as servers:
        uvloop.run(run(servers.postgres_dsn, chosen.pulkas, chosen.rounds))


if __name__ == "__main__":
    main()
