"""Deal records whose answers or refusals were worked out by hand from the rules and the table of moves, not from the program.

A corpus line has `moves` as text, `seat type value` each, parted by commas; a move with more fields stands there as an object.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from shared.rules.language.refusal import Malformed
from shared.rules.score_files.deal_record import ReplayRefused, replay_document

CASES = [json.loads(line) for line in (Path(__file__).parents[1] / "cases" / "replay_by_hand.jsonl").read_text().splitlines()]
FIELD: Final = {"bid": "bid", "contract": "contract", "whist": "call", "play": "card"}  # of the moves with one word


def move(text: str) -> dict[str, Any]:
    """What a move's words mean: `0 bid 6S dark`, `1 play 7S of 2`, `1 answer yes`, `0 discard 7C 8C`, `0 concede`."""
    seat, kind, *words = text.split()
    read: dict[str, Any] = {"seat": int(seat), "type": kind}
    match kind:
        case "bid":
            read |= {"bid": words[0]} | dict.fromkeys(words[1:], True)
        case "play":
            read |= {"card": words[0]} | ({"hand": int(words[2])} if len(words) > 1 else {})
        case "discard":
            read["cards"] = words
        case "lay":
            read["open"] = words == ["open"]
        case "answer":
            read["accept"] = words == ["yes"]
        case "claim":
            read["tricks"] = int(words[0])
        case "contract" | "whist":
            read[FIELD[kind]] = words[0]
    return read


def told(entry: str | dict[str, Any]) -> list[dict[str, Any]]:
    return [entry] if isinstance(entry, dict) else [move(text) for text in entry.split(",") if text]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_record_worked_out_by_hand(case: dict[str, Any]) -> None:
    """The last move of a case is refused with its code and rule, or the answer has what the case tells, `legal` in any order."""
    record = case["record"] | {"moves": [one for entry in case["moves"] for one in told(entry)]}
    if "refused" in case:
        answer = replay_document(record)
        assert isinstance(answer, ReplayRefused)
        code, rule = case["refused"]
        assert (answer.refused.code, answer.refused.rule, answer.move) == (code, rule or answer.refused.rule, len(record["moves"]) - 1)
        assert answer.refused.rule
        return
    found = replay_document(record)
    assert isinstance(found, dict)
    for name, value in case["answer"].items():
        if name == "legal":
            assert sorted(map(json.dumps, found["legal"])) == sorted(map(json.dumps, value))
        else:
            whole, _, part = name.partition(".")
            assert (found[whole][part] if part else found[whole]) == value, name


def test_a_record_with_a_word_that_is_no_move_is_malformed() -> None:
    """The corpus reader makes moves as the format has them: an unknown word is refused by its place."""
    record = CASES[0]["record"] | {"moves": [move("0 bid 5S")]}
    with pytest.raises(Malformed, match="bid"):
        replay_document(record)
