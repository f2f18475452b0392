"""A trick game's entries: the declarer's result, the defenders' whists, everybody's consolation (3.8.1.1-3.8.1.3, 3.8.13, 3.8.14)."""

from __future__ import annotations

from collections.abc import Iterator

from shared.rules.convention.options import Convention
from shared.rules.deck.contract import LEVEL, OBLIGATION, TRICKS
from shared.rules.deck.seats import defenders
from shared.rules.language.amount import Amount, divided
from shared.rules.scoring.game_result import GameResult, game_result, lost_tricks
from shared.rules.scoring.prices import Reckoning, counted, mountain, pool, undertrick_price, whists, without
from shared.rules.scoring.sheet import Entry
from shared.rules.scoring.whister import Whisting, whisting
from shared.rules.scoring.whister_shortage import whister_shortages


def may_give_up_without_three(convention: Convention, contract: str | None) -> bool:
    """Whether this bid, or the contract that it became, may be given up before the discard (3.5.4, FN40)."""
    return LEVEL.get(contract or "") in convention.without_three


def writes_talon_gift(convention: Convention) -> bool:
    """Whether a rich talon is worth whists (3.4.11)."""
    return convention.talon_bonus == "on"


def score_trick_game(deal: Reckoning) -> Iterator[Entry]:
    """Everything that a trick game writes but fines and rulings; pool points as won, before help."""
    outcome, result = deal.outcome, game_result(deal.outcome)
    calls = whisting(deal.convention, deal.players, outcome)
    yield from _declarer(deal, result, calls)
    if outcome.without_three:
        return
    if outcome.offences("3.4.6"):
        yield from _consolation(deal, result.undertricks, "3.4.6")
    else:
        tricks = defence_tricks(deal, calls)
        yield from _whists(deal, calls, tricks, failed=result.real > 0)
        yield from _consolation(deal, result.real, "3.8.1.2")
        if outcome.tricks and not outcome.conceded:
            yield from whister_shortages(deal, calls, tricks)
    yield from _talon_gift(deal)


def _declarer(deal: Reckoning, result: GameResult, calls: Whisting) -> Iterator[Entry]:
    """The price into the pool, or into the mountain for every missing trick (4.1.1); fines under their own rule."""
    outcome, declarer = deal.outcome, deal.outcome.declarer or 0
    if result.made:
        rule, how = {"nobody": ("3.5.3", ", nobody whisted"), "half": ("3.8.7", ", unplayed")}.get(calls.kind, ("4.1.1", ""))
        yield pool(declarer, deal.price, rule, f"{outcome.contract} made{how}")
        return
    price = deal.mountain_price
    if outcome.without_three:
        price = undertrick_price(deal.convention, deal.price)  # the fixed price of giving up, whatever a played remise costs
        yield mountain(declarer, result.real * price, "3.5.4", f"{outcome.contract} given up without three, {price} a trick")
        return
    rule, how = ("3.5.4", ", given up without all") if outcome.conceded else ("4.1.1", "")
    yield mountain(declarer, result.real * price, rule, f"{outcome.contract} {without(result.real)} at {price}{how}")
    for infraction, more in result.fines:
        yield mountain(declarer, more * price, infraction.rule, f"fine: {outcome.contract} {without(more)} at {price} more")


def defence_tricks(deal: Reckoning, calls: Whisting) -> dict[int, int]:
    """Tricks by defender, as the whists are written for them; all ten after a concession: the sole whister's, or half each (3.5.4)."""
    outcome = deal.outcome
    order = defenders(deal.players, outcome.dealer, outcome.declarer or 0)
    if outcome.conceded:
        if calls.kind in ("pair", "checked", "dealer") and len(order) == 2:
            return dict.fromkeys(order, TRICKS // 2)
        return {seat: TRICKS if seat == calls.first else 0 for seat in order}
    return {seat: outcome.tricks[seat] if outcome.tricks else 0 for seat in order}


def _whists(deal: Reckoning, calls: Whisting, tricks: dict[int, int], *, failed: bool) -> Iterator[Entry]:
    """Who writes for which tricks (3.8.1.1); a whister's fine costs them one (3.9.11.2)."""
    first, second = calls.first, calls.second
    if first is None:
        return
    if calls.kind in ("pair", "checked"):
        for seat in (first, second):
            if seat is not None:
                yield _own_tricks(deal, tricks, seat)
    elif calls.kind == "half" and failed and deal.convention.version > 1:
        return  # who went for half writes no whists on a remise (3.8.14); version 1 wrote half of the obligation
    elif calls.kind == "half":
        yield _tricks(deal, first, divided(OBLIGATION[LEVEL[deal.outcome.contract or ""]], 2), "3.8.7", "half-whist: ")
    elif calls.kind == "one" and second is not None and not calls.returned:
        yield from _with_a_passer(deal, first, second, tricks, failed=failed)
    else:
        rule = "3.8.8" if calls.kind == "dealer" else "3.8.8.2" if calls.returned else "3.8.1.1"
        yield _tricks(deal, first, _all_tricks(deal, tricks, first), rule, "all of the defence: ")


def _with_a_passer(deal: Reckoning, whister: int, passer: int, tricks: dict[int, int], *, failed: bool) -> Iterator[Entry]:
    """One whister and one passer: the tricks of both, by the style of the table (Decision 5)."""
    style, everything = deal.convention.single_whister, _all_tricks(deal, tricks, whister)
    if style == "own":
        yield _own_tricks(deal, tricks, whister)
    elif style == "gentleman_always" or (style == "gentleman_remise" and failed):
        for seat in (whister, passer):
            yield _tricks(deal, seat, divided(everything, 2), "3.8.14", f"half of {everything}: ")
    else:
        yield _tricks(deal, whister, everything, "3.8.13" if failed else "3.8.1.1")


def _own_tricks(deal: Reckoning, tricks: dict[int, int], seat: int) -> Entry:
    return _tricks(deal, seat, max(0, tricks[seat] - lost_tricks(deal.outcome, seat)), "3.8.1.1")


def _all_tricks(deal: Reckoning, tricks: dict[int, int], whister: int) -> int:
    return max(0, sum(tricks.values()) - lost_tricks(deal.outcome, whister))


def _tricks(deal: Reckoning, seat: int, count: Amount, rule: str, how: str = "") -> Entry:
    """Whists of `seat` on the declarer for `count` tricks."""
    price = deal.whist_price
    return whists(seat, deal.outcome.declarer or 0, count * price, rule, how + counted(count, price))


def _consolation(deal: Reckoning, undertricks: int, rule: str) -> Iterator[Entry]:
    """Every opponent, resting ones too, for every trick that the declarer really missed (3.8.1.2)."""
    if not undertricks:
        return
    price = deal.consolation_price
    for seat in deal.opponents():
        yield whists(seat, deal.outcome.declarer or 0, undertricks * price, rule, f"consolation: {without(undertricks)} at {price}")


def _talon_gift(deal: Reckoning) -> Iterator[Entry]:
    """Tricks given in the talon, as on whist: to a resting dealer, else divided among the opponents (3.4.11)."""
    outcome = deal.outcome
    if not writes_talon_gift(deal.convention) or not outcome.talon_tricks:
        return
    opponents = deal.opponents()
    dealer_rests = outcome.dealer not in (*defenders(deal.players, outcome.dealer, outcome.declarer or 0), outcome.declarer)
    writers = (outcome.dealer,) if dealer_rests else opponents
    share = divided(outcome.talon_tricks * deal.whist_price, len(writers))
    part = "" if len(writers) == 1 else f", shared by {len(writers)}"
    for seat in writers:
        yield whists(seat, outcome.declarer or 0, share, "3.4.11", f"talon gift: {counted(outcome.talon_tricks, deal.whist_price)}{part}")
