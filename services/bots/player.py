"""A built-in player: one move for every view in which it is its turn. Pure; chance comes in with the generator.

It sees what any client of the table sees (`GET /v1/tables/{id}`) and remembers what any watcher of the stream can (`memory`).
"""

from __future__ import annotations

import random
from typing import Any

from services.bots import agreeing, bidding, discarding, ducking, trick_play, whisting
from services.bots.recollection import Memory
from services.bots.sight import read
from shared.rules.deck.cards import CARDS
from shared.rules.deck.contract import ALL_PASS, MISERE

_NOTHING = Memory()
FREE = ("discard", "cut", "draw")  # moves of which the view offers one, or none with its fields


def choose(view: dict[str, Any], generator: random.Random, memory: Memory = _NOTHING) -> dict[str, Any]:
    """A move for the viewer, who is on turn: always one of `view["legal"]`, with its free fields filled in (deploy/docs/moves.md).

    Raises `ValueError` when the view offers no move.
    """
    legal = view["legal"]
    if not legal:
        raise ValueError("the view offers no move: it is another's turn")
    due = [move for move in legal if move["type"] == "entry"]  # its own entries come first, whoever's turn it is (4.2.6)
    if due:
        return dict(due[0])
    wanted = _wanted(view, generator, memory)
    if wanted["type"] in FREE or wanted in legal:
        return wanted
    return dict(legal[0])


def _wanted(view: dict[str, Any], generator: random.Random, memory: Memory) -> dict[str, Any]:
    match view["phase"]:
        case "draw" | "cut":
            return _at_random(view, generator)
        case "auction":
            return bidding.bid(view, generator)
        case "discard":
            return discarding.discard(view)
        case "contract":
            return discarding.order(view)
        case "whist":
            return whisting.whist(view)
        case "lay":
            return whisting.lay(view)
        case "play":
            return _card(view, generator, memory)
        case "claim":
            return agreeing.answer(view, memory)
        case "remedy":
            claimed = (view["pending"] or {}).get("rule") == "3.9.14.4"  # a refused claimer's cards, one by one
            return agreeing.remedy(view) if claimed else _remedy(view["legal"])
    return dict(view["legal"][0])


def _at_random(view: dict[str, Any], generator: random.Random) -> dict[str, Any]:
    """A card from where nobody has drawn one yet (3.1.1), or a cut."""
    if view["phase"] == "cut":
        return {"type": "cut", "at": generator.randint(4, 28)}
    taken = {place for _, place in view["draw"]["drawn"]}
    return {"type": "draw", "place": generator.choice([place for place in range(1, len(CARDS) + 1) if place not in taken])}


#: Answers to a remedy, the best first: leave naming cards to others, take what is owed, have the wrong card exposed.
_ANSWERS = ("pass", "result", "talon", "card", "forbid", "accept")


def _remedy(legal: list[dict[str, Any]]) -> dict[str, Any]:
    """What a player with a choice of remedies wants."""

    def place(move: dict[str, Any]) -> int:
        return _ANSWERS.index(move["choice"]) if move.get("choice") in _ANSWERS else len(_ANSWERS)

    wanted: dict[str, Any] = min(legal, key=place)
    return dict(wanted)


def _card(view: dict[str, Any], generator: random.Random, memory: Memory) -> dict[str, Any]:
    sight = read(view, memory)
    duck = view["contract"] in (MISERE, ALL_PASS)
    card = CARDS[ducking.choose(sight) if duck else trick_play.choose(sight, generator)]
    return next(move for move in view["legal"] if move["type"] == "play" and move["card"] == card)
