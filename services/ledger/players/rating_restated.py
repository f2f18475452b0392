"""What a correction or an annulment changed in ratings that had been shown: each of them as it was before, and because of what.

Everything that was said anew has its place in the order in which it was said. Between one and the next lies a *world*: all pulkas, each
with the version that had been said by then. A restatement changed what differs between the world before it and the one after it, among
the pulkas that had closed when it was said. So what was and what became of it follows from the results alone, and the steps of several
restatements lead from the first rating that was shown to the present one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Final

import msgspec

from services.ledger.players import rating
from services.ledger.players.pulka_results import PulkaResult
from services.ledger.players.rating import Key, Rated, RatingChange

Known = dict[str, Rated]

_encode: Final = msgspec.json.Encoder(order="deterministic").encode


class Restated(msgspec.Struct, frozen=True):
    """Version `version` of a result: what was said anew `at`, of the pulka that closed at `closed_at`."""

    at: int
    table_id: str
    version: int
    closed_at: int
    annulled: bool

    @classmethod
    def of(cls, result: PulkaResult) -> Restated:
        """What `result`, no first version, says anew."""
        return cls(result.at, result.table_id, result.version, result.closed_at, result.annulled)

    @property
    def key(self) -> Key:
        """Where its pulka stands in the order of the pulkas."""
        return self.closed_at, self.table_id

    @property
    def order(self) -> tuple[int, str, int]:
        """Where it stands among all that was said anew."""
        return self.at, self.table_id, self.version


class RestatedChange(msgspec.Struct, frozen=True):
    """A rating after one pulka that the restatement `cause`, `cause_version` changed `at`. `was` and `became` are JSON text (`shown`)."""

    player: str
    closed_at: int
    table_id: str
    at: int
    cause: str
    cause_version: int
    annulled: bool
    was: str
    became: str


def shown(change: RatingChange) -> dict[str, Any]:
    """A change as it is told: `rated`, `before` and `after` (`rating`, `deviation`, `volatility`), and `why`."""
    return {
        "rated": change.rated,
        "before": {"rating": change.rating_before, "deviation": change.deviation_before, "volatility": change.volatility_before},
        "after": {"rating": change.rating, "deviation": change.deviation, "volatility": change.volatility},
        **msgspec.json.decode(change.why),
    }


def in_both_worlds(
    known: tuple[Known, Known], results: Sequence[PulkaResult], cause: Restated
) -> tuple[Known, Known, list[RestatedChange]]:
    """Rate the next pulkas in the worlds before and after `cause`; `known` are the ratings before them in these two.

    `results` are all versions of these pulkas, in their order. Returns the ratings after them, and what differs.
    """
    was, became = known
    found: list[RestatedChange] = []
    for _, group in groupby(results, key=rating.key_of):
        versions = list(group)
        changed = rating.changes(was, _said(versions, cause, inclusive=False))
        changed_now = rating.changes(became, _said(versions, cause, inclusive=True))
        was, became = rating.after(was, changed), rating.after(became, changed_now)
        found += _differences(changed, changed_now, cause)
    return was, became, found


def _said(versions: Iterable[PulkaResult], cause: Restated, *, inclusive: bool) -> PulkaResult:
    """The version that stood just before `cause`, or with it."""

    def said(result: PulkaResult) -> bool:
        order = (result.at, result.table_id, result.version)
        return result.version == 1 or order < cause.order or (inclusive and order == cause.order)

    return [result for result in versions if said(result)][-1]


def _differences(was: Iterable[RatingChange], became: Iterable[RatingChange], cause: Restated) -> Iterator[RestatedChange]:
    for before, now in zip(was, became, strict=True):
        if before != now:
            told = _encode(shown(before)).decode(), _encode(shown(now)).decode()
            yield RestatedChange(
                before.player, before.closed_at, before.table_id, cause.at, cause.table_id, cause.version, cause.annulled, *told
            )
