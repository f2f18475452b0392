"""All-pass deals, their series, and dark passes (3.7, 3.3.19)."""

from __future__ import annotations

from typing import Any

import pytest

from shared.rules.convention.options import resolve
from shared.rules.language.refusal import Malformed
from shared.rules.scoring.outcome import DealOutcome
from shared.rules.scoring.series import Series, deal_factor
from tests.rules.scoring.scored import one, score, written

PASSED = {"contract": "all_pass", "tricks": [2, 5, 3]}


def sochi(**options: Any) -> dict[str, Any]:
    """Sochi with what differs in all-pass."""
    return {"preset": "sochi", "all_pass": options}


def prices(convention: Any, *deals: dict[str, Any]) -> list[int]:
    """What each all-pass deal wrote into the mountain of seat 1, who takes five tricks of which two are forgiven."""
    answer = score(convention, 3, *deals)
    return [deal["mountain"][1] // 3 for deal in answer["deals"] if deal["mountain"][1]]


def test_3_7_3_the_dealers_talon_tricks_count_in_the_amnesty() -> None:
    """With four the dealer pays for talon tricks, and without one there is no amnesty (3.7.3)."""
    assert one("sochi", 4, {"contract": "all_pass", "tricks": [4, 3, 2, 1]}) == written([0] * 4, [3, 2, 1, 0])
    assert one("sochi", 4, {"contract": "all_pass", "tricks": [4, 3, 3, 0]}) == written([0] * 4, [4, 3, 3, 0])


def test_3_7_3_a_talon_aside_leaves_the_dealer_out_of_the_amnesty() -> None:
    """Where the talon takes no part the three who play forgive among themselves (3.7.3)."""
    assert one(sochi(talon="aside"), 4, {"contract": "all_pass", "tricks": [4, 3, 3, 0]}) == written([0] * 4, [1, 0, 0, 0])


def test_3_7_3_five_players() -> None:
    """With five only the dealer takes talon tricks; the other resting player has no part (Decision 20)."""
    deal = {"dealer": 0, "contract": "all_pass", "tricks": [1, 4, 3, 0, 2]}
    assert one("sochi", 5, deal) == written([0] * 5, [0, 3, 2, 0, 1])


@pytest.mark.parametrize(("bonus", "pool", "mountain"), [("price", 2, 0), ("none", 0, 0), ({"fixed": 1}, 1, 0), ("off_mountain_2", 0, -4)])
@pytest.mark.parametrize("dealer", [True, False])
def test_3_7_2_1_zero_tricks(bonus: Any, pool: int, mountain: int, *, dealer: bool) -> None:
    """Zero tricks earn the agreed bonus, a resting dealer only where he gets it too (3.7.2.1, 3.7.6.2; Decision 8)."""
    convention = sochi(prices=[2], zero_bonus=bonus, zero_bonus_dealer=dealer)
    found = one(convention, 4, {"contract": "all_pass", "tricks": [0, 6, 4, 0]})
    assert found == written([pool, 0, 0, pool * dealer], [mountain, 12, 8, mountain * dealer])


def test_x_01_rostov() -> None:
    """The lowest writes five a trick on each other; two lowest share; none at all is a point in the pool (3.7.2.2)."""
    assert one("rostov", 3, {"contract": "all_pass", "tricks": [0, 4, 6]}) == written([1, 0, 0], [0] * 3, [[0, 1, 20], [0, 2, 30]])
    assert one("rostov", 3, {"contract": "all_pass", "tricks": [0, 0, 10]}) == written([1, 1, 0], [0] * 3, [[0, 2, 25], [1, 2, 25]])


def test_3_7_2_2_shares_stay_exact() -> None:
    """Two lowest who share an odd number of whists write exact halves (3.7.2.2)."""
    fined = {"contract": "all_pass", "tricks": [0, 0, 10], "infractions": [{"rule": "3.9.11.2", "seat": 2}]}
    assert one("rostov", 3, fined)["whists"] == [[0, 2, "55/2"], [1, 2, "55/2"]]


def test_3_7_2_2_five_players() -> None:
    """Resting players neither write nor are written on (Decision 20)."""
    deal = {"dealer": 4, "contract": "all_pass", "tricks": [1, 1, 0, 8, 0]}
    assert one("rostov", 5, deal) == written([0, 0, 0, 0, 1], [0] * 5, [[0, 3, 20], [1, 3, 20]])


def test_3_7_6_2_rostov_with_four() -> None:
    """The resting dealer writes a point into his pool and no whists; the talon takes no part (3.7.6.2)."""
    assert one("rostov", 4, {"contract": "all_pass", "tricks": [1, 5, 4, 0]}) == written([0, 0, 0, 1], [0] * 4, [[0, 1, 25], [0, 2, 20]])


def test_3_7_6_4_two_players() -> None:
    """The dummy's tricks count for nobody (Decision 19)."""
    assert one("sochi", 2, {"contract": "all_pass", "tricks": [3, 5]}) == written([0, 0], [0, 2])


def test_3_7_4_progression_and_what_ends_it() -> None:
    """Prices go by the place in the series, the last repeats, and any game ends it (3.7.4; Decision 11)."""
    failed = {"declarer": 0, "contract": "6S", "calls": [None, "whist", "whist"], "tricks": [5, 3, 2]}
    assert prices("sochi", PASSED, PASSED, PASSED, PASSED, failed, PASSED) == [1, 2, 3, 3, 1]
    assert score("sochi", 3, PASSED, start={"all_pass_in_row": 1})["deals"][0]["mountain"] == [0, 6, 2]


WHISTED = {"declarer": 0, "contract": "6S", "calls": [None, "whist", "whist"], "tricks": [6, 2, 2]}
FAILED = {"declarer": 0, "contract": "6S", "calls": [None, "whist", "whist"], "tricks": [5, 3, 2]}
FREE = {"declarer": 0, "contract": "6S", "calls": [None, "pass", "pass"]}
HALF = {"declarer": 0, "contract": "6S", "calls": [None, "pass", "half"]}
MISERE = {"declarer": 0, "contract": "misere", "tricks": [0, 5, 5]}
CAUGHT = {"declarer": 0, "contract": "misere", "tricks": [1, 5, 4]}


@pytest.mark.parametrize(
    ("option", "ending", "lasting"),
    [
        ("any_game", [WHISTED, FAILED, FREE, HALF, MISERE, CAUGHT], []),
        ("made_game", [WHISTED, FREE, HALF, MISERE], [FAILED, CAUGHT]),
        ("whisted_made_game", [WHISTED], [FAILED, FREE, HALF, MISERE, CAUGHT]),
    ],
)
def test_3_7_8_what_ends_a_series(option: str, ending: list[dict[str, Any]], lasting: list[dict[str, Any]]) -> None:
    """A series lasts until the game that the table agreed on; others neither end nor lengthen it (Decision 11)."""
    for game in ending:
        assert prices(sochi(series_ends=option), PASSED, game, PASSED) == [1, 1]
    for game in lasting:
        assert prices(sochi(series_ends=option), PASSED, game, PASSED) == [1, 2]


def test_3_7_7_the_dealer_repeats() -> None:
    """In Classic the dealer deals again after all-pass, elsewhere the deal passes on (3.7.7)."""
    passed = {"dealer": 3, "contract": "all_pass", "tricks": [4, 3, 2, 1]}
    game = {"declarer": 0, "contract": "6S", "calls": [None, "pass", "pass", None]}
    assert score("classic", 4, passed, game)["deals"][1]["pool"] == [2, 0, 0, 0]
    rests = {"declarer": 1, "contract": "6S", "calls": [None, None, "pass", "pass"]}
    assert score("sochi", 4, passed, rests)["deals"][1]["pool"] == [0, 2, 0, 0]


def test_3_3_19_dark_passes_double_the_price_and_earn_bombs() -> None:
    """The k-th dark all-pass in a row costs 2 to the k a trick; each dark passer and the resting dealer gets such a bomb (3.3.19)."""
    dark = {"contract": "all_pass", "tricks": [4, 3, 3, 0], "dark_pass": [0, 1]}
    game = {"declarer": 0, "contract": "6S", "calls": [None, "pass", "pass", None]}
    answer = score("classic", 4, dark, dark, *[{"dealer": 3} | game] * 3)
    assert answer["deals"][0]["mountain"] == [8, 6, 6, 0]
    assert answer["deals"][1]["mountain"] == [16, 12, 12, 0]
    assert [deal["pool"][0] for deal in answer["deals"][2:]] == [4, 8, 2]
    dealers = {"dealer": 2, "declarer": 3, "contract": "6S", "calls": ["pass", "pass", None, None]}
    assert score("classic", 4, dark, dealers)["deals"][1]["pool"][3] == 4
    open_eyed = {"dealer": 3, "declarer": 2, "contract": "6S", "calls": ["pass", "pass", None, None]}
    assert score("classic", 4, dark, open_eyed)["deals"][1]["pool"][2] == 2


def test_3_3_19_doubling_stops_at_the_limit() -> None:
    """The agreed limit of three steps holds: the fourth dark all-pass costs what the third did (3.3.19)."""
    dark = {"contract": "all_pass", "tricks": [0, 4, 6], "dark_pass": [0]}
    assert [deal["mountain"][1] for deal in score("classic", 3, dark, dark, dark, dark)["deals"]] == [8, 16, 32, 32]


def cited(convention: Any, players: int, tricks: list[int], **rest: Any) -> list[tuple[str, str, int]]:
    """Rule, column and seat of every entry of an all-pass deal."""
    entries = score(convention, players, {"contract": "all_pass", "tricks": tricks}, **rest)["deals"][0]["entries"]
    return [(entry["rule"], entry["column"], entry["seat"]) for entry in entries]


def test_3_7_1_everybody_plays_for_himself() -> None:
    """On all-pass there is no declarer: each pays for his own tricks (3.7.1)."""
    assert one("code", 3, {"contract": "all_pass", "tricks": [1, 4, 5]}) == written([0] * 3, [0, 3, 4])
    assert one({"preset": "code", "all_pass": {"amnesty": False}}, 3, {"contract": "all_pass", "tricks": [1, 4, 5]})["mountain"] == [
        1,
        4,
        5,
    ]


def test_3_7_2_mountain_or_whists() -> None:
    """All-pass is written into the mountain or in whists, as the convention has it (3.7.2)."""
    assert {column for _, column, _ in cited("sochi", 3, [1, 4, 5])} == {"mountain"}
    assert {column for _, column, _ in cited("rostov", 3, [1, 4, 5])} == {"whists"}


def test_3_7_2_1_what_the_entries_cite() -> None:
    """Tricks without an amnesty and the bonus for none stand under 3.7.2.1, forgiven ones under 3.7.3."""
    assert cited("sochi", 3, [0, 4, 6]) == [("3.7.2.1", "pool", 0), ("3.7.2.1", "mountain", 1), ("3.7.2.1", "mountain", 2)]
    assert cited("sochi", 3, [1, 4, 5]) == [("3.7.3", "mountain", 1), ("3.7.3", "mountain", 2)]


def test_3_7_2_2_what_the_entries_cite() -> None:
    """In Rostov whists and the bonus for no trick stand under 3.7.2.2, the resting dealer's point under 3.7.6.2."""
    assert cited("rostov", 3, [0, 4, 6]) == [("3.7.2.2", "pool", 0), ("3.7.2.2", "whists", 0), ("3.7.2.2", "whists", 0)]
    assert ("3.7.6.2", "pool", 3) in cited("rostov", 4, [1, 4, 5, 0])


@pytest.mark.parametrize(("agreed", "found"), [([1, 2, 3], [1, 2, 3, 3, 3]), ([2, 4, 6], [2, 4, 6, 6, 6]), ([1], [1, 1, 1, 1, 1])])
def test_3_7_4_1_arithmetic_progression(agreed: list[int], found: list[int]) -> None:
    """A trick of each further deal in a row costs as much more as was agreed (3.7.4.1)."""
    assert prices(sochi(prices=agreed), *[PASSED] * 5) == found


def test_3_7_4_2_geometric_progression() -> None:
    """Or twice as much (3.7.4.2)."""
    assert prices(sochi(prices=[1, 2, 4, 8]), *[PASSED] * 4) == [1, 2, 4, 8]


def test_3_7_4_3_the_limit_of_a_progression() -> None:
    """The last agreed price is the limit and repeats for ever (3.7.4.3)."""
    assert prices(sochi(prices=[1, 2, 4]), *[PASSED] * 6) == [1, 2, 4, 4, 4, 4]


def test_3_7_7_the_deal_slides_on() -> None:
    """After all-pass the left neighbour deals, and rests; where the dealer repeats it is still seat 3 who rests (3.7.7, 3.2.2)."""
    passed, seat_0_rests = {"dealer": 3, "contract": "all_pass", "tricks": [4, 3, 2, 1]}, {"contract": "all_pass", "tricks": [0, 4, 3, 3]}
    assert score("sochi", 4, passed, seat_0_rests)["deals"][1]["pool"] == [0, 0, 0, 0]
    with pytest.raises(Malformed, match="seat 3 at most 2"):
        score("classic", 4, passed, seat_0_rests)


def test_3_7_10_a_dark_pass_earns_a_bomb() -> None:
    """A dark pass that all-pass followed doubles the passer's next game; without all-pass it earns nothing (3.7.10)."""
    dark = {"contract": "all_pass", "tricks": [4, 3, 3], "dark_pass": [0]}
    game = {"declarer": 0, "contract": "6S", "calls": [None, "pass", "pass"]}
    assert score("classic", 3, dark, game, game)["deals"][1]["pool"] == [4, 0, 0]
    assert score("classic", 3, dark, game, game)["deals"][2]["pool"] == [2, 0, 0]
    other = {"declarer": 1, "contract": "6S", "calls": ["pass", None, "pass"], "dark_pass": [0]}
    assert score("classic", 3, other, game)["deals"][1]["pool"] == [2, 0, 0]


@pytest.mark.parametrize(("convention", "price"), [("sochi", 1), ("code", 1), ("classic", 1), ("leningrad", 2)])
def test_fn45_the_price_of_a_trick(convention: str, price: int) -> None:
    """A trick of the first all-pass costs one point, in Leningrad two (FN45)."""
    assert one(convention, 3, {"contract": "all_pass", "tricks": [0, 4, 6]})["mountain"] == [0, 4 * price, 6 * price]


def test_fn46_rostov_subtracts_nothing() -> None:
    """In Rostov the writer's own tricks are not taken off the others', and nothing is forgiven (FN46)."""
    assert one("rostov", 3, {"contract": "all_pass", "tricks": [2, 3, 5]})["whists"] == [[0, 1, 15], [0, 2, 25]]


@pytest.mark.parametrize(
    ("game", "ends"),
    [
        ({"contract": "6S", "calls": [None, "whist", "pass", None], "tricks": [6, 3, 1, 0]}, True),
        ({"contract": "6S", "calls": [None, "pass", "pass", "whist"], "tricks": [6, 3, 1, 0]}, True),
        ({"contract": "10S", "tricks": [10, 0, 0, 0]}, True),
        ({"contract": "6S", "calls": [None, "whist", "pass", None], "tricks": [5, 4, 1, 0]}, False),
        ({"contract": "6S", "calls": [None, "pass", "pass", "pass"]}, False),
        ({"contract": "misere", "tricks": [0, 5, 5, 0]}, False),
    ],
)
def test_3_7_8_a_whisted_made_game_ends_it_whoever_whists(game: dict[str, Any], *, ends: bool) -> None:
    """One whister, the resting dealer, or a checked ten: it was played and made (3.7.8, Decision 11)."""
    convention = {"preset": "sochi", "ten": "checked", "all_pass": {"series_ends": "whisted_made_game"}}
    passed = {"dealer": 2, "contract": "all_pass", "tricks": [3, 5, 0, 2]}
    last = {"contract": "all_pass", "tricks": [0, 5, 5, 0]}
    answer = score(convention, 4, passed, {"declarer": 0} | game, last)
    assert answer["deals"][2]["mountain"][1] == (5 if ends else 10)


def test_3_3_19_all_three_may_pass_dark() -> None:
    """Nobody need look: three dark passes make one factor, and a bomb for each (3.3.19)."""
    dark = {"contract": "all_pass", "tricks": [4, 3, 3], "dark_pass": [0, 1, 2]}
    games = [{"declarer": seat, "contract": "6S", "calls": ["pass" if other != seat else None for other in range(3)]} for seat in range(3)]
    answer = score("classic", 3, dark, *games)
    assert [max(deal["pool"]) for deal in answer["deals"][1:]] == [4, 4, 4]


def test_3_3_19_the_first_dark_pass_doubles() -> None:
    """Without a deal before it a dark all-pass costs twice the price, not four times (3.3.19)."""
    outcome = DealOutcome(dealer=2, contract="all_pass", tricks=(4, 3, 3), dark_pass=(0,))
    assert deal_factor(resolve("classic"), Series(), outcome) == 2


def test_3_3_19_a_game_ends_the_row_of_dark_passes() -> None:
    """After a game the next dark all-pass costs twice the price again, not four times (3.3.19)."""
    dark = {"contract": "all_pass", "tricks": [0, 4, 6], "dark_pass": [0]}
    game = {"declarer": 1, "contract": "6S", "calls": ["pass", None, "pass"]}
    assert [deal["mountain"][1] for deal in score("classic", 3, dark, game, dark)["deals"]] == [8, 0, 8]
    assert Series() == Series(0, 0, ())


def test_3_7_2_2_what_the_entries_say() -> None:
    """One lowest writes alone; of two the entry says that they share (3.7.2.2)."""

    def said(tricks: list[int]) -> set[str]:
        entries = score("rostov", 3, {"contract": "all_pass", "tricks": tricks})["deals"][0]["entries"]
        return {entry["why"] for entry in entries if entry["column"] == "whists"}

    assert said([1, 4, 5]) == {"4 tricks at 5", "5 tricks at 5"}
    assert said([2, 2, 6]) == {"6 tricks at 5, shared by 2"}
