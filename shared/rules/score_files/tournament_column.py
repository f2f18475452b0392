"""The column that a tournament sheet has besides (4.2.11): every deal's contract and result, `6S / =`, `8H / −1`."""

from __future__ import annotations

from shared.rules.scoring.game_result import game_result
from shared.rules.scoring.outcome import DealOutcome

EXACTLY = "="
MINUS = "−"
NOTHING = "-"  # a deal that ended before its contract


def contract_and_result(outcome: DealOutcome) -> str:
    """Contract and result of a deal, with `/` between them; contracts as documents write them.

    A game made exactly, an unplayed one too, is `=`; `+1` and more are overtricks, `−1` and more what it missed, fines included. A misere
    is `=`, or minus the tricks taken; given up without three is `−3`. All-pass has everybody's tricks by seat: `all_pass / 2-5-3`.
    """
    if outcome.contract is None:
        return NOTHING
    return f"{outcome.contract} / {_result(outcome)}"


def _result(outcome: DealOutcome) -> str:
    if outcome.is_all_pass:
        return "-".join(map(str, outcome.tricks))
    result = game_result(outcome)
    if not result.made:
        return f"{MINUS}{result.undertricks}"
    return f"+{result.surplus}" if result.surplus else EXACTLY
