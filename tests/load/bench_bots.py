"""What a seat of a built-in player costs its host, and how long seats stand still when a host is killed. JSON lines.

One `pulka serve all` without bots, one `pulka serve bots`, then two, on embedded servers of its own; people are played by this process, at
once, so that the host is what works.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from services.bots.client import connect
from services.bots.share import BUCKETS
from services.cli.embedded import EmbeddedServers
from tests.journeys.bots import BotHost, Watched
from tests.journeys.club import Club
from tests.load.figures import tell

ROUNDS = 3
TABLES = 8
PEOPLE_S = 3.0  # seconds that a person takes for a move, for the figure of seats a core: two bots and a person make a move a second then
TICK = os.sysconf("SC_CLK_TCK")


def processor(pid: int) -> float:
    """Seconds of processor that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


async def until(true) -> None:
    """Poll until it is so."""
    async with asyncio.timeout(60):
        while not true():  # noqa: ASYNC110 - other processes, which tell nobody
            await asyncio.sleep(0.02)


async def played(club: Club, host: BotHost) -> float:
    """Milliseconds of the host's processor for a commit at a table of two of its seats."""
    tables, pid = [Watched(1) for _ in range(TABLES)], host.process.pid
    used = processor(pid)
    async with connect(club.url) as http, asyncio.TaskGroup() as group:
        for table in tables:
            group.create_task(table.play(http))
    commits = sum(len(table.revisions) for table in tables)
    return 1000 * (processor(pid) - used) / commits


async def killed(club: Club, host: BotHost, other: BotHost) -> tuple[float, float]:
    """Milliseconds until the other has all buckets, and the longest until a table that the first played goes on."""
    await until(lambda: [one.told()["buckets"] for one in (host, other)] == [BUCKETS // 2] * 2)
    tables = [Watched(1) for _ in range(TABLES)]
    async with connect(club.url) as http, asyncio.TaskGroup() as group:
        for table in tables:
            group.create_task(table.play(http))
        await asyncio.gather(*(table.reached.wait() for table in tables))
        host.kill()
        began = time.monotonic()
        await until(lambda: other.told()["buckets"] == BUCKETS)
        taken = time.monotonic() - began
    gaps = [max((after - before for before, after in zip(table.times, table.times[1:], strict=False)), default=0.0) for table in tables]
    host.start()
    return 1000 * taken, 1000 * max(gaps)


def main() -> None:
    """On servers of its own."""
    with tempfile.TemporaryDirectory(prefix="pulka-bench-") as name, ExitStack() as running:
        folder = Path(name)
        servers = running.enter_context(EmbeddedServers(folder / "home"))
        club = running.enter_context(Club(servers.nats_url, servers.postgres_dsn, "bots", folder, PULKA_BOTS="no"))
        hosts = []
        for one in ("one", "two"):
            (folder / one).mkdir()
            hosts.append(BotHost(club, folder / one, club.url, club.url))
        with hosts[0]:
            runs = [asyncio.run(played(club, hosts[0])) for _ in range(ROUNDS)]
            tell("bot_commit", "ms", runs, of="the host's processor, a commit at a table of two of its seats")
            tell("bot_seats_a_core", "seats", [2000 * PEOPLE_S / 3 / cost for cost in runs], of=f"people take {PEOPLE_S:.0f} s a move")
            with hosts[1]:
                runs = [asyncio.run(killed(club, hosts[round_ % 2], hosts[1 - round_ % 2])) for round_ in range(ROUNDS)]
        tell("bot_take_over", "ms", [taken for taken, _ in runs], of="from kill -9 until another host has all buckets")
        tell(
            "bot_take_over_play",
            "ms",
            [gap for _, gap in runs],
            of="the longest gap between two commits at any of the tables",
        )


if __name__ == "__main__":
    main()
