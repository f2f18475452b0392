"""Where a pulka stands between two deals, for whoever knows only outcomes: score files, and the same deals under another convention."""

from __future__ import annotations

import msgspec

from shared.rules.convention.options import Convention
from shared.rules.scoring.outcome import DealOutcome
from shared.rules.scoring.score import START, score_deal
from shared.rules.scoring.series import Series, next_dealer, series_after
from shared.rules.scoring.sheet import Entry, Sheet, write


class Standing(msgspec.Struct, frozen=True):
    """The sheet, the series, how many deals were played, and who deals next (None while nobody has dealt)."""

    sheet: Sheet
    series: Series = START
    deals: int = 0
    dealer: int | None = None


def play_on(convention: Convention, target: int | None, before: Standing, outcome: DealOutcome) -> tuple[Standing, tuple[Entry, ...]]:
    """The standing after `outcome`, and the entries that it wrote."""
    players = before.sheet.players
    entries = score_deal(convention, players, target, before.sheet, outcome, before.series)
    after = Standing(
        sheet=write(before.sheet, entries),
        series=series_after(convention, players, outcome, before.series),
        deals=before.deals + 1,
        dealer=next_dealer(convention, players, outcome.dealer, outcome.contract),
    )
    return after, entries
