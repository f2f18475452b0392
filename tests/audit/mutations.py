"""What an operator could change and sign anew: `python -m tests.audit.mutations --count 2000` prints what `verify.py` says of it.

Every hash is made anew after the change, so that nothing but what the log means can give it away.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tests.audit import stranger

Commits = list[dict[str, Any]]
Mutation = Callable[[Commits, random.Random], bool]
CARDS: Final = [rank + suit for suit in "SCDH" for rank in "789TJQKA"]


def events(commits: Commits, name: str) -> list[tuple[int, dict[str, Any]]]:
    """All events of a name, each with the place of its commit."""
    return [(place, event) for place, commit in enumerate(commits) for event in commit["events"] if event["type"] == name]


def chosen(commits: Commits, name: str, lot: random.Random) -> dict[str, Any] | None:
    """One of them."""
    found = events(commits, name)
    return lot.choice(found)[1] if found else None


def another(field: str, name: str, value: Callable[[Any, random.Random], Any]) -> Mutation:
    """A change of one field of one event of that name."""

    def change(commits: Commits, lot: random.Random) -> bool:
        event = chosen(commits, name, lot)
        if event is None or (new := value(event[field], lot)) == event[field]:
            return False
        event[field] = new
        return True

    return change


def another_card(card: str, lot: random.Random) -> str:
    return lot.choice([one for one in CARDS if one != card])


def another_seat(seat: int, lot: random.Random) -> int:
    return (seat + lot.choice((1, 2))) % 3


def another_actor(commits: Commits, lot: random.Random) -> bool:
    """Somebody else of the table made the move."""
    players = commits[0]["events"][0]["seats"]
    moves = [commit for commit in commits if commit["actor"] in players]
    commit = lot.choice(moves)
    commit["actor"] = lot.choice([player for player in players if player != commit["actor"]])
    return True


def the_service_moved(commits: Commits, lot: random.Random) -> bool:
    """The server made the move itself."""
    players = commits[0]["events"][0]["seats"]
    lot.choice([commit for commit in commits if commit["actor"] in players])["actor"] = "service"
    return True


def earlier(commits: Commits, lot: random.Random) -> bool:
    """A commit's time lies before the one before."""
    place = lot.randrange(1, len(commits))
    commits[place]["at"] = commits[place - 1]["at"] - lot.randint(1, 100_000)
    return True


def a_deal_left_out(commits: Commits, lot: random.Random) -> bool:
    """All commits of a deal that is not the last."""
    starts = [place for place, _ in events(commits, "DealStarted")]
    if len(starts) < 3:
        return False
    number = lot.randrange(len(starts) - 2)
    del commits[starts[number] : starts[number + 1]]
    return True


def a_commit_left_out(commits: Commits, lot: random.Random) -> bool:
    """One card, with what it caused."""
    places = [place for place, _ in events(commits, "CardPlayed")]
    if len(places) < 2:
        return False
    del commits[lot.choice(places[:-1])]  # of the last one it would be the end that is cut off, which a checkpoint shows
    return True


def after_the_end(commits: Commits, lot: random.Random) -> bool:
    """Something stands behind the end."""
    if not events(commits, "PulkaClosed"):
        return False
    commits.append(json.loads(json.dumps(lot.choice(commits))))
    return True


def swapped_cards(commits: Commits, lot: random.Random) -> bool:
    """Two cards of the reveal change hands."""
    event = chosen(commits, "DealRevealed", lot)
    if event is None:
        return False
    first, second = lot.sample([seat for seat, hand in enumerate(event["hands"]) if hand], 2)
    one, other = event["hands"][first].split(), event["hands"][second].split()
    one[0], other[0] = other[0], one[0]
    event["hands"][first], event["hands"][second] = " ".join(one), " ".join(other)
    return True


CLASSES: Final[dict[str, Mutation]] = {
    "a card that nobody held": another("card", "CardPlayed", another_card),
    "a card of another seat": another("seat", "CardPlayed", another_seat),
    "a trick to another seat": another("seat", "TrickWon", another_seat),
    "another number of a trick": another("number", "TrickWon", lambda number, _: number + 1),
    "another talon": another("cards", "TalonTaken", lambda cards, lot: " ".join((cards.split()[0], another_card(cards.split()[1], lot)))),
    "another talon card opened": another("card", "TalonCardOpened", another_card),
    "another discard revealed": another("discard", "DealRevealed", lambda cards, lot: cards and " ".join(lot.sample(CARDS, 2))),
    "another cut": another("at", "DeckCut", lambda at, _: at % 25 + 4),
    "another seed": another("server_seed", "DealRevealed", lambda _, lot: lot.randbytes(32).hex()),
    "another promise": another("commitment", "DealStarted", lambda _, lot: lot.randbytes(32).hex()),
    "another dealer": another("dealer", "DealStarted", another_seat),
    "another number of a deal": another("number", "DealStarted", lambda number, _: number + 1),
    "another contract": another("contract", "ContractDeclared", lambda contract, _: contract[:-1] + {"S": "C"}.get(contract[-1], "S")),
    "cards exchanged in the reveal": swapped_cards,
    "another settlement": another(
        "settlement", "PulkaClosed", lambda told, _: told | {"rounded": [told["rounded"][0] + 1, *told["rounded"][1:]]}
    ),
    "other terms": another("target", "PulkaOpened", lambda target, _: (target or 0) + 1),
    "another player moved": another_actor,
    "the service moved": the_service_moved,
    "time goes back": earlier,
    "a deal left out": a_deal_left_out,
    "a card left out": a_commit_left_out,
    "something after the end": after_the_end,
}
"""Each must be noticed."""

NAMED: Final = {
    "another entry": another("entries", "DealScored", lambda entries, _: entries[:-1]),
}
"""What the program says that it does not check."""


def made(commits: list[bytes], mutation: Mutation, lot: random.Random) -> list[bytes] | None:
    """The commits with the change, all revisions and hashes made anew; None where there is nothing to change."""
    read = [json.loads(data) for data in commits]
    if not mutation(read, lot):
        return None
    for revision, commit in enumerate(read, 1):
        commit["revision"] = revision
    return stranger.rechained(json.dumps(commit, ensure_ascii=False, separators=(",", ":")).encode() for commit in read)


def noticed(path: Path, table: str, commits: list[bytes]) -> list[str]:
    """The codes of what the program finds."""
    return [code for _, _, code in stranger.problems(path, stranger.exported({table: commits}))]


def run(count: int, seeds: range) -> dict[str, Counter[str]]:
    """By class how many of `count` changes over all classes were noticed, and how many were not."""
    tables = stranger.played(*seeds, deals=4) | stranger.played(*(seed + 100 for seed in seeds), target=2)
    found: dict[str, Counter[str]] = {name: Counter() for name in (*CLASSES, *NAMED)}
    lot = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            name = list(found)[number % len(found)]
            changed = None
            for table in lot.sample(list(tables), len(tables)):  # the first at which there is something to change
                changed = changed or made(tables[table], (CLASSES | NAMED)[name], lot)
                if changed is not None:
                    break
            if changed is not None:
                found[name]["noticed" if noticed(Path(folder) / "export", table, changed) else "not"] += 1
    return found


def main() -> None:
    """Run and print."""
    options = argparse.ArgumentParser()
    options.add_argument("--count", type=int, default=2000)
    for name, counts in run(options.parse_args().count, range(40, 48)).items():
        sys.stdout.write(f"{name}: {counts['noticed']} noticed, {counts['not']} not\n")


if __name__ == "__main__":
    main()
