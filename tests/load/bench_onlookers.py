"""What one watched table costs: deliveries to its onlookers a second of one core, how long its mover waits for them, and the memory of a
stream on which nothing comes.

The table service is a process of its own, and so are the onlookers, so that the processor time and the memory of the server are its own.
A delivery is one commit at one onlooker. Prints one JSON line a figure; ratios are of one run.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import uvloop

from services.cli.embedded import EmbeddedServers
from tests.journeys.club import Club
from tests.load.bench_moves import TableLoad
from tests.load.figures import tell
from tests.load.keep_alive import KeepAlive

MANY = 1000
CROWDS = (0, 100, MANY)
IDLE = (2000, 10_000)
WARM_UP = 30  # moves that are not counted
PACE = 0.1  # seconds from one move to the next of a mover in no hurry: ten times as fast as people play
SETTLE = 18.0  # seconds until each idle stream has had a heartbeat
PARTS = ("idle", "deliveries", "waiting")
TICKS = os.sysconf("SC_CLK_TCK")


def processor_seconds(process: int) -> float:
    """That a process has used until now."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def kilobytes(process: int) -> int:
    """Of memory that is this process's alone."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(("Private_Clean", "Private_Dirty")))


class Onlookers:
    """A process of onlookers of one table, who have seen everything up to `revision`."""

    def __init__(self, process: asyncio.subprocess.Process, count: int, revision: int) -> None:
        self._process, self.count, self._revision = process, count, revision

    async def until(self, revision: int) -> None:
        """Wait until each of them has got the commit of that revision."""
        wanted = (revision - self._revision) * self.count
        self._process.stdin.write(b"%d\n" % wanted)
        answer = await self._process.stdout.readline()
        if answer != b"%d\n" % wanted:
            raise RuntimeError(answer.decode())


@asynccontextmanager
async def onlookers(table: Club, load: Mover, count: int) -> AsyncIterator[Onlookers]:
    """So many, each with their view, for as long as wanted."""
    revision = await load.settled()
    script = str(Path(__file__).with_name("onlookers.py"))
    pipes = {"stdin": asyncio.subprocess.PIPE, "stdout": asyncio.subprocess.PIPE}
    process = await asyncio.create_subprocess_exec(sys.executable, script, table.url, f"{load.path}/events", str(count), **pipes)
    try:
        if (ready := await process.stdout.readline()) != b"ready\n":
            raise RuntimeError(ready.decode())
        yield Onlookers(process, count, revision)
    finally:
        process.stdin.close()
        process.terminate()
        await process.wait()


class Mover(TableLoad):
    """Plays one table, a move whenever it is told to."""

    def __init__(self) -> None:
        super().__init__(1)
        self.revision = 0
        self._turns: asyncio.Queue[None] = asyncio.Queue()
        self._moved: asyncio.Queue[dict | None] = asyncio.Queue()  # answers; None: the play has ended

    async def sit_down(self, table: str) -> None:
        """Connect twice: the play asks by itself, too, and a connection has one request at a time."""
        await super().sit_down(table)
        self._aside = await KeepAlive.open(table)

    async def settled(self) -> int:
        """The revision at which the table waits for a move: the service itself adds none."""
        while True:
            _, view = await self._aside.request("GET", self.path, headers=self.authorizations[0])
            if view["to_act"] is not None:
                return view["revision"]

    async def send(self, seat: int, move: dict) -> dict:
        """One move, once it is told to."""
        await self._turns.get()
        answer = await super().send(seat, move)
        self.revision = answer["revision"]
        self._moved.put_nowait(answer)
        return answer

    async def go(self, moves: int, then: Callable[[], Awaitable[None]]) -> list[float]:
        """So many moves, with `then` after each; how many milliseconds each took, sorted."""
        before = len(self.latencies)
        for _ in range(moves):
            self._turns.put_nowait(None)
            if await self._moved.get() is None:
                raise RuntimeError("the play has ended")
            await then()
        return sorted(1000 * late for late in self.latencies[before:])

    def begin(self) -> asyncio.Task[None]:
        """Play; cancel it at the end."""
        playing = asyncio.create_task(self.play(float("inf")))
        playing.add_done_callback(lambda _: self._moved.put_nowait(None))
        return playing


async def at_once() -> None:
    """The next move comes at once."""


async def in_no_hurry() -> None:
    """The next move comes a while later."""
    await asyncio.sleep(PACE)


async def deliveries(table: Club, mover: Mover, rounds: int, moves: int) -> None:
    """Moves that everybody sees before the next one is made: no two frames go out in one piece."""
    rates, costs, least = [], [], []
    async with onlookers(table, mover, MANY) as crowd:

        async def seen_by_all() -> None:
            await crowd.until(mover.revision)

        await mover.go(WARM_UP, seen_by_all)
        for _ in range(rounds):
            used, began, revision = processor_seconds(table.process.pid), time.perf_counter(), mover.revision
            await mover.go(moves, seen_by_all)
            delivered = (mover.revision - revision) * MANY
            used = processor_seconds(table.process.pid) - used
            rates.append(delivered / used)
            costs.append(1e6 * used / delivered)
            least.append(delivered / (time.perf_counter() - began))
    tell("onlookers_deliveries_a_core", "deliveries/s", rates, of=f"{MANY} onlookers of one table; the server's processor time")
    tell("onlookers_delivery", "µs", costs)
    tell("onlookers_deliveries_by_the_clock", "deliveries/s", least, of="the onlookers' own work beside it")


async def waiting(table: Club, mover: Mover, rounds: int, moves: int) -> None:
    """The mover's waiting time with few and many onlookers, in turns."""
    for name, then in (("at_once", at_once), ("in_no_hurry", in_no_hurry)):
        medians: dict[int, list[float]] = {count: [] for count in CROWDS}
        for _ in range(rounds):
            for count in CROWDS:
                async with onlookers(table, mover, count):
                    await mover.go(WARM_UP, then)
                    medians[count].append(statistics.median(await mover.go(moves, then)))
        for count in CROWDS:
            tell(f"mover_p50_{name}_{count}_onlookers", "ms", medians[count])
        for count in CROWDS[1:]:
            ratios = [many / none for many, none in zip(medians[count], medians[0], strict=True)]
            tell(f"mover_p50_{name}_{count}_onlookers_of_none", "times", ratios)


async def idle(table: Club, mover: Mover, counts: tuple[int, ...]) -> None:
    """Memory of the server by the number of streams on which nothing comes, over what it had before."""
    process = table.process.pid
    before = kilobytes(process)
    for count in counts:
        async with onlookers(table, mover, count):
            await asyncio.sleep(SETTLE)
            tell("idle_stream", "KB", [(kilobytes(process) - before) / count], of=f"{count} streams of one table")


async def run(table: Club, mover: Mover, chosen: argparse.Namespace) -> None:
    """All figures; the memory first, as a process that has worked gives little back."""
    await mover.sit_down(table.url)
    playing = mover.begin()
    await mover.go(WARM_UP, at_once)
    if "idle" in chosen.parts:
        await idle(table, mover, tuple(chosen.idle))
    if "deliveries" in chosen.parts:
        await deliveries(table, mover, chosen.rounds, chosen.moves)
    if "waiting" in chosen.parts:
        await waiting(table, mover, chosen.rounds, chosen.moves)
    playing.cancel()
    await asyncio.gather(playing, return_exceptions=True)


async def opened(lobby: str) -> Mover:
    """The mover of a table whose pulka has begun."""
    mover = Mover()
    await mover.open(lobby)
    return mover


def main() -> None:
    """On servers of its own."""
    options = argparse.ArgumentParser()
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--moves", type=int, default=100)
    options.add_argument("--idle", type=int, nargs="*", default=IDLE)
    options.add_argument("parts", nargs="*", default=PARTS)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="pulka-bench-") as folder, EmbeddedServers(Path(folder) / "home") as servers:
        club = servers.nats_url, servers.postgres_dsn, "watched", Path(folder)
        with Club(*club, "table") as table:
            with Club(*club, "lobby") as lobby:
                mover = uvloop.run(opened(lobby.url))
            uvloop.run(run(table, mover, chosen))


if __name__ == "__main__":
    main()
