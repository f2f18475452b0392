"""What keeps the documents readable and true: the picture of the house is fresh, and no sentence is long."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "deploy" / "docs"
SENTENCES = runpy.run_path(str(DOCS / "sentences.py"))


def test_the_house_is_drawn_from_the_imports_of_today():
    """Picture and page of the rooms say what the imports and the `__init__` docstrings say now."""
    done = subprocess.run([sys.executable, DOCS / "house.py", "--check"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


WORDS = " ".join(["word"] * 35)


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        (f"{WORDS}.", []),
        (f"{WORDS} more.", [36]),
        (f"{WORDS}\nmore, on the next line.", [40]),
        (f"{WORDS}. {WORDS}.", []),
        (f"{WORDS}:\n\n* {WORDS}\n* {WORDS}\n", []),
        (f"* {WORDS}\n  more", [36]),
        (f"{WORDS} `a b c`, `d` and `e`.", [36]),
        (f"{WORDS}\n```sh\n{WORDS} {WORDS}\n```\n{WORDS}", []),
        (f"| {WORDS} | {WORDS} |", []),
        (f"| {WORDS}; {WORDS} | {WORDS} more |", [36]),
        (f"{WORDS}; more.", [36]),
        (f"{WORDS} [two words](to/a/page.md#with-a-long-anchor).", [37]),
        (f"![{WORDS} {WORDS}](picture.svg)", []),
        (f"{WORDS} · 1.", [36]),
    ],
)
def test_sentences_are_counted_as_a_reader_counts(text, counts):
    """Words of a sentence, whatever the Markdown around it."""
    assert [count for _, count, _ in SENTENCES["too_long"](text)] == counts
