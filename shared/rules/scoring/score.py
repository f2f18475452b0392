"""From the outcome of a deal to the entries on the sheet: the one front of scoring. Every entry cites its rule and says why.

`score_trick_game`, `score_misere` and `score_all_pass` score a kind of deal each, `score_infractions` fines, `help` the pool's overflow.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from shared.rules.convention.options import Convention
from shared.rules.language.amount import exact
from shared.rules.scoring.all_pass import score_all_pass
from shared.rules.scoring.help import pool_entries
from shared.rules.scoring.infractions import score_infractions
from shared.rules.scoring.misere import score_misere
from shared.rules.scoring.outcome import DealOutcome
from shared.rules.scoring.prices import Reckoning, mountain
from shared.rules.scoring.series import Series, deal_factor
from shared.rules.scoring.sheet import Entry, Sheet, write
from shared.rules.scoring.trick_game import score_trick_game

START = Series()


def score_deal(
    convention: Convention, players: int, target: int | None, sheet: Sheet, outcome: DealOutcome, series: Series = START
) -> tuple[Entry, ...]:
    """Everything that `outcome` writes on `sheet`, zeros left out, in exact numbers.

    `target` is the pool each plays to, or None; `sheet` and `series` are what stood before the deal. Pool points of one deal are written in
    seat order, each with its help (4.2.3). The outcome must be possible: whoever makes one of a document checks it first (`score_file`).
    """
    deal = Reckoning(convention, players, target, sheet, outcome, deal_factor(convention, series, outcome))
    written: list[Entry] = []
    won: list[Entry] = []
    for one in _as_won(deal, series):
        if one.amount:
            (won if one.column == "pool" else written).append(one)
    pools = pool_entries(convention, target, write(sheet, written), won) if won else ()
    return tuple([one if type(one.amount) is int else _exact(one) for one in (*pools, *written)])


def _as_won(deal: Reckoning, series: Series) -> Iterator[Entry]:
    outcome = deal.outcome
    if outcome.is_all_pass:
        yield from score_all_pass(deal, series.all_pass_in_row)
    elif outcome.is_misere:
        yield from score_misere(deal)
    elif outcome.is_game:
        yield from score_trick_game(deal)
    if outcome.infractions:
        yield from score_infractions(outcome.infractions)
    if outcome.talon_refused:
        yield from _refused_talon(deal)


def _refused_talon(deal: Reckoning) -> Iterator[Entry]:
    """The dealer answers for a talon discarded whole, by agreement (3.4.10); never to themselves, nor on shared misere."""
    outcome, points = deal.outcome, deal.convention.refused_talon
    if points and not outcome.shared and outcome.dealer != outcome.declarer:
        yield mountain(outcome.dealer, points, "3.4.10", "the declarer refused the talon")


def _exact(one: Entry) -> Entry:
    return msgspec.structs.replace(one, amount=exact(one.amount))
