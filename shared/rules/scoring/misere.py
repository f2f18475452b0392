"""A misere's entries: ten into the pool, or ten into the mountain for every trick; no whists, no consolation (3.6.1, 4.2.1)."""

from __future__ import annotations

from collections.abc import Iterator

from shared.rules.convention.options import Convention
from shared.rules.deck.seats import DEALER_RESTS
from shared.rules.language.amount import divided
from shared.rules.language.refusal import Refused
from shared.rules.scoring.game_result import game_result
from shared.rules.scoring.prices import Reckoning, counted, mountain, pool
from shared.rules.scoring.sheet import Entry


def objection_to_sharing(convention: Convention, players: int) -> Refused | None:
    """Why nobody shares a misere with the dealer at this table, if nobody may (3.6.9)."""
    if not convention.shared_misere:
        return Refused("call_not_allowed", "3.6.9", "In this pulka a misere cannot be shared.")
    if players != DEALER_RESTS:
        return Refused("call_not_allowed", "3.6.9", "A misere is shared with the resting dealer of four players.")
    return None


def score_misere(deal: Reckoning) -> Iterator[Entry]:
    """Win and loss are the declarer's, or halved with the resting dealer who shares it (3.6.9, FN43)."""
    outcome, result = deal.outcome, game_result(deal.outcome)
    pair = (outcome.declarer or 0, outcome.dealer) if outcome.shared else (outcome.declarer or 0,)
    how = ", half of it" if outcome.shared else ""
    price = deal.mountain_price
    for seat in pair:
        if result.made:
            yield pool(seat, divided(deal.price, len(pair)), "3.6.9" if how else "3.6.1", f"misere made{how}")
        else:
            rule = "3.6.9" if how else "4.2.1"
            yield mountain(seat, divided(result.real * price, len(pair)), rule, f"misere caught: {counted(result.real, price)}{how}")
            for infraction, more in result.fines:
                yield mountain(seat, divided(more * price, len(pair)), infraction.rule, f"fine: {counted(more, price)} more{how}")
