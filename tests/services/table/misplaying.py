"""Plays an adjudicated table with seeded moves of which many break a rule, and keeps account of what each viewer has a right to know."""

from __future__ import annotations

from services.table.table import Turn, deadline
from shared.rules.adjudicated.court import ARBITER
from shared.rules.language import game_events as game
from shared.rules.language import irregular_events as irregular
from shared.rules.language.moves import Confirm
from shared.rules.pulka import decider as match
from tests.rules.adjudicated.test_court_properties import anything
from tests.services.table.playing import TABLE_ID, Playing

JUDGE = "0-" + "j" * 26  # a player's id, of somebody who has no seat


class Misplaying(Playing):
    """`wild` is the chance that a move is none that the table offers."""

    def __init__(self, wild: float = 0.4, terms: dict | None = None, **rest):
        super().__init__(terms={"mode": "adjudicated", **(terms or {})}, **rest)
        self.wild = wild
        self.turn = Turn(0, 0)  # the last that ran out

    async def step(self):
        """Somebody's move, accepted or refused; or, while a result waits for confirmation, now and then the end of the pause."""
        table = await self.table()
        pulka = table.pulka
        if pulka.deal is not None and self.random.random() < self.wild:
            maker, move = anything(self.random, pulka.deal)
            player = JUDGE if maker == ARBITER else pulka.seats[maker]
            return await self.send(player, move)
        if match.awaits_confirmation(pulka):
            if self.random.random() < 0.5:
                return await self.runs_out()
            return await self.send(self.random.choice(pulka.seats), Confirm())
        if pulka.deal is not None and match.to_act(pulka) is not None and self.random.random() < 0.1:
            return await self.runs_out()
        return await super().step()

    async def runs_out(self):
        """The time of the present turn, or of the pause, is over."""
        table = await self.table()
        self.now = max(self.now, deadline(table))
        self.turn = Turn(table.turn_revision, deadline(table))
        return await self.tables.time_out(TABLE_ID, self.turn, self.now)


class Known:
    """By viewer the cards that he has a right to know, in one deal: by seat, `None` for a spectator; told by the events as decided."""

    def __init__(self, players: int):
        self.of = {viewer: set() for viewer in (None, *range(players))}

    def hear(self, events):
        for event in events:
            if isinstance(event, game.CardsDealt):
                self.of = {viewer: set() for viewer in self.of}
            for cards, *seats in _told(event):
                for viewer in self.of if not seats else [seat for seat in seats if seat in self.of]:  # a dummy sees nothing
                    self.of[viewer] |= set((cards or "").split())


def _told(event):
    """The cards that an event tells, and the seats that it tells them to; to everybody where there are none."""
    match event:
        case game.CardsDealt(hands=hands):
            return [(hand, seat) for seat, hand in enumerate(hands)]
        case game.HandsLaid(hands=hands):
            return [(hand,) for hand in hands]
        case game.CardsDiscarded() | game.HandSeen() | irregular.TalonTakenEarly():
            return [(event.cards, event.seat)]
        case irregular.TalonReturned():
            return [(event.hand, event.seat)]
        case irregular.Peeked(what=what, show=show):
            return [(event.cards,)] if show or what == "trick" else [(event.cards, event.seat)]
        case game.RemedyChosen():  # a card that somebody names aloud, asked for it or not
            return [(event.card,)]
        case game.ClaimMade():
            return [(event.hand,)]
        case _ if isinstance(event, IN_THE_OPEN):
            return [(event.cards if hasattr(event, "cards") else event.card,)]
    return []


IN_THE_OPEN = (game.CardPlayed, game.TalonCardOpened, game.TalonTaken, irregular.CardsShown, game.CardExposed, irregular.CardNamed)
ALL = " ".join(rank + suit for suit in "SCDH" for rank in "789TJQKA")
