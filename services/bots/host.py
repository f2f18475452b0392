"""The bot host: finds tables that keep seats for bots, sits its players down there, and plays their seats through the public API.

It keeps nothing. Hosts share the tables among them (`share`); what a host has to play it reads from the lobby, whenever a part of its share
comes to it, so that it goes on where another stopped. It plays at most a number of seats, and waits with the rest.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable
from typing import Any, Final

import httpx
import structlog

from services.bots import figures
from services.bots.chain import OwnChain
from services.bots.client import Api, ApiProblem, ApiUnreachable
from services.bots.leases import LobbyLeases
from services.bots.roster import Bot, Roster
from services.bots.seated import Seated
from services.bots.share import LOOK, Share, bucket_of, new_host
from shared.web.problems import places

ROUND: Final = 0.5  # seconds between two looks for tables that want bots: a person who opened one hardly notices
SWEEP: Final = 60.0  # seconds between two looks for tables that were given up before they began
LIST: Final = 20.0  # seconds between two looks for seats of ours that nobody plays: a turn lasts thirty
LATER: Final = 2.0  # seconds after which a bucket that came is looked through again: the lobby's rows come a little after its log
ATTEND: Final = 2.0  # seconds that a look at the leases may take; it takes milliseconds
GIVE_BACK: Final = 0.12  # seconds that a stop takes to give back its share: two requests, of what a process has for it
LIVE: Final = ("open", "full", "starting", "playing")  # statuses of tables at which somebody may be seated

log = structlog.get_logger("bots")


class BotHost:
    """Runs from `start` to `stop`; `token` gives the token by which the lobby knows it, `most` is how many seats it plays at a time.

    `tables` is the client of the table service, `lobby` that of the lobby; they may be the same.
    """

    def __init__(
        self, lobby: httpx.AsyncClient, tables: httpx.AsyncClient, token: Callable[[], str], most: int, *, holder: str = ""
    ) -> None:
        self._token = token
        self._most = most
        self._api = Api(lobby, token(), patience=0.0, tables=tables)  # the rounds are its repetitions
        self._roster = Roster(lobby, tables, self._api)
        self._share = Share(LobbyLeases(self._api), holder or new_host(), time.monotonic, self._taken, self._dropped)
        self._seats: dict[tuple[str, str], asyncio.Task[None]] = {}  # (table, player) → who plays there
        self._waiting: dict[tuple[str, str], bool] = {}  # seats of ours that nobody plays, and whether they are ready
        self._unfilled = 0  # seats that nobody has taken, since this host has as many as it may
        self._begun: set[str] = set()  # tables whose pulka has begun
        self._list_at: list[float] = []  # when to look for seats, the soonest first, by the loop's clock
        self._came = asyncio.Event()  # a bucket has come
        self._trouble = {"rounds": "", "share": ""}
        self._tasks: list[asyncio.Task[None]] = []

    # ---- its life ------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Begin to look for tables."""
        figures.MOST.set(self._most)
        for running in (self._attend_on(), self._round_on()):
            task = asyncio.create_task(running)
            task.add_done_callback(_tell_defect)
            self._tasks.append(task)

    async def stop(self) -> None:
        """Leave every table as it is, at once, to the other hosts; the seats stay the bots' own."""
        begun, self._tasks = self._tasks, []
        for task in begun:
            task.cancel()
        await asyncio.gather(*begun, return_exceptions=True)
        if begun:
            with contextlib.suppress(ApiProblem, ApiUnreachable, TimeoutError):  # others take over in three seconds
                async with asyncio.timeout(GIVE_BACK):
                    await self._share.give_back()
        playing = list(self._seats.values())
        for task in playing:
            task.cancel()
        await asyncio.gather(*playing, return_exceptions=True)
        self._seats.clear()
        self._count()

    def health(self) -> dict[str, Any]:
        """`degraded` while the lobby cannot be asked, or while seats wait since there are as many as may be, with the reason."""
        running = bool(self._tasks) and not any(task.done() for task in self._tasks)
        waiting = self._count()
        trouble = next(filter(None, self._trouble.values()), "full" if waiting else "")
        return {
            "status": "down" if not running else "degraded" if trouble else "ok",
            "bots": self._roster.size,
            "seats": len(self._seats),
            "seats_most": self._most,
            "seats_waiting": waiting,
            "buckets": len(self._share.held),
            **({"reason": trouble} if trouble else {}),
        }

    def _count(self) -> int:
        """How many seats wait; for `/metrics` too."""
        waiting = len(self._waiting) + self._unfilled
        figures.SEATS.set(len(self._seats))
        figures.WAITING.set(waiting)
        figures.HELD.set(len(self._share.held))
        return waiting

    def _tell(self, part: str, wrong: Exception | None) -> None:
        """Why a part waits, in the log once, not twice a second."""
        reason = "" if wrong is None else wrong.code if isinstance(wrong, ApiProblem) else "unreachable"
        if reason and reason != self._trouble[part]:
            log.warning("bot_host_waits", part=part, reason=reason)
        self._trouble[part] = reason

    # ---- its share -----------------------------------------------------------------------------------------------------

    async def _attend_on(self) -> None:
        while True:
            try:
                self._api.token = self._token()
                async with asyncio.timeout(ATTEND):
                    await self._share.attend()
                self._tell("share", None)
            except (ApiProblem, ApiUnreachable, TimeoutError) as wrong:
                self._tell("share", wrong)
            self._count()
            await asyncio.sleep(LOOK)

    def _taken(self, _buckets: set[str]) -> None:
        now = asyncio.get_running_loop().time()
        self._list_at = sorted([now, now + LATER, *self._list_at])
        self._came.set()

    def _dropped(self, buckets: set[str]) -> None:
        """Leave the seats there to whoever has them now; what is under way they repeat under the same keys."""
        for (table, _), task in self._seats.items():
            if bucket_of(table) in buckets:
                task.cancel()
        self._waiting = {place: ready for place, ready in self._waiting.items() if bucket_of(place[0]) not in buckets}

    # ---- its rounds ----------------------------------------------------------------------------------------------------

    async def _round_on(self) -> None:
        loop = asyncio.get_running_loop()
        swept = loop.time()
        while True:
            try:
                await self._list_when_due(loop.time())
                self._play_waiting()
                await self._fill_all()
                if loop.time() - swept > SWEEP:
                    swept = loop.time()
                    await self._sweep()
                self._tell("rounds", None)
            except (ApiProblem, ApiUnreachable) as wrong:
                self._tell("rounds", wrong)
            await self._pause()

    async def _pause(self) -> None:
        """Till the next round; a bucket that comes begins it at once."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ROUND):
                await self._came.wait()
        self._came.clear()

    async def _list_when_due(self, now: float) -> None:
        """Look for seats that bots took, ours or those of a host that is gone: only bots take seats that are kept for them."""
        if not self._list_at or self._list_at[0] > now:
            return
        playing: dict[str, set[str]] = {}
        found: dict[tuple[str, str], bool] = {}
        async for seat in self._pages("/v1/lobby/bots/seats?limit=1000", "seats"):
            playing.setdefault(seat["player"], set()).add(seat["table"])
            place = seat["table"], seat["player"]
            if self._share.has(seat["table"]) and place not in self._seats:
                found[place] = seat["ready"]
        for table, player in self._seats:
            playing.setdefault(player, set()).add(table)  # the rows may not have it yet
        self._waiting = {place: ready for place, ready in found.items() if self._share.has(place[0])}
        self._roster.sits(playing)
        self._list_at = [at for at in self._list_at if at > now] or [now + LIST]

    def _play_waiting(self) -> None:
        for place, ready in list(self._waiting.items()):
            if len(self._seats) >= self._most:
                return
            del self._waiting[place]
            log.info("bot_took_its_seat_again", table=place[0])
            self._play(self._roster.known(place[1]), place[0], ready=ready)

    async def _pages(self, path: str, name: str) -> AsyncGenerator[dict[str, Any], None]:
        """What a list of the lobby has, page after page."""
        cursor = ""
        while True:
            page = await self._api.get(path + cursor)
            for one in page[name]:
                yield one
            if page["cursor"] is None:
                return
            cursor = f"&cursor={page['cursor']}"

    async def _fill_all(self) -> None:
        """Take the free seats at tables that want bots, private ones too, as far as they are ours and as there is room."""
        unfilled = 0
        async for table in self._pages("/v1/lobby/tables?wants_bots=true&limit=200", "tables"):
            for seat in table["seats"]:
                if not seat["for_bot"] or seat["player"] is not None or not self._share.has(table["id"]):
                    continue
                if len(self._seats) + len(self._waiting) >= self._most:
                    unfilled += 1
                else:
                    await self._fill(table["id"], seat["seat"])
        self._unfilled = unfilled

    async def _fill(self, table: str, seat: int) -> None:
        bot = await self._roster.free(table)
        try:
            await bot.api.sit(table, seat)
        except ApiProblem as problem:
            if problem.status == 401:
                self._roster.forget(bot)  # the next round gets it another token
            elif problem.status != 409:  # else another host was faster, or the table has gone on
                log.warning("bot_not_seated", table=table, code=problem.code)
            return
        log.info("bot_sat_down", table=table, seat=seat)
        self._play(bot, table, ready=False)

    # ---- a seat --------------------------------------------------------------------------------------------------------

    def _play(self, bot: Bot, table: str, *, ready: bool) -> None:
        place = (table, bot.api.player)
        if place in self._seats:
            return
        bot.tables.add(table)
        if not self._share.has(table):  # it went to another host meanwhile, which finds the seat
            return
        task = self._seats[place] = asyncio.create_task(self._seat(bot, table, ready=ready))
        task.add_done_callback(lambda _: self._seats.pop(place, None))
        task.add_done_callback(_tell_defect)

    async def _seat(self, bot: Bot, table: str, *, ready: bool) -> None:
        """Be ready, and play the seat to the end of the pulka, however often the servers go away."""
        try:
            while True:
                try:
                    await self._roster.authorize(bot)
                    chain = OwnChain.of(table, bot.api.token)
                    if not ready:
                        await bot.api.ready(table, chain.end)
                    await Seated(bot.api, table, f"{table} {bot.api.player}", lambda _: self._begun.add(table), chain).play()
                except ApiUnreachable:
                    await asyncio.sleep(ROUND)
                else:
                    bot.tables.discard(table)
                    return
        except ApiProblem as problem:
            if problem.status == 401:
                self._roster.forget(bot)  # its key is gone: the next look gets it another token
            log.warning("bot_left_its_seat", table=table, code=problem.code)
        finally:
            self._begun.discard(table)

    async def _sweep(self) -> None:
        """Leave tables that were closed before they began: their streams would stay silent for ever."""
        for (table, _), task in list(self._seats.items()):
            if table not in self._begun:
                shown = await self._api.get(f"/v1/lobby/tables/{table}")
                if shown["status"] not in LIVE:
                    task.cancel()


def _tell_defect(task: asyncio.Task[None]) -> None:
    """What ended a task unforeseen is a defect of ours; told by kind, as its text may hold a card. A seat's clock plays on."""
    wrong = None if task.cancelled() else task.exception()
    if wrong is not None:
        log.error("bot_failed", kind=type(wrong).__name__, where=places(wrong))
