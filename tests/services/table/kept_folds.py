"""What `fold` makes of the corpus, as one digest: it may not change while `FOLD` stays, since snapshots are believed by that number.

`python -m tests.services.table.kept_folds` writes it down anew, once `FOLD` is raised or a record has another field.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from services.table.table import FOLD, PACKING, TableBooks, fold, initial
from shared.eventlog.aggregates.decisions import Loaded
from shared.events import address
from shared.events.commit import decode
from tests.events import frozen, story

KEPT = Path(__file__).parent / "golden" / "kept_folds.json"
NAMES = sorted(path.stem for path in frozen.CORPUS.glob("table_played*.jsonl"))


def folds() -> dict[str, str | int]:
    """The fold's version and what it makes of every pulka of the corpus whenever its books are closed."""
    books, digest = TableBooks(story.CODEC), hashlib.sha256()
    for name in NAMES:
        table = initial(address.table(story.TABLE.id))
        for entry in frozen.lines(name):
            commit = decode(entry["commit"].encode())
            events = story.CODEC.open(commit)
            table = fold(table, commit, events)
            if books.closes(Loaded(address.table(story.TABLE.id), table), events):
                digest.update(PACKING.pack(table))
    return {"fold": FOLD, "version": books.version, "digest": digest.hexdigest()}


if __name__ == "__main__":
    KEPT.parent.mkdir(exist_ok=True)
    KEPT.write_text(json.dumps(folds(), indent=1) + "\n", encoding="utf-8")
