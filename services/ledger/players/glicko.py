"""Glicko-2 (M. Glickman, "Example of the Glicko-2 system"): what the results of one rating period make of a player's strength.

Pure, and the same on every machine that computes floats as IEEE 754 has them: sums go in the order of the games, and a strength is rounded
to fixed decimals before anybody reads it, so that a computation that goes on from stored rows gives what one from nothing gives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import msgspec

START_RATING: Final = 1500.0  # of somebody without a rated pulka
LARGEST_DEVIATION: Final = 350.0  # nothing is known of the player; absence makes nobody less known than that
START_VOLATILITY: Final = 0.06
TAU: Final = 0.5  # how fast volatility may change: in the middle of what the paper advises (0.3 to 1.2), since cards are luck too
SCALE: Final = 173.7178  # points of a rating in one unit of the paper's own scale
PRECISE: Final = 1e-6  # of the volatility's logarithm, where the paper stops
DECIMALS: Final = 4  # of rating and deviation: a thousandth of what anybody would notice
VOLATILITY_DECIMALS: Final = 8
NORMAL_95: Final = 1.96  # deviations to both sides of a rating, between which the true one lies 95 times out of 100


class Strength(msgspec.Struct, frozen=True, gc=False):
    """How strong a player is thought to be, in points; `deviation`: how sure that is; `volatility`: how erratic their results are."""

    rating: float = START_RATING
    deviation: float = LARGEST_DEVIATION
    volatility: float = START_VOLATILITY


class Game(msgspec.Struct, frozen=True, gc=False):
    """One result against `opponent` as they were at the beginning of the period: `score` 1 won, 0.5 drawn, 0 lost."""

    opponent: Strength
    score: float


class Outcome(msgspec.Struct, frozen=True):
    """`after` a period. By game: the score that was `expected`, and the points of rating that it brought (`contributions`)."""

    after: Strength
    expected: tuple[float, ...]
    contributions: tuple[float, ...]


def _weight(deviation: float) -> float:
    """The paper's g: how much a result against somebody of such a deviation (on the paper's scale) tells."""
    return 1.0 / math.sqrt(1.0 + 3.0 * deviation * deviation / (math.pi * math.pi))


def expected_score(own: Strength, opponent: Strength) -> float:
    """The paper's E: the score, between 0 and 1, that `own` may expect against `opponent`."""
    weight = _weight(opponent.deviation / SCALE)
    return 1.0 / (1.0 + math.exp(-weight * (own.rating - opponent.rating) / SCALE))


def after_absence(own: Strength, periods: int) -> Strength:
    """`own` after so many rating periods without a result: as strong, and less surely so (step 6 of the paper)."""
    if not periods:
        return own
    deviation = math.hypot(own.deviation / SCALE, own.volatility * math.sqrt(periods)) * SCALE
    return _rounded(own.rating, deviation, own.volatility)


def after_period(own: Strength, games: Sequence[Game]) -> Outcome:
    """`own` after one period with `games`, at least one (steps 2 to 8 of the paper)."""
    deviation = own.deviation / SCALE
    weights = [_weight(game.opponent.deviation / SCALE) for game in games]
    expected = tuple([expected_score(own, game.opponent) for game in games])
    variance = 1.0 / sum(weight * weight * chance * (1.0 - chance) for weight, chance in zip(weights, expected, strict=True))
    surprises = [weight * (game.score - chance) for weight, game, chance in zip(weights, games, expected, strict=True)]
    surprise = sum(surprises)
    volatility = _new_volatility(deviation, own.volatility, variance, variance * surprise)
    uncertain = deviation * deviation + volatility * volatility
    settled = 1.0 / (1.0 / uncertain + 1.0 / variance)
    after = _rounded(own.rating + SCALE * settled * surprise, SCALE * math.sqrt(settled), volatility)
    return Outcome(after, expected, tuple([SCALE * settled * one for one in surprises]))


def _new_volatility(deviation: float, volatility: float, variance: float, improvement: float) -> float:
    """Step 5 of the paper: the root of f by the Illinois variant of false position."""
    start = math.log(volatility * volatility)
    excess = improvement * improvement - deviation * deviation - variance

    def f(x: float) -> float:
        grown = math.exp(x)
        spread = deviation * deviation + variance + grown
        return grown * (excess - grown) / (2.0 * spread * spread) - (x - start) / (TAU * TAU)

    low = start
    if excess > 0.0:
        high = math.log(excess)
    else:
        steps = 1
        while f(start - steps * TAU) < 0.0:
            steps += 1
        high = start - steps * TAU
    at_low, at_high = f(low), f(high)
    while abs(high - low) > PRECISE:
        middle = low + (low - high) * at_low / (at_high - at_low)
        at_middle = f(middle)
        if at_middle * at_high <= 0.0:
            low, at_low = high, at_high
        else:
            at_low /= 2.0
        high, at_high = middle, at_middle
    return math.exp(low / 2.0)


def _rounded(rating: float, deviation: float, volatility: float) -> Strength:
    return Strength(round(rating, DECIMALS), min(LARGEST_DEVIATION, round(deviation, DECIMALS)), round(volatility, VOLATILITY_DECIMALS))


def interval(own: Strength) -> tuple[float, float]:
    """Between which ratings the true one lies 95 times out of 100, two decimals."""
    spread = NORMAL_95 * own.deviation
    return round(own.rating - spread, 2), round(own.rating + spread, 2)
