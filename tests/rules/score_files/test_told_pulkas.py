"""Worked pulkas told whole, in both languages, as they were read once by somebody who plays; F32: by the names of a score file."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from shared.rules.convention.options import Convention, resolve
from shared.rules.language.refusal import Malformed
from shared.rules.score_files.explanation import explained
from shared.rules.score_files.score_file import Scored, ScoredDeal, score_document, scored
from shared.rules.score_files.standing import Standing, play_on
from shared.rules.score_files.what_if import Remark, as_played, what_if
from shared.rules.score_files.what_if_words import compared_lines, remarked
from shared.rules.scoring.outcome import DealOutcome, Infraction
from tests.rules.score_files.told_pulkas import GOLDEN, NAMES, SOCHI, TEXTS, text
from tests.rules.scoring.test_scoring_properties import CONVENTIONS, pulkas

LATIN = re.compile(r"[A-Za-z]+")
SIGNED = re.compile(r"[+−][0-9]+(?:/[0-9]+)?")
SIX = {"declarer": 0, "contract": "6S", "calls": [None, "whist", "pass"], "tricks": [6, 2, 2]}
INFRACTIONS = [
    Infraction("3.2.17", 0),
    Infraction("3.2.21", 1, points=3),
    Infraction("3.9.11.2", 0),
    Infraction("3.9.11.2", 1),
    Infraction("3.9.18", 0, proved=3),
    Infraction("3.8.5.1", 1, ruled=True, whists=((0, 1, 5),), reason="the guaranteed result was missed by 40/3 whists"),
]


@pytest.mark.parametrize("name", TEXTS)
def test_a_worked_pulka_is_told_as_it_was_read(name: str) -> None:
    """Whoever changes a word reads the whole text anew: `python -m tests.rules.score_files.told_pulkas` writes it."""
    assert text(name) == (GOLDEN / name).read_text(encoding="utf-8")


@pytest.mark.slow
@given(pulkas(), CONVENTIONS, st.lists(st.sampled_from(INFRACTIONS), max_size=2), st.sampled_from([NAMES["ru"], None]))
def test_no_latin_letter_is_left_in_russian(
    pulka: tuple[Convention, int | None, list[DealOutcome], Standing],
    other: Convention,
    irregular: list[Infraction],
    names: list[str] | None,
) -> None:
    """Explanation and comparison of any pulka, fines and rulings of ours among its deals, have not one Latin letter in Russian.

    Line for line they say the same amounts as in English.
    """
    convention, target, outcomes, standing = pulka
    players = standing.sheet.players
    deals, start = [], standing
    for outcome in outcomes:
        told = outcome
        if outcome.is_game and outcome.tricks:
            mine = [one for one in irregular if one.rule != "3.9.18"]
            fines = [Infraction(one.rule, outcome.declarer or 0, proved=one.proved) for one in irregular if one.rule == "3.9.18"]
            told = replace(outcome, infractions=(*mine, *fines))
        after, entries = play_on(convention, target, standing, told)
        deals.append(ScoredDeal(told, entries, standing, after))
        standing = after
    whole = Scored(convention, players, target, None, start, tuple(deals), None if names is None else tuple(names[:players]))
    compared = what_if(as_played(whole), other)
    russian, english = ([*explained(whole, lang), *compared_lines(compared, lang)] for lang in ("ru", "en"))
    assert [line for line in russian if LATIN.search(line)] == []
    assert list(map(SIGNED.findall, russian)) == list(map(SIGNED.findall, english))


@pytest.mark.parametrize("lang", ["en", "ru"])
def test_f32_the_names_of_the_file_are_said(lang: Any) -> None:
    """F32: explanation and comparison call the players by the names of the score file, and no seat by its number."""
    names = ["Анна", "Борис", "Вера"]
    pulka = scored(SOCHI | {"names": names})
    assert pulka.names == tuple(names)
    for told in (explained(pulka, lang), compared_lines(what_if(as_played(pulka), resolve("leningrad", 10)), lang)):
        lines = "\n".join(told)
        assert all(name in lines for name in names)
        assert not re.search(r"seat \d|мест[оа] \d|рук[аи]", lines)
    assert score_document(SOCHI | {"names": names}) == score_document(SOCHI)


@pytest.mark.parametrize(
    ("names", "path"),
    [
        (["Анна", "Борис"], "names"),
        (["Анна", "Борис", ""], "names[2]"),
        (["Анна", "  ", "Вера"], "names[1]"),
        (["Анна", "x" * 41, "Вера"], "names[1]"),
        (["Ан\nна", "Борис", "Вера"], "names[0]"),
        (["Ан\u2028на", "Борис", "Вера"], "names[0]"),
        (["Ан\u2029на", "Борис", "Вера"], "names[0]"),
        (["Ан\x1bна", "Борис", "Вера"], "names[0]"),
        (["Ан\u202eна", "Борис", "Вера"], "names[0]"),
        (["Анна", 5, "Вера"], "names[1]"),
    ],
)
def test_f32_a_name_is_checked_as_a_players_is(names: list[Any], path: str) -> None:
    """F32: one name a seat, one line of 1 to 40 characters, none of them a control."""
    with pytest.raises(Malformed) as wrong:
        scored(SOCHI | {"names": names})
    assert wrong.value.path == path


def test_f32_a_name_is_composed_and_stripped() -> None:
    """What looks the same is the same: NFC, without blanks around it."""
    assert scored(SOCHI | {"names": [" И\u0306ван ", "Борис", "Вера"]}).names == ("Йван", "Борис", "Вера")


def test_without_names_a_deal_is_told_by_hands() -> None:
    """In a deal the hands are named, as at a table, with who sits on the first; across deals the seats (3.3.2)."""
    deal = SIX | {"dealer": 3, "calls": [None, "whist", "pass", None], "tricks": [4, 3, 3, 0]}
    lines = list(explained(scored({"convention": "sochi", "players": 4, "deals": [deal]}), "ru"))
    assert lines[2].startswith("Сдача 1. Сдаёт место 3, на первой руке место 0. Первая рука играет 6♠; вторая рука вист, третья рука пас;")
    assert "  сдающий пишет на первую руку +4, стало 4: консоляция: без двух, по 2 [3.8.1.2]" in lines
    assert any(line.startswith("Роспись: место 0: ") for line in lines)


@pytest.mark.parametrize(
    ("target", "pools", "lines"),
    [
        (None, [0, 0, 0], ["Пуля не назначена, и пули у всех равны.", "место 0: гора 0"]),
        (None, [2, 0, 0], ["Пуля не назначена: все равняются по наибольшей, 2.", "место 0: гора 0, пуля наибольшая"]),
        (2, [2, 0, 0], ["место 0: гора 0, пуля ровно закрыта", "место 1: гора 0 + 2, недостающие до пули = 2 (4.2.3)"]),
    ],
)
def test_4_2_14_what_the_pools_add(target: int | None, pools: list[int], lines: list[str]) -> None:
    """A pool is closed only where one was agreed on; without a target the largest is the measure."""
    file = {"convention": "sochi", "players": 3, "deals": [], "start": {"pool": pools}} | ({"target": target} if target else {})
    told = [line.strip() for line in explained(scored(file), "ru")]
    place = told.index(lines[0])
    assert told[place : place + 2] == lines


def test_4_2_14_a_factor_that_cancels_is_left_out() -> None:
    """A mountain point is ten whists against the average; where it is divided among the others only, the arithmetic is told."""
    file = {"players": 3, "deals": [], "start": {"mountain": [6, 0, 3]}}
    whole, parted = (
        "\n".join(explained(scored(file | {"convention": convention}), "ru"))
        for convention in ("sochi", {"preset": "sochi", "settlement_divisor": "n-1"})
    )
    assert "место 0: −3 × 10 = −30, висты 0: −30" in whole
    assert "место 0: −3 × 10 × 3 : 2 = −45, висты 0: −45" in parted


@pytest.mark.parametrize(("minutes", "counted"), [(1, "1 минута"), (92, "92 минуты"), (111, "111 минут"), (121, "121 минута")])
def test_5_4_4_a_time_to_play_is_counted_in_its_case(minutes: int, counted: str) -> None:
    """How long a pulka is played to a time, in the explanation and in the comparison (5.4.4)."""
    rules = {"preset": "federation", "ends_when": f"time:{minutes}"}
    file = {"convention": rules, "players": 3, "deals": []}
    assert f"Играли на время, {counted}: когда пулька окончена, знают за столом." in explained(scored(file), "ru")
    compared = what_if(as_played(scored(file | {"convention": "sochi"})), resolve(rules))
    assert any(line.startswith(f"Там играют на время, {counted}: ") for line in compared_lines(compared, "ru"))


def test_what_cannot_have_happened_there_is_said_without_the_refusals_words() -> None:
    """A refusal is worded in English; Russian says that it cannot be, and by which rules."""
    remark = Remark("impossible", {"why": "half-whist is the second defender's (3.8.7), see FN60 and 3.8.14 (3.8.7)"})
    assert remarked(remark, "ru") == "там не посчитать: такого исхода там не бывает (3.8.7, сн. 60, 3.8.14)"
    assert remarked(Remark("impossible", {"why": "no such thing"}), "ru") == "там не посчитать: такого исхода там не бывает"
