"""Where each option of a convention comes from: the question it answers, and the rule, footnote (FN) or decision of ours it turns on.

Decisions are those of `deploy/docs/rules.md`. Options of the nested `all_pass` stand under `all_pass.`.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from shared.rules.convention.options import LATER, Convention, to_document


class OptionSource(msgspec.Struct, frozen=True):
    """`question` in a few words, `source` as it is cited."""

    question: str
    source: str


class OptionLine(msgspec.Struct, frozen=True):
    """One option of a document, with its value as JSON has it."""

    option: str
    value: Any
    question: str
    source: str


OPTION_SOURCES: Final[dict[str, OptionSource]] = {
    "remise_factor": OptionSource("declarer's mountain, in prices an undertrick", "4.1.1, Decision 1"),
    "whist_factor": OptionSource("whists, in prices a trick", "3.8.1.1, FN53"),
    "whister_remise": OptionSource("what a missing trick costs a whister", "3.8.11, 3.8.12"),
    "declarer_remise": OptionSource("how a failed declarer pays", "4.1.1, Decision 6"),
    "consolation": OptionSource("whists an undertrick, to every opponent", "3.8.1.2, FN36, FN54"),
    "single_whister": OptionSource("who writes for the passer's tricks", "3.8.13, 3.8.14, Decision 5"),
    "pair_6_7": OptionSource("which of two whisters answers on 6 and 7", "3.8.6, Decision 2"),
    "pair_8_9": OptionSource("which of two whisters answers on 8 and 9", "3.8.6, FN59, Decision 3"),
    "pair_10": OptionSource("which of two whisters answers on 10", "3.8.6, FN59, Decision 3"),
    "ten": OptionSource("whether a ten is whisted", "3.5.3, FN39, Decision 4"),
    "half_whist": OptionSource("levels with a half-whist", "3.8.7"),
    "pass_return": OptionSource("levels on which the passer may return the whist", "3.8.8.1, Decision 14"),
    "first_hand_half": OptionSource("whether the first hand may go down to half", "3.8.14"),
    "dealer_whist": OptionSource("whether a resting dealer may whist", "3.8.8, Decision 15"),
    "stalingrad": OptionSource("whether six spades must be whisted", "3.8.9, FN61"),
    "without_three": OptionSource("levels that may be given up before the discard", "3.5.4, FN40"),
    "shared_misere": OptionSource("whether a misere may be shared with the resting dealer", "3.6.9, FN43"),
    "misere_no_talon": OptionSource("whether there is a misere without the talon", "FN41, Decision 10"),
    "dark": OptionSource("dark calls and bombs", "3.3.19, FN29, Decision 21"),
    "here": OptionSource("who may hold the last bid", "3.3.8, Decision 9"),
    "step_by_step": OptionSource("whether bids climb without jumps", "3.3.8, FN21"),
    "silent_take": OptionSource("whether the third hand may take the talon in silence", "3.3.15, FN23"),
    "talon_bonus": OptionSource("whist tricks for a rich talon", "3.4.11"),
    "refused_talon": OptionSource("dealer's mountain for a refused talon", "3.4.10"),
    "all_pass.scoring": OptionSource("what all-pass is written in", "3.7.2.1, 3.7.2.2"),
    "all_pass.prices": OptionSource("price of a trick by place in the series", "3.7.4, FN45, Decision 12"),
    "all_pass.amnesty": OptionSource("whether the common minimum is forgiven", "3.7.3, FN46"),
    "all_pass.zero_bonus": OptionSource("what no trick is worth", "3.7.2.1, Decision 8"),
    "all_pass.zero_bonus_dealer": OptionSource("whether a resting dealer gets it too", "3.7.6.2, Decision 8"),
    "all_pass.talon": OptionSource("whether the talon leads", "3.7.6"),
    "all_pass.exit_levels": OptionSource("lowest bid after all-pass deals in a row", "3.7.8"),
    "all_pass.series_ends": OptionSource("what ends a series", "3.7.8, Decision 11"),
    "all_pass.dealer": OptionSource("who deals after an all-pass", "3.7.7"),
    "help": OptionSource("whom surplus pool points go to", "4.2.3, Decision 13"),
    "help_surplus": OptionSource("what becomes of points that no pool can take", "4.1.1"),
    "ends_when": OptionSource("when the pulka ends", "4.2.3, 4.2.3.3"),
    "settlement_divisor": OptionSource("among how many a mountain point is divided", "4.2.14, Decision 16"),
    "pool_weight": OptionSource("mountain points that a pool point weighs", "4.2.3.3"),
}

#: The version is no option that a table agrees on; it is told where two records differ in it.
_VERSION: Final = OptionSource("the rules as they were when the pulka was opened", "Decision 28")


def option_lines(convention: Convention) -> tuple[OptionLine, ...]:
    """Every option of the document, in the order above."""
    values = to_document(convention)
    inner = {f"all_pass.{option}": value for option, value in values.pop("all_pass").items()}
    values = LATER | values | inner
    return tuple(OptionLine(option, values[option], told.question, told.source) for option, told in OPTION_SOURCES.items())


def differences(one: Convention, other: Convention) -> tuple[tuple[OptionLine, OptionLine], ...]:
    """The options in which two records differ, the first's line and the second's; their `version` first."""
    pairs = zip((_version_line(one), *option_lines(one)), (_version_line(other), *option_lines(other)), strict=True)
    return tuple((mine, theirs) for mine, theirs in pairs if mine.value != theirs.value)


def _version_line(convention: Convention) -> OptionLine:
    return OptionLine("version", convention.version, _VERSION.question, _VERSION.source)
