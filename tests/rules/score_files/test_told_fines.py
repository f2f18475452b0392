"""Fines in a score file: one that had no occasion is refused, since it would write nothing (3.4.6, 3.4.9, 3.4.10, 3.9.16.2, 3.9.18)."""

from __future__ import annotations

from typing import Any

import pytest

from shared.rules.language.refusal import Malformed
from shared.rules.score_files.score_file import score_document, scored

W, P, H = "whist", "pass", "half"
PAIR: dict[str, Any] = {"contract": "6S", "calls": [None, W, W], "tricks": [6, 2, 2]}
MISERE: dict[str, Any] = {"contract": "misere", "tricks": [1, 5, 4]}
LATE = "3.9.16.2"


def file(deal: dict[str, Any], *infractions: dict[str, Any]) -> dict[str, Any]:
    """A pulka of one deal that seat 0 declares and seat 2 dealt, unless it says otherwise."""
    deal = {"dealer": 2, "declarer": 0} | deal | {"infractions": list(infractions)}
    return {"convention": {"preset": "sochi", "refused_talon": 4, "without_three": [6]}, "players": 3, "deals": [deal]}


def refusal(document: dict[str, Any]) -> str:
    """Where and why the file is refused; what is stored already is read all the same."""
    with pytest.raises(Malformed) as caught:
        score_document(document)
    scored(document, stored=True)
    return f"{caught.value.path}: {caught.value.message}"


@pytest.mark.parametrize("deal", [{"calls": [None, P, P]}, {"calls": [None, P, H]}, {"without_three": True}])
@pytest.mark.parametrize("rule", ["3.4.9", LATE, "3.9.18"])
def test_a_fault_in_play_needs_a_play(deal: dict[str, Any], rule: str) -> None:
    """Nobody looks into the discard after the first lead, or revokes, in a game that was not played (3.4.9, 3.9.16, 3.9.18)."""
    unplayed = {"contract": "6S"} | deal
    told = refusal(file(unplayed, {"rule": rule, "seat": 0}))
    assert told == f"deals[0].infractions[0]: {rule} is a fault in play, and nothing was played"
    score_document(file(unplayed, {"rule": rule, "seat": 0, "mountain": 2, "reason": "ruled"}))  # an arbiter writes what they like


def test_3_4_10_nobody_refuses_the_talon_on_all_pass() -> None:
    """The talon is refused by who took it (3.4.10)."""
    deal = {"declarer": None, "contract": "all_pass", "tricks": [4, 3, 3]}
    assert "3.4.10" in refusal(file(deal, {"rule": "3.4.10", "seat": 0}))
    assert score_document(file(PAIR, {"rule": "3.4.10", "seat": 0}))["deals"][0]["mountain"] == [0, 0, 4]


def test_3_4_6_no_more_is_proved_than_the_contract_can_miss() -> None:
    """A six can be proved without six, and the two of the fine come on top: without eight (3.4.6, E4)."""
    deal = {"contract": "6S"}
    assert refusal(file(deal, {"rule": "3.4.6", "seat": 0, "proved": 7})) == "deals[0].infractions[0].proved: 6S cannot fail by more than 6"
    assert score_document(file(deal, {"rule": "3.4.6", "seat": 0, "proved": 6}))["deals"][0]["mountain"] == [16, 0, 0]


def test_3_4_4_nobody_has_whisted_a_refused_order() -> None:
    """What was called on it is void, as at a table; a game that was given up in play keeps its whists (3.4.4, 3.5.4, Decision 23)."""
    unplayed = {"contract": "7S", "calls": [None, W, P]}
    told = refusal(file(unplayed, {"rule": "3.4.4", "seat": 0}))
    assert told == "deals[0].calls: calls on a refused order are void, and nobody writes whists: leave them out (3.4.4)"
    void = score_document(file({"contract": "7S"}, {"rule": "3.4.4", "seat": 0}))["deals"][0]
    assert (void["mountain"], void["whists"]) == ([28, 0, 0], [[1, 0, 28], [2, 0, 28]])
    given_up = score_document(file(unplayed, {"rule": "3.5.4", "seat": 0}))["deals"][0]
    assert given_up["whists"] == [[1, 0, 68], [2, 0, 28]]


def test_fn61_of_two_players_one_defender_must_whist() -> None:
    """The refusal counts the defenders there are (3.8.9)."""
    deal = {"dealer": 1, "declarer": 0, "contract": "6S", "calls": [None, P]}
    with pytest.raises(Malformed, match="the defender must whist six spades"):
        score_document({"convention": {"preset": "sochi", "stalingrad": True}, "players": 2, "deals": [deal]})


def test_3_9_16_2_a_late_revokes_trick_is_told_by_the_tricks() -> None:
    """It goes to the other side while there is one; a fine is what nobody can hand over, and always the declarer's on misere."""
    for seat in (0, 1):
        assert "`tricks` tell it" in refusal(file(PAIR, {"rule": LATE, "seat": seat}))
    assert "`tricks` tell it" in refusal(file(MISERE, {"rule": LATE, "seat": 1}))
    assert score_document(file(MISERE, {"rule": LATE, "seat": 0}))["deals"][0]["mountain"] == [20, 0, 0]
    none = PAIR | {"tricks": [10, 0, 0]}
    assert score_document(file(none, {"rule": LATE, "seat": 1}))["deals"][0]["mountain"] == [0, 6, 4]
