"""Pulkas played by nobody in particular: whoever is to act makes a legal move, drawn by a seeded lot, through the rules as they are."""

from __future__ import annotations

import random

from shared.rules.language.game_events import Event
from shared.rules.language.moves import AnyMove, Bid, Concede, Seed
from shared.rules.language.refusal import Refused
from shared.rules.pulka import decider as match
from shared.rules.pulka.decider import Pulka, StartDeal

PASSES = 0.6  # of calls: enough games, enough all-pass deals
SEEDS = 0.3  # of cuts before which a player adds a seed of his own
DARK = 0.5  # of the calls of somebody who has not looked
LOWEST = 8  # moves, the lowest first, of which one is drawn: contracts stay near the bid, and some are made


def drawn_move(pulka: Pulka, seat: int, draw: random.Random) -> AnyMove:
    """A legal move of `seat`, which is on turn; nobody gives up."""
    legal = match.legal_moves(pulka, seat)
    dark = [move for move in legal if isinstance(move, Bid) and move.dark]
    if dark and draw.random() < DARK:
        return dark[0] if draw.random() < PASSES else draw.choice(dark[:LOWEST])
    if isinstance(legal[0], Bid) and draw.random() < PASSES:
        return Bid("pass")
    return draw.choice([move for move in legal if not isinstance(move, Concede)][:LOWEST])


def drawn_events(pulka: Pulka, draw: random.Random, *, time_up: bool = False) -> tuple[int | None, tuple[Event, ...]]:
    """What happens next in a pulka that is not over, and whose seat's move it was; None where the service itself starts a deal.

    `time_up`: the agreed time is over at this move.
    """
    if match.phase(pulka) == "between_deals":
        return None, match.start_deal(pulka, StartDeal(pulka.number + 1, draw.randbytes(32).hex()))
    if match.phase(pulka) == "cut" and not pulka.seeds and draw.random() < SEEDS:
        seat, move = draw.randrange(pulka.players), Seed(f"{draw.randrange(16**9):x}")
    else:
        seat = match.to_act(pulka)
        move = drawn_move(pulka, seat, draw)
    decided = match.decide(pulka, seat, move, time_up=time_up)
    assert not isinstance(decided, Refused), decided
    return seat, decided
