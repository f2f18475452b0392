"""What came after a settlement, as a sheet tells it: each correction, an annulment, and what stands after all of them (4.2.16)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, NamedTuple

from services.ledger.sheet.sheet_words import word
from shared.rules.language.amount import Amount, exact, written
from shared.rules.score_files.scorer_words import Lang, signed
from shared.rules.scoring.settlement import rounded


class Decided(NamedTuple):
    """A decision: when (milliseconds since 1970), by whom and why; `amounts` by seat, none for an annulment, which takes all back."""

    at: int
    author: str
    reason: str
    amounts: tuple[Amount, ...]


class SinceSettled(NamedTuple):
    """The decisions in order, and by seat what stands after the last of them: exact whists, whole ones, and what is paid at a `stake`.

    Where nobody is known by a name there are no accounts to correct: then a correction has no amounts, and nothing is said to stand.
    """

    decided: list[Decided]
    stands: list[Amount]
    whole: list[int]
    stake: Amount | None = None

    @property
    def payments(self) -> list[Amount]:
        """What each gets, less than nothing if they pay: whole whists at the stake, as in the statement (4.2.13); none without one."""
        return [] if self.stake is None else [exact(whists * self.stake) for whists in self.whole]


def since_settled(score: Mapping[str, Any], lang: Lang, first: int) -> SinceSettled | None:
    """What a sheet's object tells of `corrections` and `annulled`; None where there is nothing. `first` of equals: see `first_of_equals`.

    An earlier section was not settled, and its seats are other ones: there, too, it is None.
    """
    corrections, annulled = score.get("corrections", ()), score.get("annulled")
    if not (corrections or annulled) or score.get("section", 0) != len(score.get("sections", ())):
        return None
    stands = [exact(Fraction(whists)) for whists in score["settlement"]["net"]]
    decided: list[Decided] = []
    for one in corrections:
        given = tuple(exact(Fraction(amount)) for amount in one["amounts"])
        stands = [was + more for was, more in zip(stands, given, strict=True)] if given else []
        decided.append(Decided(one["at"], one["author"], one["reason"], given))
    if annulled:
        stands = [0] * len(score["settlement"]["net"])
        decided.append(Decided(annulled["at"], annulled["author"], f"{word(lang, 'annulled')}: {annulled['reason']}", ()))
    stake = score["settlement"].get("stake")
    return SinceSettled(decided, stands, list(rounded(tuple(stands), first)), None if stake is None else exact(Fraction(stake)))


def standing(since: SinceSettled, lang: Lang) -> list[tuple[str, list[str]]]:
    """What stands after the last decision, each line with its word and its numbers by seat; nothing where nothing is said to stand."""
    if not since.stands:
        return []
    lines = [(word(lang, "stands"), list(map(signed, since.stands)))]
    if since.whole != since.stands:
        lines.append((word(lang, "stands_whole"), list(map(signed, since.whole))))
    if since.stake is not None:
        lines.append((word(lang, "owed", stake=written(since.stake)), list(map(signed, since.payments))))
    return lines


def when(at: int) -> str:
    """A time of the log, milliseconds since 1970, to the minute."""
    return f"{datetime.fromtimestamp(at // 1000, UTC):%Y-%m-%d %H:%M}"
