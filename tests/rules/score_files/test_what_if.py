"""What if: the same deals under another convention are what `pulka score` makes of them there; what cannot be scored there says so."""

from __future__ import annotations

import random
from fractions import Fraction
from functools import cache, reduce

import pytest

from shared.rules.convention.options import PRESETS, resolve, to_document
from shared.rules.convention.rules_digest import rules_digest
from shared.rules.deal.ending import outcome_of
from shared.rules.language.amount import read
from shared.rules.language.game_events import DealScored
from shared.rules.pulka import decider as match
from shared.rules.pulka.decider import OpenPulka, Pulka
from shared.rules.score_files.deal_document import deal_document
from shared.rules.score_files.score_file import score_document, scored, scored_document
from shared.rules.score_files.what_if import as_played, what_if
from shared.rules.score_files.what_if_document import what_if_document
from shared.rules.score_files.what_if_words import compared_lines
from tests.lot import drawn_events

SIX = {"dealer": 2, "declarer": 0, "contract": "6S", "calls": [None, "whist", "pass"], "tricks": [6, 2, 2]}
ALL_PASS = {"dealer": 0, "contract": "all_pass", "tricks": [2, 5, 3]}


@cache
def outcomes(preset, players, lot, deals):
    """What was played in a pulka that a seeded lot has played under `preset`."""
    rules, draw = resolve(preset, 30), random.Random(lot)
    opening = OpenPulka(rules, rules_digest(to_document(rules), players, 30, {}), players, 30, tuple("abcde"[:players]), {}, 1, "5e" * 32)
    pulka = Pulka(table_id="0-" + "a" * 26)
    pulka = reduce(match.evolve, match.open_pulka(pulka, opening), pulka)
    found = []
    while len(found) < deals and match.phase(pulka) != "over":
        events = drawn_events(pulka, draw)[1]
        found += [outcome_of(event.outcome) for event in events if isinstance(event, DealScored)]
        pulka = reduce(match.evolve, events, pulka)
    return tuple(found)


def file_of(deals, convention="sochi", players=3, target=10, **fields):
    return {"convention": convention, "players": players, "target": target, "deals": deals, **fields}


def played_file(preset, players, lot=1, deals=25):
    return file_of([deal_document(outcome, players) for outcome in outcomes(preset, players, lot, deals)], preset, players, 30)


def compared(file, other):
    return what_if(as_played(scored(file)), resolve(other, file.get("target")))


def answered(file, other):
    return what_if_document(compared(file, other), other)


def ten(declarer):
    """A ten that nobody whisted."""
    return {"dealer": 2, "declarer": declarer, "contract": "10S", "calls": [None if seat == declarer else "pass" for seat in range(3)]}


def codes(deal):
    return [remark["code"] for remark in deal.get("remarks", ())]


PLAYED = [(preset, players) for preset in PRESETS for players in (2, 3, 4, 5)]


@pytest.mark.parametrize(("preset", "players"), PLAYED)
def test_the_same_convention_changes_nothing(preset, players):
    """Under its own convention a pulka is what it was: the answer of `pulka score`, and every difference zero."""
    file = played_file(preset, players)
    answer = answered(file, preset)
    assert score_document(file) == {name: value for name, value in answer.items() if name not in ("as", "differences")}
    assert answer["as"] == preset
    told = answer["differences"]
    assert not [pair for deal in told["deals"] for pair in deal["entries"] if pair["difference"] or pair["written"] != pair["would"]]
    assert not [deal for deal in told["deals"] if deal.keys() - {"deal", "entries"}]
    assert set(told["net"]) == {"0"}
    assert set(told["rounded"]) == {0}
    assert told["closed_after"]["written"] == told["closed_after"]["would"]


@pytest.mark.parametrize(("preset", "players"), PLAYED)
@pytest.mark.parametrize("other", list(PRESETS))
def test_under_another_convention_it_is_what_pulka_score_says(preset, players, other):
    """The deals that can be scored there, up to the end there, give the sheet that `pulka score` makes of them under that convention."""
    file = played_file(preset, players)
    answer = answered(file, other)
    told = answer["differences"]["deals"]
    left = [
        {name: value for name, value in deal.items() if resolve(other, 30).dark or name not in ("dark", "dark_pass")}
        for deal, one in zip(file["deals"], told, strict=True)
        if not one.get("over")
    ]
    if any("problem" in one for one in told):
        return  # what such a deal leaves to the next, `pulka score` cannot tell; the tests below do
    there = scored_document(scored(file | {"convention": other, "deals": left}, stored=True))  # some words are not said there
    assert answer["deals"][: len(left)] == there["deals"]
    assert not [deal for deal in answer["deals"][len(left) :] if deal["entries"] or any(deal["pool"])]
    assert {name: answer[name] for name in ("sheet", "closed", "settlement")} == {
        name: there[name] for name in ("sheet", "closed", "settlement")
    }


@pytest.mark.parametrize(("preset", "players"), PLAYED)
@pytest.mark.parametrize("other", list(PRESETS))
def test_the_differences_are_those_of_the_two_sheets(preset, players, other):
    """Field by field, the differences of all entries add up to what the sheet there has more than the sheet here; so do the results."""
    file = played_file(preset, players)
    here, answer = score_document(file), answered(file, other)
    sums = {}
    for deal in answer["differences"]["deals"]:
        for pair in deal["entries"]:
            sides = [read(side["amount"], "") if side else 0 for side in (pair["written"], pair["would"])]
            assert read(pair["difference"], "") == sides[1] - sides[0]
            field = (pair["seat"], pair["column"], pair.get("on"))
            sums[field] = sums.get(field, 0) + read(pair["difference"], "")
    for seat in range(players):
        for column in ("pool", "mountain"):
            more = read(answer["sheet"][column][seat], "") - read(here["sheet"][column][seat], "")
            assert sums.get((seat, column, None), 0) == more
    whists = [{(i, j): read(n, "") for i, j, n in score["sheet"]["whists"]} for score in (here, answer)]
    for pair in whists[0].keys() | whists[1].keys():
        assert sums.get((pair[0], "whists", pair[1]), 0) == whists[1].get(pair, 0) - whists[0].get(pair, 0)
    for difference, was, would in zip(answer["differences"]["net"], here["settlement"]["net"], answer["settlement"]["net"], strict=True):
        assert Fraction(difference) == Fraction(would) - Fraction(was)


def test_leningrad_writes_double_and_halves_the_whister():
    """Six spades made with three tricks of the defence short of one: whists double, the whister answers at half, the pool is the same."""
    deal = SIX | {"tricks": [7, 2, 1]}
    (told,) = answered(file_of([deal]), "leningrad")["differences"]["deals"]
    amounts = {
        (pair["seat"], pair["column"]): (pair["written"]["amount"], pair["would"]["amount"], pair["difference"]) for pair in told["entries"]
    }
    assert amounts == {(0, "pool"): (2, 2, 0), (1, "whists"): (6, 12, 6), (1, "mountain"): (2, 2, 0)}


def test_an_entry_that_only_one_of_them_writes_stands_alone():
    """All-pass is written in the mountain here and in whists in Rostov: each side's entries have nothing beside them (3.7.2)."""
    (told,) = answered(file_of([ALL_PASS]), "rostov")["differences"]["deals"]
    assert [(pair["column"], pair["written"] is None, pair["would"] is None) for pair in told["entries"]] == [
        ("mountain", False, True), ("mountain", False, True), ("whists", True, False), ("whists", True, False),
    ]  # fmt: skip
    assert [pair["difference"] for pair in told["entries"]] == [-3, -1, 25, 15]


def test_4_2_3_3_a_pulka_that_would_have_ended_earlier():
    """Where the pools' sum ends a pulka, the deals after that count for nothing there: they are shown, write nothing, and say why."""
    file = file_of([ten(0), ten(1), ten(2)])
    answer = answered(file, {"preset": "leningrad", "pool_weight": 1, "ends_when": "deals:2"})
    told = answer["differences"]
    assert told["closed_after"] == {"written": 3, "would": 2}
    assert [deal.get("over", False) for deal in told["deals"]] == [False, False, True]
    assert answer["deals"][2] == {"pool": [0, 0, 0], "mountain": [0, 0, 0], "whists": [], "entries": []}
    assert told["deals"][2]["entries"][0]["would"] is None
    assert answer["closed"] is True
    assert answer["sheet"]["pool"] == [10, 10, 0]
    assert "with deal 2, not 3" in " ".join(compared_lines(compared(file, {"preset": "leningrad", "ends_when": "deals:2"}), "en"))


def test_a_pulka_that_would_not_be_over_is_settled_as_if_it_stopped():
    """A pulka that has ended here and would go on there says so; its settlement is that of now (4.2.3)."""
    file = file_of([ten(0), ten(1), ten(2)])
    comparison = compared(file, {"preset": "sochi", "help": "none", "ends_when": "deals:9"})
    assert comparison.ended_with == 3
    assert comparison.closed_after is None
    assert any(line.startswith("There it would not be over") for line in compared_lines(comparison, "en"))


CHECKED = {"preset": "sochi", "ten": "checked", "half_whist": [6, 7], "pass_return": [6, 7]}


WITHOUT_THREE = {"dealer": 2, "declarer": 0, "contract": "9S", "without_three": True}
DEALERS_WHIST = {"dealer": 3, "declarer": 0, "contract": "6H", "calls": [None, "pass", "pass", "whist"], "tricks": [6, 2, 2, 0]}


@pytest.mark.parametrize(
    ("convention", "players", "deal", "other", "code"),
    [
        ("sochi", 3, SIX | {"calls": [None, "pass", "half"], "tricks": None}, {"preset": "sochi", "half_whist": [7]}, "half_whist"),
        ("sochi", 4, DEALERS_WHIST, {"preset": "sochi", "dealer_whist": "off"}, "dealer_whist"),
        ("sochi", 3, SIX, {"preset": "sochi", "stalingrad": True}, "stalingrad"),
        ({"preset": "sochi", "without_three": [9]}, 3, WITHOUT_THREE, "sochi", "without_three"),
        ("sochi", 3, SIX | {"contract": "10S", "tricks": [10, 0, 0]}, CHECKED, "ten_checked"),
        (CHECKED, 3, {"dealer": 2, "declarer": 0, "contract": "10S", "tricks": [10, 0, 0]}, "sochi", "ten_whisted"),
        ("sochi", 4, {"dealer": 3, "contract": "all_pass", "tricks": [4, 3, 2, 1]}, "rostov", "talon_aside"),
    ],
)
def test_what_the_other_convention_does_not_have_is_not_guessed(convention, players, deal, other, code):
    """A deal whose outcome the other convention cannot have writes nothing there and says why, in both languages; the rest goes on."""
    deal = {name: value for name, value in deal.items() if value is not None}
    game = {"dealer": (deal["dealer"] + 1) % players, "declarer": (deal["dealer"] + 2) % players, "contract": "misere"}
    tricks = [4] * players
    tricks[game["declarer"]] = 0
    if players == 4:
        tricks[game["dealer"]] = 0
    missing = 10 - sum(tricks)
    tricks[next(seat for seat, taken in enumerate(tricks) if taken)] += missing
    file = file_of([deal, game | {"tricks": tricks}], convention, players, 50)
    answer = answered(file, other)
    first, second = answer["differences"]["deals"]
    assert first["problem"]["code"] == code
    assert "cannot be scored there" in first["problem"]["message"]
    assert answer["deals"][0]["entries"] == []
    assert all(pair["would"] is None for pair in first["entries"])
    assert "problem" not in second
    assert answer["deals"][1]["entries"]
    assert any("там не посчитать" in line for line in compared_lines(compared(file, other), "ru"))


def test_an_all_pass_that_cannot_be_scored_there_is_one_of_its_series():
    """A deal that cannot be scored leaves what it was to the next: an all-pass lengthens the series, which sets the price (3.7.4)."""
    deals = [
        {"dealer": 3, "contract": "all_pass", "tricks": [4, 3, 2, 1]},
        {"dealer": 0, "contract": "all_pass", "tricks": [0, 5, 3, 2]},
    ]
    other = {"preset": "sochi", "all_pass": {"talon": "aside"}}
    second = answered(file_of(deals, players=4), other)["deals"][1]
    assert second["mountain"] == [0, 6, 2, 0]


def test_3_3_19_what_was_said_in_the_dark_counts_as_said_openly():
    """Where there are no dark calls a dark bid does not double, nor does a bomb; the deal says so."""
    deals = [
        {"dealer": 2, "contract": "all_pass", "tricks": [2, 5, 3], "dark_pass": [0, 1, 2]},
        {"dealer": 2, "declarer": 0, "contract": "7S", "calls": [None, "whist", "pass"], "tricks": [7, 2, 1], "dark": True},
    ]
    file = file_of(deals, "classic", target=50)
    here, answer = score_document(file), answered(file, "code")
    assert here["deals"][1]["pool"] == [16, 0, 0]
    assert answer["deals"][1]["pool"] == [4, 0, 0]
    assert [codes(deal) for deal in answer["differences"]["deals"]] == [["no_dark"], ["no_dark"]]


def test_3_7_9_bombs_that_lay_before_the_first_deal_are_none_there():
    """Bombs of the start are dropped where there are no dark calls, and kept where there are."""
    file = file_of([SIX], "classic", target=50, start={"bombs": [[4], [], []]})
    assert score_document(file)["deals"][0]["pool"] == [8, 0, 0]
    assert answered(file, "sochi")["deals"][0]["pool"] == [2, 0, 0]
    assert answered(file, {"preset": "classic", "here": "off"})["deals"][0]["pool"] == [8, 0, 0]


def test_3_7_8_a_bid_that_was_too_low_there_is_scored_and_remarked_on():
    """A six after two all-pass deals could not have been bid where bidding then begins at seven: it is scored, and that is said."""
    deals = [ALL_PASS, ALL_PASS | {"dealer": 1}, SIX]
    told = answered(file_of(deals), {"preset": "sochi", "all_pass": {"exit_levels": [6, 7]}})["differences"]["deals"]
    assert codes(told[2]) == ["exit_level"]
    assert "6♠" in told[2]["remarks"][0]["message"]
    assert "begins at 7" in told[2]["remarks"][0]["message"]


@pytest.mark.parametrize(
    ("convention", "calls", "other", "expected"),
    [
        ("leningrad", [None, "half", "pass"], "sochi", ["first_hand_half"]),
        ("leningrad", [None, "half", "whist"], "sochi", ["first_hand_half"]),
        ("leningrad", [None, "half", "pass"], "federation", []),
        ("sochi", [None, "whist", "half"], {"preset": "sochi", "pass_return": [7]}, ["pass_return"]),
        ("sochi", [None, "whist", "half"], "leningrad", []),
        ("sochi", [None, "pass", "half"], {"preset": "sochi", "pass_return": []}, []),
    ],
)
def test_3_8_8_calls_that_were_not_allowed_so_there_are_remarked_on(convention, calls, other, expected):
    """A half of the first hand, and a whist that who had passed took back, are scored and said to be none there (3.8.8.1, 3.8.14)."""
    deal = (
        SIX | {"calls": calls} if "whist" in calls else {name: value for name, value in SIX.items() if name != "tricks"} | {"calls": calls}
    )
    (told,) = answered(file_of([deal], convention), other)["differences"]["deals"]
    assert codes(told) == expected
    assert "problem" not in told


def test_4_2_16_a_ruling_in_figures_stays_as_it_was_ruled():
    """What an arbiter wrote in figures is not scored anew: it is the same there, and that is said."""
    ruling = {"rule": "3.9.16.2", "seat": 1, "mountain": 3, "reason": "late revoke"}
    (told,) = answered(file_of([SIX | {"infractions": [ruling]}]), "leningrad")["differences"]["deals"]
    assert codes(told) == ["ruling"]
    assert [pair["difference"] for pair in told["entries"] if pair["column"] == "mountain"] == [0]


def test_3_4_9_a_fine_that_the_rule_fixes_is_scored_anew():
    """A fine in tricks follows the prices there (3.4.9)."""
    fine = {"rule": "3.4.9", "seat": 0}
    (told,) = answered(file_of([SIX | {"infractions": [fine]}]), "leningrad")["differences"]["deals"]
    assert {pair["difference"] for pair in told["entries"] if pair["column"] == "mountain"} == {2}


def test_3_6_9_a_shared_misere_stays_shared():
    """A misere that was halved with the dealer is halved there too, whatever is agreed, and that is said."""
    deal = {"dealer": 3, "declarer": 0, "contract": "misere", "tricks": [1, 4, 5, 0], "shared": True}
    file = file_of([deal], {"preset": "sochi", "shared_misere": True}, 4)
    answer = answered(file, "leningrad")
    assert answer["deals"][0]["mountain"] == [10, 0, 0, 10]
    assert codes(answer["differences"]["deals"][0]) == ["no_shared_misere"]


def test_what_stood_on_the_paper_before_is_the_same():
    """A start sheet is carried over as it is, and remarked on; `stake` scales both settlements (4.2.13)."""
    file = file_of([SIX], target=20, start={"pool": [16, 10, 0], "mountain": [5, 0, 0], "whists": [[1, 0, 8]]}, stake=2)
    answer = answered(file, "leningrad")
    assert answer["sheet"] == {"pool": [18, 10, 0], "mountain": [5, 0, 0], "whists": [[1, 0, 24]]}
    assert [remark["code"] for remark in answer["differences"]["remarks"]] == ["start"]
    assert answer["settlement"]["stake"] == 2


@pytest.mark.parametrize(
    ("convention", "deals", "other", "expected"),
    [
        ("sochi", [ALL_PASS], "classic", ["opening_rounds"]),
        ("sochi", [ALL_PASS], "rostov", ["talon_lies"]),
        ("rostov", [ALL_PASS], "sochi", ["talon_leads"]),
        ("sochi", [SIX], {"preset": "sochi", "talon_bonus": "on"}, ["no_talon_worth"]),
        ("sochi", [SIX | {"talon_tricks": 1}], {"preset": "sochi", "talon_bonus": "on"}, []),
        ("sochi", [SIX], "federation", ["no_talon_worth", "time"]),
    ],
)
def test_what_is_to_be_said_of_the_whole(convention, deals, other, expected):
    """Forced rounds that were not played, a talon that would have led, talons whose worth nobody noted, a pulka played to a time."""
    told = answered(file_of(deals, convention), other)["differences"]["remarks"]
    assert [remark["code"] for remark in told] == expected


def test_a_talon_whose_worth_is_noted_is_written_there():
    """A played deal notes what its talon was worth, so a convention that pays for it can be compared (3.4.11)."""
    answer = answered(file_of([SIX | {"talon_tricks": 2}]), {"preset": "sochi", "talon_bonus": "on"})
    assert [entry["rule"] for entry in answer["deals"][0]["entries"] if entry["rule"] == "3.4.11"] == ["3.4.11", "3.4.11"]


def test_without_a_target_nothing_closes():
    """A pulka without a target, and one without deals, are compared too."""
    file = file_of([SIX], target=None)
    del file["target"]
    answer = answered(file, "leningrad")
    assert answer["differences"]["closed_after"] == {"written": None, "would": None}
    empty = answered(file_of([]), "leningrad")
    assert (empty["deals"], empty["differences"]["deals"]) == ([], [])


FINED = {
    "dealer": 2, "declarer": 0, "contract": "6S", "calls": [None, "whist", "whist"], "tricks": [6, 4, 0],
    "infractions": [{"rule": "3.9.11.2", "seat": 1}],
}  # fmt: skip


def test_decision_28_a_pulka_is_compared_by_the_version_that_is_named():
    """A pulka of version 1 under the rules of version 2: the difference is the trick that one of two whisters lost (Decision 25)."""
    file = file_of([FINED], {"preset": "sochi", "version": 1})
    assert scored_document(scored(file))["sheet"]["mountain"] == [0, 0, 4]
    other = what_if_document(what_if(as_played(scored(file)), resolve("sochi", 10, version=1)), "sochi")
    assert other["sheet"]["mountain"] == [0, 0, 4]
    assert other["differences"]["net"] == ["0", "0", "0"]
    assert answered(file, {"preset": "sochi", "version": 2})["sheet"]["mountain"] == [0, 2, 0]


def test_decision_16_the_rounding_of_both_goes_by_the_last_dealer_there():
    """F10: where the pulka ended earlier there, the last deal there says who is first of equals (Decision 16)."""
    made = {"declarer": 0, "contract": "6S"}
    deals = [made | {"dealer": 3, "calls": [None, "pass", "pass", None]}, made | {"dealer": 1, "calls": [None, None, "pass", "pass"]}]
    file = file_of(deals, players=4, target=50)
    there = compared(file, {"preset": "leningrad", "ends_when": "deals:1"})
    assert (there.closed_after, there.last_dealer) == (1, 3)
    assert [deal.outcome.dealer for deal in there.deals] == [3, 1]


@pytest.mark.parametrize(("dealer", "rounded"), [(3, [8, -2, -3, -3]), (1, [8, -3, -2, -3]), (2, [8, -3, -3, -2])])
def test_decision_16_a_score_file_is_rounded_by_its_last_dealer(dealer, rounded):
    """F10: a pool of 1 wins 7.5 from three; of those who lose 2.5 the one left of the last dealer is shown one whist less (Decision 16)."""
    file = file_of([{"dealer": dealer, "contract": "6S", "declarer": 0, "calls": [None] * 4}], players=4, target=None)
    file["start"] = {"pool": [-1, 0, 0, 0]}
    file["deals"][0]["calls"] = [None if seat in (0, dealer) else "pass" for seat in range(4)]
    assert score_document(file)["settlement"]["rounded"] == rounded
