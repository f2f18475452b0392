"""The auction: a bid is made when playing is expected to be worth more than leaving it to the others (3.3)."""

from __future__ import annotations

import random
from typing import Any, Final, NamedTuple

from services.bots.discarding import pairs, safest_pair, tricks_by_strain
from services.bots.hand_value import all_pass_tricks, misere_danger
from services.bots.prospects import best_contract, misere_value
from shared.rules.deck.cards import DECK, card_numbers, mask_of
from shared.rules.deck.contract import LEVEL, MISERE, RANK

TALONS: Final = 12  # talons imagined a call: more change the mean by less than a tenth of a trick and cost a millisecond a dozen
#: Points that passing costs while nobody has bid: all-pass threatens, and somebody has to play for the pulka to end.
_ALL_PASS_FEAR: Final = 0.9
_MISERE_MARGIN: Final = 1.5  # points by which a misere must beat the best game: ten or minus ten is much to hang on one estimate

_DARK_PASSES: Final = 0.25  # of the turns: a bomb doubles the next game, the doubled all-pass costs as much on average
_DARK_BIDS: Final = 0.02  # a six on unseen cards loses more than it wins; only so that it happens


class Imagined(NamedTuple):
    """One talon that might come: the tricks in each strain after the best discard for it, and the danger of a misere after the safest."""

    tricks: tuple[float, ...]
    danger: float


def bid(view: dict[str, Any], generator: random.Random) -> dict[str, Any]:
    """The cheapest call that is worth making, or a pass."""
    by_type = {move["type"]: move for move in reversed(view["legal"])}
    if "take" in by_type:
        return dict(by_type["take"])  # won in the dark: doubled, whatever the cards are (3.3.19)
    if view["hand"] is None:
        return in_the_dark(view, generator)
    hand = mask_of(view["hand"])
    calls = [
        move["bid"] for move in view["legal"] if move["type"] == "bid" and set(move) == {"type", "bid"}
    ]  # neither dark nor without talon
    imagined = imagine(hand, generator)
    last = next((call["bid"] for call in reversed(view["auction"]) if call["bid"] in RANK), None)
    floor = passing_value(view, hand) if last is None else -0.2  # a bid of somebody else's has taken the fear of all-pass away
    games = [call for call in calls if call in RANK and call != MISERE]
    offers = [("here", last)] if "here" in calls and last not in (None, MISERE) else []
    offers += [(game, game) for game in sorted(games, key=RANK.__getitem__)[:1]]
    best, worth = "pass", floor
    for call, held in offers:
        expected = sum(best_contract(one.tricks, held)[1] for one in imagined) / len(imagined)
        if expected > worth + (0.1 if best == "here" else 0.0):
            best, worth = call, expected
    if MISERE in calls:
        expected = sum(misere_value(one.danger) for one in imagined) / len(imagined)
        if expected > max(worth, 0.0) + _MISERE_MARGIN:
            best = MISERE
    return next(move for move in view["legal"] if move["type"] == "bid" and move["bid"] == best)


def in_the_dark(view: dict[str, Any], generator: random.Random) -> dict[str, Any]:
    """A look at the cards; now and then, while nobody has bid, a gamble: a dark pass for the bomb, more rarely a dark bid (3.3.19)."""
    calls = {move["bid"]: move for move in view["legal"] if move["type"] == "bid" and move.get("dark")}
    lowest = min((bid for bid in calls if bid in RANK), key=RANK.__getitem__, default=None)
    if all(call["bid"] == "pass" for call in view["auction"]):
        chance = generator.random()
        if chance < _DARK_PASSES:
            return dict(calls["pass"])
        if chance < _DARK_PASSES + _DARK_BIDS and lowest is not None and LEVEL.get(lowest) == LEVEL["6S"]:
            return dict(calls[lowest])
    return next(dict(move) for move in view["legal"] if move["type"] == "look")


def passing_value(view: dict[str, Any], hand: int) -> float:
    """Points expected from a pass before anybody has bid: the higher the cards, the series and its price, the worse."""
    series: int = min(3, view["all_pass_in_row"])  # prices stop rising by then
    return -_ALL_PASS_FEAR - 0.2 * (all_pass_tricks(hand) - 3.3) - 0.4 * series


def imagine(hand: int, generator: random.Random) -> list[Imagined]:
    """Some talons that the other 22 cards might hide, and what this hand becomes with each."""
    hidden = card_numbers(DECK & ~hand)
    seen = []
    for _ in range(TALONS):
        one, other = generator.sample(hidden, 2)
        twelve = hand | 1 << one | 1 << other
        tricks = [0.0] * 5
        for pair in pairs(twelve):
            for strain, expected in enumerate(tricks_by_strain(twelve ^ pair)):
                tricks[strain] = max(tricks[strain], expected)
        seen.append(Imagined(tuple(tricks), misere_danger(twelve ^ safest_pair(twelve))))
    return seen
