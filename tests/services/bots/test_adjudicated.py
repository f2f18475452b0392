"""Built-in players at a table where others break the rules: they go on whatever happens, and point out what they surely know."""

from __future__ import annotations

import random
from functools import reduce

import msgspec
import pytest

from services.bots.attention import calls
from services.bots.player import choose
from services.bots.recollection import Memory
from services.table.table import Table
from services.table.view import view
from shared.events.terms import Terms
from shared.rules.convention.options import resolve
from shared.rules.language.moves import AnyMove
from shared.rules.language.refusal import Refused
from shared.rules.pulka import decider as match
from shared.rules.pulka.decider import OpenPulka, Pulka, StartDeal
from tests.rules.adjudicated.test_court_properties import anything
from tests.services.bots.offline import SEATS, after, hidden_in

TERMS = {"mode": "adjudicated"}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("convention", "players"), [("sochi", 3), ("leningrad", 4)])
def test_players_go_on_whatever_others_do(convention, players, seed):
    """With one seat that breaks every rule it can, the others always have a move that is accepted, until the deals are scored; what they
    call attention to is accepted or comes too late.
    """
    draw = random.Random(seed)
    opened = OpenPulka(resolve(convention, 30), "00" * 32, players, 30, SEATS[:players], TERMS, 0)
    pulka = Pulka(table_id=SEATS[0])
    told = match.open_pulka(pulka, opened)
    pulka, memory = after(pulka, told), Memory().after(msgspec.to_builtins(told))
    called = 0
    while pulka.number <= 4 and pulka.status == "playing":
        events = _events(pulka, draw, memory)
        pulka, memory = after(pulka, events), memory.after(msgspec.to_builtins(events))
        for seat in range(1, players):
            for move in calls(msgspec.to_builtins(events), memory, seat):
                decided = match.decide(pulka, seat, msgspec.convert(move, AnyMove))
                if not isinstance(decided, Refused):
                    called += 1
                    pulka, memory = after(pulka, decided), memory.after(msgspec.to_builtins(decided))
    assert called


def _events(pulka, draw, memory):
    """What happens next: an irregular act of seat 0, or the built-in players' move."""
    if match.phase(pulka) == "between_deals":
        return match.start_deal(pulka, StartDeal(pulka.number + 1, f"{draw.getrandbits(256):064x}"))
    if pulka.deal is not None and draw.random() < 0.3:
        for maker, move in (anything(draw, pulka.deal) for _ in range(20)):
            decided = match.decide(pulka, 0, move) if maker == 0 else None
            if decided is not None and not isinstance(decided, Refused):
                return decided
    table = Table(pulka, Terms(mode="adjudicated"), revision=1, turn_revision=1, hidden=hidden_in(pulka))
    seats = [match.to_act(pulka)] if match.to_act(pulka) is not None else range(pulka.players)
    seen = next(shown for seat in seats if (shown := view(table, seat, "", 0, []))["legal"])
    move = choose(seen, draw, memory)
    decided = match.decide(pulka, seen["seat"], msgspec.convert(move, AnyMove))
    assert not isinstance(decided, Refused), (decided, move, seen)
    return decided


def remembered(*cards, declarer=0, trump="S"):
    """A memory of a deal of three with these cards played, seat and card in one word."""
    events = [
        {"type": "PulkaOpened", "players": 3},
        {"type": "DealStarted", "dealer": 2},
        {"type": "AuctionWon", "seat": declarer, "bid": "6S"},
    ]
    events.append({"type": "ContractDeclared", "contract": f"6{trump}"})
    for place, card in enumerate(cards):
        events.append({"type": "CardPlayed", "seat": int(card[0]), "card": card[1:], "by": int(card[0])})
        if place % 3 == 2:
            events.append({"type": "TrickWon", "seat": 0, "number": place // 3 + 1})
    return reduce(lambda memory, event: memory.after([event]), events, Memory())


def test_3_9_16_a_revoke_that_shows_later_is_called_by_the_other_side():
    """Who did not follow to clubs and plays a club later has revoked: declarer says so, the offender's partner does not."""
    memory = remembered("0AC", "1AH", "2KC", "0QC", "1JC")
    move = {"type": "call_attention", "rule": "3.9.16", "seat": 1}
    assert [calls([], memory, seat) for seat in range(3)] == [[move], [], []]
    assert calls([], remembered("0AC", "1QC", "2KC", "0JC", "1TC"), 0) == []


def test_3_9_14_1_a_card_out_of_turn_is_called_at_once():
    """The mark of the card tells it; once somebody has called, nobody else does."""
    played = {"type": "CardPlayed", "seat": 2, "card": "AC", "by": 2, "irregular": "3.9.14.1"}
    memory = remembered()
    assert calls([played], memory, 0) == [{"type": "call_attention", "rule": "3.9.14.1", "seat": 2}]
    assert calls([played], memory, 1) == []
    assert calls([played, {"type": "AttentionCalled", "rule": "3.9.14.1", "seat": 2, "by": 1}], memory, 0) == []
