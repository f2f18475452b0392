"""The end of a pulka: when it is closed (4.2.2-4.2.3), and its settlement in whists, in the Code's two equal ways (4.2.14)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import msgspec

from shared.rules.convention.options import Convention
from shared.rules.language.amount import Amount, exact, written
from shared.rules.scoring.sheet import BySeat, Sheet
from shared.rules.scoring.stakes import stakes_document

WHISTS_A_POINT = 10  # of a mountain point, before it is divided (4.2.14)
MINUTE = 60_000  # milliseconds


class Settlement(msgspec.Struct, frozen=True):
    """`mountain` after shortage and surplus of the pools; `net` whists won, exact; `rounded` for show. Both of these sum to zero."""

    mountain: BySeat
    net: BySeat
    rounded: tuple[int, ...]

    def document(self) -> dict[str, Any]:
        """The settlement as `pulka score` prints it; `net` is text throughout, whole or not, so that it is read in one way."""
        return {
            "mountain": [written(points) for points in self.mountain],
            "net": [str(written(whists)) for whists in self.net],
            "rounded": list(self.rounded),
        }


def settle(convention: Convention, target: int | None, sheet: Sheet, dealer: int | None = None) -> Settlement:
    """The settlement of `sheet` as if the pulka ended now; `dealer` dealt the last deal that was written on it, None where none was."""
    mountain = settled_mountain(convention, target, sheet)
    net = net_by_average(mountain, sheet, divisor(convention, sheet.players))
    return Settlement(mountain, net, rounded(net, first_of_equals(convention, sheet.players, dealer)))


def settlement(
    convention: Convention, target: int | None, sheet: Sheet, stake: Amount | None = None, dealer: int | None = None
) -> dict[str, Any]:
    """`settle`, as a document; with an agreed `stake` a whist also what is owed by it (4.2.13)."""
    settled = settle(convention, target, sheet, dealer)
    owed = {} if stake is None else stakes_document(stake, settled.net, settled.rounded)
    return settled.document() | owed


def settled_mountain(convention: Convention, target: int | None, sheet: Sheet) -> BySeat:
    """Each mountain plus what its pool lacks of the target, or less what it has beyond it, times the pool's weight (4.2.14, 4.2.3.3).

    Without a target the largest pool stands for it: only the differences of the pools count then.
    """
    full = max(sheet.pool) if target is None else target
    return tuple(exact(high + pool_weight(convention) * (full - pool)) for high, pool in zip(sheet.mountain, sheet.pool, strict=True))


def pool_weight(convention: Convention) -> int:
    """How many mountain points a pool point weighs (4.2.3.3)."""
    return convention.pool_weight


def divisor(convention: Convention, players: int) -> int:
    """Among how many a mountain point is divided: all players, its owner included, or only the others (Decision 16)."""
    return players if convention.settlement_divisor == "n" else players - 1


def net_by_average(mountain: BySeat, sheet: Sheet, share: int) -> BySeat:
    """The second way of 4.2.14: everybody against the sum of all mountains, then the whists."""
    total = sum(mountain)
    each = Fraction(WHISTS_A_POINT, share)
    return tuple(exact(each * (total - sheet.players * high) + sheet.whist_balance(seat)) for seat, high in enumerate(mountain))


def net_by_whists(mountain: BySeat, sheet: Sheet, share: int) -> BySeat:
    """The first way of 4.2.14: all write whists on one another for what each mountain has above the lowest, then each sums up."""
    lowest = min(mountain)
    whists: list[list[Amount]] = [list(row) for row in sheet.whists]
    for owner, high in enumerate(mountain):
        for other in range(sheet.players):
            if other != owner:
                whists[other][owner] = whists[other][owner] + Fraction(WHISTS_A_POINT * (high - lowest), share)
    return tuple(exact(sum(whists[seat]) - sum(row[seat] for row in whists)) for seat in range(sheet.players))


def first_of_equals(convention: Convention, players: int, dealer: int | None) -> int:
    """The seat whose result is corrected before those that are rounded as far: left of the last deal's dealer, so that over many pulkas
    nobody gains by the number of a seat. The lowest where nobody has dealt, and in version 1 (Decision 16).
    """
    return 0 if dealer is None or convention.version == 1 else (dealer + 1) % players


def rounded(net: BySeat, first: int = 0) -> tuple[int, ...]:
    """Whole whists that sum to zero: to the nearest, halves away from zero, then corrected by ones; of equals at the nearest seat clockwise
    from `first`, itself included (Decision 16).
    """
    order = [(first + step) % len(net) for step in range(len(net))]
    whole = [_nearest(whists) for whists in net]
    while (excess := sum(whole)) != 0:
        errors: list[Amount] = [shown - whists for shown, whists in zip(whole, net, strict=True)]
        worst = max(errors) if excess > 0 else min(errors)
        seat = next(one for one in order if errors[one] == worst)
        whole[seat] -= 1 if excess > 0 else -1
    return tuple(whole)


def _nearest(whists: Amount) -> int:
    return -_nearest(-whists) if whists < 0 else int(whists + Fraction(1, 2))


def closed_reason(convention: Convention, target: int | None, sheet: Sheet, deals_played: int) -> str | None:
    """The ending that has come, as the convention names it ("all_closed", "pool_sum", "deals:20"), or None while the pulka goes on.

    A pulka that is played to a time is ended by its table, never by its sheet (`is_time_up`).
    """
    ending = convention.ends_when
    if ending.startswith("deals:"):
        return ending if deals_played >= int(ending.removeprefix("deals:")) else None
    if target is None:
        return None
    if ending == "all_closed":
        return ending if all(pool >= target for pool in sheet.pool) else None
    if ending == "pool_sum":
        return ending if sum(sheet.pool) >= sheet.players * target else None
    return None


def is_time_up(convention: Convention, opened: int, at: int) -> bool:
    """Whether a pulka that is played to a time has come to it: the deal that ends then is the last (5.4.4).

    `opened` and `at` are milliseconds since 1970, as the log has them.
    """
    minutes = minutes_to_play(convention)
    return minutes is not None and at - opened >= minutes * MINUTE


def minutes_to_play(convention: Convention) -> int | None:
    """How long a pulka lasts that is played to a time; None where another thing ends it (5.4.4)."""
    ending = convention.ends_when
    return int(ending.removeprefix("time:")) if ending.startswith("time:") else None


def ends_by_target(convention: Convention) -> bool:
    """Whether it is the pools that end a pulka, so that it needs a target to play to (4.2.3)."""
    return convention.ends_when in ("all_closed", "pool_sum")


def agreed_ending(convention: Convention) -> str:
    """What ends a pulka, as its convention has it and `PulkaClosed` names it (4.2.3, 4.2.3.3)."""
    return convention.ends_when


def pulka_closed(convention: Convention, target: int | None, sheet: Sheet, deals_played: int) -> bool:
    """Whether the pulka has ended by its own terms."""
    return closed_reason(convention, target, sheet, deals_played) is not None
