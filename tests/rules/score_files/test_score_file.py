"""The score file: what comes out, and what bad input is told."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from shared.rules.convention.options import resolve
from shared.rules.language.refusal import Malformed, NotJson
from shared.rules.score_files.deal_document import DealDocument, deal_document, read_deal
from shared.rules.score_files.score_file import score_document
from shared.rules.scoring.outcome import DealOutcome

EXAMPLE: dict[str, Any] = {
    "convention": "sochi",
    "players": 3,
    "target": 20,
    "start": {"pool": [16, 10, 0], "mountain": [5, 0, 0], "whists": [[1, 0, 8]], "all_pass_in_row": 0, "bombs": [[], [], []]},
    "deals": [
        {"dealer": 2, "declarer": 0, "contract": "6S", "calls": [None, "whist", "pass"], "tricks": [6, 2, 2]},
        {"declarer": 1, "contract": "7H", "calls": ["half", None, "pass"]},
        {"declarer": 2, "contract": "misere", "tricks": [5, 3, 2]},
        {"contract": "all_pass", "tricks": [2, 5, 3]},
    ],
}
GAME: dict[str, Any] = {"declarer": 0, "contract": "6S", "calls": [None, "whist", "pass"], "tricks": [6, 2, 2]}


def refusal(document: object) -> Malformed:
    """How `document` is refused."""
    with pytest.raises(Malformed) as caught:
        score_document(document)
    return caught.value


def with_deal(convention: Any = "sochi", players: int = 3, /, **deal: Any) -> dict[str, Any]:
    """A file of one deal."""
    return {"convention": convention, "players": players, "deals": [deal]}


def test_the_example_of_the_formats() -> None:
    """The worked example comes out as documented, from text and from objects alike."""
    answer = score_document(json.dumps(EXAMPLE | {"deals": EXAMPLE["deals"][:1]}))
    written = answer["deals"][0]
    assert {column: written[column] for column in ("pool", "mountain", "whists")} == {
        "pool": [2, 0, 0],
        "mountain": [0, 0, 0],
        "whists": [[1, 0, 8]],
    }
    assert {"seat": 1, "column": "whists", "on": 0, "amount": 8, "rule": "3.8.1.1", "why": "4 tricks at 2"} in written["entries"]
    assert answer["sheet"] == {"pool": [18, 10, 0], "mountain": [5, 0, 0], "whists": [[1, 0, 16]]}
    assert answer["closed"] is False
    assert answer["settlement"] == {"mountain": [7, 10, 20], "net": ["112/3", "118/3", "-230/3"], "rounded": [38, 39, -77]}
    assert score_document(EXAMPLE) == score_document(json.dumps(EXAMPLE).encode())
    assert score_document(EXAMPLE | {"format": 1}) == score_document(EXAMPLE)


def test_a_file_can_be_cut_anywhere() -> None:
    """Scoring the first deals and starting the rest from their sheet gives the same pulka."""
    whole = score_document(EXAMPLE)
    for cut in range(1, 4):
        first = score_document(EXAMPLE | {"deals": EXAMPLE["deals"][:cut]})
        rest = score_document(EXAMPLE | {"start": first["sheet"], "deals": EXAMPLE["deals"][cut:]})
        assert (first["deals"] + rest["deals"], rest["sheet"], rest["settlement"]) == (whole["deals"], whole["sheet"], whole["settlement"])


def test_exact_fractions_are_read_and_written() -> None:
    """Numbers that are not whole are fractions in text on both sides, in lowest terms."""
    start = {"pool": ["1/2", 0, 0], "mountain": ["-7/2", "6/3", 0], "whists": [[1, 0, "10/4"]]}
    assert score_document({"convention": "leningrad", "players": 3, "start": start, "deals": []})["sheet"] == {
        "pool": ["1/2", 0, 0],
        "mountain": ["-7/2", 2, 0],
        "whists": [[1, 0, "5/2"]],
    }


def test_whists_are_sorted_and_zeros_left_out() -> None:
    """Triples come out sorted, one a pair, without zeros, in whatever order they went in."""
    start = {"whists": [[2, 0, 4], [0, 2, 1], [1, 0, 0]]}
    assert score_document({"convention": "sochi", "players": 3, "start": start, "deals": []})["sheet"]["whists"] == [[0, 2, 1], [2, 0, 4]]


def test_the_deal_passes_clockwise_by_itself() -> None:
    """With four players the first deal names its dealer and the others follow; a named dealer is taken as named (3.2.2, 3.2.14)."""
    rest = {"contract": "6S", "calls": ["pass", "pass", None, None], "declarer": 3}
    deals = [{"dealer": 1, "declarer": 0, "contract": "6S", "calls": [None, None, "pass", "pass"]}, rest]
    assert score_document({"convention": "sochi", "players": 4, "deals": deals})["sheet"]["pool"] == [2, 0, 0, 2]
    assert refusal({"convention": "sochi", "players": 4, "deals": [deals[0], deals[0] | {"dealer": None}]}).path == "deals[1].calls[1]"


@pytest.mark.parametrize("text", [b"", b"{", b'{"convention": 5, ', b"\xff", b"{} {}", "nonsense"])
def test_what_is_no_json_is_told_apart(text: bytes | str) -> None:
    """Text that is not JSON is another kind of refusal than a wrong document."""
    assert isinstance(refusal(text), NotJson)


@pytest.mark.parametrize("value", [[], 5, None, True, b"[]", b"5", b'{"convention": ' + b"[" * 50_000 + b"]" * 50_000 + b"}"])
def test_json_of_another_shape_is_malformed(value: object) -> None:
    """JSON that is no score file is malformed, however deep it is nested."""
    found = refusal(value)
    assert not isinstance(found, NotJson)
    assert found.code == "malformed"


@pytest.mark.parametrize(
    ("change", "path", "message"),
    [
        ({"player": 3}, "player", "unknown field"),
        ({"players": 6}, "players", "Expected `int` <= 5"),
        ({"players": 1}, "players", "Expected `int` >= 2"),
        ({"players": True}, "players", "Expected `int`, got `bool`"),
        ({"players": 3.5}, "players", "Expected `int`, got `float`"),
        ({"target": 0}, "target", "Expected `int` >= 1"),
        ({"format": 2}, "format", "Invalid enum value 2"),
        ({"convention": "sotchi"}, "convention", None),
        ({"convention": {"preset": "sochi", "hlep": "none"}}, "convention.hlep", "unknown field"),
        ({"start": {"pool": [1, 2]}}, "start.pool", "has 2 values, must have 3"),
        ({"start": {"pool": [1, 2, 2.5]}}, "start.pool[2]", None),
        ({"start": {"mountain": [1, 2, "1/0"]}}, "start.mountain[2]", None),
        ({"start": {"mountain": [1, 2, "one"]}}, "start.mountain[2]", None),
        ({"start": {"mountain": [1, 2, "1" * 41]}}, "start.mountain[2]", None),
        ({"start": {"mountain": [1, 2, 10**13]}}, "start.mountain[2]", None),
        ({"start": {"whists": [[0, 0, 1]]}}, "start.whists[0]", "nobody writes whists on themselves"),
        ({"start": {"whists": [[0, 3, 1]]}}, "start.whists[0][1]", None),
        ({"start": {"whists": [[0, 1, 1], [0, 1, 2]]}}, "start.whists[1]", None),
        ({"start": {"bombs": [[2]]}}, "start.bombs", "has 1 values, must have 3"),
        ({"start": {"bombs": [[1], [], []]}}, "start.bombs[0][0]", None),
        ({"start": {"all_pass_in_row": 1, "dark_in_row": 1}}, "start.dark_in_row", None),
        ({"convention": "classic", "start": {"all_pass_in_row": 1, "dark_in_row": 2}}, "start.dark_in_row", None),
        ({"start": {"sheet": 1}}, "start.sheet", "unknown field"),
    ],
)
def test_bad_files_name_the_place(change: dict[str, Any], path: str, message: str | None) -> None:
    """What is wrong with a file is named by its path."""
    found = refusal(EXAMPLE | change)
    assert (found.code, found.path) == ("malformed", path)
    assert message in (None, found.message)


@pytest.mark.parametrize("field", ["convention", "players", "deals"])
def test_required_fields(field: str) -> None:
    """Convention, players and deals must be there."""
    found = refusal({name: value for name, value in EXAMPLE.items() if name != field})
    assert (found.path, found.message) == (field, "is required")


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"tricks": [7, 2, 2]}, "tricks"),
        ({"tricks": [6, 2]}, "tricks"),
        ({"tricks": [6, 2, -2]}, "tricks[2]"),
        ({"tricks": None}, "tricks"),
        ({"contract": "5S"}, "contract"),
        ({"contract": "pass"}, "contract"),
        ({"contract": None}, "contract"),
        ({"declarer": None}, "declarer"),
        ({"declarer": 3}, "declarer"),
        ({"dealer": 4}, "dealer"),
        ({"calls": None}, "calls"),
        ({"calls": [None, "whist"]}, "calls"),
        ({"calls": [None, "whist", None]}, "calls[2]"),
        ({"calls": ["pass", "whist", "pass"]}, "calls[0]"),
        ({"calls": [None, "whist", "double"]}, "calls[2]"),
        ({"calls": [None, "half", "half"]}, "calls"),
        ({"calls": [None, "pass", "pass"]}, "tricks"),
        ({"contract": "8S", "calls": [None, "pass", "half"], "tricks": None}, "calls[2]"),
        ({"contract": "misere"}, "calls"),
        ({"contract": "all_pass", "calls": None}, "declarer"),
        ({"shared": True}, "shared"),
        ({"without_three": True, "calls": None, "tricks": None}, "without_three"),
        ({"dark": True}, "dark"),
        ({"dark": "5S"}, "dark"),
        ({"dark_pass": [0]}, "dark_pass"),
        ({"talon_tricks": 4}, "talon_tricks"),
        ({"trick": 1}, "trick"),
        ({"infractions": [{"rule": "3.9.19", "seat": 0}]}, "infractions[0]"),
        ({"infractions": [{"rule": "3.9.19", "seat": 0, "mountain": 5}]}, "infractions[0].reason"),
        ({"infractions": [{"rule": "3.9.19", "seat": 3, "mountain": 5, "reason": "talk"}]}, "infractions[0].seat"),
        ({"infractions": [{"rule": "3.9.19", "seat": 0, "mountain": [5], "reason": "talk"}]}, "infractions[0].mountain"),
        ({"infractions": [{"rule": "3.9.19", "seat": 0, "whists": [[0, 0, 5]], "reason": "talk"}]}, "infractions[0].whists[0]"),
        ({"infractions": [{"rule": "3.9.19", "seat": 0, "mountain": "1/1001", "reason": "talk"}]}, "infractions[0].mountain"),
        ({"infractions": [{"rule": "3.9.19", "seat": 0, "whists": [[0, 1, "1/1001"]], "reason": "talk"}]}, "infractions[0].whists"),
        ({"infractions": [{"rule": "3.4.9", "seat": 1}]}, "infractions[0].seat"),
        ({"infractions": [{"rule": "3.9.18", "seat": 2}]}, "infractions[0].seat"),
        ({"infractions": [{"rule": "3.4.9", "seat": 0, "points": 5}]}, "infractions[0].points"),
        ({"infractions": [{"rule": "3.2.21", "seat": 0, "proved": 5}]}, "infractions[0].proved"),
        ({"infractions": [{"rule": "3.5.4", "seat": 1}]}, "infractions"),
        ({"infractions": [{"rule": "3.2.21"}]}, "infractions[0].seat"),
    ],
)
def test_bad_deals_name_the_place(change: dict[str, Any], path: str) -> None:
    """What cannot have happened in a deal is named by its path."""
    found = refusal(with_deal(**(GAME | change)))
    assert (found.code, found.path) == ("malformed", f"deals[0].{path}")


def test_a_wrong_sum_says_what_it_is() -> None:
    """A sum of tricks other than ten is named with what it is and what it must be."""
    assert str(refusal(with_deal(**(GAME | {"tricks": [7, 2, 2]})))) == "deals[0].tricks: sum is 11, must be 10"


@pytest.mark.parametrize(
    ("convention", "deal", "path"),
    [
        ("sochi", {"declarer": 0, "contract": "6S", "calls": [None, "pass", "pass", None]}, "dealer"),
        ("sochi", {"dealer": 0, "declarer": 0, "contract": "6S", "calls": [None, None, "pass", "pass"]}, "declarer"),
        (
            "sochi",
            {"dealer": 3, "declarer": 0, "contract": "6S", "calls": [None, "whist", "pass", "whist"], "tricks": [6, 4, 0, 0]},
            "calls[3]",
        ),
        ("sochi", {"dealer": 3, "declarer": 0, "contract": "6S", "calls": [None, "pass", "pass", "half"]}, "calls[3]"),
        (
            {"preset": "sochi", "dealer_whist": "off"},
            {"dealer": 3, "declarer": 0, "contract": "6S", "calls": [None, "pass", "pass", "whist"], "tricks": [6, 4, 0, 0]},
            "calls[3]",
        ),
        (
            "sochi",
            {"dealer": 3, "declarer": 0, "contract": "6S", "calls": [None, "whist", "pass", None], "tricks": [6, 3, 0, 1]},
            "tricks[3]",
        ),
        ("rostov", {"dealer": 3, "contract": "all_pass", "tricks": [3, 3, 3, 1]}, "tricks[3]"),
        ("sochi", {"dealer": 3, "contract": "all_pass", "tricks": [3, 2, 2, 3]}, "tricks[3]"),
        (
            {"preset": "sochi", "stalingrad": True},
            {"dealer": 3, "declarer": 0, "contract": "6S", "calls": [None, "whist", "pass", None], "tricks": [6, 4, 0, 0]},
            "calls",
        ),
        (
            {"preset": "sochi", "ten": "checked"},
            {"dealer": 3, "declarer": 0, "contract": "10S", "calls": [None, "whist", "pass", None], "tricks": [10, 0, 0, 0]},
            "calls",
        ),
        ("classic", {"dealer": 3, "contract": "all_pass", "tricks": [4, 3, 3, 0], "dark_pass": [3]}, "dark_pass"),
    ],
)
def test_bad_deals_of_four(convention: Any, deal: dict[str, Any], path: str) -> None:
    """What a resting dealer cannot have done, and what an option rules out, is named by its path."""
    assert refusal(with_deal(convention, 4, **deal)).path == f"deals[0].{path}"


def test_five_players_have_no_dealers_whist() -> None:
    """With five the resting dealer is not asked for a whist (Decision 15)."""
    deal = {"dealer": 0, "declarer": 1, "contract": "6S", "calls": ["whist", None, "pass", None, "pass"], "tricks": [0, 6, 4, 0, 0]}
    assert refusal(with_deal("sochi", 5, **deal)).path == "deals[0].calls[0]"


def test_a_ruling_writes_what_was_ruled() -> None:
    """An arbiter's figures are written under his rule and with his reason, in place of what the rule would have written."""
    ruling = {"rule": "3.4.9", "seat": 0, "mountain": 3, "pool": [0, 1, 0], "whists": [[2, 0, 5]], "reason": "he looked, but asked first"}
    written = score_document(with_deal(**GAME, infractions=[ruling]))["deals"][0]
    assert (written["pool"], written["mountain"], written["whists"]) == ([2, 1, 0], [3, 0, 0], [[1, 0, 8], [2, 0, 5]])
    assert [entry["why"] for entry in written["entries"] if entry["rule"] == "3.4.9"] == ["he looked, but asked first"] * 3


def test_3_7_6_1_the_talon_wins_at_most_two_tricks() -> None:
    """A resting dealer can have as many tricks as the talon has cards, and is told so when he is given more (3.7.6.1)."""
    assert score_document(with_deal("sochi", 4, dealer=3, contract="all_pass", tricks=[4, 3, 1, 2]))["deals"][0]["mountain"] == [3, 2, 0, 1]
    found = refusal(with_deal("sochi", 4, dealer=3, contract="all_pass", tricks=[4, 3, 0, 3]))
    assert found.message == "the talon wins seat 3 at most 2 tricks (3.7.6.1), not 3"


def test_many_odd_fractions_stay_short_numbers() -> None:
    """Rulings in parts of every size that is allowed, one after another, still make a sheet that can be written down exactly."""
    rulings = [{"rule": "3.9.19", "seat": 0, "mountain": f"1/{part}", "reason": "talk"} for part in range(2, 1001)]
    deals = [{"infractions": rulings[first : first + 100]} for first in range(0, len(rulings), 100)]
    sheet = score_document({"convention": "sochi", "players": 3, "deals": deals})["sheet"]
    assert len(sheet["mountain"][0]) < 1_000


@pytest.mark.parametrize(
    "deal",
    [
        {"contract": "all_pass", "tricks": [4, 3, 3, 0], "dark_pass": [0, 2]},
        {"contract": "misere", "declarer": 1, "tricks": [4, 0, 6, 0], "shared": True},
        {"contract": "misere", "declarer": 1, "tricks": [4, 0, 6, 0], "dark": True},
        {"contract": "7S", "declarer": 1, "calls": ["whist", None, "pass", None], "tricks": [3, 7, 0, 0], "talon_tricks": 2},
        {"contract": "7S", "declarer": 1, "infractions": [{"rule": "3.5.4", "seat": 1}]},
        {
            "contract": "7S",
            "declarer": 1,
            "calls": ["pass", None, "pass", None],
            "infractions": [{"rule": "3.4.10", "seat": 3}],
        },
        {"infractions": [{"rule": "3.2.17", "seat": 3, "points": 2}]},
        {
            "contract": "all_pass",
            "tricks": [4, 3, 3, 0],
            "infractions": [
                {
                    "rule": "3.9.14.3",
                    "seat": 1,
                    "whists": [[0, 1, 20]],
                    "mountain": [0, 5, 0, 0],
                    "pool": [0, 0, 1, 0],
                    "reason": "proved",
                }
            ],
        },
    ],
)
def test_what_is_read_is_written_again(deal: dict[str, Any]) -> None:
    """A deal read and written again is the same document, field by field."""
    document = {"dealer": 3} | deal
    outcome = read_deal(msgspec.convert(document, DealDocument), resolve({"preset": "classic", "shared_misere": True}, 20), 4, 3, "deal")
    assert deal_document(outcome) == document


def test_an_outcome_says_nothing_by_itself() -> None:
    """What a deal's outcome does not mention did not happen."""
    assert deal_document(DealOutcome(dealer=0, contract="all_pass", tricks=(4, 3, 3))) == {
        "dealer": 0,
        "contract": "all_pass",
        "tricks": [4, 3, 3],
    }


@pytest.mark.parametrize(
    ("field", "value", "message"), [("declarer", 3, "must be 0 to 2"), ("declarer", 4, "must be 0 to 2"), ("dealer", 3, "must be 0 to 2")]
)
def test_a_seat_that_the_table_has_not(field: str, value: int, message: str) -> None:
    """A seat beyond the last is told by how many there are."""
    assert refusal(with_deal(**GAME | {field: value})).message == message


@pytest.mark.parametrize(
    ("number", "read"), [(10**12, True), (-(10**12), True), (10**12 + 1, False), (-(10**12) - 1, False), ("1/0", False), ("x", False)]
)
def test_the_largest_number(number: int | str, *, read: bool) -> None:
    """A number of a document lies between minus and plus a million millions, or is no number."""
    document = with_deal(**GAME) | {"start": {"mountain": [number, 0, 0]}}
    if read:
        assert score_document(document)["sheet"]["mountain"][0] == number
    else:
        assert refusal(document).path == "start.mountain[0]"


KEPT = {"target": 1, "convention": "sochi", "players": 3}


def kept_by(*sheets: Any) -> dict[str, Any]:
    """A file of games that nobody whisted on, of seat after seat, each with the sheet as it was kept after it."""
    deals = []
    for seat, sheet in enumerate(sheets):
        calls = [None if one == seat else "pass" for one in range(3)]
        deals.append({"contract": "6S", "declarer": seat, "calls": calls} | ({} if sheet is None else {"kept": sheet}))
    return KEPT | {"deals": deals}


def test_4_2_9_the_pulka_goes_on_from_the_sheet_as_the_players_kept_it() -> None:
    """What makes it of the reckoned one is written as entries without help; the next deal is reckoned on it."""
    answer = score_document(kept_by({}, {"pool": [0, 1, 0]}, {"pool": ["1/2", 1, 1], "whists": [[2, 0, 10]]}))
    assert answer["sheet"] == {"pool": ["1/2", 1, 1], "mountain": [0, 0, 0], "whists": [[2, 0, 10]]}
    last = answer["deals"][2]
    assert (last["pool"], last["whists"]) == (["1/2", 0, 1], [[2, 0, 10]])
    assert last["entries"][-1] == {
        "seat": 0,
        "column": "pool",
        "amount": "-1/2",
        "rule": "4.2.9",
        "why": "as it stands on the sheet that the players kept",
    }
    assert answer["closed"] is False


def test_4_2_4_who_keep_the_sheet_judge_whether_it_is_over() -> None:
    """A deal after a kept sheet that looks ended is scored; after one that was only reckoned it is refused."""
    full = {"pool": [1, 1, 1]}
    answer = score_document(kept_by(full, full))
    assert (answer["closed"], answer["sheet"]["mountain"]) == (True, [0, 0, 0])
    found = refusal(kept_by(full, None, None))
    assert (found.path, found.code) == ("deals[2]", "pulka_over")


@pytest.mark.parametrize(
    ("kept", "path"),
    [
        ({"pool": [1, 1]}, "deals[0].kept.pool"),
        ({"whists": [[0, 0, 4]]}, "deals[0].kept.whists[0]"),
        ({"mountain": [0, "1/0", 0]}, "deals[0].kept.mountain[1]"),
        ({"deals": 4}, "deals[0].kept.deals"),
        ([], "deals[0].kept"),
    ],
)
def test_a_kept_sheet_is_read_strictly(kept: Any, path: str) -> None:
    """It is a sheet of these players, and nothing besides."""
    assert refusal(kept_by(kept)).path == path
