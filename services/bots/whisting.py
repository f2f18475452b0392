"""The defenders' words: whist, pass, half-whist, the resting dealer's look, and open or closed play (3.8)."""

from __future__ import annotations

from typing import Any, Final

from services.bots.hand_value import defender_tricks
from shared.rules.deck.cards import mask_of
from shared.rules.deck.contract import LEVEL, OBLIGATION, STRAIN, STRAINS
from shared.rules.deck.seats import DUMMY

#: What a partner of whom nothing is known takes against a game of this level.
_PARTNER: Final = {6: 1.8, 7: 1.3, 8: 0.9, 9: 0.5, 10: 0.25}
#: What a dummy is worth to its player: measured over 700 deals of two, from there a whist pays more than half or a pass.
_DUMMY: Final = {6: 2.6, 7: 1.4, 8: 0.4, 9: 0.2, 10: 0.0}
_PASSED: Final = -0.4  # tricks less when they have passed
_OPEN: Final = 0.4  # tricks that two open hands gain together
_OWN_SHARE: Final = {6: 1.7, 7: 0.9, 8: 0.9, 9: 0.9, 10: 0.9}  # a second whister answers for half, from eight on for the one trick (3.8.6)


def whist(view: dict[str, Any]) -> dict[str, Any]:
    """The call: to whist when the tricks are there, else half when it is offered, else to pass."""
    legal = view["legal"]
    looks = [move for move in legal if move["type"] == "look"]
    calls = {move["call"]: move for move in legal if move["type"] == "whist"}
    seen = _seen_hands(view)
    if looks and not seen:
        return dict(looks[0])
    level = LEVEL[view["contract"]]
    wanted = "whist" if _worth_whisting(view, level, seen) else "half"
    return dict(calls.get(wanted) or calls.get("pass") or legal[0])


def lay(view: dict[str, Any]) -> dict[str, Any]:
    """Open play: two hands in one head take more than two heads; half instead where the convention lets a weak first hand take it back."""
    legal = view["legal"]
    half = next((move for move in legal if move["type"] == "whist"), None)
    level = LEVEL[view["contract"]]
    if half and _strength(view, mask_of(view["hand"])) + _PARTNER[level] + _PASSED + _OPEN < OBLIGATION[level] - 0.3:
        return dict(half)
    return next((dict(move) for move in legal if move["type"] == "lay" and move["open"]), dict(legal[0]))


def _worth_whisting(view: dict[str, Any], level: int, seen: list[int]) -> bool:
    owed = OBLIGATION[level]
    if not view["hand"]:  # the resting dealer plays two hands, one of which they may have seen
        known = sum(_strength(view, hand) for hand in seen)
        return bool(seen) and known + _PARTNER[level] + _PASSED + _OPEN >= owed + 0.5
    own = _strength(view, mask_of(view["hand"]))
    others = [call for seat, call in enumerate(view["calls"]) if seat not in (view["seat"], view["declarer"]) and call]
    if "whist" in others:
        return own >= _OWN_SHARE[level]
    if len(view["calls"]) == DUMMY:  # of two players, this is the one defender
        return own + _DUMMY[level] >= owed - 0.2
    passed = "pass" in others
    return own + _PARTNER[level] + (_PASSED + _OPEN if passed else 0.0) >= owed - 0.2


def _seen_hands(view: dict[str, Any]) -> list[int]:
    """Hands that a resting dealer has looked at (3.8.8)."""
    return [] if view["hand"] else [mask_of(hand) for hand in view["hands"] if hand]


def _strength(view: dict[str, Any], hand: int) -> float:
    return defender_tricks(hand, STRAINS.index(STRAIN[view["contract"]]))
