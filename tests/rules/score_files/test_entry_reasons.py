"""Why an entry was written, in Russian: every reason that the rules can word has its own, and nobody else's words are touched."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

import shared.rules
from shared.rules.language.game_events import DealScored
from shared.rules.score_files.entry_reasons import OFFENCES, PHRASES, is_ours, offence, reason
from shared.rules.score_files.players_called import called, called_in_deal
from shared.rules.scoring.game_result import ONE_TRICK
from shared.rules.scoring.infraction_document import PROVABLE
from shared.rules.scoring.infractions import IN_POINTS
from tests.rules.adjudicated.test_pulka_of_courts import played

WORDING = ("scoring/*.py", "adjudicated/*.py", "deal/*.py", "score_files/kept_sheet.py")
WORDED = ("pool", "mountain", "whists", "Infraction", "_infraction", "Entry")  # who is called with a reason
KEPT = ("reason", "why")  # names that a reason is given to, and every constant
SAMPLES = ("1", "9H", "2 tricks at 2", "without 2", "half of 4: ", ", shared by 2", ", half of it", ", unplayed", "")
NAMED = called("ru", 4, ["Анна", "Борис", "Вера", "Григорий"])


def spelled(node: ast.expr) -> Iterator[str]:
    """What a literal can be, with samples of what stands in its places."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield from map("".join, product(*((str(part.value),) if isinstance(part, ast.Constant) else SAMPLES for part in node.values)))


def literals(tree: ast.AST) -> Iterator[ast.expr]:
    """The reasons that a file of the rules words."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in WORDED:
            yield from (*node.args, *(word.value for word in node.keywords if word.arg == "reason"))
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(name in KEPT or name.isupper() for name in (getattr(target, "id", "") for target in targets)):
                yield from _branches(node.value)
        elif isinstance(node, ast.Dict):
            yield from (value for key, value in zip(node.keys, node.values, strict=True) if getattr(key, "value", "") == "why")


def _branches(value: ast.expr) -> Iterator[ast.expr]:
    """A value, both of a choice, all of a table."""
    parts = [value.body, value.orelse] if isinstance(value, ast.IfExp) else value.values if isinstance(value, ast.Dict) else []
    for part in parts:
        yield from _branches(part)
    if not parts:
        yield value


@pytest.mark.parametrize("files", WORDING)
def test_every_reason_in_the_source_of_the_rules_has_its_russian(files: str) -> None:
    """A reason that somebody adds to the rules and not to `PHRASES` is found here, with its file and line."""
    missing = []
    for file in sorted(Path(shared.rules.__path__[0]).glob(files)):
        for node in literals(ast.parse(file.read_text())):
            texts = list(spelled(node))
            worded = any(text.count(" ") > 1 for text in texts) and not texts[0].endswith(".")  # what ends so is a refusal
            if worded and not any(map(is_ours, texts)):
                missing.append((file.name, node.lineno, texts[0]))
    assert missing == []


@pytest.mark.parametrize("seed", range(20))
def test_every_reason_of_an_irregular_deal_is_ours(seed: int) -> None:
    """What a court without an arbiter's words writes and notes is worded by the rules and told in Russian."""
    _, log = played(seed, ("players", "server")[seed % 2], 3 + seed % 2, wild=0.3)
    scores = [event for events in log for event in events if isinstance(event, DealScored)]
    whys = {entry["why"] for score in scores for entry in score.entries}
    whys |= {one["reason"] for score in scores for one in score.outcome.get("infractions", ()) if one.get("reason")}
    for why in whys - {"so"}:  # the arbiter's of `anything`
        assert is_ours(why), why
        assert not re.search("[A-Za-z]", reason("ru", why, NAMED))


def test_a_phrase_has_the_same_places_in_both_languages() -> None:
    """What is counted or named in English is in Russian; a number that Russian says another way is left out on purpose."""
    dropped = {
        "{missing} missing on whist: {tricks} at {price}": {"tricks"},
        "{contract} {without} at {price}, given up without all": {"without"},
    }
    for english, russian in PHRASES:
        places = [{name for _, name, _, _ in string.Formatter().parse(text) if name} for text in (english, russian)]
        assert places[0] - dropped.get(english, set()) == places[1], english
        assert not re.search("[A-Za-z]", re.sub(r"\{\w+\}", "", russian))


@pytest.mark.parametrize(
    ("why", "russian"),
    [
        ("6S made", "сыграно 6♠"),
        ("5 tricks at 2, 1 forgiven to all", "5 взяток по 2, амнистия на 1 взятку"),
        ("21 tricks at 1/2", "21 взятка по 1/2"),
        ("101 tricks at 2", "101 взятка по 2"),
        ("111 tricks at 2", "111 взяток по 2"),
        ("3/2 tricks at 4, shared by 2", "3/2 взятки по 4, пополам"),
        ("talon gift: 3 tricks at 2, shared by 3", "премия за прикуп: 3 взятки по 2, на троих"),
        ("6S without 1 at 2", "6♠ без одной, по 2"),
        ("consolation: without 10 at 4", "консоляция: без десяти, по 4"),
        ("7D without 7 at 4, given up without all", "7♦: разыгрывающий сдался без всех, по 4"),
        ("fine: 6S without 1 at 2 more", "штраф: 6♠ ещё без одной, по 2"),
        ("2 missing on whist: 2 tricks at 2", "на висте без двух, по 2"),
        ("fine: 2 missing on whist at 2", "штраф: на висте без двух, по 2"),
        ("10NT given up without three, 10 a trick", "10БК: уход без трёх, по 10"),
        ("9S made, nobody whisted, 2 of 8: the pool is closed", "сыграно 9♠, никто не вистовал: 2 из 8, пуля закрыта"),
        ("fine: 5 points", "штраф: 5 очков"),
        ("fine: 1 points", "штраф: 1 очко"),
        ("the guaranteed result was missed by 40/3 whists", "до обещанного не хватило 40/3 виста"),
        ("the guaranteed result was missed by 21 whists", "до обещанного не хватило 21 виста"),
        ("proved: 9H of seat 1", "доказано: 9♥, играет Борис"),
        ("proved: misere of seat 1", "доказано: мизер, играет Борис"),
        ("a trick goes to seat 2", "взятку получает Вера"),
        ("help from seat 0", "помощь от игрока Анна"),
        ("the result of his own plan of defence", "как вышло бы по плану несогласного"),
        ("by lot the result of the disputed plan", "по жребию, как вышло бы по плану несогласного"),
        ("so, 2 of 8: the pool is closed", "so: 2 из 8, пуля закрыта"),
        ("revoke found after the play, by agreement", "revoke found after the play, by agreement"),
        ("seat 1 made 6S", "seat 1 made 6♠"),
        ("по решению судьи", "по решению судьи"),
    ],
)
def test_a_reason_in_russian(why: str, russian: str) -> None:
    """Nouns follow their number, a failure is said as players say it; a ruling keeps the words of whoever gave it."""
    assert reason("ru", why, NAMED) == russian


def test_every_fine_of_a_rule_says_what_was_done() -> None:
    """A fine that the rule itself fixes has no reason of anybody's: what was done is said by the rule, in both languages."""
    for told in OFFENCES.values():
        assert told.keys() == {*IN_POINTS, *ONE_TRICK, *PROVABLE}
    assert offence("ru", "3.9.16.2") == "фальшренонс, замеченный поздно"
    assert offence("ru", "5.4.1") == ""


def test_a_seat_in_a_reason_is_called_as_everywhere() -> None:
    """By name, by hand in a deal without names, by seat elsewhere; English likewise."""
    help_from = "help from seat 0"
    assert reason("ru", help_from, called_in_deal("ru", 3, 2)) == "помощь от первой руки"
    assert reason("ru", help_from, called("ru", 3)) == "помощь от места 0"
    assert reason("ru", "proved: 9H of seat 3", called_in_deal("ru", 4, 3)) == "доказано: 9♥, играет сдающий"
    assert reason("en", help_from, called("en", 2, ["Anna", None])) == "help from Anna"
    assert reason("en", "proved: 9H of seat 1", called("en", 2, ["Anna", None])) == "proved: 9♥ of seat 1"
