"""Durable moves over HTTP with 64 tables at once, and what the same requests cost where there is no table: a bare validated POST that makes
one durable append. Beside them two ceilings, the bare POST and the bare append.

All players are played by this process: it learns each seat's hand from the API, follows the deal with the rules, and sends random legal
moves, one at a time for each table. To the bare handlers it plays the same deals once more, answer by answer as it heard them, so that its
own work and the requests are the same. Timed are windows of whole seconds; opening the tables is not. Prints one JSON line a figure.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import uvloop

from services.cli.embedded import EmbeddedServers
from shared.eventlog.jetstream.log import open_log
from shared.rules.convention.options import from_document
from shared.rules.deal.decider import Deal, evolve, open_deal
from shared.rules.deal.offer import legal_moves
from shared.rules.deck.cards import CARDS, DECK, hand_text, mask_of
from shared.rules.language import game_events as game
from shared.rules.language.deal_events import DealEvent
from shared.rules.language.game_events import Event
from shared.rules.language.moves import Concede
from shared.rules.scoring.sheet import empty_sheet
from tests.journeys.club import Club
from tests.load.bench_eventlog import appends
from tests.load.figures import tell
from tests.load.keep_alive import KeepAlive

TABLES = 64
KEPT = 600  # answers a table that are kept to be heard again: some 14 deals
EVENTS = msgspec.json.Decoder(list[DealEvent | game.DeckCut | game.SeedAdded | game.DealRevealed | game.PulkaClosed | game.DealStarted])


class TableLoad:
    """Plays one table for ever."""

    def __init__(self, number: int) -> None:
        self.random = random.Random(number)
        self.moves = 0
        self.latencies: list[float] = []
        self.authorizations: list[str] = []
        self.heard: list[bytes] = []
        self.going: Deal | None = None

    async def open(self, lobby: str) -> None:
        """Three people sign up, open a table, sit down and are ready."""
        connection = await KeepAlive.open(lobby)
        for place in range(3):
            _, signed = await connection.request("POST", "/v1/lobby/players", {"name": f"load {place}"})
            self.authorizations.append(f"Authorization: Bearer {signed['token']}\r\n")
        opening = {"convention": "sochi", "players": 3, "target": 500, "clock": {"move_s": 3600, "cut_s": 3600}}
        _, opened = await connection.request("POST", "/v1/lobby/tables", opening, self.authorizations[0])
        self.path = f"/v1/tables/{opened['id']}"
        address = f"/v1/lobby/tables/{opened['id']}"
        for place, authorization in enumerate(self.authorizations):
            await connection.request("POST", f"{address}/seats", {"seat": place}, authorization)
        for authorization in self.authorizations:
            await connection.request("POST", f"{address}/ready", None, authorization)
        await connection.close()

    async def sit_down(self, table: str) -> None:
        """Connect to the service that runs the table."""
        self.connection = await KeepAlive.open(table)

    async def view(self, seat: int) -> dict:
        """The table as `seat` sees it."""
        status, view = await self.ask("GET", self.path, None, self.authorizations[seat])
        if status != 200:
            raise RuntimeError(f"{status} {view!r}")
        return msgspec.json.decode(view)

    async def ask(self, method: str, path: str, body: object, headers: str) -> tuple[int, bytes]:
        """Status and body; the first bodies are kept."""
        answer = await self.connection.ask(method, path, body, headers)
        if len(self.heard) < KEPT:
            self.heard.append(answer[1])
        return answer

    async def play(self, until: float) -> None:
        """Move after move, deal after deal; first what is left of the deal in which it stopped before."""
        if self.going is not None:
            await self.deal(self.going, until)
        while time.perf_counter() < until:
            view = await self.view(0)
            if view["phase"] == "cut":  # else the next deal is being started
                cutter = view["to_act"]
                answer = await self.send(cutter, {"type": "cut", "at": 16})
                dealt = next(event for event in answer["events"] if event["type"] == "CardsDealt")
                hands = [dealt["hands"][seat] or (await self.view(seat))["hand"] for seat in range(3)]
                await self.deal(self.followed(view, hands), until)

    async def deal(self, deal: Deal, until: float) -> None:
        """One deal from its auction to its score."""
        self.going = deal
        while deal.phase != "scored" and time.perf_counter() < until:
            legal = [move for move in legal_moves(deal, deal.to_act) if not isinstance(move, Concede)]
            move = legal[0] if deal.phase == "auction" and self.random.random() < 0.5 else self.random.choice(legal)
            answer = await self.send(deal.to_act, msgspec.to_builtins(move))
            for event in EVENTS.decode(msgspec.json.encode(answer["events"])):
                if isinstance(event, game.TalonCardOpened | game.TalonTaken):
                    deal = self.with_talon(deal, event)
                deal = evolve(deal, event)
            self.going = deal

    def followed(self, view: dict, hands: list[str]) -> Deal:
        """The deal before its first call; what lies in the talon is known, in which order is seen when it opens."""
        talon = hand_text(DECK & ~sum(map(mask_of, hands)))
        convention, players = from_document(view["convention"]), view["players"]
        return open_deal(convention, players, 500, view["dealer"], empty_sheet(players), view["all_pass_in_row"], tuple(hands), talon)

    def with_talon(self, deal: Deal, event: Event) -> Deal:
        if (
            isinstance(event, game.TalonTaken)
            or CARDS.index(event.card) == deal.setup.talon[0]
            or deal.play is None
            or deal.play.number != 1
        ):
            return deal
        return msgspec.structs.replace(deal, setup=msgspec.structs.replace(deal.setup, talon=deal.setup.talon[::-1]))

    async def send(self, seat: int, move: dict) -> dict:
        self.moves += 1
        headers = f"{self.authorizations[seat]}Idempotency-Key: {self.moves}\r\n"
        began = time.perf_counter()
        status, answer = await self.ask("POST", f"{self.path}/moves", move, headers)
        if status != 200:
            raise RuntimeError(f"{status} {answer!r}")
        self.latencies.append(time.perf_counter() - began)
        return msgspec.json.decode(answer)


class Again(TableLoad):
    """Plays what a table has played, over and over: it sends the same requests, and hears what was answered then instead of what is now."""

    def __init__(self, number: int, then: TableLoad) -> None:
        super().__init__(number)
        self.number = number
        self.path = then.path
        self.authorizations = then.authorizations
        self.then = then.heard

    async def ask(self, method: str, path: str, body: object, headers: str) -> tuple[int, bytes]:
        status, _ = await self.connection.ask(method, path, body, headers)
        self.asked += 1
        if self.asked > len(self.then):
            raise HeardAll
        return status, self.then[self.asked - 1]

    async def play(self, until: float) -> None:
        while time.perf_counter() < until:
            self.asked, self.random, self.going = 0, random.Random(self.number), None
            with suppress(HeardAll):
                await super().play(until)


class HeardAll(Exception):
    """Nothing more was answered then."""


async def opened_tables(lobby: str) -> list[TableLoad]:
    """Tables whose pulka has begun."""
    loads = [TableLoad(number) for number in range(TABLES)]
    for start in range(0, TABLES, 8):
        await asyncio.gather(*(load.open(lobby) for load in loads[start : start + 8]))
    return loads


async def moves_per_second(arrangements: list[tuple[list[TableLoad], str]], seconds: float, rounds: int) -> list[list[float]]:
    """By arrangement, of tables and the service where they are played at, the rates of each round; one after the other in each round."""
    rates: list[list[float]] = [[] for _ in arrangements]
    for loads, url in arrangements:
        for load in loads:
            await load.sit_down(url)
    for _ in range(rounds + 1):
        for (loads, _), told in zip(arrangements, rates, strict=True):
            before, began = sum(load.moves for load in loads), time.perf_counter()
            await asyncio.gather(*(load.play(began + seconds) for load in loads))
            told.append((sum(load.moves for load in loads) - before) / (time.perf_counter() - began))
    return [told[1:] for told in rates]  # the first round warms up


@contextmanager
def bare(nats_url: str = "") -> Iterator[str]:
    """The address of the bare handlers; with `nats_url` each POST makes an append."""
    environment = os.environ | {"PYTHONPATH": "."} | ({"PULKA_NATS_URL": nats_url} if nats_url else {})
    script = str(Path(__file__).with_name("bare_post.py"))
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True, env=environment) as handlers:
        try:
            yield handlers.stdout.readline().strip()
        finally:
            handlers.terminate()


def once_more(loads: list[TableLoad]) -> list[TableLoad]:
    """What `loads` will have played by the time that these are asked to."""
    return [Again(number, load) for number, load in enumerate(loads)]


async def appends_per_second(url: str, seconds: float, rounds: int) -> list[float]:
    """Commits of the size of a move's straight to the log, as many in flight as there are tables."""
    log = await open_log(url, "bare", durable=True)
    rates = [await appends(log, TABLES, seconds) for _ in range(rounds)]
    await log.close()
    return rates


def main() -> None:
    """Run all and print."""
    options = argparse.ArgumentParser()
    options.add_argument("--seconds", type=float, default=4.0)
    options.add_argument("--rounds", type=int, default=5)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="pulka-bench-") as folder, EmbeddedServers(Path(folder) / "home") as servers:
        loads, rates, floors = separate(servers, Path(folder), chosen.seconds, chosen.rounds)
        moves = measure("http_durable_moves_64_tables", rates, loads)
        tell("http_bare_post_that_appends", "requests/s", floors)
        tell("http_durable_moves_of_bare_posts_that_append", "ratio", [rate / floor for rate, floor in zip(rates, floors, strict=True)])
        appended = uvloop.run(appends_per_second(servers.nats_url, chosen.seconds / 2, chosen.rounds))
        ceilings = [tell("bare_durable_appends_64_in_flight", "appends/s", appended)]
        with bare() as url:
            posted = uvloop.run(moves_per_second([(once_more(loads), url)], chosen.seconds / 2, chosen.rounds))[0]
        ceilings.append(tell("http_bare_validated_post", "requests/s", posted))
        tell("http_durable_moves_of_lower_ceiling", "%", [100 * moves / min(ceilings)])
        loads, rates = all_in_one(servers, Path(folder), chosen.seconds, chosen.rounds)
        measure("http_durable_moves_64_tables_all_in_one", rates, loads)


def separate(servers: EmbeddedServers, folder: Path, seconds: float, rounds: int) -> tuple[list[TableLoad], list[float], list[float]]:
    """The table service as a process of its own, as it runs at scale, and the bare handlers in turns; the lobby opens the tables and ends.
    The tables, their rates, and those of the bare handlers.
    """
    with Club(servers.nats_url, servers.postgres_dsn, "apart", folder, "table") as table, bare(servers.nats_url) as url:
        with Club(servers.nats_url, servers.postgres_dsn, "apart", folder, "lobby") as lobby:
            loads = uvloop.run(opened_tables(lobby.url))
        return loads, *uvloop.run(moves_per_second([(loads, table.url), (once_more(loads), url)], seconds, rounds))


def all_in_one(servers: EmbeddedServers, folder: Path, seconds: float, rounds: int) -> tuple[list[TableLoad], list[float]]:
    """Three services and the bot host in one process, every commit projected into the ledger while the tables play."""
    with Club(servers.nats_url, servers.postgres_dsn, "together", folder) as club:
        loads = uvloop.run(opened_tables(club.url))
        return loads, uvloop.run(moves_per_second([(loads, club.url)], seconds, rounds))[0]


def measure(name: str, rates: list[float], loads: list[TableLoad]) -> float:
    """The figures of one arrangement; returns its median rate."""
    rate = tell(name, "moves/s", rates)
    latencies = sorted(late for load in loads for late in load.latencies)
    tell(f"{name}_p50", "ms", [1000 * latencies[len(latencies) // 2]])
    tell(f"{name}_p99", "ms", [1000 * latencies[len(latencies) * 99 // 100]])
    return rate


if __name__ == "__main__":
    main()
