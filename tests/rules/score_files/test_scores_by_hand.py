"""Score files whose results were worked out by hand from the rules and the table of options, not from the program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shared.rules.score_files.score_file import score_document

CASES = [json.loads(line) for line in (Path(__file__).parents[1] / "cases" / "score_by_hand.jsonl").read_text().splitlines()]
FEWEST = 251  # as many as there were when the corpus was made; it only grows


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_score_worked_out_by_hand(case: dict[str, Any]) -> None:
    """The columns named in a case are those of its last deal (`deal`), of the sheet or of the settlement; the settlement sums to zero."""
    answer = score_document(case["input"])
    found = answer | {"deal": answer["deals"][-1] if answer["deals"] else {}, "ended": {"closed": answer["closed"]}}
    for part, columns in case["expect"].items():
        assert {name: found[part][name] for name in columns} == columns, part
    assert sum(answer["settlement"]["rounded"]) == 0


def test_every_case_expects_something() -> None:
    """The corpus is whole, none stands twice, and none is empty."""
    assert len({case["id"] for case in CASES}) == len(CASES) >= FEWEST
    assert all(case["expect"] and all(case["expect"].values()) for case in CASES)
