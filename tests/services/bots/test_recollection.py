"""What a player remembers of a deal, from the stream's events."""

import random

import msgspec
import pytest

from services.bots.recollection import Memory
from shared.rules.convention.options import PRESETS
from shared.rules.pulka import decider as match
from tests.services.bots.offline import opened, play


def played(seat, card):
    return {"type": "CardPlayed", "seat": seat, "card": card, "by": seat}


def test_who_does_not_follow_is_void():
    """A discard shows a void in the suit led, and where there are trumps in them too; a trump shows only the first (3.9.3)."""
    game = Memory().after([{"type": "ContractDeclared", "seat": 0, "contract": "6H"}, played(0, "AS"), played(1, "7H"), played(2, "8C")])
    assert game.voids == {(1, "S"), (2, "S"), (2, "H")}
    misere = Memory().after([played(0, "AS"), played(1, "7H")])
    assert misere.voids == {(1, "S")}


def test_the_talon_card_names_the_suit():
    """In all-pass the opened talon card leads, so the first player may already show a void (3.7.6)."""
    memory = Memory().after([{"type": "TalonCardOpened", "card": "9D"}, played(1, "AS"), played(2, "7D")])
    assert memory.voids == {(1, "D")}
    assert memory.out == ("9D", "AS", "7D")


def test_a_new_deal_wipes_it():
    """Nothing of one deal is carried into the next, but how many play."""
    memory = Memory().after([{"type": "PulkaOpened", "players": 4}, played(0, "AS"), {"type": "DealStarted", "dealer": 2}])
    assert memory == Memory(players=4, order=(3, 0, 1))


@pytest.mark.slow
def test_nobody_on_turn_is_told_to_wait():
    """`may_have_turn` is true for whoever is to act, after every commit of whole pulkas; in closed play for hardly anybody else."""
    for preset, players in (("sochi", 3), ("leningrad", 4), ("rostov", 4), ("sochi", 2), ("sochi", 5)):
        generator = random.Random(preset)
        memory = Memory().after([{"type": "PulkaOpened", "players": players}])
        asked = []
        pulka = opened(PRESETS[preset], players, 6)
        for step in play(pulka, generator, until=12):
            for event in msgspec.to_builtins(_missed(pulka, step)):
                memory = memory.after([event])
            pulka, seat = step.pulka, match.to_act(step.pulka)
            last = msgspec.to_builtins(step.events)[-1]
            assert seat is None or memory.may_have_turn(seat, last), (seat, last)
            if last["type"] in ("CardPlayed", "TrickWon") and not memory.laid:
                asked.append(sum(memory.may_have_turn(other, last) for other in range(players)))
        assert len(asked) <= sum(asked) <= 1.2 * len(asked)  # of two, hands lie open throughout


def _missed(before, step):
    """The events since `before`: those of the step, and the start of a deal that stands before it."""
    started = [] if before.number == step.pulka.number else [{"type": "DealStarted", "dealer": step.pulka.dealer}]
    return [*started, *step.events]
