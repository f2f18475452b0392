"""Worked numbers of the Code itself that concern the sheet, each under the number of its rule."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.rules.scoring.scored import net, one, score, written

PAIR = [None, "whist", "whist"]
ALONE = [None, "whist", "pass"]


def test_3_3_16_3_talon_exposed_to_two_bidders() -> None:
    """E1: 52 and 7 whists are written on the offender, who writes nothing, in a deal that never reached a contract (3.3.16.3)."""
    ruling = {"rule": "3.3.16.3", "seat": 0, "whists": [[1, 0, 52], [3, 0, 7]], "reason": "talon exposed; a nine for the second hand"}
    assert one("sochi", 4, {"infractions": [ruling]}) == written([0] * 4, [0] * 4, [[1, 0, 52], [3, 0, 7]])


def test_fn31_double_bomb_and_dark_bid_multiply() -> None:
    """E2: an eight made under a bomb of four and a dark bid gives 48 to the pool and 48 a trick to the whisters (FN31)."""
    deal = {"declarer": 0, "contract": "8H", "calls": PAIR, "tricks": [8, 1, 1], "dark": True}
    assert one("classic", 3, deal, start={"bombs": [[4], [], []]}) == written([48, 0, 0], [0] * 3, [[1, 0, 48], [2, 0, 48]])


def test_fn30_bombs_in_order_of_arrival() -> None:
    """E3: bombs of two and four: a failed six costs double, a made seven wins double, a failed misere costs fourfold (FN30)."""
    answer = score(
        "classic",
        3,
        {"dealer": 2, "declarer": 0, "contract": "6S", "calls": PAIR, "tricks": [5, 3, 2]},
        {"declarer": 0, "contract": "7S", "calls": [None, "pass", "pass"]},
        {"declarer": 0, "contract": "misere", "tricks": [1, 5, 4]},
        start={"bombs": [[2, 4], [], []]},
    )
    assert [(deal["pool"][0], deal["mountain"][0]) for deal in answer["deals"]] == [(0, 4), (8, 0), (0, 40)]


def test_3_4_6_order_with_a_wrong_hand_after_proof() -> None:
    """E4: proved without five, ordered with a wrong hand: written without seven, consolation to every opponent, nobody's whists (3.4.6)."""
    deal = {"declarer": 0, "contract": "6S", "infractions": [{"rule": "3.4.6", "seat": 0, "proved": 5}]}
    assert one("sochi", 3, deal) == written([0] * 3, [14, 0, 0], [[1, 0, 14], [2, 0, 14]])


def test_3_4_6_order_with_a_wrong_hand() -> None:
    """Without proof of more it is a remise without two (3.4.6)."""
    deal = {"declarer": 0, "contract": "6S", "infractions": [{"rule": "3.4.6", "seat": 0}]}
    assert one("sochi", 3, deal) == written([0] * 3, [4, 0, 0], [[1, 0, 4], [2, 0, 4]])


@pytest.mark.parametrize(("taken", "pool", "mountain"), [(5, 0, 4), (6, 0, 2), (7, 2, 0), (8, 2, 0)])
def test_3_4_9_a_look_into_the_discard(taken: int, pool: int, mountain: int) -> None:
    """E5: one trick less counts: without one is without two, exactly made is without one, an overtrick pays for it (3.4.9)."""
    deal = {
        "declarer": 0,
        "contract": "6S",
        "calls": ALONE,
        "tricks": [taken, 10 - taken, 0],
        "infractions": [{"rule": "3.4.9", "seat": 0}],
    }
    found = one({"preset": "sochi", "whister_remise": "none"}, 3, deal)
    assert (found["pool"][0], found["mountain"][0]) == (pool, mountain)


def test_3_7_2_2_two_lowest_share() -> None:
    """E6: Rostov all-pass 6-2-2, the two lowest write 15 each on the first (3.7.2.2)."""
    assert one("rostov", 3, {"contract": "all_pass", "tricks": [6, 2, 2]}) == written([0] * 3, [0] * 3, [[1, 0, 15], [2, 0, 15]])


def test_3_9_14_3_damages_in_all_pass() -> None:
    """E7: the lowest writes on both others, and the damaged player his fifty on the offender (3.9.14.3)."""
    damages = {"rule": "3.9.14.3", "seat": 2, "whists": [[0, 2, 50]], "reason": "with the right lead A 2, B 4, C 4"}
    deal = {"contract": "all_pass", "tricks": [2, 1, 7], "infractions": [damages]}
    assert one("rostov", 3, deal) == written([0] * 3, [0] * 3, [[0, 2, 50], [1, 0, 10], [1, 2, 35]])


def test_3_7_3_amnesty() -> None:
    """E8: all-pass 4-3-3 is written 1-0-0 (3.7.3)."""
    assert one("sochi", 3, {"contract": "all_pass", "tricks": [4, 3, 3]}) == written([0] * 3, [1, 0, 0])


def test_3_8_5_1_compensation_for_a_lost_misere() -> None:
    """E9: a misere let through costs each opponent 25 whists, one caught trick wins each 25; the promised difference is 50 (3.8.5.1)."""
    passed = score("sochi", 4, {"declarer": 0, "contract": "misere", "tricks": [0, 5, 5, 0]})
    caught = score("sochi", 4, {"declarer": 0, "contract": "misere", "tricks": [1, 5, 4, 0]})
    assert net(passed) == [75, -25, -25, -25]
    assert net(caught) == [-75, 25, 25, 25]
    promise = {"rule": "3.8.5.1", "seat": 1, "whists": [[2, 1, 50], [3, 1, 50]], "reason": "he guaranteed one trick"}
    settled = score("sochi", 4, {"declarer": 0, "contract": "misere", "tricks": [0, 5, 5, 0], "infractions": [promise]})
    assert net(settled) == [75, -125, 25, 25]


@pytest.mark.parametrize(("convention", "point"), [("sochi", 2), ({"preset": "sochi", "whister_remise": "half"}, 1)])
def test_3_8_6_example_1_the_second_is_short(convention: object, point: int) -> None:
    """E10: six, tricks 2 and 1: only the second writes, for one trick (3.8.6)."""
    found = one(convention, 3, {"declarer": 0, "contract": "6D", "calls": PAIR, "tricks": [7, 2, 1]})
    assert found == written([2, 0, 0], [0, 0, point], [[1, 0, 4], [2, 0, 2]])


@pytest.mark.parametrize(("convention", "point"), [("sochi", 2), ({"preset": "sochi", "whister_remise": "half"}, 1)])
def test_3_8_6_example_2_both_are_short(convention: object, point: int) -> None:
    """E11: six, tricks 1 and 0: one writes for one trick, the other for two; half of it where whisters are half-responsible (3.8.6)."""
    found = one(convention, 3, {"declarer": 0, "contract": "6D", "calls": PAIR, "tricks": [9, 1, 0]})
    assert found == written([2, 0, 0], [0, point, 2 * point], [[1, 0, 2]])


def test_3_8_6_example_3_the_second_answers_on_eight() -> None:
    """E12: eight, ten for the declarer: only the second whister writes (3.8.6)."""
    found = one("sochi", 3, {"declarer": 0, "contract": "8D", "calls": PAIR, "tricks": [10, 0, 0]})
    assert found == written([6, 0, 0], [0, 0, 6])


@pytest.mark.parametrize(("taken", "mountain", "consolation"), [(6, 4, 0), (4, 8, 4), (8, 4, 0)])
def test_3_9_18_example_1_declarer_with_a_wrong_number_of_cards(taken: int, mountain: int, consolation: int) -> None:
    """E13: two tricks are taken off, at most the level counts; whists and consolation follow the real tricks (3.9.18)."""
    deal = {
        "declarer": 0,
        "contract": "6H",
        "calls": ALONE,
        "tricks": [taken, 10 - taken, 0],
        "infractions": [{"rule": "3.9.18", "seat": 0}],
    }
    found = one({"preset": "sochi", "whister_remise": "none"}, 3, deal)
    passer = [[2, 0, consolation]] if consolation else []
    assert found == written([0] * 3, [mountain, 0, 0], [[1, 0, 2 * (10 - taken) + consolation], *passer])


def test_3_9_18_example_2_whister_with_a_wrong_number_of_cards() -> None:
    """E14: a whister who took enough is without two all the same, at his rate (3.9.18)."""
    deal = {"declarer": 0, "contract": "6H", "calls": ALONE, "tricks": [6, 4, 0], "infractions": [{"rule": "3.9.18", "seat": 1}]}
    assert one("sochi", 3, deal) == written([2, 0, 0], [0, 4, 0], [[1, 0, 8]])


def test_3_9_18_example_3_both_with_a_wrong_number_of_cards() -> None:
    """E14: declarer and whister are each without two (3.9.18)."""
    both = [{"rule": "3.9.18", "seat": 0}, {"rule": "3.9.18", "seat": 1}]
    deal = {"declarer": 0, "contract": "6H", "calls": ALONE, "tricks": [6, 4, 0], "infractions": both}
    assert one("sochi", 3, deal) == written([0] * 3, [4, 4, 0], [[1, 0, 8]])


def test_4_1_1_points_that_fit_no_pool_come_off_the_mountain() -> None:
    """E15: two points close everything; of a nine six go off the owner's mountain, 15 whists from each of three (4.1.1)."""
    start = {"pool": [18, 20, 20, 20]}
    before = score("sochi", 4, target=20, start=start)
    after = score("sochi", 4, {"declarer": 0, "contract": "9S", "calls": [None, "pass", "pass", None]}, target=20, start=start)
    assert (after["sheet"]["pool"], after["sheet"]["mountain"], after["closed"]) == ([20] * 4, [-6, 0, 0, 0], True)
    assert [now - then for now, then in zip(net(after), net(before), strict=True)] == [60, -20, -20, -20]


@pytest.mark.parametrize(("contract", "mountain"), [("8S", [-8, 4, 4]), ("9S", [-12, 4, 4])])
def test_4_2_3_3_leningrad_surplus_and_shortage(contract: str, mountain: list[int]) -> None:
    """E16: to 50 from 48 each, an eight or a nine ends it; surplus comes off the mountain double, shortage goes on double (4.2.3.3)."""
    deal = {"declarer": 0, "contract": contract, "calls": [None, "pass", "pass"]}
    answer = score("leningrad", 3, deal, target=50, start={"pool": [48, 48, 48]})
    assert (answer["closed"], answer["settlement"]["mountain"]) == (True, mountain)


def test_4_2_12_compensation_for_a_point_off_one_mountain() -> None:
    """E17: the two others write three whists each on him and lose a third of a whist each (4.2.12)."""
    before = score("sochi", 3, start={"mountain": [10, 0, 0]})
    after = score("sochi", 3, start={"mountain": [9, 0, 0], "whists": [[1, 0, 3], [2, 0, 3]]})
    assert [now - then for now, then in zip(net(after), net(before), strict=True)] == [Fraction(2, 3), Fraction(-1, 3), Fraction(-1, 3)]


def test_fn43_a_shared_misere() -> None:
    """E18: five points each, 25 whists to each of the pair, from the two others (3.6.9, FN43)."""
    answer = score(
        {"preset": "sochi", "shared_misere": True}, 4, {"declarer": 0, "contract": "misere", "tricks": [0, 5, 5, 0], "shared": True}
    )
    assert answer["deals"][0]["pool"] == [5, 0, 0, 5]
    assert net(answer) == [25, -25, -25, 25]


def test_fn36_everybody_writes_consolation() -> None:
    """E19: a six without one: each whister his tricks and one more, the resting dealer the one (FN36)."""
    found = one("sochi", 4, {"declarer": 0, "contract": "6S", "calls": [None, "whist", "whist", None], "tricks": [5, 3, 2, 0]})
    assert found == written([0] * 4, [2, 0, 0, 0], [[1, 0, 8], [2, 0, 6], [3, 0, 2]])


@pytest.mark.parametrize("worth", [1, 2, 3])
def test_3_4_11_the_talon_gift(worth: int) -> None:
    """E20: the resting dealer writes whist tricks of the ordered game for the talon, three players half of them each (3.4.11)."""
    bonus = {"preset": "sochi", "talon_bonus": "on"}
    four = {"declarer": 0, "contract": "7S", "calls": [None, "pass", "pass", None], "talon_tricks": worth}
    assert one(bonus, 4, four)["whists"] == [[3, 0, 4 * worth]]
    three = {"declarer": 0, "contract": "7S", "calls": [None, "pass", "pass"], "talon_tricks": worth}
    assert one(bonus, 3, three)["whists"] == [[1, 0, 2 * worth], [2, 0, 2 * worth]]
