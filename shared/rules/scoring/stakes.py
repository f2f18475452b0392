"""The stake: what a whist is worth, agreed before the pulka (4.2.13, 5.4.4), in whatever unit the club reckons in. Exact throughout."""

from __future__ import annotations

from typing import Any, Final

from shared.rules.language import amount as amounts
from shared.rules.language.amount import Amount, exact, written
from shared.rules.language.refusal import Malformed
from shared.rules.scoring.sheet import BySeat

HIGHEST: Final = 1_000_000  # units a whist; the limit only keeps amounts readable
FINEST: Final = 10_000  # the largest denominator: a hundredth of a hundredth, finer than any currency


def read_stake(value: int | str, path: str) -> Amount:
    """The stake that a document has at `path`: more than nothing, whole or an exact fraction in text. Raises `Malformed`."""
    stake = amounts.read(value, path)
    if not 0 < stake <= HIGHEST:
        raise Malformed(path, f"must be more than 0 and at most {HIGHEST}")
    if stake.denominator > FINEST:
        raise Malformed(path, f"must be given in parts of at most {FINEST}")
    return stake


def agreed_stake(terms: dict[str, Any]) -> Amount | None:
    """The stake among a table's terms, if one is agreed."""
    agreed = terms.get("stake")
    return None if agreed is None else read_stake(agreed, "stake")


def stakes_document(stake: Amount, net: BySeat, rounded: tuple[int, ...]) -> dict[str, Any]:
    """What the settlement says of money: `stake` a whist; `amounts`, the exact whists at it, as text; `payments`, the rounded ones.

    Players pay by the rounded whists, which sum to zero too [conv].
    """
    return {
        "stake": written(stake),
        "amounts": [str(written(exact(whists * stake))) for whists in net],
        "payments": [written(exact(whists * stake)) for whists in rounded],
    }
