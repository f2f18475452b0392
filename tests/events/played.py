"""Whole pulkas played by nobody in particular: legal moves drawn by a seeded lot, through the rules as they are."""

from __future__ import annotations

import hashlib
import random
from functools import reduce

from shared.rules import pulka as match
from shared.rules.convention import PRESETS
from shared.rules.game_events import Event
from shared.rules.moves import Seed
from shared.rules.pulka import OpenPulka, Pulka, StartDeal
from shared.rules.refusal import Refused
from tests.events import story

PLAYERS = ("0-north", "0-east", "0-south", "0-west")


def play(convention: str, players: int, lot: int, deals: int) -> tuple[Pulka, list[tuple[Event, ...]]]:
    """The state after at most `deals` deals of `story.TABLE`, and what each commit holds."""
    draw = random.Random(lot)
    terms = {"clock": {"move_s": 30, "cut_s": 5}}
    opening = OpenPulka(PRESETS[convention], story.RULES_DIGEST, players, 4, PLAYERS[:players], terms, draw.randrange(players))
    log: list[tuple[Event, ...]] = []
    pulka = _then(match.open_pulka(Pulka(table_id=story.TABLE.id), opening), Pulka(table_id=story.TABLE.id), log)
    while match.phase(pulka) != "over":
        if match.phase(pulka) == "between_deals":
            if pulka.number == deals:
                break
            seed = hashlib.sha256(b"deal %d of %d" % (pulka.number + 1, lot)).hexdigest()
            pulka = _then(match.start_deal(pulka, StartDeal(pulka.number + 1, seed)), pulka, log)
            if draw.random() < 0.5:
                pulka = _then(match.decide(pulka, draw.randrange(players), Seed(f"{draw.randrange(16**9):x}")), pulka, log)
            continue
        seat = match.to_act(pulka)
        assert seat is not None
        done = match.decide(pulka, seat, draw.choice(match.legal_moves(pulka, seat)))
        if isinstance(done, Refused):  # a move with fields left free, as a discard
            done = match.decide(pulka, seat, match.default_move(pulka))
        pulka = _then(done, pulka, log)
    return pulka, log


def _then(done: tuple[Event, ...] | Refused, pulka: Pulka, log: list[tuple[Event, ...]]) -> Pulka:
    assert not isinstance(done, Refused), done
    log.append(done)
    return reduce(match.evolve, done, pulka)
