"""What whisters owe and what they write, rule by rule (3.8.1-3.8.14); the schools of conventions are in `test_3_8_whist_scoring.py`."""

from __future__ import annotations

from typing import Any

import pytest

from shared.rules.deck.contract import OBLIGATION
from tests.rules.scoring.scored import one, score, written
from tests.rules.words import after, table
from tests.spec import given

NAMED = "6S pass pass 7C/8C"


def game(contract: str, calls: list[str | None], *tricks: int, **rest: Any) -> dict[str, Any]:
    """A game of seat 0."""
    return {"declarer": 0, "contract": contract, "calls": calls, "tricks": list(tricks)} | rest


def entries(convention: Any, players: int, deal: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Rule, seat, column and amount of every entry, in their order."""
    found = score(convention, players, deal)["deals"][0]["entries"]
    return [(entry["rule"], entry["seat"], entry["column"], entry["amount"]) for entry in found]


PAIR, ALONE = [None, "whist", "whist"], [None, "whist", "pass"]


def test_3_8_1_1_a_whist_is_the_price_of_the_game() -> None:
    """Two whisters write the price of the game for each of their own tricks (3.8.1.1)."""
    assert entries("sochi", 3, game("7S", PAIR, 7, 2, 1)) == [
        ("4.1.1", 0, "pool", 4), ("3.8.1.1", 1, "whists", 8), ("3.8.1.1", 2, "whists", 4)
    ]  # fmt: skip


def test_3_8_1_2_consolation_for_each_undertrick() -> None:
    """Every opponent writes consolation for every undertrick, passer and resting dealer too (3.8.1.2)."""
    found = entries("sochi", 4, game("6S", [*ALONE, None], 4, 4, 2, 0))
    assert found == [
        ("4.1.1", 0, "mountain", 4), ("3.8.13", 1, "whists", 12), ("3.8.1.2", 1, "whists", 4), ("3.8.1.2", 2, "whists", 4),
        ("3.8.1.2", 3, "whists", 4),
    ]  # fmt: skip


def test_3_8_1_3_a_failed_whister_keeps_his_whists() -> None:
    """Who took too little writes whists for what he took and mountain for what is missing (3.8.1.3)."""
    found = entries("sochi", 3, game("6S", ALONE, 7, 2, 1))
    assert found == [("4.1.1", 0, "pool", 2), ("3.8.1.1", 1, "whists", 6), ("3.8.11", 1, "mountain", 2)]


@pytest.mark.parametrize(("contract", "owed"), [("6H", 4), ("7H", 2), ("8H", 1), ("9H", 1), ("10H", 1)])
def test_3_8_2_what_the_defence_owes(contract: str, owed: int) -> None:
    """A sole whister owes 4, 2, 1, 1, 1 tricks on 6 to 10: one fewer costs one price, none at all the whole (3.8.2)."""
    price = {"6": 2, "7": 4, "8": 6, "9": 8, "1": 10}[contract[0]]
    assert one("sochi", 3, game(contract, ALONE, 10 - owed, owed, 0))["mountain"][1] == 0
    assert one("sochi", 3, game(contract, ALONE, 11 - owed, owed - 1, 0))["mountain"] == [0, price, 0]
    assert one("sochi", 3, game(contract, ALONE, 10, 0, 0))["mountain"] == [0, owed * price, 0]
    assert OBLIGATION[int(contract.removesuffix("H"))] == owed


@pytest.mark.parametrize("first", ["whist", "pass"])
def test_3_8_3_the_third_player_is_free(first: str) -> None:
    """Whatever the first defender said, the second may whist or pass (3.8.3)."""
    for word in ("whist", "pass"):
        said = after(table(), f"{NAMED} 8S {first} {word}")
        assert said.game.calls == (None, first, word)


def test_3_8_5_a_passers_shortage_is_the_whisters() -> None:
    """A sole whister answers alone for all that the defence owes (3.8.5)."""
    assert one("sochi", 3, game("6S", ALONE, 8, 0, 2)) == written([2, 0, 0], [0, 4, 0], [[1, 0, 4]])


def test_3_8_6_only_short_in_sum() -> None:
    """Two whisters who have together what they owe answer for nothing, however it is spread; else each for his half (3.8.6)."""
    assert one("sochi", 3, game("6S", PAIR, 6, 4, 0))["mountain"] == [0, 0, 0]
    assert entries("sochi", 3, game("6S", PAIR, 8, 2, 0)) == [
        ("4.1.1", 0, "pool", 2), ("3.8.1.1", 1, "whists", 4), ("3.8.6", 2, "mountain", 4)
    ]  # fmt: skip


def test_3_8_8_what_a_whisting_dealer_writes() -> None:
    """The dealer's whists stand under 3.8.8, his shortage under the price of his whist (3.8.8)."""
    found = entries("sochi", 4, game("6S", [None, "pass", "pass", "whist"], 7, 2, 1, 0))
    assert found == [("4.1.1", 0, "pool", 2), ("3.8.8", 3, "whists", 6), ("3.8.11", 3, "mountain", 2)]


def test_3_8_8_2_after_a_return_the_half_whister_has_no_say() -> None:
    """The returner whists alone, for all tricks of the defence; the half-whister is asked no more (3.8.8.2)."""
    returned = after(table(), f"{NAMED} 6S pass half whist")
    assert (returned.phase, returned.to_act) == ("lay", 1)
    given(table(), f"{NAMED} 6S pass half whist").when(2, "pass").then_refused("wrong_phase", "3.8.1")
    assert entries("sochi", 3, game("6S", [None, "whist", "half"], 6, 3, 1)) == [
        ("4.1.1", 0, "pool", 2), ("3.8.8.2", 1, "whists", 8)
    ]  # fmt: skip


def test_3_8_9_nothing_must_be_whisted() -> None:
    """No preset makes anybody whist, not even six spades (3.8.9)."""
    for preset in ("sochi", "leningrad", "rostov", "classic", "code", "federation"):
        assert after(table(preset), f"{NAMED} 6S pass pass").phase == "scored"


def test_3_8_12_half_price_stands_under_its_own_rule() -> None:
    """Where whist is half-responsible a missing trick costs half its price, and the entry says so (3.8.12)."""
    found = entries("rostov", 3, game("6S", ALONE, 8, 1, 1))
    assert ("3.8.12", 1, "mountain", 2) in found


def test_3_8_14_whists_are_shared_on_a_remise() -> None:
    """Whister and passer share the whists of a remise half and half, on a game made nothing is shared (3.8.14)."""
    remise = entries("leningrad", 3, game("6S", ALONE, 5, 4, 1))
    assert [entry for entry in remise if entry[0] == "3.8.14"] == [("3.8.14", 1, "whists", 10), ("3.8.14", 2, "whists", 10)]
    assert not [entry for entry in entries("leningrad", 3, game("6S", ALONE, 6, 3, 1)) if entry[0] == "3.8.14"]


@pytest.mark.parametrize(("convention", "whists"), [("sochi", 2), ("rostov", 2), ("classic", 2), ("leningrad", 4)])
def test_fn53_the_price_of_a_whist(convention: str, whists: int) -> None:
    """A whist costs the price of the game, in Leningrad's writing twice that (FN53)."""
    assert one(convention, 3, game("6S", PAIR, 6, 3, 1))["whists"] == [[1, 0, 3 * whists], [2, 0, whists]]


@pytest.mark.parametrize(("convention", "consolation"), [("sochi", 4), ("leningrad", 8), ("rostov", 10), ("classic", 4)])
def test_fn54_the_price_of_consolation(convention: str, consolation: int) -> None:
    """Consolation costs the price of the game, doubled in Leningrad, and ten at any level in Rostov (FN54, FN36)."""
    deal = game("7S", [None, "pass", "whist", "pass"], 6, 0, 4, 0) | {"dealer": 3}
    deal["calls"] = [None, "pass", "whist", None]
    assert [0 + entry[3] for entry in entries(convention, 4, deal) if entry[0] == "3.8.1.2"] == [consolation] * 3


def test_fn56_the_passer_does_not_decide() -> None:
    """Open or closed play is the whister's to choose, not the passer's (FN56)."""
    given(table(), f"{NAMED} 6S pass whist").when(1, "open").then_refused("not_your_turn", "3.8.5")


@pytest.mark.parametrize(("contract", "whists"), [("6S", 4), ("7S", 4)])
def test_fn60_half_of_the_obligation(contract: str, whists: int) -> None:
    """Half-whist writes two tricks on six and one on seven (FN60)."""
    deal = {"declarer": 0, "contract": contract, "calls": [None, "pass", "half"]}
    assert entries("sochi", 3, deal)[1] == ("3.8.7", 2, "whists", whists)


@pytest.mark.parametrize(("tricks", "mountain"), [((10, 0, 0), [0, 0, 10]), ((9, 1, 0), [0, 0, 0]), ((9, 0, 1), [0, 0, 0])])
def test_fn59_the_second_closed_the_game(tricks: tuple[int, ...], mountain: list[int]) -> None:
    """On a whisted ten the second whister alone answers for the one trick, and only if nobody took it (FN59)."""
    deal = game("10S", PAIR, *tricks)
    assert [one("sochi", 3, deal)["mountain"][seat] for seat in (1, 2)] == mountain[1:]


def test_3_9_11_2_a_whister_of_two_loses_a_trick_of_his_own() -> None:
    """Of two whisters the one who looked writes one trick less, and never less than none; the other writes his (3.9.11.2)."""
    fine = {"infractions": [{"rule": "3.9.11.2", "seat": 1}]}
    assert one("sochi", 3, game("6S", PAIR, 5, 3, 2, **fine))["whists"] == [[1, 0, 6], [2, 0, 6]]
    assert one("sochi", 3, game("6S", PAIR, 6, 0, 4, **fine))["whists"] == [[2, 0, 8]]


LOOKED = {"infractions": [{"rule": "3.9.11.2", "seat": 1}]}
FIRST_VERSION = {"preset": "sochi", "version": 1}


def test_3_9_12_decision_25_a_lost_trick_is_its_losers_alone() -> None:
    """F1: a partner is judged by the tricks really taken; whoever lost one answers for it, if the pair is short then (3.9.12)."""
    mountains = [
        ([6, 4, 0], [0, 2, 0]), ([6, 0, 4], [0, 2, 0]), ([6, 1, 3], [0, 2, 0]), ([5, 5, 0], [2, 0, 0]), ([7, 3, 0], [0, 2, 4]),
        ([10, 0, 0], [0, 6, 4]),
    ]  # fmt: skip
    for tricks, mountain in mountains:
        assert one("sochi", 3, game("6S", PAIR, *tricks, dealer=2, **LOOKED))["mountain"] == mountain, tricks
    assert entries("sochi", 3, game("6S", PAIR, 6, 4, 0, **LOOKED)) == [
        ("4.1.1", 0, "pool", 2), ("3.8.1.1", 1, "whists", 6), ("3.9.11.2", 1, "mountain", 2)
    ]  # fmt: skip


def test_3_9_12_decision_25_tricks_are_lost_one_after_another() -> None:
    """An overtrick of the pair covers what is lost first; what is lost after it is answered for by its loser (3.9.12)."""
    both = [{"rule": "3.9.11.2", "seat": 2}, {"rule": "3.9.11.2", "seat": 1}]
    assert one("sochi", 3, game("7S", PAIR, 7, 2, 1, infractions=both))["mountain"] == [0, 4, 0]
    assert one("sochi", 3, game("7S", PAIR, 8, 1, 1, infractions=both))["mountain"] == [0, 4, 4]


def test_3_9_12_decision_25_above_seven_the_first_answers_for_his_own() -> None:
    """The second whister of an eight answers for no trick that the first has lost (FN59, 3.9.12)."""
    deal = game("8S", PAIR, 9, 1, 0, **LOOKED)
    assert one("sochi", 3, deal)["mountain"] == [0, 6, 0]
    assert one(FIRST_VERSION, 3, deal)["mountain"] == [0, 0, 6]


@pytest.mark.parametrize(("school", "mountain"), [("own_half", [4, 2, 0]), ("below_half", [4, 0, 0]), ("capped", [4, 0, 0])])
def test_3_9_12_decision_25_a_school_that_asks_each_for_his_half(school: str, mountain: list[int]) -> None:
    """Where each answers for a half whatever the pair has, a lost trick is missing from its loser's half (3.9.12)."""
    deal = game("6S", PAIR, 4, 2, 4, **LOOKED)
    assert one({"preset": "sochi", "pair_6_7": school}, 3, deal)["mountain"] == mountain


def test_decision_28_version_1_keeps_the_pairs_lost_trick() -> None:
    """In version 1 a lost trick was the pair's, and the partner who had less than half answered for it."""
    assert one(FIRST_VERSION, 3, game("6S", PAIR, 6, 4, 0, **LOOKED))["mountain"] == [0, 0, 4]


def test_3_9_18_a_whister_with_a_wrong_hand_misses_two_or_what_was_proved() -> None:
    """Two missing tricks at least, more if they were proved; who is right answers for nothing (3.9.18)."""
    for proved, missing in ((None, 2), (1, 2), (3, 3)):
        offence: dict[str, Any] = {"rule": "3.9.18", "seat": 1} | ({} if proved is None else {"proved": proved})
        found = entries("sochi", 3, game("6S", PAIR, 6, 2, 2, infractions=[offence]))
        assert [entry for entry in found if entry[2] == "mountain"] == [("3.9.18", 1, "mountain", 2 * missing)]
