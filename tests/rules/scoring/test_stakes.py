"""The stake of a whist, agreed before the pulka (4.2.13): exact amounts, refused where it is none."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from shared.rules.language.refusal import Malformed
from tests.rules.scoring.scored import score

DEAL = {"declarer": 0, "contract": "6S", "calls": [None, "whist", "pass"], "tricks": [6, 2, 2]}


@pytest.mark.parametrize("stake", [1, 5, "1/2", "3/100"])
def test_4_2_13_amounts_are_exact_and_sum_to_zero(stake: int | str) -> None:
    """What is owed is the whists times the stake: exactly, and by the rounded whists that are paid; both sum to zero (4.2.13)."""
    settled = score("sochi", 3, DEAL, target=20, stake=stake)["settlement"]
    net, rounded = settled["net"], settled["rounded"]
    assert [Fraction(amount) for amount in settled["amounts"]] == [Fraction(whists) * Fraction(stake) for whists in net]
    assert [Fraction(amount) for amount in settled["payments"]] == [whists * Fraction(stake) for whists in rounded]
    assert sum(map(Fraction, settled["amounts"])) == 0
    assert sum(Fraction(amount) for amount in settled["payments"]) == 0
    assert Fraction(settled["stake"]) == Fraction(stake)


def test_4_2_13_without_a_stake_nothing_is_said_of_money() -> None:
    """A settlement without an agreed stake is in whists alone (4.2.13)."""
    assert set(score("sochi", 3, DEAL)["settlement"]) == {"mountain", "net", "rounded"}


@pytest.mark.parametrize("stake", [0, -1, "-1/2", "0.5", "1/100000", 1_000_001, True, [1]])
def test_4_2_13_a_stake_that_is_none_is_malformed(stake: Any) -> None:
    """More than nothing, exact, and no finer than any currency."""
    with pytest.raises(Malformed) as caught:
        score("sochi", 3, DEAL, stake=stake)
    assert caught.value.path == "stake"
