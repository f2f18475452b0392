"""The sheet as a scorer tells it, in both languages: entry by entry, the settlement in both ways, compensation, stakes."""

from __future__ import annotations

import string
from typing import Any

import pytest

from shared.rules.score_files.explanation import explained
from shared.rules.score_files.score_file import scored
from shared.rules.score_files.scorer_words import SENTENCES

WHIST = [None, "whist", "pass"]


def told(convention: Any, *deals: dict[str, Any], lang: Any = "en", players: int = 3, **rest: Any) -> str:
    """The explanation of a score file as one text."""
    return "\n".join(explained(scored({"convention": convention, "players": players, "deals": list(deals), **rest}), lang))


def section(text: str, first: str) -> list[str]:
    """The line that begins so, and the indented ones below it."""
    lines = text.splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith(first))
    below = lines[place + 1 :]
    end = next((number for number, line in enumerate(below) if not line.startswith("  ")), len(below))
    return [lines[place], *below[:end]]


def test_4_2_1_every_entry_is_told_with_its_running_total() -> None:
    """Pool, mountain and whists: who writes what, on whom, what stands there now, why, and by which rule (4.2.1, 4.2.4)."""
    text = told(
        "sochi", {"declarer": 0, "contract": "6S", "calls": WHIST, "tricks": [6, 2, 2]}, start={"pool": [16, 0, 0], "whists": [[1, 0, 8]]}
    )
    assert section(text, "Deal 1") == [
        "Deal 1. Seat 2 deals. Seat 0 plays 6♠; seat 1 whists, seat 2 passes; tricks: seat 0 6, seat 1 2, seat 2 2.",
        "  seat 0: pool +2, now 18: 6♠ made [4.1.1]",
        "  seat 1: writes +8 on seat 0, now 16: 4 tricks at 2 [3.8.1.1]",
    ]


def test_4_2_3_help_is_told_as_it_is_written() -> None:
    """Overflow goes to the largest open pool, ten whists a point on the helped, and the rest on by the same rule (4.2.3)."""
    text = told(
        "sochi",
        {"declarer": 0, "contract": "9S", "calls": [None, "pass", "pass"]},
        target=20,
        start={"pool": [18, 18, 15], "mountain": [0, 0, 0]},
    )
    assert section(text, "Deal 1")[1:] == [
        "  seat 0: pool +2, now 20: 9♠ made, nobody whisted, 2 of 8: the pool is closed [3.5.3]",
        "  seat 1: pool +2, now 20: help from seat 0 [4.2.3]",
        "  seat 0: writes +20 on seat 1, now 20: help: 2 points at 10 [4.2.3]",
        "  seat 2: pool +4, now 19: help from seat 0 [4.2.3]",
        "  seat 0: writes +40 on seat 2, now 40: help: 4 points at 10 [4.2.3]",
    ]


def test_4_1_1_a_surplus_comes_off_the_mountain_below_zero() -> None:
    """What no pool can take is written off the owner's mountain, below zero if need be, and the pulka is over (E15, 4.1.1)."""
    deal = {"dealer": 3, "declarer": 0, "contract": "9S", "calls": [None, "pass", "pass", None]}
    text = told("sochi", deal, players=4, target=20, start={"pool": [18, 20, 20, 20]})
    assert "  seat 0: mountain −6, now −6: all pools are closed: off the mountain [4.1.1]" in text
    assert "The pulka is over: all pools are closed (4.2.3)." in text
    assert "Both ways: seat 0 +45, seat 1 −15, seat 2 −15, seat 3 −15." in text


def test_4_2_3_3_leningrad_ends_by_the_sum_and_weighs_double() -> None:
    """Full entries beyond the target, over when the sum is there, surplus and shortage twice in the mountain (E16, 4.2.3.3)."""
    deal = {"declarer": 0, "contract": "8S", "calls": [None, "pass", "pass"]}
    text = told("leningrad", deal, target=50, start={"pool": [48, 48, 48]})
    assert "The pulka is over: the pools' sum has reached 3 × 50 (4.2.3.3)." in text
    assert section(text, "Settlement")[1:4] == [
        "  seat 0: mountain 0 − 4 that the pool has over, weighing 2 each (4.2.3.3) = −8 (4.2.14)",
        "  seat 1: mountain 0 + 2 that the pool lacks, weighing 2 each (4.2.3.3) = 4 (4.2.3)",
        "  seat 2: mountain 0 + 2 that the pool lacks, weighing 2 each (4.2.3.3) = 4 (4.2.3)",
    ]


def test_4_2_14_both_ways_are_told_and_agree() -> None:
    """Whists on who is above the lowest, and everybody against the average: the same result (4.2.14)."""
    text = told("sochi", start={"mountain": [6, 0, 3], "whists": [[0, 1, 5]]})
    assert section(text, "Settlement")[1:] == [
        "  Without a target, and all pools are level.",
        "  seat 0: mountain 6",
        "  seat 1: mountain 0",
        "  seat 2: mountain 3",
        "  First way, whists on whoever is above the lowest mountain, 0:",
        "    on seat 0: 6 × 10 : 3 = 20 from each",
        "    on seat 2: 3 × 10 : 3 = 10 from each",
        "  Second way, everybody against the average mountain, 3:",
        "    seat 0: −3 × 10 = −30, whists +5: −25",
        "    seat 1: 3 × 10 = +30, whists −5: +25",
        "    seat 2: 0 × 10 = 0, whists 0: 0",
        "  Both ways: seat 0 −25, seat 1 +25, seat 2 0.",
        "  These are whole whists.",
    ]


def test_4_2_12_the_compensation_stands_beside_the_rounding() -> None:
    """One point off, three whists each: printed as the alternative (E17, 4.2.12)."""
    text = told("sochi", start={"mountain": [7, 0, 0]})
    assert "  Rounded to whole whists that sum to zero: seat 0 −46, seat 1 +23, seat 2 +23." in text
    assert (
        "  Or by compensation (4.2.12): seat 0 takes a point off the mountain, the others write 3 each on seat 0. "
        "Then: seat 0 −46, seat 1 +23, seat 2 +23."
    ) in text
    halves = told("sochi", start={"whists": [[0, 1, "1/2"]]})
    assert "  A compensation (4.2.12) does not make these whole." in halves


def test_decision_16_of_equals_the_seat_left_of_the_last_dealer_is_corrected() -> None:
    """F10: the explanation rounds whom the settlement rounds, which is not the lowest seat (Decision 16)."""
    deal = {"dealer": 2, "contract": "all_pass", "tricks": [3, 3, 0, 4]}
    text = told("sochi", deal, players=4, start={"mountain": [0, 0, 0, 1]})
    assert "  Rounded to whole whists that sum to zero: seat 0 −3, seat 1 −3, seat 2 +28, seat 3 −22." in text


def test_4_2_13_the_stake_is_told() -> None:
    """What everybody gets and pays at the agreed stake (4.2.13)."""
    text = told("sochi", start={"mountain": [7, 0, 0]}, stake="1/2")
    assert text.startswith("Pulka of 3, sochi, 1/2 a whist (4.2.13)\n")
    assert text.endswith(
        "At 1/2 a whist (4.2.13): seat 0 −70/3, seat 1 +35/3, seat 2 +35/3; by whole whists seat 0 −23, seat 1 +23/2, seat 2 +23/2."
    )


def test_4_2_14_a_settlement_that_needs_no_words_has_none() -> None:
    """Mountains that are level leave nothing to write in the first way; whole whists are paid once (4.2.13, 4.2.14)."""
    text = told("sochi", start={"whists": [[0, 1, 6]]}, stake=2)
    assert section(text, "Settlement")[5:7] == ["  First way, whists on whoever is above the lowest mountain, 0:", "    nobody is above it"]
    assert text.endswith("At 2 a whist (4.2.13): seat 0 +12, seat 1 −12, seat 2 0.")


@pytest.mark.parametrize(
    ("convention", "before", "line"),
    [
        ({"preset": "sochi", "ends_when": "deals:5", "help": "none"}, 3, "The pulka goes on;"),
        ({"preset": "sochi", "ends_when": "deals:5", "help": "none"}, 4, "The pulka is over: 5 deals played."),
        ("federation", 4, "Played to a time, 120 minutes: the table says when it is over."),
    ],
)
def test_4_2_3_how_deals_and_time_end_a_pulka(convention: Any, before: int, line: str) -> None:
    """A pulka of so many deals counts those before the file too; one that is played to a time is ended by its table (4.2.3)."""
    text = told(convention, {"dealer": 0, "contract": "all_pass", "tricks": [3, 3, 4]}, start={"deals": before})
    assert any(told_line.startswith(line) for told_line in text.splitlines())
    assert f"Deal {before + 1}. " in text


def test_3_3_19_dark_calls_bombs_and_what_they_multiply_are_told() -> None:
    """Who passed or bid in the dark, the factor on everything (4.1.2), and a ruling in its arbiter's own words, whichever they are."""
    text = told(
        "classic",
        {"dealer": 2, "contract": "all_pass", "tricks": [2, 5, 3], "dark_pass": [0, 2]},
        {"declarer": 0, "contract": "7S", "calls": [None, "whist", "pass"], "tricks": [6, 2, 2], "dark": True},
        {
            "declarer": 0,
            "contract": "7S",
            "calls": [None, "pass", "pass"],
            "infractions": [{"rule": "3.9.16.2", "seat": 1, "mountain": 2, "reason": "поздний фальшренонс"}],
        },
        lang="ru",
    )
    dark = "Распасовка, пас втёмную: первая рука, третья рука, всё × 2 (4.1.2); взятки: первая рука 2, вторая рука 5, третья рука 3."
    assert dark in text
    assert "Первая рука играет 7♠, заявка втёмную, всё × 4 (4.1.2); вторая рука вист, третья рука пас; взятки: первая рука 6" in text
    assert "  первая рука: в гору +16, стало 16: 7♠ без одной, по 16 [4.1.1]" in text
    assert "  первая рука: в гору +2, стало 8: поздний фальшренонс [3.9.16.2]" in text


@pytest.mark.parametrize(
    ("lang", "line"),
    [
        ("en", "Seat 2 plays 6♥; seat 0 passes, seat 1 passes, seat 3 whists; tricks"),
        ("ru", "Третья рука играет 6♥; первая рука пас, вторая рука пас, сдающий вист; взятки"),
    ],
)
def test_3_8_8_a_resting_dealer_is_heard_last(lang: Any, line: str) -> None:
    """The dealer sits between declarer and first defender, and is asked last all the same (3.8.8)."""
    calls = ["pass", "pass", None, "whist"]
    text = told("sochi", {"dealer": 3, "declarer": 2, "contract": "6H", "calls": calls, "tricks": [2, 2, 6, 0]}, players=4, lang=lang)
    assert line in text


@pytest.mark.parametrize(
    ("lang", "line"),
    [("en", "fine: 5 points (looked at the talon) [3.2.21]"), ("ru", "штраф: 5 очков (подглядывание в прикуп) [3.2.21]")],
)
def test_3_2_21_a_fine_says_what_was_done(lang: Any, line: str) -> None:
    """The number of a rule alone tells a player nothing."""
    peeked = {"infractions": [{"rule": "3.2.21", "seat": 1}]}
    assert line in told("sochi", {"contract": "all_pass", "tricks": [4, 3, 3]} | peeked, lang=lang)


def test_4_2_14_who_writes_what_on_whom_is_said_as_at_the_table() -> None:
    """Both ways of the settlement in Russian: each of the others writes, nobody is taken from."""
    text = told("sochi", {"dealer": 2, "declarer": 0, "contract": "8S", "calls": [None, "pass", "pass"]}, lang="ru", target=10)
    assert section(text, "Расчёт")[4:] == [
        "  Первый способ: наименьшая гора 4, за всё сверх неё пишут висты:",
        "    на место 1 каждый: 6 × 10 : 3 = 20",
        "    на место 2 каждый: 6 × 10 : 3 = 20",
        "  Второй способ: средняя гора 8, каждого сравнивают с ней:",
        "    место 0: 4 × 10 = +40, висты 0: +40",
        "    место 1: −2 × 10 = −20, висты 0: −20",
        "    место 2: −2 × 10 = −20, висты 0: −20",
        "  Оба способа дают: место 0 +40, место 1 −20, место 2 −20.",
        "  Висты целые.",
    ]


def test_the_languages_have_the_same_sentences() -> None:
    """Each sentence is there in both, with the same parts."""
    who = {"opening": "who", "first": "who"}  # the same players, in another place of the sentence
    parts = {
        lang: {key: {who.get(name, name) for _, name, _, _ in string.Formatter().parse(text) if name} for key, text in sentences.items()}
        for lang, sentences in SENTENCES.items()
    }
    assert parts["en"] == parts["ru"]
