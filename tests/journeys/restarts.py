"""Tables in play over two instances that are restarted one after the other, or of which one is killed; and what their clients meet.

`python -m tests.journeys.restarts --tables 256 --rounds 10` does more of it than a test has time for, on servers of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import msgspec

from services.cli.embedded import EmbeddedServers
from shared.eventlog.jetstream.log import open_log
from shared.events.address import table as table_address
from shared.events.commit import decode, hash_of
from tests.journeys.club import Club
from tests.journeys.wires import Client, Tally, hashed, in_turn

THINK = 0.2  # seconds before a move: sixty-four tables make some two hundred a second then, and leave a process that starts its share
LONG = {"move_s": 3600, "cut_s": 3600}
SEATS = 3
PATIENCE = 120.0  # seconds for what takes one or two where nobody else is busy


class Table:
    """One table with three players who think a little and move, and somebody who follows its stream."""

    def __init__(self, number: int, tokens: Sequence[str], clients: tuple[Client, Client]) -> None:
        self.id = ""
        self.acknowledged: dict[int, str] = {}  # hashes by revision
        self.answered: list[tuple[int, int, float]] = []  # by move: which instance showed the view, which took the move, and when
        self.followed: dict[int, dict] = {}  # commit frames by revision, each once and in order
        self.refused = 0
        self._random = random.Random(number)
        self._tokens = tokens
        self.player, self._onlooker = clients

    async def play(self, ended: asyncio.Event, think: float) -> None:
        while not ended.is_set():
            await asyncio.sleep(think)
            view = await self._view(0)
            seat = view["to_act"]
            if seat is None:
                continue  # the next deal is being started
            legal = (view if seat == 0 else await self._view(seat))["legal"]
            shown_by = self.player.answered_by
            if not legal:
                continue  # the clock was faster
            key = f"move-{len(self.acknowledged)}-{self.refused}"
            move = await self._filled_in(seat, self._random.choice(legal))
            status, answer = await self.player.ask("POST", f"/v1/tables/{self.id}/moves", move, token=self._tokens[seat], key=key)
            if status in {409, 412}:
                self.refused += 1
                continue
            assert status == 200, answer
            assert answer["revision"] not in self.acknowledged
            self.acknowledged[answer["revision"]] = answer["hash"]
            self.answered.append((shown_by, self.player.answered_by, time.monotonic()))

    async def follow(self) -> None:
        async for frame in self._onlooker.commits(self.id):
            assert frame["revision"] == len(self.followed) + 1, "without a gap, and nothing twice"
            self.followed[frame["revision"]] = frame

    async def _view(self, seat: int) -> dict:
        status, view = await self.player.ask("GET", f"/v1/tables/{self.id}", token=self._tokens[seat])
        assert status == 200, view
        return view

    async def _filled_in(self, seat: int, move: dict) -> dict:
        if move["type"] not in {"discard", "claim"}:
            return move
        view = await self._view(seat)
        if move["type"] == "discard":
            return move | {"cards": self._random.sample(view["hand"].split(), 2)}
        return move | {"tricks": 0 if view["contract"] == "misere" else 10 - sum(view["tricks"])}


class House:
    """Two instances and all who play there."""

    def __init__(self, clubs: Sequence[Club], tally: Tally, think: float = THINK) -> None:
        self.clubs, self.tally, self.think = clubs, tally, think
        self.tables: list[Table] = []
        self.ended = asyncio.Event()
        self._ports = [lambda club=club: club.port for club in clubs]
        self._clients: list[Client] = []
        self._tokens: list[str] = []

    def client(self, table: str | None = None) -> Client:
        """Somebody who stays with a table's instance, or with none."""
        choose = in_turn(len(self.clubs)) if table is None else hashed(table, len(self.clubs))
        self._clients.append(Client(self._ports, choose, self.tally))
        return self._clients[-1]

    async def open(self, tables: int, *, affinity: int, clock: dict[str, int]) -> None:
        """Open so many tables, the first `affinity` of them hashed by their ids."""
        desk = self.client()
        self._tokens = [(await self.done(desk, "POST", "/v1/lobby/players", {"name": f"player {seat}"}))["token"] for seat in range(SEATS)]
        opened = await asyncio.gather(*(self._opened(self.client(), clock) for _ in range(tables)))
        for number, table in enumerate(opened):
            home = table if number < affinity else None
            self.tables.append(Table(number, self._tokens, (self.client(home), self.client(home))))
            self.tables[-1].id = table

    async def _opened(self, client: Client, clock: dict[str, int]) -> str:
        terms = {"convention": "sochi", "players": SEATS, "target": 100, "rated": False, "clock": clock}
        table = (await self.done(client, "POST", "/v1/lobby/tables", terms, token=self._tokens[0]))["id"]
        for seat, token in enumerate(self._tokens):
            await self.done(client, "POST", f"/v1/lobby/tables/{table}/seats", {"seat": seat}, token=token)
        for token in self._tokens:
            await self.done(client, "POST", f"/v1/lobby/tables/{table}/ready", token=token)
        return table

    async def people_come(self) -> None:
        """Somebody signs up, opens a table, sits down, reads the club's books, and closes the table again, all the while."""
        client = self.client()
        while not self.ended.is_set():
            token = (await self.done(client, "POST", "/v1/lobby/players", {"name": "newcomer"}))["token"]
            table = (await self.done(client, "POST", "/v1/lobby/tables", {"convention": "sochi"}, token=token))["id"]
            await self.done(client, "POST", f"/v1/lobby/tables/{table}/seats", {}, token=token)
            await self.done(client, "GET", f"/v1/lobby/tables/{table}", token=token)
            await self.done(client, "GET", "/v1/ledger/checkpoints")
            await self.done(client, "DELETE", f"/v1/lobby/tables/{table}", token=token)

    async def done(self, client: Client, method: str, path: str, body: object = None, *, token: str = "") -> dict:
        """What a request of the lobby is answered."""
        key = f"k{self.tally.requests}" if method == "POST" and body != {"name": "newcomer"} else ""
        status, answer = await client.ask(method, path, body, token=token, key=key)
        assert status in {200, 201, 204}, (method, path, status, answer)
        return answer

    @asynccontextmanager
    async def in_play(self, *, newcomers: bool = True) -> AsyncIterator[None]:
        """Everybody plays and follows; at the end the players stop, and whoever follows has seen all that was acknowledged."""
        async with asyncio.TaskGroup() as group:
            followers = [group.create_task(table.follow()) for table in self.tables]
            players = [group.create_task(table.play(self.ended, self.think)) for table in self.tables]
            if newcomers:
                players.append(group.create_task(self.people_come()))
            yield
            self.ended.set()
            await asyncio.gather(*players)
            await self.until(lambda: all(max(table.acknowledged) in table.followed for table in self.tables))
            for follower in followers:
                follower.cancel()
        for client in self._clients:
            await client.close()

    async def some_moves(self, count: int = 2) -> None:
        """Every table makes so many moves from now on."""
        wanted = [len(table.acknowledged) + count for table in self.tables]
        await self.until(lambda: all(len(table.acknowledged) >= least for table, least in zip(self.tables, wanted, strict=True)))

    async def until(self, true) -> None:
        async with asyncio.timeout(PATIENCE):
            while not true():  # noqa: ASYNC110 - sixty-four tables, of which none tells
                await asyncio.sleep(0.02)  # the interval of a poll

    async def nothing_is_lost_or_doubled(self, nats_url: str, namespace: str) -> int:
        """How many moves: the log has each where it was acknowledged, once, and no other. Whoever followed saw the log."""
        log = await open_log(nats_url, namespace)
        moves = 0
        for table in self.tables:
            stored = {one.revision: one.data for one in await log.read(table_address(table.id))}
            hashes = {revision: hash_of(data) for revision, data in stored.items()}
            assert {revision: hashes[revision] for revision in table.acknowledged} == table.acknowledged
            commands = [commit.command_id for data in stored.values() if (commit := decode(data)).actor not in {"service", "clock"}]
            assert len(commands) == len(set(commands)) == len(table.acknowledged)
            assert all(hashes[revision] == frame["hash"] for revision, frame in table.followed.items())
            moves += len(commands)
        await log.close()
        return moves


async def restarted(house: House, rounds: int) -> list[float]:
    """Restart each instance in turn, so many times, while everybody plays; how many seconds each took to stop."""
    stops = []
    await house.some_moves()
    for _ in range(rounds):
        for club in house.clubs:
            began = time.monotonic()
            await asyncio.to_thread(club.stop)  # asserts that it ends with 0
            stops.append(time.monotonic() - began)
            await asyncio.to_thread(club.start)
            await house.some_moves()
    return stops


async def killed(house: House, club: Club) -> list[float]:
    """Kill `club`; by table that it served: seconds until a view and, after it, a move was answered elsewhere."""
    await house.some_moves()
    at = time.monotonic()
    await asyncio.to_thread(club.kill)
    site = house.clubs.index(club)
    served = [table for table in house.tables if hashed(table.id, len(house.clubs))(0) == site]
    assert all(site in table.answered[-1] for table in served)

    def after(table: Table) -> float | None:
        return next((moved - at for *by, moved in table.answered if moved > at and site not in by), None)

    await house.until(lambda: None not in map(after, served))
    return [took for table in served if (took := after(table)) is not None]


@asynccontextmanager
async def house_of(
    nats_url: str, postgres_dsn: str, namespace: str, folder: Path, tables: int, *, affinity: int, clock: dict[str, int]
) -> AsyncIterator[House]:
    """Two instances with so many tables opened, the first `affinity` of them hashed by their ids."""
    with ExitStack() as stack:
        clubs = []
        for name in ("one", "two"):
            (folder / name).mkdir()
            clubs.append(stack.enter_context(Club(nats_url, postgres_dsn, namespace, folder / name, PULKA_BOTS="no")))
        house = House(clubs, Tally())
        await house.open(tables, affinity=affinity, clock=clock)
        yield house


async def rolling(servers: EmbeddedServers, folder: Path, tables: int, rounds: int) -> None:
    """A rolling restart, told as one JSON object."""
    async with house_of(servers.nats_url, servers.postgres_dsn, "restarts", folder, tables, affinity=tables // 2, clock=LONG) as house:
        began = time.monotonic()
        async with house.in_play():
            stops = await restarted(house, rounds)
        told = {"tables": tables, "restarts": len(stops), "seconds": round(time.monotonic() - began, 1)}
        told["moves"] = await house.nothing_is_lost_or_doubled(servers.nats_url, "restarts")
        told["slowest_stop_s"] = round(max(stops), 2)
    sys.stdout.write(msgspec.json.encode(told | msgspec.to_builtins(house.tally)).decode() + "\n")


def main() -> None:
    """On servers of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pulka-restarts-") as folder, EmbeddedServers(Path(folder) / "home") as servers:
        asyncio.run(rolling(servers, Path(folder), given.tables, given.rounds))


if __name__ == "__main__":
    main()
