"""What a deal costs that nobody can choose: from its start to the cards, by algorithm 1 and by algorithm 2, in turns. JSON lines.

Tables of three players through the table's own commands, without HTTP, on a durable log of its own: each deal is started, cut, and with
chains all three links are opened at once.

* `deals_algorithm_*`: deals a second, 32 tables at a time.
* `cut_to_cards_algorithm_*`: milliseconds from the cut to the cards at one quiet table.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import Final

import structlog
import uvloop

from services.bots.chain import OwnChain
from services.cli.embedded import EmbeddedServers
from services.table.link_gathering import LinkGathering
from services.table.tables import Tables
from services.table.view import view
from shared.eventlog.aggregates.aggregates import Committed, Request
from shared.eventlog.jetstream.log import open_log
from shared.events.address import new_id
from shared.events.sealing import TableCodec
from shared.rules.convention.options import resolve
from shared.rules.language.game_events import CardsDealt
from shared.rules.language.moves import Cut, OpenLink
from shared.rules.pulka import decider as match
from shared.rules.pulka.decider import OpenPulka
from tests.load.figures import tell
from tests.services.ledger.played import KEYS

ROUNDS: Final = 7
DEALS: Final = 200  # of a round: one at each of so many tables, which are opened for it
AT_ONCE: Final = 32
QUIET: Final = 60  # deals one after another, whose time from cut to cards is taken
PLAYERS: Final = ("ann", "ben", "cid")
_numbers = count(1)


def now() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class Dealing:
    """Tables of one algorithm."""

    def __init__(self, tables: Tables, *, chained: bool) -> None:
        self.tables = tables
        self.links = LinkGathering(tables, now)
        self.chained = chained

    async def opened(self) -> tuple[str, list[OwnChain]]:
        """A table before its first deal, the links of round 0 opened."""
        number = next(_numbers)
        table_id = new_id(bytes([number % 8]) + number.to_bytes(16, "big"))
        opening = OpenPulka(resolve("sochi", 10), "00" * 32, 3, 10, PLAYERS, {}, 0)
        if not self.chained:
            await self.tables.open(table_id, opening, now(), None)
            return table_id, []
        chains = [OwnChain.of(table_id, player) for player in PLAYERS]
        await self.tables.open(table_id, self.tables.promised(table_id, opening, tuple(one.end for one in chains)), now(), None)
        await self.open_links(table_id, chains)
        return table_id, chains

    async def open_links(self, table_id: str, chains: list[OwnChain]) -> list[object]:
        """All three, at once."""
        table = (await self.tables.load(table_id)).state

        async def one(seat: int) -> object:
            link = chains[seat].link(view(table, seat, "", 0, ()))
            assert link is not None
            request = Request(f"link-{seat}-{link}", PLAYERS[seat], link, now())
            return await self.links.open(table_id, PLAYERS[seat], OpenLink(link), request)

        return await asyncio.gather(*(one(seat) for seat in range(3)))

    async def deal(self, table_id: str, chains: list[OwnChain]) -> float:
        """A deal up to its cards; seconds from the cut to them."""
        await self.tables.start_deal(table_id, 1, now())
        pulka = (await self.tables.load(table_id)).state.pulka
        cutter = pulka.seats[match.cutter(pulka)]
        began = time.perf_counter()
        outcome: object = await self.tables.move(table_id, cutter, Cut(11), None, Request(f"cut-{table_id}", cutter, "", now()))
        if self.chained:
            outcome = (await self.open_links(table_id, chains))[0]
        assert isinstance(outcome, Committed)
        assert any(isinstance(event, CardsDealt) for event in outcome.events)
        return time.perf_counter() - began

    async def rate(self) -> float:
        """Deals a second."""
        places = asyncio.Semaphore(AT_ONCE)
        ready = [await self.opened() for _ in range(DEALS)]

        async def one(table_id: str, chains: list[OwnChain]) -> None:
            async with places:
                await self.deal(table_id, chains)

        began = time.perf_counter()
        await asyncio.gather(*(one(*at) for at in ready))
        return DEALS / (time.perf_counter() - began)


async def run(nats_url: str) -> None:
    """All figures."""
    log = await open_log(nats_url, "bench", durable=True)
    both = {number: Dealing(Tables(log, TableCodec(KEYS)), chained=number == 2) for number in (1, 2)}
    rates: dict[int, list[float]] = {1: [], 2: []}
    times: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(ROUNDS):
        for number, dealing in both.items():
            rates[number].append(await dealing.rate())
    for _ in range(QUIET):
        for number, dealing in both.items():
            times[number].append(1000 * await dealing.deal(*await dealing.opened()))
    for number in both:
        tell(f"deals_algorithm_{number}", "deals/s", rates[number])
        tell(f"cut_to_cards_algorithm_{number}", "ms", times[number])
    tell("deals_algorithm_2_of_1", "ratio", [two / one for one, two in zip(rates[1], rates[2], strict=True)])
    await log.close()


def main() -> None:
    """Run and print."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(30))  # warnings and worse: figures only
    with tempfile.TemporaryDirectory() as home, EmbeddedServers(Path(home) / "home") as servers:
        uvloop.run(run(servers.nats_url))


if __name__ == "__main__":
    main()
