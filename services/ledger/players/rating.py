"""Ratings as a fold of the rated pulkas in the order in which they closed: who won against whom, and what Glicko-2 makes of it.

One pulka is one rating period of its players, in which each has met each of the others once: won, drawn or lost by the whists that both won
in all. A pulka of n is n - 1 games for everybody, all of the same weight [conv]. Pure: stored rows and a computation from nothing agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, Final

import msgspec

from services.ledger.players.glicko import Game, Strength, after_absence, after_period
from services.ledger.players.pulka_results import PulkaResult

PERIOD_MS: Final = 5 * 24 * 3600 * 1000  # milliseconds of absence that count as one missed period: in a year a deviation of 60 grows to 107
POINTS_DECIMALS: Final = 2

Key = tuple[int, str]  # when a pulka closed, and which: the order in which pulkas are rated [conv]

_encode: Final = msgspec.json.Encoder(order="deterministic").encode


class Rated(msgspec.Struct, frozen=True):
    """A player after their last rated pulka, which closed at `played_at`, milliseconds since 1970."""

    strength: Strength
    played_at: int


class RatingChange(msgspec.Struct, frozen=True):
    """What one pulka did to one player's rating; not `rated`: it was annulled, and did nothing.

    Before it, missed periods included, and after it. `why` is JSON text: `missed_periods`, and `games` with `opponent`, their `rating` and
    `deviation` before, the `score`, the score that was `expected`, and the `points` of rating that it brought.
    """

    player: str
    closed_at: int
    table_id: str
    rated: bool
    rating_before: float
    deviation_before: float
    volatility_before: float
    rating: float
    deviation: float
    volatility: float
    why: str

    @property
    def before(self) -> Strength:
        """How strong the player was thought to be."""
        return Strength(self.rating_before, self.deviation_before, self.volatility_before)

    @property
    def after(self) -> Strength:
        """How strong the player is thought to be."""
        return Strength(self.rating, self.deviation, self.volatility)


def key_of(result: PulkaResult | RatingChange) -> Key:
    """Where it stands in the order of the pulkas."""
    return result.closed_at, result.table_id


def missed_periods(known: Rated | None, at: int) -> int:
    """Whole periods without a rated pulka up to `at`, milliseconds since 1970; 0 for somebody who never played one."""
    return 0 if known is None else max(0, at - known.played_at) // PERIOD_MS


def present(known: Rated | None, at: int) -> Strength:
    """The strength of `known` (None: they never played) at `at`."""
    return Strength() if known is None else after_absence(known.strength, missed_periods(known, at))


def changes(known: Mapping[str, Rated], result: PulkaResult) -> list[RatingChange]:
    """What `result`, the next one in order, changes, by seat; `known` are the ratings before it."""
    players, net = result.players.split(" "), [Fraction(text) for text in result.net.split(" ")]
    if result.annulled:
        return [_unchanged(known.get(player), player, result) for player in players]
    before = [present(known.get(player), result.closed_at) for player in players]
    found = []
    for seat, player in enumerate(players):
        others = [other for other in range(len(players)) if other != seat]
        games = [Game(before[other], _score(net[seat], net[other])) for other in others]
        outcome = after_period(before[seat], games)
        told = [
            _told(players[other], game, expected, points)
            for other, game, expected, points in zip(others, games, outcome.expected, outcome.contributions, strict=True)
        ]
        why = {"missed_periods": missed_periods(known.get(player), result.closed_at), "games": told}
        found.append(_change(player, result, before[seat], outcome.after, why))
    return found


def _score(own: Fraction, other: Fraction) -> float:
    return 1.0 if own > other else 0.5 if own == other else 0.0


def _told(opponent: str, game: Game, expected: float, points: float) -> dict[str, Any]:
    return {
        "opponent": opponent,
        "rating": game.opponent.rating,
        "deviation": game.opponent.deviation,
        "score": game.score,
        "expected": round(expected, 4),
        "points": round(points, POINTS_DECIMALS) + 0.0,  # a rounded minus zero is zero
    }


def _unchanged(known: Rated | None, player: str, result: PulkaResult) -> RatingChange:
    still = Strength() if known is None else known.strength
    return _change(player, result, still, still, {"missed_periods": 0, "games": []})


def _change(player: str, result: PulkaResult, before: Strength, after: Strength, why: dict[str, Any]) -> RatingChange:
    return RatingChange(
        player=player,
        closed_at=result.closed_at,
        table_id=result.table_id,
        rated=not result.annulled,
        rating_before=before.rating,
        deviation_before=before.deviation,
        volatility_before=before.volatility,
        rating=after.rating,
        deviation=after.deviation,
        volatility=after.volatility,
        why=_encode(why).decode(),
    )


def after(known: Mapping[str, Rated], changed: Iterable[RatingChange]) -> dict[str, Rated]:
    """The ratings after `changed`."""
    return {**known, **{one.player: Rated(one.after, one.closed_at) for one in changed if one.rated}}
