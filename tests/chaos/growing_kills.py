"""Partitions grow from 8 to 16 over three NATS nodes and two instances of everything, while tables play and while others are abandoned; in
the middle of each of the two steps the leader of a stream falls by `kill -9`. `make chaos` runs it after the kills alone.

At the end every acknowledged move lies where it was acknowledged, once; every turn that ran out ended in time plus outages; every table
answers at each instance, and the audit verifies all.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from base64 import b64decode
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import httpx
import msgspec
import structlog

from services.bots.client import Api
from services.cli.embedded import EmbeddedServers
from shared.eventlog.jetstream.log import open_log
from shared.events.address import table as table_address
from shared.events.chain import verify_chain
from shared.events.commit import decode, hash_of
from tests.contracts.cluster import NODES, Cluster
from tests.journeys.club import Club
from tests.journeys.test_growing import PATIENCE, Load, Wherever, health, partition, pulka, restart
from tests.load.figures import tell

ABANDONED = {"convention": "sochi", "players": 3, "target": 100, "rated": False, "clock": {"move_s": 2, "cut_s": 1}}
SLEEPERS = 16  # abandoned tables at first, and as many as it takes in the partitions that are added
LATE = 3.0  # seconds after its time within which a turn has ended
SILENCE = 3.0  # seconds without a commit in a stream of which each second some turn runs out: nobody took any
ELECTION = 20.0  # seconds: the longest silence that a node's fall may cause; an election takes 4 to 9
READY = 60.0  # seconds in which three nodes make all streams, and catch up after a fall


class Noting(Wherever):
    """Also notes what every move was answered that was accepted."""

    def __init__(self, clubs):
        super().__init__(clubs)
        self.acknowledged: dict[tuple[str, str], dict] = {}

    async def handle_async_request(self, request):
        answer = await super().handle_async_request(request)
        if request.method == "POST" and request.url.path.endswith("/moves") and answer.status_code == 200:
            told = msgspec.json.decode(await answer.aread())
            key = request.url.path.split("/")[3], request.headers["Idempotency-Key"]
            assert self.acknowledged.setdefault(key, told) == told, "a repeat was answered otherwise"
        return answer


class Growth:
    """One run: two instances, tables that are played, tables that are abandoned, and nodes that fall."""

    def __init__(self, cluster, clubs, http, noting, seed):
        self.cluster, self.clubs, self.http, self.noting = cluster, clubs, http, noting
        self.lot = random.Random(seed)
        self.load = Load(http)
        self.abandoned: list[str] = []
        self.fell: list[float] = []  # when, in seconds since 1970
        self.gaps: list[float] = []
        self.late: list[float] = []
        self.credited = 0

    async def run(self):
        one, two = self.clubs
        playing = asyncio.create_task(self.load.run())
        try:
            while len(self.abandoned) < SLEEPERS:
                await self.abandon()
            await self.load.some_more()
            await restart(two, PULKA_PARTITIONS="16")
            await self.fall()
            await self.load.some_more()
            await restart(one, PULKA_PARTITIONS="16")
            await restart(two, PULKA_PARTITIONS_USED="16")
            await self.fall()
            await self.load.until(lambda: any(partition(table) >= 8 for table in self.load.over))
            await restart(one, PULKA_PARTITIONS_USED="16")
            while not any(partition(table) >= 8 for table in self.abandoned):
                await self.abandon()
            await self.load.some_more()
        except BaseException:
            playing.cancel()
            raise
        self.load.ended = True
        async with asyncio.timeout(PATIENCE):
            await playing
        await self.check()

    async def abandon(self):
        """Open a table at which nobody moves."""
        seats = [Api(self.http, patience=PATIENCE) for _ in range(3)]
        for place, api in enumerate(seats):
            await api.sign_up(f"sleeper {place}")
        table = await seats[0].open_table(ABANDONED)
        for place, api in enumerate(seats):
            await api.sit(table, place)
        for api in seats:
            await api.ready(table)
        self.abandoned.append(table)

    async def fall(self):
        """Kill the leader of a stream in which tables lie; play on without it, then with it again, until it has all copies."""
        stream = table_address(self.lot.choice(self.abandoned)).stream
        victim = await self.cluster.leader(stream)
        self.fell.append(time.time())
        self.cluster.kill(victim)
        await self.load.some_more()
        self.cluster.start(victim)
        async with asyncio.timeout(READY):
            for club in self.clubs:
                while (await self.copies(club)).get("behind"):  # noqa: ASYNC110 - nobody tells when it is
                    await asyncio.sleep(0.5)  # between two questions

    async def copies(self, club):
        return (await health(club))["table"]["log_streams"]

    # ---- what holds ------------------------------------------------------------------------------------------------------

    async def check(self):
        log = await open_log(self.cluster.url, append_seconds=READY, open_seconds=READY)
        assert (log.partitions.known, log.partitions.used) == (16, 16)
        for table in (*self.load.opened, *self.abandoned):
            await self.nothing_is_lost(log, table)
        await log.close()
        for club in self.clubs:
            assert (await self.copies(club))["copies"]["least"] == NODES
        status, verified = await asyncio.to_thread(pulka, self.clubs[0], "audit", "verify")
        assert (status, verified["verified"], len(verified["tables"])) == (0, True, len(self.load.opened) + len(self.abandoned)), verified
        await self.turns_ended_in_time()

    async def nothing_is_lost(self, log, table):
        """Every acknowledged move lies where it was acknowledged, once; the chain holds, and every instance knows as much of it."""
        where = table_address(table)
        head = await log.newest(where)
        lying = await log.read(where, until=head.sequence)
        assert verify_chain([stored.data for stored in lying], where.subject).problems == ()
        commits = [decode(stored.data) for stored in lying]
        keys = [(commit.actor, commit.command_id) for commit in commits]
        assert len(keys) == len(set(keys)), "a command was stored twice"
        there = {
            commit.command_id: (stored.position, commit.revision, hash_of(stored.data))
            for commit, stored in zip(commits, lying, strict=True)
        }
        answers = {key: told for (of, key), told in self.noting.acknowledged.items() if of == table}
        lost = [key for key, told in answers.items() if there.get(key) != (told["position"], told["revision"], told["hash"])]
        assert lost == [], lost
        for club in self.clubs:
            async with httpx.AsyncClient(base_url=club.url, trust_env=False, timeout=20) as http:
                view = (await http.get(f"/v1/tables/{table}")).json()
            assert view["revision"] >= head.revision  # an abandoned one goes on
            assert table in self.abandoned or view["status"] == "over"

    async def turns_ended_in_time(self):
        """By the time at which NATS stored each: none before its time, none later than three seconds after it, or after the first commit of
        its stream behind a fall.
        """
        for stream in sorted({table_address(table).stream for table in self.abandoned}):
            stored = [message async for message in self.messages(stream)]
            silences = [
                (before, after)
                for (before, _), (after, _) in pairwise(stored)
                if after - before > SILENCE and any(before - SILENCE < fell < after for fell in self.fell)
            ]
            self.gaps += [after - before for before, after in silences]
            for at, commit in stored:
                for event in commit["events"]:
                    if event["type"] == "TurnTimedOut":
                        due = (event["deadline"] + event.get("credit", 0)) / 1000
                        self.credited += bool(event.get("credit"))
                        assert at >= due, (stream, commit["revision"], at - due)
                        again = max([due, *(after for before, after in silences if before <= due <= after)])
                        self.late.append(at - again)
        assert max(self.gaps, default=0.0) <= ELECTION, self.gaps
        assert max(self.late) <= LATE, sorted(self.late)[-10:]

    async def messages(self, stream):
        """Each commit of a stream, and when it was stored in seconds since 1970."""
        log = await open_log(self.cluster.url, append_seconds=READY, open_seconds=READY)
        for sequence in range(1, await log.last_sequence(stream) + 1):
            answer = await log._connection.request(f"$JS.API.STREAM.MSG.GET.{stream}", msgspec.json.encode({"seq": sequence}), 5.0)
            message = msgspec.json.decode(answer.data)["message"]
            yield datetime.fromisoformat(message["time"]).timestamp(), msgspec.json.decode(b64decode(message["data"]))
        await log.close()


async def run(home: Path, seed: int) -> Growth:
    """One growth, on servers of its own."""
    clubs = []
    with Cluster(home) as cluster, EmbeddedServers(home / "postgres", nats=False) as servers:
        for name in ("one", "two"):
            (home / name).mkdir()
            clubs.append(Club(cluster.url, servers.postgres_dsn, "pulka", home / name, PULKA_BOTS="no", PULKA_HOME=str(home / "nowhere")))
        with clubs[0] as one, clubs[1]:
            noting = Noting(clubs)
            async with httpx.AsyncClient(base_url=one.url, transport=noting, timeout=20, trust_env=False) as http:
                growth = Growth(cluster, clubs, http, noting, seed)
                await growth.run()
    return growth


def main() -> None:
    """Run and print."""
    options = argparse.ArgumentParser(prog="python -m tests.chaos.growing_kills")
    options.add_argument("--seed", type=int, default=1)
    chosen = options.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    with tempfile.TemporaryDirectory() as home:
        growth = asyncio.run(run(Path(home), chosen.seed))
    tell(
        "growing_moves_acknowledged",
        "moves",
        [len(growth.noting.acknowledged)],
        of="8 to 16 partitions, two nodes killed: 0 lost, 0 doubled",
    )
    tell("growing_turn_late_worst", "s", [max(growth.late)], of=f"{len(growth.late)} turns ran out, {growth.credited} with time given back")
    tell("growing_silence_of_a_stream", "s", growth.gaps)


if __name__ == "__main__":
    sys.exit(main())
