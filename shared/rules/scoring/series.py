"""What one deal leaves for the next: who deals it, the series of all-pass deals (3.7.4, 3.7.8), dark passes in a row, and bombs (3.3.19,
FN29-FN31).
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from shared.rules.convention.options import Convention, Dark
from shared.rules.deck.contract import ALL_PASS
from shared.rules.deck.seats import active
from shared.rules.scoring.game_result import game_result
from shared.rules.scoring.outcome import DealOutcome
from shared.rules.scoring.whister import whisting

#: Multipliers that wait for each seat's next games, in order of arrival.
Bombs: TypeAlias = tuple[tuple[int, ...], ...]


class Series(msgspec.Struct, frozen=True):
    """`all_pass_in_row` deals in the running series; `dark_in_row`, the latest of them, with a dark pass each; `bombs` by seat."""

    all_pass_in_row: int = 0
    dark_in_row: int = 0
    bombs: Bombs = ()

    def bomb(self, seat: int) -> int:
        """The factor on `seat`'s next game; 1 without a bomb."""
        return self.bombs[seat][0] if self.bombs and self.bombs[seat] else 1


def next_dealer(convention: Convention, players: int, dealer: int, contract: str | None) -> int:
    """The deal passes clockwise whatever was played (3.2.2), unless the convention lets a dealer of all-pass repeat (3.7.7)."""
    repeats = contract == ALL_PASS and convention.all_pass.dealer == "repeats"
    return dealer if repeats else (dealer + 1) % players


def series_of(outcome: dict[str, Any]) -> Series:
    """What a scored deal left to the next, from `outcome` of its event."""
    bombs = tuple(tuple(own) for own in outcome.get("bombs", ()))
    return Series(outcome["all_pass_in_row"], outcome.get("dark_in_row", 0), bombs)


def plays_dark(convention: Convention) -> bool:
    """Whether calls in the dark are in force (3.3.19)."""
    return isinstance(convention.dark, Dark)


def opening_rounds(convention: Convention) -> int:
    """How many all-pass deals begin a pulka before anybody is asked (3.7.9)."""
    return convention.dark.opening_rounds if isinstance(convention.dark, Dark) else 0


def is_forced(convention: Convention, number: int) -> bool:
    """Whether deal `number`, from 1, is one of the all-pass deals that begin a pulka; a round of them is one deal [conv] (3.7.9)."""
    return number <= opening_rounds(convention)


def dark_deals_in_row(convention: Convention, all_pass_in_row: int, told: int | None) -> int:
    """How many of the running series' latest deals had a dark pass, as a document tells it; where it does not, in Classic all of them."""
    if not plays_dark(convention):
        return 0
    return all_pass_in_row if told is None else told


def exit_level(convention: Convention, series: Series) -> int:
    """The lowest level that may be bid: 6, or the k-th of the agreed exits after k all-pass deals in a row; the last repeats (3.7.8).

    Where calls are made in the dark k counts the latest deals with a dark pass: 6 + k by Decision 21; an open all-pass is left by the
    first exit [conv].
    """
    exits = convention.all_pass.exit_levels
    if not series.all_pass_in_row:
        return 6
    in_row = max(1, series.dark_in_row) if plays_dark(convention) else series.all_pass_in_row
    return exits[min(in_row, len(exits)) - 1]


def dark_factor(convention: Convention, dark_in_row: int) -> int:
    """Factor of the k-th dark all-pass in a row, 2 to the k, with the agreed limit on k (3.3.19)."""
    limit = convention.dark.limit if isinstance(convention.dark, Dark) else 0
    return 1 << min(dark_in_row, limit)


def deal_factor(convention: Convention, series: Series, outcome: DealOutcome) -> int:
    """What multiplies all that `outcome` writes: two for a dark bid, the declarer's first bomb (4.1.2), on all-pass a dark pass."""
    if outcome.is_all_pass:
        return dark_factor(convention, series.dark_in_row + 1) if outcome.dark_pass else 1
    return series.bomb(outcome.declarer or 0) * (2 if outcome.dark else 1)


def series_after(convention: Convention, players: int, outcome: DealOutcome, before: Series) -> Series:
    """The series and bombs after `outcome`."""
    if outcome.contract is None:
        return before  # the deal ended before a contract: nothing was played that could end or lengthen a series
    if outcome.is_all_pass:
        dark = before.dark_in_row + 1 if outcome.dark_pass else 0
        return Series(before.all_pass_in_row + 1, dark, _bombs_won(convention, players, outcome, before, dark))
    ended = _ends(convention, players, outcome)
    bombs = _bomb_used(outcome, before.bombs)
    return Series(0, 0, bombs) if ended else Series(before.all_pass_in_row, before.dark_in_row, bombs)


def _ends(convention: Convention, players: int, outcome: DealOutcome) -> bool:
    """Whether a game or misere ends the series (Decision 11); a played ten without calls counts as whisted."""
    match convention.all_pass.series_ends:
        case "made_game":
            return game_result(outcome).made
        case "whisted_made_game":
            if not outcome.is_game or not outcome.tricks or not game_result(outcome).made:
                return False
            return whisting(convention, players, outcome).kind in ("one", "pair", "dealer", "checked")
    return True


def _bombs_won(convention: Convention, players: int, outcome: DealOutcome, before: Series, dark: int) -> Bombs:
    """Each dark passer, and the resting dealer, gets one bomb; several dark passes in one auction do not add up (3.3.19)."""
    if not dark:
        return before.bombs
    rests = (outcome.dealer,) if outcome.dealer not in active(players, outcome.dealer) else ()
    winners = {*outcome.dark_pass, *rests}
    bombs = before.bombs or ((),) * players
    return tuple((*own, dark_factor(convention, dark)) if seat in winners else own for seat, own in enumerate(bombs))


def _bomb_used(outcome: DealOutcome, bombs: Bombs) -> Bombs:
    """A made game uses the declarer's first bomb up, a failed one keeps it (FN30)."""
    declarer = outcome.declarer or 0
    if not bombs or not bombs[declarer] or not game_result(outcome).made:
        return bombs
    return tuple(own[1:] if seat == declarer else own for seat, own in enumerate(bombs))
