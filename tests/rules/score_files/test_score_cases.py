"""The score cases that careful programs and clubs agree on, each under its own name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shared.rules.score_files.score_file import score_document

CASES = [json.loads(line) for line in (Path(__file__).parents[1] / "cases" / "score.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_score_case(case: dict[str, Any]) -> None:
    """What a case expects of a deal, the sheet or the settlement is what `score_document` answers, and every settlement sums to zero."""
    answer = score_document(case["input"])
    found = {
        "deal": {column: answer["deals"][0][column] for column in ("pool", "mountain", "whists")} if answer["deals"] else None,
        "sheet": answer["sheet"],
        "net": answer["settlement"]["net"],
        "rounded": answer["settlement"]["rounded"],
    }
    assert {name: found[name] for name in case["expect"]} == case["expect"]
    assert sum(answer["settlement"]["rounded"]) == 0


def test_all_cases_are_there() -> None:
    """The corpus is whole: G001 to G080, none twice."""
    assert [case["id"] for case in CASES] == [f"G{number:03}" for number in range(1, 81)]
