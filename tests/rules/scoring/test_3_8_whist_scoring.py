"""What whisters, half-whisters, passers and resting dealers write, option by option (3.8)."""

from __future__ import annotations

from typing import Any

import pytest

from shared.rules.convention.options import resolve
from shared.rules.scoring.outcome import DealOutcome
from shared.rules.scoring.whister import whisting
from tests.rules.scoring.scored import one, rules_cited, score, written

PAIR = [None, "whist", "whist"]
ALONE = [None, "whist", "pass"]


def sochi(**options: Any) -> dict[str, Any]:
    """Sochi with what differs."""
    return {"preset": "sochi"} | options


@pytest.mark.parametrize(
    ("ten", "contract", "kind"),
    [("checked", "10S", "checked"), ("checked", "9S", "nobody"), ("whisted", "10S", "nobody")],
)
def test_3_5_3_only_a_ten_is_checked_and_only_where_it_is_agreed(ten: str, contract: str, kind: str) -> None:
    """A game that nobody called on is played out when it is a ten and tens are checked, else it counts as made (3.5.3; Decision 4)."""
    convention = resolve(sochi(ten=ten))
    assert whisting(convention, 3, DealOutcome(dealer=2, declarer=0, contract=contract, calls=(None, None, None))).kind == kind


@pytest.mark.parametrize(
    ("school", "tricks", "short"),
    [
        ("below_half", (7, 3, 0), (0, 2)),
        ("below_half", (6, 4, 0), (0, 0)),
        ("below_half", (8, 1, 1), (1, 1)),
        ("own_half", (6, 4, 0), (0, 2)),
        ("own_half", (5, 4, 1), (0, 1)),
        ("capped", (7, 3, 0), (0, 1)),
        ("capped", (7, 0, 3), (1, 0)),
        ("capped", (9, 1, 0), (1, 2)),
    ],
)
def test_3_8_6_pair_on_six(school: str, tricks: tuple[int, ...], short: tuple[int, int]) -> None:
    """Two whisters on a six answer by the school of the table (3.8.6; Decision 2)."""
    found = one(sochi(pair_6_7=school), 3, {"declarer": 0, "contract": "6S", "calls": PAIR, "tricks": list(tricks)})
    assert found["mountain"][1:] == [2 * missing for missing in short]


@pytest.mark.parametrize(
    ("school", "tricks", "short"),
    [
        ("second", (10, 0, 0), (0, 1)),
        ("second", (9, 1, 0), (0, 0)),
        ("both", (10, 0, 0), (1, 1)),
        ("both", (9, 0, 1), (0, 0)),
        ("second_own", (9, 1, 0), (0, 1)),
        ("second_own", (9, 0, 1), (0, 0)),
        ("each_own", (9, 0, 1), (1, 0)),
        ("each_own", (10, 0, 0), (1, 1)),
    ],
)
@pytest.mark.parametrize(("contract", "option", "price"), [("8S", "pair_8_9", 6), ("9S", "pair_8_9", 8), ("10S", "pair_10", 10)])
def test_3_8_6_pair_on_eight_nine_and_ten(
    school: str, tricks: tuple[int, ...], short: tuple[int, int], contract: str, option: str, price: int
) -> None:
    """Two whisters on eight, nine and ten answer by the school of the table, tens by their own option (FN59; Decision 3)."""
    found = one(sochi(**{option: school}), 3, {"declarer": 0, "contract": contract, "calls": PAIR, "tricks": list(tricks)})
    assert found["mountain"][1:] == [price * missing for missing in short]


@pytest.mark.parametrize(
    ("style", "made", "failed", "rule"),
    [
        ("greedy", [[1, 0, 8]], [[1, 0, 12], [2, 0, 2]], "3.8.13"),
        ("gentleman_remise", [[1, 0, 8]], [[1, 0, 7], [2, 0, 7]], "3.8.14"),
        ("gentleman_always", [[1, 0, 4], [2, 0, 4]], [[1, 0, 7], [2, 0, 7]], "3.8.14"),
        ("own", [[1, 0, 2]], [[1, 0, 4], [2, 0, 2]], "3.8.1.1"),
    ],
)
def test_3_8_13_one_whister_and_a_passer(style: str, made: list[list[int]], failed: list[list[int]], rule: str) -> None:
    """The passer's tricks go by the style of the table, on a game made and on a remise (3.8.13, 3.8.14; Decision 5)."""
    convention = sochi(single_whister=style)
    assert one(convention, 3, {"declarer": 0, "contract": "6S", "calls": ALONE, "tricks": [6, 1, 3]})["whists"] == made
    remise = {"declarer": 0, "contract": "6S", "calls": ALONE, "tricks": [5, 1, 4]}
    assert one(convention, 3, remise)["whists"] == failed
    assert rule in rules_cited(convention, 3, remise)


@pytest.mark.parametrize("style", ["greedy", "gentleman_remise", "gentleman_always", "own"])
def test_w_01_a_returned_half_whist_is_never_shared(style: str) -> None:
    """The returner writes all the defence's tricks, the half-whister the consolation alone, under any style (Decision 14)."""
    deal = {"declarer": 0, "contract": "6D", "calls": [None, "whist", "half"], "tricks": [5, 3, 2]}
    found = one({"preset": "leningrad", "single_whister": style}, 3, deal)
    assert found == written([0] * 3, [4, 0, 0], [[1, 0, 24], [2, 0, 4]])


def test_w_02_the_first_hand_goes_for_half_and_the_passer_returns() -> None:
    """The returner alone whists and answers; the half-whister has no more say (3.8.14)."""
    deal = {"declarer": 0, "contract": "7H", "calls": [None, "half", "whist"], "tricks": [9, 1, 0]}
    assert one("leningrad", 3, deal) == written([4, 0, 0], [0, 0, 4], [[2, 0, 8]])


@pytest.mark.parametrize(("contract", "whists"), [("6S", 4), ("7S", 4)])
def test_3_8_7_half_whist_is_not_played(contract: str, whists: int) -> None:
    """The contract counts as made, the half-whister writes half of the obligation, two tricks or one (3.8.7)."""
    deal = {"declarer": 1, "contract": contract, "calls": ["half", None, "pass"]}
    found = one("sochi", 3, deal)
    assert (found["pool"][1], found["whists"]) == ({"6S": 2, "7S": 4}[contract], [[0, 1, whists]])
    assert rules_cited("sochi", 3, deal) == {"3.8.7"}


def test_3_5_3_nobody_whists() -> None:
    """Where nobody whists the contract is made, and nobody else writes anything (3.5.3)."""
    deal = {"declarer": 2, "contract": "9NT", "calls": ["pass", "pass", None]}
    assert one("sochi", 3, deal) == written([0, 0, 8], [0] * 3)
    assert rules_cited("sochi", 3, deal) == {"3.5.3"}


@pytest.mark.parametrize("style", ["greedy", "gentleman_remise", "gentleman_always", "own"])
def test_w_03_the_resting_dealer_writes_for_both_hands(style: str) -> None:
    """A whisting dealer writes for all tricks of the defence, never shared; every opponent writes consolation (Decision 15)."""
    deal = {"declarer": 0, "contract": "8S", "calls": [None, "pass", "pass", "whist"], "tricks": [7, 2, 1, 0]}
    found = one(sochi(single_whister=style), 4, deal)
    assert found == written([0] * 4, [6, 0, 0, 0], [[1, 0, 6], [2, 0, 6], [3, 0, 24]])


@pytest.mark.parametrize(("option", "mountain"), [("responsible", 6), ("free", 0)])
def test_3_8_8_the_resting_dealer_answers_for_both_hands(option: str, mountain: int) -> None:
    """A dealer whose hands take nothing writes the missing trick, or nothing where his whist is free (Decision 15)."""
    deal = {"declarer": 0, "contract": "8S", "calls": [None, "pass", "pass", "whist"], "tricks": [10, 0, 0, 0]}
    assert one(sochi(dealer_whist=option), 4, deal) == written([6, 0, 0, 0], [0, 0, 0, mountain])


def test_3_8_8_the_dealer_whists_over_a_half_whist() -> None:
    """After pass and half the dealer's whist makes the game played; the half-whister writes nothing (3.8.8)."""
    deal = {"declarer": 0, "contract": "6S", "calls": [None, "pass", "half", "whist"], "tricks": [6, 3, 1, 0]}
    assert one("leningrad", 4, deal) == written([2, 0, 0, 0], [0] * 4, [[3, 0, 16]])


@pytest.mark.parametrize(("share", "mountain"), [("full", 4), ("half", 2), ("none", 0)])
def test_3_8_11_the_price_of_a_missing_trick(share: str, mountain: int) -> None:
    """A whister answers at the full price, half of it, or not at all (3.8.11, 3.8.12)."""
    deal = {"declarer": 0, "contract": "6S", "calls": ALONE, "tricks": [8, 1, 1]}
    assert one(sochi(whister_remise=share), 3, deal)["mountain"] == [0, mountain, 0]


@pytest.mark.parametrize(("pool", "mountain"), [(9, 1), (10, 2)])
def test_3_8_12_half_until_his_own_pool_is_closed(pool: int, mountain: int) -> None:
    """In Classic a whister answers in full once his own pool had reached the target before the deal (3.8.12)."""
    deal = {"declarer": 0, "contract": "6S", "calls": ALONE, "tricks": [7, 2, 1]}
    assert one("classic", 3, deal, target=10, start={"pool": [0, pool, 0]})["mountain"] == [0, mountain, 0]


@pytest.mark.parametrize(
    ("option", "whists"),
    [("price", [[1, 0, 28], [2, 0, 20]]), ("none", [[1, 0, 16], [2, 0, 8]]), ({"fixed": 10}, [[1, 0, 46], [2, 0, 38]])],
)
def test_3_8_1_2_consolation(option: Any, whists: list[list[int]]) -> None:
    """Every opponent writes the price, a fixed sum, or nothing for each undertrick (3.8.1.2, FN36)."""
    deal = {"declarer": 0, "contract": "7S", "calls": PAIR, "tricks": [4, 4, 2]}
    assert one(sochi(consolation=option), 3, deal)["whists"] == whists


def test_4_1_1_rostov_direct_remise() -> None:
    """A direct remise costs the fixed consolation and no mountain; a caught misere still goes into the mountain (Decision 6)."""
    direct = {"preset": "rostov", "declarer_remise": "direct"}
    assert one(direct, 3, {"declarer": 0, "contract": "6S", "calls": PAIR, "tricks": [5, 3, 2]})["mountain"] == [0, 0, 0]
    assert one(direct, 3, {"declarer": 0, "contract": "misere", "tricks": [2, 4, 4]})["mountain"] == [20, 0, 0]


def test_fn39_a_checked_ten() -> None:
    """A checked ten has no calls: failed, each defender writes his own and the consolation; made, nobody answers (FN39)."""
    checked = sochi(ten="checked")
    failed = {"declarer": 0, "contract": "10S", "calls": None, "tricks": [9, 1, 0]}
    assert one(checked, 3, failed) == written([0] * 3, [10, 0, 0], [[1, 0, 20], [2, 0, 10]])
    assert one(checked, 3, {"declarer": 0, "contract": "10S", "tricks": [10, 0, 0]}) == written([10, 0, 0], [0] * 3)


def test_fn40_without_three() -> None:
    """Given up after the talon: three undertricks at the level bid, no whists, no consolation (FN40)."""
    deal = {"declarer": 0, "contract": "7S", "without_three": True}
    assert one({"preset": "leningrad", "without_three": [6, 7]}, 3, deal) == written([0] * 3, [24, 0, 0])


@pytest.mark.parametrize(
    ("calls", "whists"),
    [
        (ALONE, [[1, 0, 32], [2, 0, 12]]),
        (PAIR, [[1, 0, 22], [2, 0, 22]]),
        (None, [[1, 0, 12], [2, 0, 12]]),
    ],
)
def test_3_5_4_without_all(calls: Any, whists: list[list[int]]) -> None:
    """Who concedes counts as without all: a sole whister writes ten tricks, a pair five each, nobody any if none had whisted (3.5.4)."""
    deal = {"declarer": 0, "contract": "6S", "calls": calls, "infractions": [{"rule": "3.5.4", "seat": 0}]}
    assert one("sochi", 3, deal) == written([0] * 3, [12, 0, 0], whists)


def test_leningrad_writes_double_but_for_the_pool() -> None:
    """Mountain, whists and consolation are doubled, a whister's missing trick costs the price (Decision 1)."""
    assert one("leningrad", 3, {"declarer": 0, "contract": "7S", "calls": PAIR, "tricks": [5, 3, 2]}) == written(
        [0] * 3, [16, 0, 0], [[1, 0, 40], [2, 0, 32]]
    )
    assert one("leningrad", 3, {"declarer": 0, "contract": "misere", "tricks": [3, 4, 3]})["mountain"] == [60, 0, 0]


def test_decision_19_two_players() -> None:
    """The one defender writes for his own and the dummy's tricks, shares with nobody, and answers for all (Decision 19)."""
    assert one("leningrad", 2, {"declarer": 0, "contract": "6S", "calls": [None, "whist"], "tricks": [5, 5]}) == written(
        [0, 0], [4, 0], [[1, 0, 24]]
    )
    assert one("sochi", 2, {"declarer": 1, "contract": "6S", "calls": ["whist", None], "tricks": [1, 9]})["mountain"] == [6, 0]
    assert one("sochi", 2, {"declarer": 0, "contract": "7S", "calls": [None, "half"]})["whists"] == [[1, 0, 4]]


def test_3_2_10_five_players() -> None:
    """With five the dealer and the player two to his right rest and write consolation (3.2.10; Decision 20)."""
    deal = {"dealer": 0, "declarer": 1, "contract": "6S", "calls": [None, None, "whist", None, "whist"], "tricks": [0, 5, 3, 0, 2]}
    assert one("sochi", 5, deal)["whists"] == [[0, 1, 2], [2, 1, 8], [3, 1, 2], [4, 1, 6]]


def test_3_8_6_order_of_speech_with_four() -> None:
    """The second whister is the one who speaks second, left of the declarer past the resting dealer (3.8.1, 3.8.6)."""
    deal = {"dealer": 1, "declarer": 3, "contract": "8S", "calls": ["whist", None, "whist", None], "tricks": [0, 0, 0, 10]}
    assert one("sochi", 4, deal)["mountain"] == [0, 0, 6, 0]


def test_3_9_11_2_a_fine_is_nobodys_trick() -> None:
    """A whister loses one trick of whists and of duty; a passer nothing; all-pass and misere count one more (3.9.11.2)."""
    fine = {"declarer": 0, "contract": "6S", "calls": ALONE, "tricks": [6, 3, 1], "infractions": [{"rule": "3.9.11.2", "seat": 1}]}
    assert one("sochi", 3, fine) == written([2, 0, 0], [0, 2, 0], [[1, 0, 6]])
    passer = fine | {"infractions": [{"rule": "3.9.11.2", "seat": 2}]}
    assert one("sochi", 3, passer) == written([2, 0, 0], [0] * 3, [[1, 0, 8]])
    offence = [{"rule": "3.9.11.2", "seat": 0}]
    assert one("sochi", 3, {"contract": "all_pass", "tricks": [0, 4, 6], "infractions": offence}) == written([0] * 3, [0, 3, 5])
    assert one("sochi", 3, {"declarer": 0, "contract": "misere", "tricks": [0, 4, 6], "infractions": offence})["mountain"] == [10, 0, 0]


def test_3_2_21_fines_in_points() -> None:
    """A look at the talon costs five points, or what was agreed, whoever looked (3.2.21, 3.2.17)."""
    fines = [{"rule": "3.2.21", "seat": 3}, {"rule": "3.2.17", "seat": 0, "points": 2}]
    deal = {"declarer": 0, "contract": "6S", "calls": [None, "pass", "pass", None], "infractions": fines}
    assert one("sochi", 4, deal) == written([2, 0, 0, 0], [2, 0, 0, 5])


def test_3_4_10_refused_talon() -> None:
    """The resting dealer writes the agreed points when the declarer discards the whole talon, not on a shared misere (3.4.10)."""
    convention, refusal = sochi(refused_talon=3, shared_misere=True), [{"rule": "3.4.10", "seat": 3}]
    deal = {"declarer": 0, "contract": "misere", "tricks": [0, 5, 5, 0], "infractions": refusal}
    assert one(convention, 4, deal)["mountain"] == [0, 0, 0, 3]
    assert one(convention, 4, deal | {"shared": True})["mountain"] == [0, 0, 0, 0]


def test_4_1_2_a_dark_bid_doubles_everything() -> None:
    """Pool, mountain, whists, consolation, half-whist and whisters' shortage are multiplied (4.1.2)."""
    for deal in (
        {"declarer": 0, "contract": "7S", "calls": PAIR, "tricks": [5, 3, 2]},
        {"declarer": 0, "contract": "7S", "calls": [None, "pass", "half"]},
        {"declarer": 0, "contract": "7S", "calls": ALONE, "tricks": [9, 1, 0]},
        {"declarer": 0, "contract": "misere", "tricks": [1, 5, 4]},
    ):
        plain, dark = one("classic", 3, deal), one("classic", 3, deal | {"dark": True})
        assert dark["pool"] == [2 * n for n in plain["pool"]]
        assert dark["mountain"] == [2 * n for n in plain["mountain"]]
        assert dark["whists"] == [[i, j, 2 * n] for i, j, n in plain["whists"]]
        bid = "misere" if deal["contract"] == "misere" else "6S"
        assert one("classic", 3, deal | {"dark": bid, "dark_pass": [1]}) == dark


def test_3_8_14_who_went_for_half_writes_no_whists_where_the_game_is_given_up() -> None:
    """Without all is a remise, and on a remise a half-whister has the consolation alone (3.5.4, 3.8.14); version 1 wrote half too."""
    deal = {"declarer": 0, "contract": "7S", "calls": [None, "pass", "half"], "infractions": [{"rule": "3.5.4", "seat": 0}]}
    for convention, consolation in (("sochi", 28), ("leningrad", 56)):
        assert one(convention, 3, deal)["whists"] == [[1, 0, consolation], [2, 0, consolation]]
    assert one({"preset": "sochi", "version": 1}, 3, deal)["whists"] == [[1, 0, 28], [2, 0, 32]]


def test_4_2_1_entries_explain_every_number() -> None:
    """What a deal wrote is the sum of its entries, and each has a rule and a reason (4.2.1)."""
    deal = {"declarer": 0, "contract": "7S", "calls": PAIR, "tricks": [5, 3, 2]}
    written_down = score("leningrad", 3, deal)["deals"][0]
    assert [entry["amount"] for entry in written_down["entries"] if entry["column"] == "mountain"] == [16]
    assert sum(entry["amount"] for entry in written_down["entries"] if entry["column"] == "whists") == 72
    assert all(entry["rule"] and entry["why"] for entry in written_down["entries"])
