"""Pulkas played by a seeded lot through the rules, sealed and appended like any other: what the ledger's tests read."""

from __future__ import annotations

import random
from functools import reduce

from shared.eventlog.port import EventLog, Stored
from shared.events.address import MOST, Address, new_id, table
from shared.events.commit import FIRST_PREV_HASH, SCHEMA, Commit, encode, hash_of
from shared.events.keys import MasterKeys
from shared.events.sealing import TableCodec
from shared.rules.convention.options import resolve, to_document
from shared.rules.convention.rules_digest import rules_digest
from shared.rules.language.game_events import Event
from shared.rules.pulka import corrections
from shared.rules.pulka import decider as match
from shared.rules.pulka.decider import OpenPulka, Pulka
from shared.rules.scoring.settlement import is_time_up
from tests.lot import drawn_events

KEYS = MasterKeys((("test", bytes(range(32))),))
BEGAN = 1_700_000_000_000  # milliseconds; each commit comes a second after the one before


class PlayedTable:
    """One table, played move by move into `log`."""

    def __init__(
        self,
        log: EventLog,
        seed: int,
        *,
        partition: int = 0,
        players: int = 3,
        target: int | None = 6,
        people: int | None = None,
        began: int = BEGAN,
        **options: object,
    ) -> None:
        """Played by the lot `seed`; by the same people as other tables that are given the same `people`."""
        self._log = log
        self._began = began
        self.draw = random.Random(seed)
        self._codec = TableCodec(KEYS)
        self.address: Address = table(new_id(bytes([partition]) + self.draw.randbytes(17), MOST))
        self.id = self.address.id
        self.seats = tuple(f"{seat}-player-{seed if people is None else people}" for seat in range(players))
        self._options = {"convention": "sochi", "terms": {}} | options
        self._players, self._target = players, target
        self.pulka = Pulka(table_id=self.id)
        self.commits: list[Stored] = []
        self._head, self._sequence = FIRST_PREV_HASH, 0
        self.schema = SCHEMA  # raised: as a later version of the program writes

    async def open(self) -> Stored:
        """The pulka's first commit."""
        convention, terms = resolve(self._options["convention"], self._target), self._options["terms"]
        digest = rules_digest(to_document(convention), self._players, self._target, terms)
        wanted = OpenPulka(convention, digest, self._players, self._target, self.seats, terms, self.draw.randrange(12), "5e" * 32)
        return await self.commit("service", match.open_pulka(self.pulka, wanted))

    async def step(self) -> Stored | None:
        """The next commit; None when the pulka is over."""
        if not self.commits:
            return await self.open()
        if match.phase(self.pulka) == "over":
            return None
        at = self._began + 1000 * (len(self.commits) + 1)
        seat, events = drawn_events(self.pulka, self.draw, time_up=is_time_up(self.pulka.convention, self._began + 1000, at))
        return await self.commit("service" if seat is None else self.pulka.seats[seat], events)

    async def play(self, *, deals: int = 0, commits: int = 0) -> PlayedTable:
        """On to the end, or until so many deals are scored, or so many commits made."""
        while not (commits and len(self.commits) >= commits):
            if deals and match.phase(self.pulka) == "between_deals" and self.pulka.number >= deals:
                break
            if await self.step() is None:
                break
        return self

    async def correct(self, *amounts: int | str, author: str = "operator:desk", reason: str = "a trick was counted twice") -> Stored:
        """A correction of the settled pulka."""
        return await self.commit(author, corrections.correct(self.pulka, author, corrections.read_amounts(amounts), reason))

    async def annul(self, author: str = "operator:desk", reason: str = "two players were one") -> Stored:
        """The settled pulka counts for nothing."""
        return await self.commit(author, corrections.annul(self.pulka, author, reason))

    async def commit(self, actor: str, decided: tuple[Event, ...]) -> Stored:
        revision = len(self.commits) + 1
        data = encode(
            Commit(
                aggregate=self.address.subject, revision=revision, schema=self.schema, at=self._began + 1000 * revision, actor=actor,
                command_id=f"command-{revision}", command_digest="", cause=None, correlation=None, prev_hash=self._head,
                events=self._codec.seal(self.address, decided, self.draw.randbytes(32)),
            )
        )  # fmt: skip
        stored = await self._log.append(self.address, data, self._sequence)
        self.pulka = reduce(match.evolve, decided, self.pulka)
        self._head, self._sequence = hash_of(data), stored.sequence
        self.commits.append(stored)
        return stored
