"""What games are worth (4.1)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.scoring.scored import net, one, rules_cited, score


@pytest.mark.parametrize(("contract", "price"), [("6C", 2), ("7C", 4), ("8C", 6), ("9C", 8), ("10C", 10)])
def test_4_1_1_one_price_in_all_columns(contract: str, price: int) -> None:
    """The price goes into the pool when made, into the mountain for an undertrick, and is a whist for every trick (4.1.1)."""
    level = int(contract.removesuffix("C"))
    deal = {"declarer": 0, "contract": contract, "calls": [None, "whist", "pass"]}
    made = one("sochi", 3, deal | {"tricks": [level, 10 - level, 0]})
    assert (made["pool"], made["whists"]) == ([price, 0, 0], [[1, 0, price * (10 - level)]] if level < 10 else [])
    failed = one("sochi", 3, deal | {"tricks": [level - 1, 11 - level, 0]})
    assert (failed["pool"], failed["mountain"]) == ([0, 0, 0], [price, 0, 0])
    assert rules_cited("sochi", 3, deal | {"tricks": [level, 10 - level, 0]}) >= {"4.1.1"}


@pytest.mark.parametrize("factor", [2, 4])
def test_4_1_2_a_bomb_multiplies_everything(factor: int) -> None:
    """A bomb multiplies what its owner's next game writes, on all sides (4.1.2, FN29)."""
    deal = {"declarer": 0, "contract": "6S", "calls": [None, "whist", "pass"], "tricks": [5, 4, 1]}
    plain: dict[str, Any] = one("classic", 3, deal)
    bombed = one("classic", 3, deal, start={"bombs": [[factor], [], []]})
    assert bombed["mountain"] == [factor * points for points in plain["mountain"]]
    assert bombed["whists"] == [[i, j, factor * n] for i, j, n in plain["whists"]]
    others = one("classic", 3, deal, start={"bombs": [[], [factor], [factor]]})
    assert others == plain


def test_4_1_3_the_result_is_in_whists() -> None:
    """Pool, mountain and whists come to one number of whists a player, and these sum to zero (4.1.3)."""
    deal = {"declarer": 0, "contract": "6S", "calls": [None, "whist", "whist"], "tricks": [6, 2, 2]}
    answer = score("sochi", 3, deal, target=10)
    assert sum(net(answer)) == 0
    assert net(answer)[0] == pytest.approx(2 * 20 / 3 - 8)
