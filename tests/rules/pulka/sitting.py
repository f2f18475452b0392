"""A match whose people come and go: played by lot, with requests in between."""

from __future__ import annotations

import random
from functools import reduce

from shared.rules.convention.options import PRESETS, Convention, to_document
from shared.rules.convention.rules_digest import rules_digest
from shared.rules.language.game_events import Event
from shared.rules.language.moves import Join
from shared.rules.language.refusal import Refused
from shared.rules.pulka import decider as match
from shared.rules.pulka.decider import OpenPulka, Pulka
from tests.lot import drawn_events

PLAYERS = ("ann", "ben", "cid", "dan")
TABLE = "3-" + "ab" * 13


class Match:
    """One match and what happened in it; a request that is refused is a failure of the test, but in `refused`."""

    def __init__(self, convention: Convention = PRESETS["sochi"], players: int = 3, target: int | None = 50, lot: int = 1):
        self.draw = random.Random(lot)
        digest = rules_digest(to_document(convention), players, target, {})
        opened = match.open_pulka(Pulka(table_id=TABLE), OpenPulka(convention, digest, players, target, PLAYERS[:players], {}, lot))
        self.pulka = Pulka(table_id=TABLE)
        self.events: list[Event] = []
        self.happens(opened)

    def does(self, seat: int, move: object) -> tuple[Event, ...]:
        """A move of the player at `seat`, and what it caused."""
        return self.happens(match.decide(self.pulka, seat, move))

    def joins(self, player: str, seat: int | None = None) -> tuple[Event, ...]:
        """Somebody asks for a seat."""
        return self.happens(match.decide_join(self.pulka, player, Join(seat)))

    def refused(self, seat: int, move: object) -> tuple[str, str]:
        """Code and rule by which the move of `seat` is refused."""
        answer = match.decide(self.pulka, seat, move)
        assert isinstance(answer, Refused), answer
        return answer.code, answer.rule

    def plays(self, deals: int) -> Match:
        """On to the moment after deal number `deals`, before the next begins."""
        while self.pulka.number < deals or match.phase(self.pulka) not in ("between_deals", "over"):
            self.happens(drawn_events(self.pulka, self.draw)[1])
        return self

    def until(self, phase: str) -> Match:
        """On to a phase of the next deal that has it."""
        while match.phase(self.pulka) != phase:
            self.happens(drawn_events(self.pulka, self.draw)[1])
        return self

    def happens(self, decided: tuple[Event, ...] | Refused) -> tuple[Event, ...]:
        """What was decided becomes part of the match."""
        assert not isinstance(decided, Refused), decided
        assert decided, "nothing happened"
        self.events += decided
        self.pulka = reduce(match.evolve, decided, self.pulka)
        return decided
