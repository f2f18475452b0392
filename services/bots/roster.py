"""The built-in players of a host: those that it signed up, and those of other hosts whose seats it plays on."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

import httpx

from services.bots.client import Api, ApiProblem

TABLES_A_BOT: Final = 8  # at a time: each is a stream, of which a player may hold 16, and two hosts may play one for a moment
NAMES: Final = ("Arkady", "Bella", "Chekhov", "Dasha", "Egor", "Fanny", "Gleb", "Herman")  # of the first bots; later ones get a number too
PATIENCE: Final = 30.0  # seconds that a seat's client asks again while servers are away, before the host looks after the seat anew
GONE: Final = frozenset({403, 404})  # answers that say that an account is no built-in player's, or none any more
AT_ONCE: Final = 16  # tokens asked for at a time: a host that takes over a thousand seats leaves the lobby time for people


class Bot:
    """One built-in player: its account, and the tables where it sits, as far as is known. `own`: this host signed it up."""

    def __init__(self, api: Api, *, own: bool) -> None:
        self.api = api
        self.own = own
        self.tables: set[str] = set()
        self.asking = asyncio.Lock()


class Roster:
    """Players of one host. `host` asks the lobby as the host itself."""

    def __init__(self, lobby: httpx.AsyncClient, tables: httpx.AsyncClient, host: Api) -> None:
        self._lobby = lobby
        self._tables = tables
        self._host = host
        self._bots: dict[str, Bot] = {}
        self._signed_up = 0
        self._at_once = asyncio.Semaphore(AT_ONCE)

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self._bots)

    def known(self, player: str) -> Bot:
        """The bot with this id, whoever signed it up; it may have no token yet."""
        if player not in self._bots:
            self._bots[player] = Bot(Api(self._lobby, "", player, PATIENCE, self._tables), own=False)
        return self._bots[player]

    async def authorize(self, bot: Bot) -> None:
        """Get the bot a token if it has none: the lobby gives them out, for built-in players alone."""
        async with bot.asking:
            if not bot.api.token:
                async with self._at_once:
                    bot.api.token = (await self._host.post(f"/v1/lobby/bots/{bot.api.player}/tokens", None))["token"]

    def forget(self, bot: Bot) -> None:
        """Its token is no longer taken."""
        bot.api.token = ""

    async def free(self, table: str) -> Bot:
        """A bot with room for one more table, signed up if there is none. One of another host's sits at tables that we do not know of."""
        for bot in list(self._bots.values()):
            if bot.own and len(bot.tables) < TABLES_A_BOT and table not in bot.tables and await self._lives(bot):
                return bot
        number, self._signed_up = self._signed_up, self._signed_up + 1
        name = NAMES[number % len(NAMES)] + (f" {number // len(NAMES) + 1}" if number >= len(NAMES) else "")
        answer = await self._host.post("/v1/lobby/players", {"name": name})
        player = answer["player"]["id"]
        self._bots[player] = Bot(Api(self._lobby, answer["token"], player, PATIENCE, self._tables), own=True)
        return self._bots[player]

    async def _lives(self, bot: Bot) -> bool:
        """Whether it has a token, or gets one; one whose account is gone is dropped."""
        try:
            await self.authorize(bot)
        except ApiProblem as problem:
            if problem.status not in GONE:
                raise
            self._bots.pop(bot.api.player, None)
            return False
        return True

    def sits(self, playing: Mapping[str, set[str]]) -> None:
        """Where all built-in players sit, as the lobby tells it; others that sit nowhere any more are dropped."""
        for player, bot in list(self._bots.items()):
            bot.tables &= playing.get(player, set())
            if not bot.own and not bot.tables:
                del self._bots[player]
