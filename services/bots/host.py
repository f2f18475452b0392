"""The bot host: finds tables that keep seats for bots, sits its players down there, and plays their seats through the public API.

It keeps nothing: which seats are its own it reads from the lobby's list, so after a restart it goes on where it was. Several hosts may run
at once: a seat is taken once, and of two that move for it one is told to look again.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncGenerator, Callable
from typing import Any, Final

import httpx
import structlog

from services.bots.client import Api, ApiProblem, ApiUnreachable
from services.bots.seated import Seated
from shared.web.auth import BOT, PLAY, READ, Issuer
from shared.web.problems import places

ROUND: Final = 0.5  # seconds between two looks for tables that want bots: a person who opened one hardly notices
SWEEP: Final = 60.0  # seconds between two looks for tables that were given up before they began
HOST_TOKEN: Final = 12 * 3600  # seconds after which the host's own token is made anew; it holds for a day
TABLES_A_BOT: Final = 8  # at a time: each is a stream, of which a token may hold 16
LIVE: Final = ("open", "full", "starting", "playing")  # statuses of tables at which somebody may be seated
NAMES: Final = ("Arkady", "Bella", "Chekhov", "Dasha", "Egor", "Fanny", "Gleb", "Herman")  # of the first bots; later ones get a number too
PATIENCE: Final = 30.0  # seconds that a seat's client asks again while servers are away, before the host looks after the seat anew

log = structlog.get_logger("bots")


class Bot:
    """One built-in player: its account, and the tables where it sits now."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.tables: set[str] = set()


class BotHost:
    """Runs from `start` to `stop`; `clock` is milliseconds since 1970."""

    def __init__(self, http: httpx.AsyncClient, issuer: Issuer, clock: Callable[[], int]) -> None:
        self._http = http
        self._issuer = issuer
        self._clock = clock
        self._bots: list[Bot] = []
        self._seats: dict[tuple[str, str], asyncio.Task[None]] = {}  # (table, player) → who plays there
        self._begun: set[str] = set()  # tables whose pulka has begun
        self._host = Api(http, patience=0.0)  # the rounds are its repetitions
        self._host_until = 0
        self._trouble = ""
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to look for tables."""
        self._task = asyncio.create_task(self._run())
        self._task.add_done_callback(_tell_defect)

    async def stop(self) -> None:
        """Leave every table as it is, at once; the seats stay the bots' own."""
        tasks = [task for task in (self._task, *self._seats.values()) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._task = None
        self._seats.clear()

    def health(self) -> dict[str, Any]:
        """`degraded` while the lobby cannot be asked, with the reason."""
        running = self._task is not None and not self._task.done()
        status = "down" if not running else "degraded" if self._trouble else "ok"
        return {
            "status": status,
            "bots": len(self._bots),
            "seats": len(self._seats),
            **({"reason": self._trouble} if self._trouble else {}),
        }

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        found, swept = False, loop.time()
        while True:
            try:
                self._renew()
                if not found:
                    await self._take_up_again()
                    found = True
                async for table in self._tables("wants_bots=true"):
                    await self._fill(table)
                if loop.time() - swept > SWEEP:
                    swept = loop.time()
                    await self._sweep()
                self._trouble = ""
            except (ApiProblem, ApiUnreachable) as wrong:
                reason = wrong.code if isinstance(wrong, ApiProblem) else "unreachable"
                if reason != self._trouble:  # once, not twice a second
                    log.warning("bot_host_waits", reason=reason)
                self._trouble = reason
            await asyncio.sleep(ROUND)

    def _renew(self) -> None:
        now = self._clock() // 1000
        if now >= self._host_until:
            self._host.token, self._host_until = self._issuer.issue_host(now), now + HOST_TOKEN

    async def _tables(self, query: str) -> AsyncGenerator[dict[str, Any], None]:
        """Tables of the lobby's list, private ones too, page after page."""
        cursor = ""
        while True:
            page = await self._host.get(f"/v1/lobby/tables?{query}&limit=200{cursor}")
            for table in page["tables"]:
                yield table
            if page["cursor"] is None:
                return
            cursor = f"&cursor={page['cursor']}"

    async def _take_up_again(self) -> None:
        """Seats that bots took in an earlier life: only bots take seats that are kept for them."""
        for status in LIVE:
            async for table in self._tables(f"status={status}"):
                for seat in table["seats"]:
                    if seat["for_bot"] and seat["player"] is not None:
                        log.info("bot_took_its_seat_again", table=table["id"], seat=seat["seat"])
                        self._play(self._known(seat["player"]["id"]), table["id"])

    def _known(self, player: str) -> Bot:
        """The bot with this id; who holds the private key can make the token that it had."""
        for bot in self._bots:
            if bot.api.player == player:
                return bot
        token = self._issuer.issue(player, (PLAY, READ, BOT), self._clock() // 1000)
        bot = Bot(Api(self._http, token, player, PATIENCE))
        self._bots.append(bot)
        return bot

    async def _fill(self, table: dict[str, Any]) -> None:
        """Take the free seats of a table that are kept for bots."""
        for seat in table["seats"]:
            if not seat["for_bot"] or seat["player"] is not None:
                continue
            bot = await self._free_bot(table["id"])
            try:
                await bot.api.sit(table["id"], seat["seat"])
            except ApiProblem as problem:
                if problem.status != 409:
                    raise
                continue  # another host, or the table has gone on
            log.info("bot_sat_down", table=table["id"], seat=seat["seat"])
            self._play(bot, table["id"])

    async def _free_bot(self, table: str) -> Bot:
        """A bot with room for one more table, signed up if there is none."""
        for bot in self._bots:
            if len(bot.tables) < TABLES_A_BOT and table not in bot.tables:
                return bot
        number = len(self._bots)
        name = NAMES[number % len(NAMES)] + (f" {number // len(NAMES) + 1}" if number >= len(NAMES) else "")
        answer = await self._host.post("/v1/lobby/players", {"name": name})
        bot = Bot(Api(self._http, answer["token"], answer["player"]["id"], PATIENCE))
        self._bots.append(bot)
        return bot

    def _play(self, bot: Bot, table: str) -> None:
        place = (table, bot.api.player)
        if place in self._seats:
            return
        bot.tables.add(table)
        self._seats[place] = asyncio.create_task(self._seat(bot, table))
        self._seats[place].add_done_callback(_tell_defect)

    async def _seat(self, bot: Bot, table: str) -> None:
        """Be ready, and play the seat to the end of the pulka, however often the servers go away."""
        try:
            while True:
                with contextlib.suppress(ApiUnreachable):
                    await bot.api.ready(table)
                    seated = Seated(bot.api, table, random.Random(), lambda _: self._begun.add(table))  # noqa: S311 - a game
                    await seated.play()
                    return
        except ApiProblem as problem:
            log.warning("bot_left_its_seat", table=table, code=problem.code)
        finally:
            bot.tables.discard(table)
            self._begun.discard(table)
            self._seats.pop((table, bot.api.player), None)

    async def _sweep(self) -> None:
        """Leave tables that were closed before they began: their streams would stay silent for ever."""
        for (table, _), task in list(self._seats.items()):
            if table not in self._begun:
                shown = await self._host.get(f"/v1/lobby/tables/{table}")
                if shown["status"] not in LIVE:
                    task.cancel()


def _tell_defect(task: asyncio.Task[None]) -> None:
    """What ended a task unforeseen is a defect of ours; told by kind, as its text may hold a card. A seat's clock plays on."""
    wrong = None if task.cancelled() else task.exception()
    if wrong is not None:
        log.error("bot_failed", kind=type(wrong).__name__, where=places(wrong))
