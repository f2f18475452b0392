"""The same load on one node of NATS with one copy and on three with three, in turns on the same cores; where the time goes. JSON lines.

Sixty-four tables move without a pause over HTTP, as in `bench_moves`, at a `pulka serve table` of its own for each arrangement. Between the
two stands one copy on three nodes, which tells what nodes cost from what copies cost. Every node syncs each append to disk. Processor time
and bytes written are those of the kernel (`/proc`), of this one machine: three machines would share the work, and send it over a network.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from pathlib import Path

import msgspec
import uvloop

from services.cli.embedded import EmbeddedServers
from tests.contracts.cluster import NODES, Cluster
from tests.journeys.club import Club
from tests.load.bench_moves import TableLoad, opened_tables
from tests.load.figures import tell

TICKS = os.sysconf("SC_CLK_TCK")
COPIES = {"one_node_one_copy": 1, "three_nodes_one_copy": 1, "three_nodes_three_copies": NODES}  # the arrangements


class Used(msgspec.Struct):
    """What processes have used so far: by name seconds of processor time, and bytes that the nodes wrote to disk."""

    seconds: dict[str, float]
    written: int

    def since(self, before: Used) -> Used:
        """What of it came after `before`."""
        used = {name: seconds - before.seconds[name] for name, seconds in self.seconds.items()}
        return Used(used, self.written - before.written)


class Arrangement:
    """A table service on its servers, its tables, and what every round of play took."""

    def __init__(self, name: str, club: Club, nodes: dict[str, int], loads: list[TableLoad]) -> None:
        self.name, self.club, self.nodes, self.loads = name, club, nodes, loads
        self.rates: list[float] = []
        self.used: list[tuple[int, Used]] = []  # moves, and what they used

    def now(self) -> Used:
        """What service, nodes and this process have used so far."""
        pids = {"service": self.club.process.pid, **self.nodes, "players": os.getpid()}
        written = sum(_written(pid) for pid in self.nodes.values())
        return Used({name: _seconds(pid) for name, pid in pids.items()}, written)

    async def play(self, seconds: float) -> None:
        """One round."""
        moves, before, began = self.moves(), self.now(), time.perf_counter()
        await asyncio.gather(*(load.play(began + seconds) for load in self.loads))
        took, made = time.perf_counter() - began, self.moves() - moves
        self.rates.append(made / took)
        self.used.append((made, self.now().since(before)))

    def moves(self) -> int:
        """All moves so far."""
        return sum(load.moves for load in self.loads)

    def each_move(self) -> dict[str, int]:
        """Of a move, in the median round: by process the microseconds, and the bytes that its nodes wrote."""
        told = {name: [1e6 * used.seconds[name] / made for made, used in self.used] for name in self.used[0][1].seconds}
        told["bytes_written"] = [used.written / made for made, used in self.used]
        return {name: round(statistics.median(runs)) for name, runs in told.items()}

    def processor_time(self) -> list[float]:
        """Seconds of a move, all processes together, by round."""
        return [sum(used.seconds.values()) / made for made, used in self.used]


def _seconds(pid: int) -> float:
    """Processor time of a process, all its threads, its own and the system's."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def _written(pid: int) -> int:
    lines = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
    return int(lines["write_bytes"])


async def run(arrangements: list[Arrangement], rounds: int, seconds: float) -> None:
    """Every arrangement once to warm up, then all in turns."""
    for arrangement in arrangements:
        for load in arrangement.loads:
            await load.sit_down(arrangement.club.url)
        await arrangement.play(seconds)
        arrangement.rates, arrangement.used = [], []
        for load in arrangement.loads:
            load.latencies.clear()
    for number in range(rounds):
        for place in range(len(arrangements)):
            await arrangements[(number + place) % len(arrangements)].play(seconds)


def told(arrangement: Arrangement) -> None:
    """The figures of one arrangement."""
    tell("moves_replicated", "moves/s", arrangement.rates, arrangement=arrangement.name)
    late = sorted(1000 * one for load in arrangement.loads for one in load.latencies)
    tell("moves_replicated_p50", "ms", [late[len(late) // 2]], arrangement=arrangement.name)
    tell("moves_replicated_p99", "ms", [late[len(late) * 99 // 100]], arrangement=arrangement.name)
    each = arrangement.each_move()
    nodes = sum(each[name] for name in arrangement.nodes)
    tell("moves_replicated_processor_time_of_nats", "µs a move", [nodes], arrangement=arrangement.name, each=each)


def main() -> None:
    """Run all and print."""
    options = argparse.ArgumentParser()
    options.add_argument("--seconds", type=float, default=2.0)
    options.add_argument("--rounds", type=int, default=9)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="pulka-bench-") as folder, EmbeddedServers(Path(folder) / "home") as servers:
        home = Path(folder)
        with Cluster(home) as cluster:
            nodes = {name: node.pid for name, node in cluster._nodes.items()}
            arrangements = []
            for name, copies in COPIES.items():
                one = name == "one_node_one_copy"
                url, of = (servers.nats_url, {"nats": servers.pids["nats"]}) if one else (cluster.url, nodes)
                settings = (url, servers.postgres_dsn, name, home)
                with Club(*settings, "lobby", PULKA_REPLICAS=str(copies)) as lobby:
                    club = Club(*settings, "table", PULKA_REPLICAS=str(copies))
                    club.start()
                    arrangements.append(Arrangement(name, club, of, uvloop.run(opened_tables(lobby.url))))
            uvloop.run(run(arrangements, chosen.rounds, chosen.seconds))
            for arrangement in arrangements:
                arrangement.club.stop()
        for arrangement in arrangements:
            told(arrangement)
        one, *three = arrangements
        for arrangement in three:
            ratios = [mine / its for mine, its in zip(arrangement.rates, one.rates, strict=True)]  # round by round: other load swings
            tell(f"moves_{arrangement.name}_of_one_node", "ratio", ratios)
            times = [its / mine for mine, its in zip(arrangement.processor_time(), one.processor_time(), strict=True)]
            tell(f"moves_{arrangement.name}_of_one_node_by_processor_time", "ratio", times)


if __name__ == "__main__":
    main()
