"""Three NATS nodes under load, and `kill -9`: of a stream's leader again and again, then of all three. `make chaos` runs twenty.

Sixteen tables, two in each partition, are played on without a pause. For each kill the gap is told: the longest time that some partition
took no move. At the end every acknowledged move lies in the log where it was acknowledged, once, and every chain holds.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from itertools import count
from pathlib import Path

import msgspec
import structlog
import uvloop

from services.table.tables import Tables
from shared.eventlog.aggregates.aggregates import Committed, Request
from shared.eventlog.jetstream.log import open_log
from shared.eventlog.port import LogError
from shared.events import address
from shared.events.address import new_id
from shared.events.chain import verify_chain
from shared.events.commit import decode
from shared.events.sealing import TableCodec
from shared.rules.convention.options import resolve
from shared.rules.language.moves import Concede
from shared.rules.pulka import decider as match
from shared.rules.pulka.decider import OpenPulka
from tests.contracts.cluster import NODES, Cluster
from tests.load.figures import tell
from tests.services.ledger.played import BEGAN, KEYS

PARTITIONS = 8
TABLES = 16
ELECTION = 60.0  # seconds: a new leader takes 4 to 9, more on a loaded machine
PAUSE = 0.02  # seconds between two moves of a table: some hundred moves a second in all


class Kills:
    """Tables that are played, and what was acknowledged of them."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self.cluster = cluster
        self.lot = random.Random(seed)
        self.ids = [new_id(bytes([number % PARTITIONS]) + self.lot.randbytes(17)) for number in range(TABLES)]
        self.acknowledged: dict[tuple[str, str], Committed] = {}
        self.last: dict[int, float] = {}  # by partition, when a move was acknowledged last
        self.moved = asyncio.Condition()
        self.gaps: list[float] = []

    async def run(self, kills: int, *, all_three: bool) -> None:
        """Play while so many leaders fall, and then perhaps all nodes; check what is there."""
        self.log = await open_log(self.cluster.url, replicas=NODES, append_seconds=ELECTION, open_seconds=ELECTION)
        self.tables = Tables(self.log, TableCodec(KEYS))
        playing = [asyncio.create_task(self.play(table_id)) for table_id in self.ids]
        try:
            await self.everywhere_after(time.monotonic())
            for number in range(kills):
                victim = await self.cluster.leader(f"TABLE_{self.lot.randrange(PARTITIONS)}")
                await self.fall([victim])
                told(f"{number + 1}/{kills} leaders killed, last gap {self.gaps[-1]:.1f} s, {len(self.acknowledged)} moves")
            if all_three:
                await self.fall([f"n{number}" for number in range(NODES)])
                told(f"all killed, gap {self.gaps[-1]:.1f} s")
        finally:
            for task in playing:
                task.cancel()
            await asyncio.gather(*playing, return_exceptions=True)
        for table_id in self.ids:
            await self.check(table_id)
        await self.log.close()

    async def fall(self, names: list[str]) -> None:
        """Kill nodes, start those of a majority at once and a single one when the others go on; note the gap."""
        before, began = dict(self.last), time.monotonic()
        for name in names:
            self.cluster.kill(name)
        if len(names) > 1:
            for name in names:
                self.cluster.start(name)
        await self.everywhere_after(began)
        self.gaps.append(max(self.first[partition] - max(before[partition], began) for partition in range(PARTITIONS)))
        if len(names) == 1:
            self.cluster.start(names[0])
        await self.everywhere_after(time.monotonic())
        await self.healed()

    async def everywhere_after(self, when: float) -> None:
        """Wait until every partition has taken a move after `when`; `first` says when each did."""
        self.first: dict[int, float] = {}
        async with asyncio.timeout(2 * ELECTION), self.moved:
            while len(self.first) < PARTITIONS:
                self.first |= {p: at for p, at in self.last.items() if at > when and p not in self.first}
                if len(self.first) < PARTITIONS:
                    await self.moved.wait()

    async def healed(self) -> None:
        """Wait until every stream has all its copies up to date: a second fall before that would take a majority away."""
        async with asyncio.timeout(2 * ELECTION):
            for partition in range(PARTITIONS):
                while not await self.current(f"TABLE_{partition}"):  # noqa: ASYNC110 - nobody tells when it is
                    await asyncio.sleep(0.2)  # between two questions

    async def current(self, stream: str) -> bool:
        """Whether all copies of a stream are up to date."""
        try:
            answer = await self.log._connection.request(f"$JS.API.STREAM.INFO.{stream}", b"", 1.0)
        except Exception:  # noqa: BLE001 - whatever it is: not yet
            return False
        replicas = msgspec.json.decode(answer.data).get("cluster", {}).get("replicas", [])
        return len(replicas) == NODES - 1 and all(one.get("current") and not one.get("offline") for one in replicas)

    async def play(self, table_id: str) -> None:
        """Move after move at one table; what is not sure is sent again under the same key."""
        partition = address.table(table_id).partition
        opening = OpenPulka(resolve("sochi", 1000), "00" * 32, 3, 1000, ("ann", "ben", "cid"), {}, 0)
        await insisted(lambda: self.tables.open(table_id, opening, BEGAN, None))
        for number in count():
            loaded = await insisted(lambda: self.tables.load(table_id))
            pulka = loaded.state.pulka
            if match.phase(pulka) == "between_deals":
                await insisted(lambda pulka=pulka: self.tables.start_deal(table_id, pulka.number + 1, BEGAN))
                continue
            seat = match.to_act(pulka)
            wanted = self.lot.choice([move for move in match.legal_moves(pulka, seat) if not isinstance(move, Concede)])
            request = Request(f"{number}", pulka.seats[seat], "", BEGAN)
            player = pulka.seats[seat]
            outcome = await insisted(
                lambda player=player, wanted=wanted, request=request: self.tables.move(table_id, player, wanted, None, request)
            )
            if isinstance(outcome, Committed):
                self.acknowledged[table_id, f"{player} {number}"] = outcome
                async with self.moved:
                    self.last[partition] = time.monotonic()
                    self.moved.notify_all()
            await asyncio.sleep(PAUSE)

    async def check(self, table_id: str) -> None:
        """Nothing acknowledged is lost, nothing is there twice, the chain holds."""
        where = address.table(table_id)
        head = await self.log.newest(where)
        assert head is not None
        lying = await self.log.read(where, until=head.sequence)
        report = verify_chain([stored.data for stored in lying], where.subject)
        assert report.problems == (), report.problems
        commits = [decode(stored.data) for stored in lying]
        keys = [f"{commit.actor} {commit.command_id}" for commit in commits]
        assert len(keys) == len(set(keys)), "a command was stored twice"
        there = dict(zip(keys, lying, strict=True))
        lost = [key for (of, key), answer in self.acknowledged.items() if of == table_id and there.get(key) != answer.stored]
        assert lost == [], lost


async def insisted(call):
    """What `call` comes to once the log answers."""
    while True:
        try:
            return await call()
        except LogError:
            await asyncio.sleep(0.05)  # a client's pause before it tries again


def told(progress: str) -> None:
    """How far it is, for a person who watches."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{progress:<78}")


async def run(home: Path, kills: int, seed: int, *, all_three: bool) -> Kills:
    """So many leaders killed, in a cluster of its own."""
    with Cluster(home) as cluster:
        world = Kills(cluster, seed)
        await world.run(kills, all_three=all_three)
    return world


def main() -> None:
    """Run and print."""
    options = argparse.ArgumentParser(prog="python -m tests.chaos.cluster_kills")
    options.add_argument("--kills", type=int, default=20)
    options.add_argument("--seed", type=int, default=1)
    chosen = options.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    with tempfile.TemporaryDirectory() as home:
        world = uvloop.run(run(Path(home), chosen.kills, chosen.seed, all_three=True))
    leaders, everything = world.gaps[:-1], world.gaps[-1]
    tell("leader_killed_gap", "s", leaders, of=f"{len(leaders)} kills, {len(world.acknowledged)} moves acknowledged, 0 lost, 0 doubled")
    tell("leader_killed_gap_worst", "s", [max(leaders)])
    tell("all_nodes_killed_gap", "s", [everything])
    by_partition: dict[int, int] = defaultdict(int)
    for table_id, _ in world.acknowledged:
        by_partition[address.table(table_id).partition] += 1
    sys.stderr.write(f"\nmedian {statistics.median(leaders):.1f} s, worst {max(leaders):.1f} s; moves by partition {dict(by_partition)}\n")


if __name__ == "__main__":
    main()
