"""`pulka solve`: documents of open cards, and the place of what is wrong with one (deploy/docs/open-cards.md)."""

from __future__ import annotations

import pytest

from shared.rules.language.refusal import Malformed, NotJson
from shared.rules.open_cards.document import solve_document

GAME = {"hands": ["AS 7H", "KS 8H", "QS 9H"], "declarer": 0, "leader": 0, "contract": "6S"}
ALL_PASS = {"hands": ["AS 7H", "KS 8H", "QS 9H"], "leader": 0, "contract": "all_pass"}
TEN = ["7S 8S 9S TS JS QS KS AS 7C 8C", "9C TC JC QC KC AC 7D 8D 9D TD", "JD QD KD AD 7H 8H 9H TH JH QH"]
NINE = ["8S 9S TS JS QS KS AS 7C 8C", "TC JC QC KC AC 7D 8D 9D TD", "JD QD KD AD 7H 8H TH JH QH"]


def refused(document):
    """Where a document is wrong, and why."""
    with pytest.raises(Malformed) as wrong:
        solve_document(document)
    return wrong.value.path, wrong.value.message


@pytest.mark.parametrize(
    ("change", "path", "message"),
    [
        ({"hands": ["AS 7H", "KS", "QS 9H"]}, "hands[1]", "has 1 cards, must have 2"),
        ({"hands": ["AS 7H", "KS XX", "QS 9H"]}, "hands[1]", "'XX' is no card"),
        ({"hands": ["AS 7H", "KS KS", "QS 9H"]}, "hands[1]", "KS stands twice"),
        ({"hands": ["AS 7H", "KS 8H", "QS 7H"]}, "hands[2]", "7H stands twice"),
        ({"hands": ["AS 7H", "KS 8H"]}, "hands", "Expected `array` of length >= 3"),
        ({"hands": ["", "", ""]}, "hands", "0 cards a hand, must be 1 to 10"),
        ({"hands": ["AS 7H", "KS 8H", "QS 9H", "JS TH"]}, "hands", "who has cards is not who plays with 4 players"),
        ({"players": 5}, "hands", "has 3 hands, which does not go with 5 players"),
        ({"players": 6}, "players", "Invalid enum value 6"),
        ({"contract": "5S"}, "contract", "'5S' is no contract"),
        ({"declarer": None}, "declarer", "is required"),
        ({"declarer": 3}, "declarer", "seat 3 does not play"),
        ({"declarer": 2, "players": 2}, "declarer", "seat 2 does not play"),
        ({"leader": 3}, "leader", "seat 3 does not play"),
        ({"dealer": 3}, "dealer", "there is no seat 3"),
        ({"talon": "7S 8S"}, "talon", "leads on all_pass only"),
        ({"trick": [[1, "TS"]]}, "trick[0][0]", "this card is seat 0's, not seat 1's"),
        ({"trick": [[0, "1S"]]}, "trick[0][1]", "'1S' is no card"),
        ({"trick": [[0, "KS"]]}, "trick[0][1]", "KS stands twice"),
        ({"trick": [[0, "TS"]]}, "hands[0]", "has 2 cards, must have 1"),
        ({"trick": [[0, "TS"], [1, "9S"], [2, "8S"]]}, "trick", "Expected `array` of length <= 2"),
        ({"trick": [[0]]}, "trick[0]", "Expected `array` of length 2, got 1"),
        ({"surprise": 1}, "surprise", "unknown field"),
        ({"leader": "0"}, "leader", "Expected `int`, got `str`"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(change, path, message):
    """Every document that is no position of a deal."""
    assert refused(GAME | change) == (path, message)


@pytest.mark.parametrize(
    ("document", "path", "message"),
    [
        (ALL_PASS | {"declarer": 0}, "declarer", "an all-pass has no declarer"),
        (ALL_PASS | {"talon": "7S"}, "talon", "has 1 cards, must have 2"),
        (ALL_PASS | {"talon": "7S AS"}, "talon", "AS stands twice"),
        (
            {"hands": [*TEN, ""], "leader": 1, "contract": "all_pass", "talon": "KH AH"},
            "leader",
            "seat 0 is the first hand, who plays first to a trick that the talon leads (3.7.6.1)",
        ),
        (
            {"hands": [NINE[0], *TEN[1:]], "leader": 0, "contract": "all_pass", "talon": "8H AH", "trick": [[0, "7S"]]},
            "talon",
            "8H stands twice",
        ),
        (
            {
                "hands": [TEN[0], TEN[1], TEN[2].replace("QH", "KH")],
                "leader": 2,
                "contract": "all_pass",
                "talon": "QH AH",
                "trick": [[2, "JD"]],
            },
            "trick[0][1]",
            "JD does not follow the talon card, and the hand could (3.7.5)",
        ),
    ],
)
def test_an_all_pass_that_cannot_be_is_refused(document, path, message):
    """Declarer, talon and first hand must fit."""
    assert refused(document) == (path, message)


@pytest.mark.parametrize("document", [b"{", b"", b"\xff"])
def test_what_is_no_json_is_told_apart(document):
    """A stream of documents ends differently for it."""
    with pytest.raises(NotJson):
        solve_document(document)


def test_the_cards_of_a_trick_may_still_stand_in_the_hands():
    """Both ways of writing a trick on the table mean the same."""
    apart = GAME | {"hands": ["7H", "8H", "QS 9H"], "trick": [[0, "AS"], [1, "KS"]]}
    assert (
        solve_document(GAME | {"trick": [[0, "AS"], [1, "KS"]]})
        == solve_document(apart)
        == {"declarer_tricks": 1, "line": ["QS", "7H", "8H", "9H"]}
    )


def test_3_7_6_1_the_resting_dealer_takes_a_trick_with_a_talon_card():
    """Hearts are led by the ace from the talon: nobody beats it, and with three players the highest heart takes the trick."""
    document = {"hands": TEN, "leader": 0, "contract": "all_pass", "talon": "AH KH"}
    three, four = (solve_document(document | {"players": players})["tricks"] for players in (3, 4))
    assert (len(three), sum(three)) == (3, 10)
    assert (len(four), sum(four), four[3]) == (4, 10, 2)
    assert solve_document(document | {"hands": [*TEN, ""]})["tricks"] == four


def test_3_7_6_the_ninth_card_meets_the_second_talon_card():
    """With nine cards a hand the talon's first card lies among the tricks, with eight both do."""
    nine = {"hands": NINE, "leader": 0, "contract": "all_pass", "talon": "AH KH", "players": 4}
    assert solve_document(nine)["tricks"][3] == 1
    assert solve_document(nine | {"talon": ""})["tricks"][3] == 0
    eight = nine | {"hands": [hand[:-3] for hand in NINE]}
    assert solve_document(eight)["tricks"][3] == 0


def test_decision_20_two_rest_of_five_and_the_dealer_takes_the_talons_tricks():
    """Seats 0, 1 and 3 play when seat 4 deals; seat 2 rests and takes nothing."""
    document = {"hands": [TEN[0], TEN[1], "", TEN[2], ""], "leader": 0, "contract": "all_pass", "talon": "AH KH"}
    tricks = solve_document(document)["tricks"]
    assert (tricks[2], tricks[4], sum(tricks)) == (0, 2, 10)
    assert refused(document | {"dealer": 2})[0] == "hands"


def test_decision_19_of_two_players_whoever_plays_before_the_dummy_plays_its_card():
    """The dealer, second hand, lets the dummy take the ace's trick from him: the dummy would rather not, but owns nothing."""
    document = {"hands": ["7S", "8S", "AS"], "leader": 0, "contract": "all_pass", "players": 2}
    assert solve_document(document) == {"tricks": [0, 0], "line": ["7S", "8S", "AS"]}
    choice = {"hands": ["9S 7C", "TS 8C", "JS 7S"], "leader": 0, "contract": "all_pass", "players": 2}
    answer = solve_document(choice)
    assert sum(answer["tricks"]) < 2
    assert solve_document(choice | {"dealer": 0, "leader": 1})["line"][1] in ("9S", "7C")


def test_four_at_a_table_name_the_declarers_seat():
    """A game of four keeps its seats; who rests has no cards."""
    hands = ["AS 7H", "", "KS 8H", "QS 9H"]
    assert solve_document(GAME | {"hands": hands})["declarer_tricks"] == 1
    assert refused(GAME | {"hands": hands, "declarer": 1}) == ("declarer", "seat 1 does not play")
