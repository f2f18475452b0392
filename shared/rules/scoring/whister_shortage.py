"""What whisters answer for: tricks missing from their obligation, by the school of the table (3.8.2, 3.8.6, 3.8.11, 3.8.12)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from shared.rules.deck.contract import LEVEL, OBLIGATION
from shared.rules.scoring.game_result import ONE_TRICK, least_missing, lost_tricks
from shared.rules.scoring.prices import Reckoning, counted, mountain
from shared.rules.scoring.sheet import Entry
from shared.rules.scoring.whist_calls import dealer_answers
from shared.rules.scoring.whister import Whisting

#: Tricks that (first, second) whister miss, from the tricks that count for each and what they owe together.
School = Callable[[int, int, int], tuple[int, int]]


def _below_half(first: int, second: int, owed: int) -> tuple[int, int]:
    """Short in sum: each who has less than half writes their own shortage (3.8.6)."""
    return _own_half(first, second, owed) if first + second < owed else (0, 0)


def _own_half(first: int, second: int, owed: int) -> tuple[int, int]:
    """Each answers for their half, even when the pair is not short [conv]."""
    return max(0, owed // 2 - first), max(0, owed // 2 - second)


def _capped(first: int, second: int, owed: int) -> tuple[int, int]:
    """Each writes their own shortage, together no more than the pair's, the first whister first [conv]."""
    short = max(0, owed - first - second)
    own_first, own_second = _own_half(first, second, owed)
    by_first = min(own_first, short)
    return by_first, min(own_second, short - by_first)


def _second(first: int, second: int, owed: int) -> tuple[int, int]:
    """The second closed the game and answers when the pair is short (3.8.6, FN59)."""
    return 0, max(0, owed - first - second)


def _both(first: int, second: int, owed: int) -> tuple[int, int]:
    """Each writes the trick when the pair is short [conv]."""
    short = max(0, owed - first - second)
    return short, short


def _second_own(first: int, second: int, owed: int) -> tuple[int, int]:  # noqa: ARG001 - all schools are asked alike
    """The second answers for a trick of their own, whatever the first took [conv]."""
    return 0, max(0, owed - second)


def _each_own(first: int, second: int, owed: int) -> tuple[int, int]:
    """Each who took none writes one [conv]."""
    return max(0, owed - first), max(0, owed - second)


SIX_SEVEN: dict[str, School] = {"below_half": _below_half, "own_half": _own_half, "capped": _capped}
EIGHT_UP: dict[str, School] = {"second": _second, "both": _both, "second_own": _second_own, "each_own": _each_own}


def whister_shortages(deal: Reckoning, calls: Whisting, tricks: dict[int, int]) -> Iterator[Entry]:
    """Mountain entries of whisters who took too little; a half-whister and a checked ten's defenders owe nothing."""
    level = LEVEL[deal.outcome.contract or ""]
    owed, first, second = OBLIGATION[level], calls.first, calls.second
    if first is None or calls.kind not in ("one", "pair", "dealer"):
        return
    if calls.kind == "pair" and second is not None:
        yield from _of_a_pair(deal, (first, second), tricks, owed, _school(deal, level))
        return
    if calls.kind == "dealer" and not dealer_answers(deal.convention):
        return
    together = sum(tricks.values()) - lost_tricks(deal.outcome, first)
    yield from _shortage(deal, first, max(0, owed - together), "3.8.12" if deal.whister_answers_half(first) else "3.8.11")


def _school(deal: Reckoning, level: int) -> School:
    if level <= 7:
        return SIX_SEVEN[deal.convention.pair_6_7]
    return EIGHT_UP[deal.convention.pair_10 if level == 10 else deal.convention.pair_8_9]


def _of_a_pair(deal: Reckoning, pair: tuple[int, int], tricks: dict[int, int], owed: int, school: School) -> Iterator[Entry]:
    """What two whisters write: by the tricks really taken, and whoever lost one answers for that one alone (Decision 25).

    In version 1 a lost trick was missing from the pair's, so that a partner could answer for it.
    """
    first, second = pair
    if deal.convention.version == 1:
        missing = school(_duty(deal, tricks, first), _duty(deal, tricks, second), owed)
    else:
        missing = school(tricks[first], tricks[second], owed)
    for seat, short in zip(pair, missing, strict=True):
        yield from _shortage(deal, seat, short, "3.8.6")
    if deal.convention.version == 1 or not deal.outcome.infractions:
        return
    for place, seat in enumerate(pair):
        fined = [_duty(deal, tricks, one) if one == seat else tricks[one] for one in pair]
        own = school(fined[0], fined[1], owed)[place] - missing[place]  # where a school asks each for a share, whatever the pair has
        together = _leaving_short(deal, pair, tricks, owed, seat)
        yield from _for_lost_tricks(deal, seat, max(together, min(own, lost_tricks(deal.outcome, seat))))


def _leaving_short(deal: Reckoning, pair: tuple[int, int], tricks: dict[int, int], owed: int, seat: int) -> int:
    """How many of the tricks that `seat` has lost leave the pair short, as they were lost one after another (3.9.12)."""
    lost = [one.seat for one in deal.outcome.offences(*ONE_TRICK) if one.seat in pair]
    spare = max(0, sum(tricks[one] for one in pair) - owed)
    return lost[spare:].count(seat)


def _for_lost_tricks(deal: Reckoning, seat: int, count: int) -> Iterator[Entry]:
    """The price of a missing trick for each of `count` lost ones, under the rule by which they were lost."""
    price = deal.whister_price(seat)
    if count:
        rule = next(one.rule for one in deal.outcome.offences(*ONE_TRICK) if one.seat == seat)
        yield mountain(seat, count * price, rule, f"fine: {count} missing on whist at {price}")


def _duty(deal: Reckoning, tricks: dict[int, int], seat: int) -> int:
    """Tricks that count for the seat's obligation; a fine of a whister without a trick leaves one more to answer for (3.9.11.2)."""
    return tricks[seat] - lost_tricks(deal.outcome, seat)


def _shortage(deal: Reckoning, seat: int, short: int, rule: str) -> Iterator[Entry]:
    """The entry for `short` missing tricks, or for more where they played with a wrong number of cards (3.9.18)."""
    least = least_missing(deal.outcome, seat)
    if least > short:
        price = deal.whister_price(seat)
        yield mountain(seat, least * price, "3.9.18", f"fine: {least} missing on whist at {price}")
    elif short:
        price = deal.whister_price(seat)
        yield mountain(seat, short * price, rule, f"{short} missing on whist: {counted(short, price)}")
