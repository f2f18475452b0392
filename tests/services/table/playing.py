"""Plays a table through its service, cards and legal moves by one seed, on the in-memory log; what tests of the table need and no more."""

from __future__ import annotations

import random
from itertools import count

from services.table.tables import Tables
from shared.eventlog.aggregates.aggregates import Committed, Request
from shared.eventlog.memory import MemoryLog, MemoryStore
from shared.events.address import new_id
from shared.events.keys import MasterKeys
from shared.events.sealing import TableCodec
from shared.rules.convention.options import resolve
from shared.rules.deal.claiming import may_claim
from shared.rules.language.moves import AnyMove, Claim
from shared.rules.pulka import decider as match
from shared.rules.pulka.decider import OpenPulka

KEYS = MasterKeys((("tests", bytes(range(32))),))
TABLE_ID = new_id(bytes(range(17)))
PLAYERS = ("ann", "ben", "cid", "dan", "eli")
BEGAN = 1_764_000_000_000  # milliseconds since 1970


class Playing:
    """One table and a clock that moves when it is told to."""

    def __init__(
        self, convention: str = "sochi", players: int = 3, target: int | None = 4, terms: dict | None = None, seed: int = 1, claims=0.0
    ):
        self.store = MemoryStore()
        self.log = MemoryLog(self.store)
        deals = random.Random(f"the deals of {seed}")
        self.tables = Tables(self.log, TableCodec(KEYS), server_seed=lambda: f"{deals.getrandbits(256):064x}")
        self.terms = terms or {}
        self.opening = OpenPulka(resolve(convention, target), "00" * 32, players, target, PLAYERS[:players], self.terms, 0)
        self.random = random.Random(seed)
        self.claims = claims  # the chance that who may claim does
        self.now = BEGAN
        self._keys = count()

    async def open(self):
        await self.tables.open(TABLE_ID, self.opening, self.now, None)
        await self.tables.start_deal(TABLE_ID, 1, self.now)
        return self

    async def table(self):
        return (await self.tables.load(TABLE_ID)).state

    async def send(self, player: str, move: AnyMove, key: str | None = None, if_match: int | None = None):
        self.now += 1_000
        request = Request(command_id=key or f"key-{next(self._keys)}", actor=player, digest=repr(move), now=self.now)
        return await self.tables.move(TABLE_ID, player, move, if_match, request)

    async def step(self):
        """One legal move of whoever is to act, drawn by the seed; between two deals the next deal starts."""
        table = await self.table()
        pulka = table.pulka
        if match.phase(pulka) == "between_deals":
            return await self.tables.start_deal(TABLE_ID, pulka.number + 1, self.now)
        seat = match.to_act(pulka)
        move = self.random.choice(match.legal_moves(pulka, seat))
        if self.claims and pulka.deal is not None and may_claim(pulka.deal, seat) and self.random.random() < self.claims:
            move = Claim(0 if pulka.deal.contract == "misere" else self.random.randint(0, 10 - sum(pulka.deal.tricks)))
        outcome = await self.send(pulka.seats[seat], move)
        assert isinstance(outcome, Committed), outcome
        return outcome

    async def until(self, phase: str, deal: int = 1):
        while (table := await self.table()).pulka.number < deal or match.phase(table.pulka) != phase:
            await self.step()
        return table
