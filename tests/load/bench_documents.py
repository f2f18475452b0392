"""Speed of the commands that read documents, in one process: `python -m tests.load.bench_documents` prints the median of five runs each.

* `replay_lines`: whole deals a second of `pulka replay --lines` over records of random deals, played to their ends.
* `score_lines`: whole deals a second of `pulka score --lines` over score files of one such deal each, and `score_lines_evening` of 20 each.

The command is started as a person starts it, so its start is in the figure; the clock is its own processor time, so that a figure means
one core even where others are at work. Documents are made before, and what is answered is looked at after the clock has stopped.
"""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from shared.rules.deal.decider import decide, evolve, legal_moves
from shared.rules.deal.ending import outcome_of
from shared.rules.deck.cards import CARDS, hand_text
from shared.rules.language.moves import Concede
from shared.rules.score_files.deal_document import deal_document
from tests.load.figures import tell
from tests.rules.words import shuffled

RUNS = 5  # odd, so that the median is one of them
DEALS = 3_000  # a few seconds of work: the command's start, under one second, is a small part of it
EVENING = 20  # deals of a longer score file
CONVENTIONS = ("sochi", "leningrad", "rostov", "code", "federation")

Document = dict[str, Any]


def played(rng: random.Random, convention: str, players: int) -> tuple[Document, Document]:
    """A random deal to its end, nobody giving up: its record, and what a scorer writes of it."""
    start = deal = shuffled(rng, convention, players)
    moves: list[Document] = []
    while deal.to_act is not None:
        legal = [move for move in legal_moves(deal, deal.to_act) if not isinstance(move, Concede)]
        move = legal[0] if deal.phase == "auction" and rng.random() < 0.5 else rng.choice(legal)
        moves.append({"seat": deal.to_act} | msgspec.to_builtins(move))
        for event in decide(deal, deal.to_act, move):
            deal = evolve(deal, event)
    setup = start.setup
    record = {
        "convention": convention,
        "players": players,
        "dealer": setup.dealer,
        "hands": [hand_text(hand) for hand in setup.dealt],
        "talon": " ".join(CARDS[card] for card in setup.talon),
        "moves": moves,
    }
    return record, deal_document(outcome_of(deal.score.outcome))


def documents(rng: random.Random) -> tuple[list[Document], list[Document], list[Document]]:
    """Deal records, score files of one of these deals each, and score files of 20."""
    records, files, evenings = [], [], []
    for number in range(DEALS // EVENING):
        terms = {"convention": CONVENTIONS[number % len(CONVENTIONS)], "players": 3 + number % 2}
        deals = [played(rng, **terms) for _ in range(EVENING)]
        records += [record for record, _ in deals]
        files += [terms | {"deals": [outcome]} for _, outcome in deals]
        evenings.append(terms | {"deals": [outcome for _, outcome in deals]})
    return records, files, evenings


def seconds(command: str, path: Path, lines: int) -> float:
    """Processor time of `pulka COMMAND --lines` on the file. Raises `AssertionError` unless each line was answered without an error."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    answers = subprocess.run([Path(sys.executable).with_name("pulka"), command, "--lines", path], stdout=subprocess.PIPE, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    answered = answers.stdout.splitlines()
    assert len(answered) == lines
    assert not [line for line in answered if line.startswith(b'{"error"')]
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    """Measure and print both."""
    records, files, evenings = documents(random.Random(1996))
    asked = (("replay_lines", "replay", records), ("score_lines", "score", files), ("score_lines_evening", "score", evenings))
    with tempfile.TemporaryDirectory() as folder:
        for name, command, written in asked:
            path = Path(folder) / f"{name}.jsonl"
            path.write_bytes(b"\n".join(map(msgspec.json.encode, written)) + b"\n")
            rates = [DEALS / seconds(command, path, len(written)) for _ in range(RUNS)]
            tell(name, "deals/s", rates, of=f"{len(written)} documents, {DEALS} deals")


if __name__ == "__main__":
    main()
