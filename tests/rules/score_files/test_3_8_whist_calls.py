"""Whist calls in a score file: only what a table could have heard is scored (3.8)."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from shared.rules.language.refusal import Malformed
from shared.rules.score_files.score_file import score_document, scored

W, P, H = "whist", "pass", "half"
FIRST_HALF = {"preset": "sochi", "first_hand_half": True}
NO_RETURN: dict[str, Any] = {"preset": "sochi", "pass_return": []}
FIRST_HALF_NO_RETURN = FIRST_HALF | NO_RETURN
STALINGRAD = {"preset": "sochi", "stalingrad": True}
CHECKED = {"preset": "sochi", "ten": "checked"}
NO_DEALER = {"preset": "sochi", "dealer_whist": "off"}


def game(calls: tuple[str | None, ...], contract: str = "6S", players: int = 3, **more: Any) -> dict[str, Any]:
    """A deal that seat 0 declares and the last seat dealt; the first defender, or a dealer who whists, has all tricks of the defence."""
    level = int(contract[:-2] if contract.endswith("NT") else contract[:-1])
    deal: dict[str, Any] = {"dealer": players - 1, "declarer": 0, "contract": contract, "calls": [None, *calls]} | more
    checked = not any(calls)
    if checked:
        deal["calls"] = None
    if checked or W in calls:
        deal["tricks"] = [level, 10 - level, *[0] * (players - 2)]
    return deal


def told(convention: object, players: int, deal: dict[str, Any]) -> str:
    """Where and by which rule `pulka score` refuses the deal, "" where it scores it."""
    try:
        score_document({"convention": convention, "players": players, "deals": [deal]})
    except Malformed as refused:
        return f"{refused.path}: {refused.message}" if refused.code == "malformed" else refused.code
    return ""


@pytest.mark.parametrize(
    ("convention", "calls", "contract", "place", "rule"),
    [
        ("sochi", (H, P), "6S", "calls", "3.8.14"),  # F8
        ("sochi", (H, W), "6S", "calls", "3.8.14"),
        (NO_RETURN, (W, H), "6S", "calls", "3.8.8.1"),  # F9
        (NO_RETURN, (W, H), "7S", "calls", "3.8.8.1"),
        (FIRST_HALF_NO_RETURN, (H, W), "7S", "calls", "3.8.8.1"),
        ("sochi", (P, H), "8S", "calls[2]", "3.8.7"),
        ("leningrad", (H, P), "8S", "calls[1]", "3.8.7"),
        ({"preset": "sochi", "half_whist": [6, 7, 8]}, (W, H), "8S", "calls", "3.8.8.1"),
        (STALINGRAD, (W, P), "6S", "calls", "3.8.9"),
        (STALINGRAD, (P, H), "6S", "calls", "3.8.9"),
        (STALINGRAD, (P, P), "6S", "calls", "3.8.9"),
        (CHECKED, (W, W), "10S", "calls", "FN39"),
        ("classic", (W, P), "6D", "calls", "3.3.19"),
        ("classic", (P, P), "6D", "calls", "3.3.19"),
    ],
)
def test_f8_f9_what_no_table_of_three_could_have_heard(convention: object, calls: Any, contract: str, place: str, rule: str) -> None:
    """Words out of any order, or that an option rules out, are malformed at the calls, with the rule (3.8.1-3.8.9, 3.8.14, 3.3.19)."""
    dark = {"dark": True} if convention == "classic" else {}
    found = told(convention, 3, game(calls, contract, **dark))
    assert found.startswith(f"deals[0].{place}: ")
    assert rule in found


@pytest.mark.parametrize(
    ("convention", "calls", "contract"),
    [
        ("sochi", (W, W), "10NT"),
        ("sochi", (W, P), "6S"),
        ("sochi", (P, W), "9H"),
        ("sochi", (P, H), "7S"),
        ("sochi", (W, H), "7S"),
        ("sochi", (P, P), "10S"),
        (FIRST_HALF, (H, P), "6S"),
        (FIRST_HALF, (H, W), "6S"),
        (FIRST_HALF_NO_RETURN, (H, P), "7S"),
        (NO_RETURN, (P, H), "6S"),
        (STALINGRAD, (W, W), "6S"),
        (STALINGRAD, (P, H), "6C"),
        (CHECKED, (None, None), "10S"),
        (CHECKED, (P, P), "9S"),
        ("classic", (W, W), "6D"),
    ],
)
def test_what_a_table_of_three_can_hear_is_scored(convention: object, calls: Any, contract: str) -> None:
    """What the options allow is scored, in every order in which it can have been said (3.8.1-3.8.8.2, 3.8.14)."""
    dark = {"dark": True} if convention == "classic" else {}
    assert told(convention, 3, game(calls, contract, **dark)) == ""


@pytest.mark.parametrize(
    ("convention", "calls", "contract", "place", "rule"),
    [
        ("sochi", (P, W, W), "6S", "calls[3]", "3.8.8"),
        ("sochi", (W, W, P), "6S", "calls[3]", "3.8.8"),
        ("sochi", (W, H, P), "6S", "calls[3]", "3.8.8"),
        (NO_DEALER, (P, P, P), "6S", "calls[3]", "3.8.8"),
        (NO_DEALER, (P, P, W), "8S", "calls[3]", "3.8.8"),
        ("sochi", (H, P, W), "6S", "calls", "3.8.14"),
        (STALINGRAD, (P, P, W), "6S", "calls", "3.8.9"),
    ],
)
def test_3_8_8_what_a_resting_dealer_could_not_have_said(convention: object, calls: Any, contract: str, place: str, rule: str) -> None:
    """The dealer of four is asked last, when neither defender whists, and only where he may whist at all (3.8.8, Decision 15)."""
    found = told(convention, 4, game(calls, contract, 4))
    assert found.startswith(f"deals[0].{place}: ")
    assert rule in found


@pytest.mark.parametrize("calls", [(P, P, W), (P, P, P), (P, P, None), (P, H, W), (P, H, P), (P, H, None), (W, H, None), (W, P, None)])
def test_3_8_8_what_a_resting_dealer_could_have_said(calls: Any) -> None:
    """A dealer who only passed may be left out."""
    assert told("sochi", 4, game(calls, "7S", 4)) == ""


@pytest.mark.parametrize(("call", "contract", "fits"), [(W, "6S", True), (P, "6S", True), (H, "6S", True), (H, "8S", False)])
def test_the_one_defender_of_two(call: str, contract: str, *, fits: bool) -> None:
    """Of two players one defends; he may go for half at once, on the levels that have it (Decision 19)."""
    assert (told("sochi", 2, game((call,), contract, 2)) == "") is fits


def test_the_one_defender_of_two_must_whist_six_spades() -> None:
    """Stalingrad binds him too (FN61)."""
    assert "3.8.9" in told(STALINGRAD, 2, game((H,), "6S", 2))


def test_five_players_speak_as_three() -> None:
    """Of five the two defenders alone are asked (Decision 20)."""
    deal = {"dealer": 4, "declarer": 0, "contract": "6S", "tricks": [6, 4, 0, 0, 0]}
    assert told("sochi", 5, deal | {"calls": [None, W, None, P, None]}) == ""
    assert told("sochi", 5, deal | {"calls": [None, P, None, P, W]}).startswith("deals[0].calls[4]")
    assert "3.8.14" in told("sochi", 5, deal | {"calls": [None, H, None, P, None], "tricks": None})


@pytest.mark.parametrize(
    "calls",
    [c for c in product((W, P, H, None), repeat=2) if c not in {(H, H), (H, None), (H, P), (H, W), (None, W), (None, P), (None, H)}],
)
def test_3_5_4_calls_may_stop_where_the_deal_did(calls: Any) -> None:
    """Of a game that was given up the calls so far are told, and they too in an order that can be (3.5.4)."""
    deal = game(calls, infractions=[{"rule": "3.5.4", "seat": 0}])
    deal.pop("tricks", None)
    assert told("sochi", 3, deal) == ""
    for impossible in ((None, W), (H, P), (H, None)):
        assert told("sochi", 3, deal | {"calls": [None, *impossible]}).startswith("deals[0].calls")


@pytest.mark.parametrize("rule", ["3.4.4", "3.4.6"])
def test_3_4_a_game_that_ended_at_the_order_needs_no_calls(rule: str) -> None:
    """An arbiter may write something else for a wrong order than the rule does; nobody had been asked for a whist all the same."""
    ruled = {"rule": rule, "seat": 0, "mountain": 3, "reason": "ruled"}
    deal = {"dealer": 2, "declarer": 0, "contract": "10NT"}
    assert told("sochi", 3, deal | {"infractions": [ruled]}) == ""
    assert told("sochi", 3, deal | {"infractions": [ruled | {"rule": "3.9.19"}]}).startswith("deals[0].calls")


def test_3_6_9_a_misere_is_shared_where_that_is_agreed() -> None:
    """`shared` needs its option, and four players: of five nobody shares with the dealer."""
    deal = {"dealer": 3, "declarer": 0, "contract": "misere", "tricks": [0, 5, 5, 0], "shared": True}
    agreed = {"preset": "sochi", "shared_misere": True}
    assert told(agreed, 4, deal) == ""
    assert "3.6.9" in told("sochi", 4, deal)
    five = deal | {"dealer": 4, "tricks": [0, 5, 0, 5, 0]}
    assert told(agreed, 5, five | {"shared": False}) == ""
    assert "3.6.9" in told(agreed, 5, five)


def test_3_5_4_without_three_names_its_rule() -> None:
    """A level that is not given up without three is refused with the rule (FN40)."""
    deal = {"dealer": 2, "declarer": 0, "contract": "9S", "without_three": True}
    assert told({"preset": "sochi", "without_three": [9]}, 3, deal) == ""
    assert "3.5.4" in told({"preset": "sochi", "without_three": [6]}, 3, deal)
    for more in ({"rule": "3.5.4", "seat": 0}, {"rule": "3.4.10", "seat": 2}):  # nor is it given up twice, or after the discard
        assert told({"preset": "sochi", "without_three": [9]}, 3, deal | {"infractions": [more]}).startswith("deals[0].without_three")


@pytest.mark.parametrize(
    ("deal", "place"),
    [
        ({"contract": "6S", "calls": [None, W, W], "tricks": [6, 2, 2], "dark": "7S"}, "dark: the contract 6S is below the bid 7S (3.4.3)"),
        ({"contract": "9S", "calls": [None, P, P], "dark": "misere"}, "dark: a misere that was bid is the contract, not 9S (3.3.7)"),
        ({"contract": "misere", "tricks": [0, 5, 5], "dark": "6S"}, "dark: a misere said after 6S in the dark is an open one"),
        ({"contract": "8S", "calls": [None, P, P], "dark_pass": [0]}, "dark_pass: seat 0 declares and cannot have passed"),
    ],
)
def test_3_3_19_what_was_said_in_the_dark_goes_with_the_contract(deal: dict[str, Any], place: str) -> None:
    """The winning bid leads to the contract; the declarer has not passed; a misere said instead is open (Decision 21)."""
    deal = {"dealer": 2, "declarer": 0} | deal
    assert told("classic", 3, deal).startswith(f"deals[0].{place}")
    scored({"convention": "classic", "players": 3, "deals": [deal]}, stored=True)  # it was accepted once
    right = {"dark": True} if "dark" in deal else {"dark_pass": [1]}
    assert told("classic", 3, deal | right) == ""


def test_a_contract_that_is_none_says_how_one_is_written() -> None:
    """Whoever writes a suit's sign is told the notation."""
    assert told("sochi", 3, game((W, P)) | {"contract": "6♠"}).endswith("there are 6S to 10NT, misere and all_pass")


def test_what_was_written_down_before_stays_readable() -> None:
    """A file that is stored is held to what it takes to score it: a check that came later makes no history unreadable."""
    file = {"convention": "sochi", "players": 3, "deals": [game((H, P))]}
    with pytest.raises(Malformed):
        scored(file)
    assert scored(file, stored=True).end.sheet.whists[1][0] == 4
