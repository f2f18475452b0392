"""Speed of the open-card search on one core: `python -m tests.load.bench_open_cards` prints a JSON line a figure, milliseconds a question.

Random whole deals of ten cards a hand, any declarer, any leader: what comes to a table is easier. A figure's `runs` are the medians of five
lots of deals, `p99` and `most` are of all of them together.

* `open_cards_game`, `open_cards_misere`: the declarer's tricks. `open_cards_line`: the same of a game, with one best line.
* `open_cards_all_pass`, `open_cards_all_pass_four`: everybody's tricks when the talon leads, with three and with four players;
  `open_cards_all_pass_aside`: when it does not.
* `open_cards_discard_game`, `open_cards_discard_misere`: the best of 66 discards from twelve cards.

The clock is this process's own processor time, so that a figure means one core even where others are at work. Loading the compiled code is
not in it; `open_cards_load` is what that takes when it has been compiled before.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable

from shared.rules.deck.contract import GAMES, MISERE
from shared.rules.open_cards.all_pass import AllPassPlay, all_pass_tricks
from shared.rules.open_cards.declarer import best_line, declarer_tricks
from shared.rules.open_cards.discard import best_discard
from tests.load.figures import tell

RUNS = 5  # odd, so that the median is one of them
DEALS = 200  # a run: enough for a percentile of all runs, a second or two
SIXES = GAMES[:5]  # one of each strain
LOAD = "import time; t = time.process_time(); import shared.rules.open_cards.kernel; print(time.process_time() - t)"

Hands = tuple[int, int, int]


def dealt(rng: random.Random) -> tuple[Hands, tuple[int, int]]:
    """Three hands, and the talon."""
    cards = list(range(32))
    rng.shuffle(cards)
    one, two, three = (sum(1 << card for card in cards[start : start + 10]) for start in (0, 10, 20))
    return (one, two, three), (cards[30], cards[31])


def game(rng: random.Random) -> None:
    """Any strain."""
    declarer_tricks(dealt(rng)[0], rng.randrange(3), rng.randrange(3), rng.choice(SIXES))


def line(rng: random.Random) -> None:
    """Any strain."""
    best_line(dealt(rng)[0], rng.randrange(3), rng.randrange(3), rng.choice(SIXES))


def misere(rng: random.Random) -> None:
    """On any hand, so that most are far from made, which takes longest."""
    declarer_tricks(dealt(rng)[0], rng.randrange(3), rng.randrange(3), MISERE)


def all_pass(rng: random.Random) -> None:
    """Three players, the talon names the suit of the first two tricks."""
    hands, talon = dealt(rng)
    all_pass_tricks(AllPassPlay(hands, 0, (), talon))


def all_pass_four(rng: random.Random) -> None:
    """Four players, the dealer's talon cards may take their tricks."""
    hands, talon = dealt(rng)
    all_pass_tricks(AllPassPlay((*hands, 0), 0, (), talon, 3))


def all_pass_aside(rng: random.Random) -> None:
    """The talon lies aside."""
    all_pass_tricks(AllPassPlay(dealt(rng)[0], 0))


def discard(rng: random.Random, contract: str) -> None:
    """The first hand takes the talon and leads."""
    (one, two, three), talon = dealt(rng)
    best_discard((one | 1 << talon[0] | 1 << talon[1], two, three), 0, 0, contract)


def measure(name: str, question: Callable[[random.Random], None], deals: int = DEALS) -> None:
    """Ask it of as many deals, and tell."""
    rng = random.Random(1996)
    question(rng)  # the first question of all loads the compiled code
    lots = []
    for _ in range(RUNS):
        lot = []
        for _ in range(deals):
            begun = time.process_time()
            question(rng)
            lot.append(1000 * (time.process_time() - begun))
        lots.append(sorted(lot))
    every = sorted(took for lot in lots for took in lot)
    worst = {"p99": round(every[len(every) * 99 // 100], 3), "most": round(every[-1], 3)}
    tell(name, "ms", [lot[len(lot) // 2] for lot in lots], of=f"{RUNS} x {deals} deals", **worst)


def loading() -> list[float]:
    """Seconds that a new process spends on loading the compiled search."""
    return [float(subprocess.run([sys.executable, "-c", LOAD], capture_output=True, text=True, check=True).stdout) for _ in range(RUNS)]


def main() -> None:
    """Measure and print all."""
    measure("open_cards_game", game)
    measure("open_cards_line", line)
    measure("open_cards_misere", misere)
    measure("open_cards_all_pass", all_pass)
    measure("open_cards_all_pass_four", all_pass_four)
    measure("open_cards_all_pass_aside", all_pass_aside)
    measure("open_cards_discard_game", lambda rng: discard(rng, rng.choice(SIXES)), 20)
    measure("open_cards_discard_misere", lambda rng: discard(rng, MISERE), 20)
    tell("open_cards_load", "s", loading(), of="a new process")


if __name__ == "__main__":
    main()
