"""No sentence of the README and the pages has more than 35 words. `make lint` runs this.

    python deploy/docs/sentences.py            names each sentence that is too long, with exit status 1

How it counts. Fenced blocks, HTML tags and the pages that a program writes are left out. A paragraph, a heading, an item of a list and a
cell of a table each begin a sentence. A sentence ends at `.`, `!` or `?` before a space. A colon ends it where a list, a block or the end
of the paragraph follows; in a cell a semicolon ends it too, since a cell is a list. Text in backquotes is one word, and so are several
such texts in a row, with commas or without. Of a link the text counts, of a picture nothing. A word has a letter or a digit in it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "deploy" / "docs"
LIMIT = 35  # words: what a reader holds in mind at once, with some air
WRITTEN_BY_A_PROGRAM = {"house.md"}

FENCE = re.compile(r"^\s*```")
ITEM = re.compile(r"^\s*(?:[*+-]|\d+\.)\s+")
CODE = re.compile(r"(`+)(?:.+?)\1")
CODES = re.compile(r"§(?:(?:,| and| or)? §)+")  # several in a row
ABBREVIATIONS = re.compile(r"\b(e\.g|i\.e|etc|No|vs)\.", re.IGNORECASE)


def blocks(text: str) -> Iterator[tuple[int, str, bool]]:
    """What begins with a sentence of its own: its line, its text, and whether it is a cell."""
    at, held, fenced = 0, [], False
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            fenced = not fenced
        bare = "" if fenced or FENCE.match(line) else line.strip()
        alone = bare.startswith(("|", "#"))
        if held and (not bare or alone or ITEM.match(line)):
            yield at, " ".join(held), False
            held = []
        if bare.startswith("|"):
            yield from ((number, cell, True) for cell in re.split(r"(?<!\\)\|", bare)[1:-1])
        elif bare.startswith("#"):
            yield number, bare.lstrip("# "), False
        elif bare:
            at = at if held else number
            held.append(ITEM.sub("", line).strip())
    if held:
        yield at, " ".join(held), False


def sentences(block: str, *, cell: bool) -> list[str]:
    """A block's sentences, with a `§` for each row of texts in backquotes."""
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", block)
    text = CODE.sub("§", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"<[^>]+>", "", text)
    text = ABBREVIATIONS.sub(r"\1", CODES.sub("§", text))
    return re.split(r"(?<=[.!?])[)*\"]*\s+|;\s+" if cell else r"(?<=[.!?])[)*\"]*\s+", text)


def words(sentence: str) -> int:
    """How many words a sentence has."""
    return sum(bool(re.search(r"[\w§]", word)) for word in sentence.split())


def too_long(text: str) -> list[tuple[int, int, str]]:
    """The sentences of a page over the limit: the line where the paragraph begins, the number of words, the sentence."""
    return [
        (at, count, sentence)
        for at, block, cell in blocks(text)
        for sentence in sentences(block, cell=cell)
        if (count := words(sentence)) > LIMIT
    ]


def main() -> int:
    """Look at the README and every page."""
    pages = [ROOT / "README.md", *sorted(path for path in DOCS.glob("*.md") if path.name not in WRITTEN_BY_A_PROGRAM)]
    found = [(path, *long) for path in pages for long in too_long(path.read_text(encoding="utf-8"))]
    for path, at, count, sentence in found:
        print(f"{path.relative_to(ROOT)}:{at}: a sentence of {count} words: {sentence[:90]}…", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
