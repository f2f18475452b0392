"""A pulka played by lot, as what each of its commits holds."""

from __future__ import annotations

import random
from functools import reduce

from shared.rules.convention.options import resolve
from shared.rules.language.game_events import Event
from shared.rules.pulka import decider as match
from shared.rules.pulka.decider import OpenPulka, Pulka
from tests.events import story
from tests.lot import drawn_events

PLAYERS = ("0-north", "0-east", "0-south", "0-west", "0-fifth")


def play(
    convention: str | dict[str, object], players: int, lot: int, deals: int, seating: str = "chosen"
) -> tuple[Pulka, list[tuple[Event, ...]]]:
    """The state after at most `deals` deals of `story.TABLE`, and what each commit holds."""
    draw = random.Random(lot)
    terms = {"clock": {"move_s": 30, "cut_s": 5}} | ({} if seating == "chosen" else {"seating": seating})
    opening = OpenPulka(
        resolve(convention, 4), story.RULES_DIGEST, players, 4, PLAYERS[:players], terms, draw.randrange(players), story.SERVER_SEED
    )
    pulka = Pulka(table_id=story.TABLE.id)
    log = [match.open_pulka(pulka, opening)]
    pulka = reduce(match.evolve, log[-1], pulka)
    while match.phase(pulka) != "over" and not (match.phase(pulka) == "between_deals" and pulka.number == deals):
        log.append(drawn_events(pulka, draw)[1])
        pulka = reduce(match.evolve, log[-1], pulka)
    return pulka, log
