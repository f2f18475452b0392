"""What an instance that is killed, or told to stop, costs the clients of tables in play beside another instance. JSON lines.

Each run kills one of two instances under 64 busy tables that are hashed by their ids: how long until each table that it served has shown a
view and taken a move at the other. Then a rolling restart under 64 tables, half of them without affinity.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
from pathlib import Path

from services.cli.embedded import EmbeddedServers
from tests.journeys.restarts import LONG, House, house_of, killed, restarted
from tests.load.figures import tell

RUNS = 5
TABLES = 64
ROUNDS = 2


async def kills(house: House, nats_url: str, namespace: str) -> None:
    """Kill and start again, in turn."""
    typical, worst = [], []
    async with house.in_play():
        for run in range(RUNS):
            club = house.clubs[run % 2]
            took = await killed(house, club)
            typical.append(1000 * statistics.median(took))
            worst.append(1000 * max(took))
            await asyncio.to_thread(club.start)
            await house.some_moves()
    moves = await house.nothing_is_lost_or_doubled(nats_url, namespace)
    of = "from the kill to a view and a move of a table at the other instance"
    tell("killed_table_answers_elsewhere", "ms", typical, tables=TABLES, of=f"{of}, median of its tables")
    tell(
        "killed_tables_all_answer_elsewhere",
        "ms",
        worst,
        tables=TABLES,
        of=f"{of}, the last of its tables",
        moves=moves,
        lost=len(house.tally.lost),
    )


async def rolling(house: House, nats_url: str, namespace: str) -> None:
    """Restart in turn."""
    async with house.in_play():
        stops = await restarted(house, ROUNDS)
    moves = await house.nothing_is_lost_or_doubled(nats_url, namespace)
    met = {"requests": house.tally.requests, "retried": house.tally.again.total(), "lost": len(house.tally.lost), "moves": moves}
    tell("rolling_restart_stop", "ms", [1000 * stop for stop in stops], tables=TABLES, of="from SIGTERM to the end of the process", **met)


async def run(servers: EmbeddedServers, folder: Path) -> None:
    """Both, each on tables of its own."""
    for name, affinity, measure in (("kills", TABLES, kills), ("rolling", TABLES // 2, rolling)):
        place = folder / name
        place.mkdir()
        async with house_of(servers.nats_url, servers.postgres_dsn, name, place, TABLES, affinity=affinity, clock=LONG) as house:
            await measure(house, servers.nats_url, name)


def main() -> None:
    """On servers of its own."""
    with tempfile.TemporaryDirectory(prefix="pulka-bench-") as folder, EmbeddedServers(Path(folder) / "home") as servers:
        asyncio.run(run(servers, Path(folder)))


if __name__ == "__main__":
    main()
