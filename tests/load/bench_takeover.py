"""How long the books stand still when the ledger that leads is killed, or stopped, beside one that stands by. JSON lines.

Runs on embedded servers of its own in a temporary folder; each round plays until the other ledger has committed a batch.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

import asyncpg

from services.cli.embedded import EmbeddedServers
from services.ledger.books import Books
from shared.eventlog.jetstream.log import open_log
from shared.projections.versions.versions import Versions
from tests.chaos.ledger_lives import Life, Lives
from tests.chaos.ledger_play import Club, Watch
from tests.load.figures import tell

ROUNDS = 5
NAMESPACE = "takeover"


async def stood_still(club: Club, watch: Watch) -> float:
    """Milliseconds until a batch is committed while play goes on."""
    began, batches, playing = time.perf_counter(), watch.batches, club.begin()
    await watch.until(lambda: watch.batches > batches)
    took = 1000 * (time.perf_counter() - began)
    club.end()
    await playing
    return took


async def run(servers: EmbeddedServers, folder: Path) -> None:
    """Both figures, over `ROUNDS` ledgers that lead one after the other."""
    log = await open_log(servers.nats_url, NAMESPACE, durable=True)
    connection = await asyncpg.connect(servers.postgres_dsn)
    watch = Watch()
    await connection.add_listener(Versions(Books.name, NAMESPACE).schema(1), watch)
    club = Club(log, watch)
    async with Lives(servers.nats_url, servers.postgres_dsn, NAMESPACE, folder) as lives:

        async def ready() -> Life:
            life = await lives.start()
            await life.through(life.ready.wait())
            return life

        for name in ("killed", "stopped"):
            took, leader = [], await ready()
            for _ in range(ROUNDS):
                standby = await ready()
                await club.play(8)
                await watch.all_of(log)
                if name == "killed":
                    await leader.kill()
                else:
                    leader.stop()
                took.append(await stood_still(club, watch))
                await watch.all_of(log)
                await leader.kill()
                leader = standby
            tell(f"ledger_take_over_{name}", "ms", took, of="from the leader's end to the first batch of the one that stood by")
            await leader.kill()
    await connection.close()
    await log.close()


def main() -> None:
    """On servers of its own."""
    with tempfile.TemporaryDirectory(prefix="pulka-bench-") as folder, EmbeddedServers(Path(folder) / "home") as servers:
        asyncio.run(run(servers, Path(folder)))


if __name__ == "__main__":
    main()
