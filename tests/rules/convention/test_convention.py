"""Conventions: presets, what differs, what contradicts, digests."""

from __future__ import annotations

from typing import Any

import pytest

from shared.rules.convention.options import (
    LATER,
    PRESETS,
    VERSION,
    AllPass,
    Convention,
    digest,
    from_document,
    resolve,
    to_document,
)
from shared.rules.convention.sources import differences, option_lines
from shared.rules.language.refusal import Malformed


def refusal(value: Any, target: int | None = None) -> Malformed:
    """How `value` is refused."""
    with pytest.raises(Malformed) as caught:
        resolve(value, target)
    return caught.value


def test_presets_are_the_table_of_the_formats() -> None:
    """What tells the presets apart is what the table in deploy/docs/convention.md says."""
    sochi, leningrad, rostov = PRESETS["sochi"], PRESETS["leningrad"], PRESETS["rostov"]
    assert (sochi.remise_factor, leningrad.remise_factor, rostov.remise_factor) == (1, 2, 1)
    assert (sochi.whister_remise, leningrad.whister_remise, rostov.whister_remise) == ("full", "half", "half")
    assert (sochi.single_whister, leningrad.single_whister, rostov.single_whister) == ("greedy", "gentleman_remise", "gentleman_remise")
    assert (sochi.all_pass.prices, leningrad.all_pass.prices, rostov.all_pass.prices) == ((1, 2, 3), (2, 4, 6), (5,))
    assert (sochi.help, leningrad.help, rostov.help) == ("largest", "none", "largest")
    assert (sochi.ends_when, leningrad.ends_when, rostov.ends_when) == ("all_closed", "pool_sum", "all_closed")
    assert (sochi.pool_weight, leningrad.pool_weight, rostov.pool_weight) == (1, 2, 1)
    assert (sochi.first_hand_half, leningrad.first_hand_half, rostov.first_hand_half) == (False, True, False)
    assert rostov.all_pass == AllPass(
        scoring="whists",
        prices=(5,),
        amnesty=False,
        zero_bonus=rostov.all_pass.zero_bonus,
        zero_bonus_dealer=True,
        talon="aside",
        exit_levels=(6,),
        series_ends="any_game",
        dealer="passes",
    )
    assert to_document(rostov)["consolation"] == {"fixed": 10}
    assert to_document(rostov)["all_pass"]["zero_bonus"] == {"fixed": 1}


def test_code_is_sochi_with_its_tournament_profile() -> None:
    """The Code's own profile differs from Sochi in the price of all-pass and in who may say here, and in nothing else (0.3)."""
    as_sochi = to_document(PRESETS["code"]) | {"preset": "sochi", "here": "senior"}
    as_sochi["all_pass"] = as_sochi["all_pass"] | {"prices": [1, 2, 3]}
    assert as_sochi == to_document(PRESETS["sochi"])
    assert PRESETS["code"].all_pass.prices == (1,)


def test_what_differs_is_laid_over_the_preset() -> None:
    """Given options replace the preset's; of nested records only all_pass merges."""
    own = resolve({"preset": "leningrad", "pair_8_9": "both", "all_pass": {"prices": [2, 4]}})
    assert (own.pair_8_9, own.all_pass.prices, own.all_pass.amnesty, own.remise_factor) == ("both", (2, 4), True, 2)
    assert resolve({"preset": "rostov"}) == resolve("rostov") == PRESETS["rostov"]


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_a_record_is_read_back(name: str) -> None:
    """A frozen document reads back to the same convention, from an event and from a score file alike."""
    frozen = to_document(PRESETS[name])
    assert from_document(frozen) == resolve(frozen) == PRESETS[name]
    assert frozen["version"] == VERSION


def test_digests_tell_rules_apart_and_names_not() -> None:
    """Equal options have one digest, whatever preset they began from; any other value has another."""
    assert len({digest(convention) for convention in PRESETS.values()}) == len(PRESETS)
    code_by_hand = resolve({"preset": "sochi", "here": "first_hand", "all_pass": {"prices": [1]}})
    assert digest(code_by_hand) == digest(PRESETS["code"])
    assert digest(resolve({"preset": "sochi", "refused_talon": 1})) != digest(PRESETS["sochi"])


def test_the_digests_of_the_presets_stand() -> None:
    """A preset's digest is part of what old pulkas committed to; a change of rules needs a new version, and leaves the old one (28)."""
    for version, digests in DIGESTS.items():
        assert {name: digest(resolve({"preset": name, "version": version}))[:16] for name in PRESETS} == digests


DIGESTS = {
    1: {
        "sochi": "d468dd2d72ef8f0e",
        "leningrad": "06836fc25d887041",
        "rostov": "1b3a22716a69e218",
        "classic": "a14be8b76b38157a",
        "code": "bc28f064449b7c27",
        "federation": "122c2b194458c98c",
    },
    2: {
        "sochi": "c7fe87519adbf972",
        "leningrad": "7ee63d6437add83b",
        "rostov": "fbd8a484cf5e749a",
        "classic": "0fb752e347119391",
        "code": "fde1dafbea398e08",
        "federation": "be2ef634d0111fd5",
    },
}


def test_decision_28_a_record_is_of_the_newest_version_unless_it_says_another() -> None:
    """Both versions are read; without one it is today's, or that of the pulka it is compared with; the options are the same."""
    assert resolve("sochi").version == resolve({"preset": "sochi"}).version == VERSION == 2
    first = resolve({"preset": "sochi", "version": 1})
    assert (first.version, from_document(to_document(first))) == (1, first)
    assert resolve("sochi", version=1) == resolve({"preset": "sochi"}, version=1) == first
    assert resolve({"preset": "sochi", "version": 2}, version=1) == PRESETS["sochi"]
    assert digest(first) != digest(PRESETS["sochi"])
    assert [(mine.option, mine.value, theirs.value) for mine, theirs in differences(first, PRESETS["sochi"])] == [("version", 1, 2)]


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("sotchi", "convention"),
        (7, "convention"),
        ({}, "convention.preset"),
        ({"preset": "none"}, "convention.preset"),
        ({"preset": "sochi", "pair_six": "second"}, "convention.pair_six"),
        ({"preset": "sochi", "pair_8_9": "first"}, "convention.pair_8_9"),
        ({"preset": "sochi", "remise_factor": 3}, "convention.remise_factor"),
        ({"preset": "sochi", "stalingrad": "yes"}, "convention.stalingrad"),
        ({"preset": "sochi", "consolation": {"fixed": -1}}, "convention.consolation.fixed"),
        ({"preset": "sochi", "half_whist": [6, 11]}, "convention.half_whist[1]"),
        ({"preset": "sochi", "half_whist": [6, 6]}, "convention.half_whist"),
        ({"preset": "sochi", "dark": True}, "convention.dark"),
        ({"preset": "sochi", "ends_when": "deals:0"}, "convention.ends_when"),
        ({"preset": "leningrad", "ends_when": "deals:3\n"}, "convention.ends_when"),
        ({"preset": "sochi", "all_pass": {"price": [1]}}, "convention.all_pass.price"),
        ({"preset": "sochi", "all_pass": {"prices": []}}, "convention.all_pass.prices"),
        ({"preset": "sochi", "all_pass": [1]}, "convention.all_pass"),
        ({"preset": "sochi", "version": 3}, "convention.version"),
        ({"preset": "sochi", "version": 0}, "convention.version"),
        ({"preset": "sochi", "version": True}, "convention.version"),
    ],
)
def test_what_is_wrong_is_named_by_its_place(value: Any, path: str) -> None:
    """Unknown names, fields and values are refused with the path of what is wrong."""
    assert refusal(value).path == path


def test_a_wrong_word_is_answered_with_the_right_ones() -> None:
    """Who misspells a value is told what there is."""
    assert refusal({"preset": "sochi", "pair_6_7": "half"}).message == "must be below_half or own_half or capped"
    assert refusal({"preset": "sochi", "ends_when": "deals"}).message == "must be all_closed, pool_sum, deals:N or time:MIN"


@pytest.mark.parametrize(
    ("value", "options"),
    [
        ({"preset": "leningrad", "help": "largest"}, ("help", "ends_when")),
        ({"preset": "sochi", "ends_when": "pool_sum"}, ("help", "ends_when")),
        ({"preset": "sochi", "ends_when": "deals:20"}, ("help", "ends_when")),
        ({"preset": "sochi", "help": "lowest", "pool_weight": 2}, ("help", "pool_weight")),
        ({"preset": "rostov", "declarer_remise": "direct", "consolation": "none"}, ("declarer_remise", "consolation")),
        ({"preset": "sochi", "first_hand_half": True, "half_whist": []}, ("first_hand_half", "half_whist")),
        ({"preset": "sochi", "ten": "checked", "half_whist": [6, 10]}, ("ten", "half_whist")),
        ({"preset": "sochi", "ten": "checked", "pass_return": [10]}, ("ten", "pass_return")),
        ({"preset": "sochi", "all_pass": {"scoring": "whists", "amnesty": True}}, ("all_pass.scoring", "all_pass.amnesty")),
        ({"preset": "rostov", "all_pass": {"amnesty": True}}, ("all_pass.scoring", "all_pass.amnesty")),
        ({"preset": "sochi", "ends_when": "time:90"}, ("help", "ends_when")),
        ({"preset": "leningrad", "help": "clockwise", "ends_when": "all_closed"}, ("help", "pool_weight")),
    ],
)
def test_contradictions_name_both_options(value: Any, options: tuple[str, str]) -> None:
    """Options that cannot hold together are refused, both by name."""
    message = refusal(value).message
    assert all(option in message for option in options)


def test_help_needs_a_target() -> None:
    """Double weight with inherited help is refused when there is a target; without one nobody helps, and the document says so (4.2.3)."""
    double = {"preset": "sochi", "pool_weight": 2}
    assert refusal(double, target=20).path == "convention.help"
    assert resolve(double).help == "none"


def test_what_is_only_inherited_gives_way() -> None:
    """Half for the first hand without a level for it, and an amnesty of whists, are off where the preset alone had brought them."""
    assert resolve({"preset": "leningrad", "half_whist": []}).first_hand_half is False
    in_whists = resolve({"preset": "sochi", "all_pass": {"scoring": "whists", "prices": [5]}})
    assert in_whists.all_pass.amnesty is False
    assert resolve(to_document(in_whists)) == in_whists


def test_conventions_are_values() -> None:
    """A convention is frozen and can be a key."""
    with pytest.raises(AttributeError):
        PRESETS["sochi"].help = "none"  # type: ignore[misc]  # the point of the test
    assert {PRESETS["sochi"]: 1}[resolve("sochi")] == 1
    assert isinstance(PRESETS["sochi"], Convention)


def test_an_option_that_came_later_is_left_out_where_it_says_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """So a document of before it came keeps its bytes; every other value is written, and `option_lines` has it always."""
    monkeypatch.setitem(LATER, "refused_talon", 0)
    monkeypatch.setitem(LATER, "all_pass.talon", "leads")
    before, agreed = resolve("sochi"), resolve({"preset": "sochi", "refused_talon": 3, "all_pass": {"talon": "aside"}})
    assert ("refused_talon" in to_document(before), "talon" in to_document(before)["all_pass"]) == (False, False)
    assert (to_document(agreed)["refused_talon"], to_document(agreed)["all_pass"]["talon"]) == (3, "aside")
    told = {line.option: line.value for line in option_lines(before)}
    assert (told["refused_talon"], told["all_pass.talon"]) == (0, "leads")


def test_every_option_says_where_it_comes_from() -> None:
    """Each option of a document has its line, with its value, a question and a rule or decision; no line is of another option."""
    values = to_document(PRESETS["rostov"])
    flat = {name: value for name, value in values.items() if name != "all_pass"}
    flat |= {f"all_pass.{name}": value for name, value in values["all_pass"].items()}
    flat = LATER | flat
    for fixed in ("preset", "version"):
        flat.pop(fixed, None)
    lines = option_lines(PRESETS["rostov"])
    assert {line.option: line.value for line in lines} == flat
    assert all(line.question and line.source for line in lines)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("consolation", {"fixed": 10, "at": 6}),
        ("consolation", {"fixed": -1}),
        ("dark", {"limit": 3, "opening_rounds": 1, "more": 2}),
        ("dark", True),
    ],
)
def test_an_agreed_number_says_nothing_else(option: str, value: Any) -> None:
    """Where an option is an object, it has the fields that it has."""
    with pytest.raises(Malformed):
        resolve({"preset": "classic", option: value})
