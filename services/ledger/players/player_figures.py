"""A player's deals in figures: by role and by contract, misere and all-pass, whists per deal with how sure the mean is.

Sums are exact until the end; only means and intervals are floats, rounded to four decimals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, Final

import msgspec

from services.ledger.players.player_stats import ROLES
from services.ledger.players.pulka_results import COUNTS
from shared.projections.core.projection import Connection
from shared.rules.deck.contract import ALL_PASS, CONTRACTS, LEVEL, MISERE, STRAIN
from shared.rules.language.amount import written

DECIMALS: Final = 4
NORMAL: Final = 1.96  # of the mean's own deviations, from `LARGE` deals on
LARGE: Final = 30  # deals from which the mean is taken as normally distributed
#: Student's t for 95 % on both sides, by degrees of freedom from 1.
STUDENT: Final = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048,
)  # fmt: skip

#: Tables `t` that reader `$2` (NULL without a token) may know of, and of them the deals `d` that they may see by now (5.5).
READABLE: Final = """
(t.open_to_all OR $2 = ANY(t.seats) OR t.adjudication::json ->> 'arbiter' = $2)
AND (t.status <> 'playing' OR d.deal + t.delay_deals <= t.deal OR $2 = ANY(t.seats) OR t.adjudication::json ->> 'arbiter' = $2)
"""


class Sum(msgspec.Struct, frozen=True):
    """Some deals added up. `whists` and their `squares` exact; `tricks` over the `with_tricks` deals where there were any, `none` of them
    without one; `made` and `undertricks` of a declarer's.
    """

    role: str
    contract: str
    deals: int
    whists: Fraction
    squares: Fraction
    tricks: int
    with_tricks: int
    none: int
    made: int
    undertricks: int


async def sums(connection: Connection, player: str, reader: str | None, convention: str | None, players: int | None) -> list[Sum]:
    """The deals of `player` that `reader` may see, by role, contract and denominator of their whists; of one preset and one number of
    players where those are given.
    """
    rows = await connection.fetch(
        f"""
        SELECT role, contract, count(*), sum(upper)::text, sum(upper * upper)::text, lower::text, coalesce(sum(tricks), 0), count(tricks),
               count(*) FILTER (WHERE tricks = 0), count(*) FILTER (WHERE undertricks = 0), coalesce(sum(undertricks), 0)
        FROM (SELECT d.*, split_part(d.whists, '/', 1)::numeric AS upper,
                     coalesce(nullif(split_part(d.whists, '/', 2), ''), '1')::numeric AS lower
              FROM player_deals d JOIN tables t USING (table_id)
              WHERE d.player = $1 AND {READABLE} AND {COUNTS.format("d")}
                AND ($3::text IS NULL OR t.convention::json ->> 'preset' = $3) AND ($4::int IS NULL OR d.players = $4)) AS seen
        GROUP BY role, contract, lower
        """,  # noqa: S608 - constants of ours
        player,
        reader,
        convention,
        players,
    )
    return [
        Sum(role, contract, deals, Fraction(int(whists), int(lower)), Fraction(int(squares), int(lower) ** 2), *counts)
        for role, contract, deals, whists, squares, lower, *counts in rows
    ]


def per_deal(found: Iterable[Sum]) -> dict[str, Any]:
    """Whists per deal: how many `deals`, their exact `sum`, the `mean`, and the `interval_95` around it, null with less than two deals."""
    kept = list(found)
    deals = sum(one.deals for one in kept)
    total, squares = sum((one.whists for one in kept), Fraction()), sum((one.squares for one in kept), Fraction())
    mean = float(total / deals) if deals else None
    return {
        "deals": deals,
        "sum": str(written(total)),
        "mean": None if mean is None else round(mean, DECIMALS),
        "interval_95": _interval(deals, total, squares),
    }


def _interval(deals: int, total: Fraction, squares: Fraction) -> list[float] | None:
    if deals < 2:
        return None
    spread = math.sqrt((squares - total * total / deals) / (deals - 1) / deals)
    reach = spread * (NORMAL if deals >= LARGE else STUDENT[deals - 2])
    return [round(float(total / deals) - reach, DECIMALS), round(float(total / deals) + reach, DECIMALS)]


def _tricks(found: Iterable[Sum]) -> float | None:
    """Mean tricks of the deals in which there were any."""
    kept = list(found)
    deals = sum(one.with_tricks for one in kept)
    return round(sum(one.tricks for one in kept) / deals, DECIMALS) if deals else None


def _declared(found: list[Sum]) -> dict[str, Any]:
    made, deals = sum(one.made for one in found), sum(one.deals for one in found)
    return {
        "declared": deals,
        "made": made,
        "failed": deals - made,
        "undertricks": sum(one.undertricks for one in found),
        "tricks": _tricks(found),
        "whists": per_deal(found),
    }


def figures(found: list[Sum]) -> dict[str, Any]:
    """The body of a player's `stats`: all deals, `roles`, `contracts` that they declared, `misere`, `all_pass`."""

    def of(wanted: Callable[[Sum], bool]) -> list[Sum]:
        return [one for one in found if wanted(one)]

    declared = of(lambda one: one.role == "declarer")
    passed = of(lambda one: one.role == "all_pass")
    return {
        "whists": per_deal(found),
        "roles": [
            {"role": role, "tricks": _tricks(ones), "whists": per_deal(ones)}
            for role in ROLES
            if (ones := of(lambda one, role=role: one.role == role))  # type: ignore[misc]  # a default binds the loop's value
        ],
        "contracts": [
            {"contract": contract, "level": LEVEL.get(contract), "strain": STRAIN[contract], **_declared(ones)}
            for contract in CONTRACTS
            if (ones := [one for one in declared if one.contract == contract])
        ],
        "games": _declared([one for one in declared if one.contract in LEVEL]),
        "misere": _declared([one for one in declared if one.contract == MISERE])
        | {"against": per_deal(of(lambda one: one.contract == MISERE and one.role == "defender"))},
        "all_pass": {
            "deals": sum(one.deals for one in passed),
            "tricks": _tricks(passed),
            "without_a_trick": sum(one.none for one in passed),
            "whists": per_deal(passed),
            "resting": per_deal(of(lambda one: one.contract == ALL_PASS and one.role == "resting")),
        },
    }
