"""The deal where all passed: every trick costs its taker, in the mountain (3.7.2.1) or in whists (3.7.2.2); none at all earns a bonus."""

from __future__ import annotations

from collections.abc import Iterator

from shared.rules.convention.options import Convention, Fixed
from shared.rules.deck.seats import DUMMY, active
from shared.rules.language.amount import divided
from shared.rules.scoring.game_result import lost_tricks
from shared.rules.scoring.prices import Reckoning, counted, mountain, pool, whists
from shared.rules.scoring.sheet import Entry


def trick_price(prices: tuple[int, ...], in_row: int) -> int:
    """The price of a trick after `in_row` all-pass deals in a row; the last of the list repeats (3.7.4)."""
    return prices[min(in_row, len(prices) - 1)]


def talon_leads(convention: Convention, players: int) -> bool:
    """Whether the talon opens the first two tricks of an all-pass (3.7.6); with two players it stays closed (3.7.6.4)."""
    return convention.all_pass.talon == "leads" and players != DUMMY


def dealer_takes_tricks(convention: Convention, players: int, dealer: int) -> bool:
    """Whether the talon's tricks of an all-pass fall to a resting dealer (3.7.6.1)."""
    return talon_leads(convention, players) and dealer not in active(players, dealer)


def score_all_pass(deal: Reckoning, in_row: int) -> Iterator[Entry]:
    """Everything an all-pass deal writes after `in_row` others in a row; a dark pass doubles the price of the trick (`deal.factor`)."""
    rules, outcome = deal.convention.all_pass, deal.outcome
    price = trick_price(rules.prices, in_row) * deal.factor
    playing = active(deal.players, outcome.dealer)
    dealer_takes = dealer_takes_tricks(deal.convention, deal.players, outcome.dealer)
    takers = sorted((*playing, outcome.dealer) if dealer_takes else playing)
    taken = {seat: outcome.tricks[seat] + lost_tricks(outcome, seat) for seat in takers}
    if rules.scoring == "whists":
        yield from _in_whists(taken, playing, price)
    else:
        yield from _in_the_mountain(deal, taken, price)
    for seat in sorted(playing):
        if taken[seat] == 0:
            yield from _zero_bonus(deal, seat, price, "3.7.2.2" if rules.scoring == "whists" else "3.7.2.1")
    if outcome.dealer not in playing and rules.zero_bonus_dealer and not taken.get(outcome.dealer):
        yield from _zero_bonus(deal, outcome.dealer, price, "3.7.6.2")


def _in_the_mountain(deal: Reckoning, taken: dict[int, int], price: int) -> Iterator[Entry]:
    """Price times tricks, after the amnesty of what everybody has, a dealer who takes the talon's tricks included (3.7.3)."""
    common = min(taken.values()) if deal.convention.all_pass.amnesty else 0
    forgiven = f", {common} forgiven to all" if common else ""
    for seat, tricks in taken.items():
        yield mountain(seat, (tricks - common) * price, "3.7.3" if common else "3.7.2.1", counted(tricks, price) + forgiven)


def _in_whists(taken: dict[int, int], playing: tuple[int, ...], price: int) -> Iterator[Entry]:
    """The lowest writes on each other for that one's tricks; several lowest share; nobody's own tricks are subtracted (3.7.2.2, FN46)."""
    lowest = min(taken[seat] for seat in playing)
    writers = [seat for seat in sorted(playing) if taken[seat] == lowest]
    for writer in writers:
        for seat, tricks in taken.items():
            if seat not in writers:
                part = "" if len(writers) == 1 else f", shared by {len(writers)}"
                yield whists(writer, seat, divided(tricks * price, len(writers)), "3.7.2.2", counted(tricks, price) + part)


def _zero_bonus(deal: Reckoning, seat: int, price: int, rule: str) -> Iterator[Entry]:
    bonus = deal.convention.all_pass.zero_bonus
    if isinstance(bonus, Fixed):
        yield pool(seat, bonus.fixed, rule, "no trick on all-pass")
    elif bonus == "price":
        yield pool(seat, price, rule, f"no trick on all-pass, the price of one: {price}")
    elif bonus == "off_mountain_2":
        yield mountain(seat, -2 * price, rule, f"no trick on all-pass, twice the price of one off the mountain: {price}")
