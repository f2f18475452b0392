"""Bot hosts as processes beside a club's, and tables at which somebody plays with built-in players."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time

import httpx

from services.bots.client import Api
from services.bots.seated import Seated
from tests.journeys.club import Club

TERMS = {"convention": "sochi", "players": 3, "bots": 2}
PULKA = [sys.executable, "-c", "from services.cli.main import main; main()"]
SECRETS = ("PULKA_NATS_URL", "PULKA_POSTGRES_DSN", "PULKA_MASTER_KEYS_FILE", "PULKA_TOKEN_KEY_FILE")


def host_token(club: Club) -> str:
    """A bot host's token, as an operator of the club makes it."""
    return subprocess.check_output([*PULKA, "token", "--scope", "host"], env=club.environment, text=True)


class BotHost(Club):
    """`pulka serve bots` for the given addresses: no server's password, no key, and a token that `pulka token` made."""

    def __init__(self, club, folder, lobby, table, **settings):
        given = {"PULKA_LOBBY_URL": lobby, "PULKA_TABLE_URL": table, "PULKA_BOT_TOKEN_FILE": str(folder / "token")}
        super().__init__("", "", "", folder, "bots", **given, PULKA_HOME=str(folder / "nowhere"), **settings)
        (folder / "token").write_text(host_token(club))
        for name in SECRETS:
            del self.environment[name]
        self.environment["PULKA_TOKEN_PUBLIC_KEYS_FILE"] = club.environment["PULKA_TOKEN_PUBLIC_KEYS_FILE"]
        for name in ("token_key", "master_keys"):
            (folder / name).unlink()

    def told(self):
        return httpx.get(f"{self.url}/health", trust_env=False, timeout=20).json()["services"]["bots"]


class Watched:
    """A table that somebody plays at with two bots; all that was seen of it."""

    def __init__(self, target=2):
        self.target = target
        self.table, self.player, self.view = "", "", {}
        self.revisions, self.events, self.times = [], [], []
        self.reached = asyncio.Event()

    def __call__(self, commit):
        self.revisions.append(commit["revision"])
        self.events += commit["events"]
        self.times.append(time.monotonic())
        if commit["revision"] >= 20:
            self.reached.set()

    async def play(self, http):
        api = Api(http)
        await api.sign_up("Vera")
        self.table, self.player = await api.open_table(TERMS | {"target": self.target}), api.player
        await api.sit(self.table)
        await api.ready(self.table)
        self.view = await Seated(api, self.table, self.table, self).play()

    def kinds(self, kind):
        return [event for event in self.events if event["type"] == kind]
