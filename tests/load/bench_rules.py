"""Speed of the rules alone, on one core: `python -m tests.load.bench_rules` prints one JSON line a figure, the median of five runs.

* `rules_decide_evolve`: for every move of whole random deals, `decide` and the `evolve` of each event that it causes, the deal's score
  included. The deals and their legal random moves are made before the clock starts; what the moves' choice costs is not in the figure.
* `rules_fold`: `evolve` over the events of the same deals, written as JSON and decoded before the clock starts.

The clock is this process's own processor time, so that a figure means one core even where others are at work.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import msgspec

from shared.rules.deal.decider import Deal, decide, evolve, legal_moves
from shared.rules.language.deal_events import DealEvent
from shared.rules.language.moves import Concede, DealMove
from tests.load.figures import tell
from tests.rules.words import shuffled

RUNS = 5  # odd, so that the median is one of them
DEALS = 400  # about ten thousand moves: a run of some 40 ms, long against the clock's grain
CONVENTIONS = ("sochi", "leningrad", "rostov")

Moves = list[tuple[int, DealMove]]


def random_deal(rng: random.Random) -> tuple[Deal, Moves, list[DealEvent]]:
    """A deal before its first call, legal moves to its end, and the events they cause; nobody gives up."""
    start = deal = shuffled(rng, rng.choice(CONVENTIONS), rng.choice((3, 4)))
    moves: Moves = []
    events: list[DealEvent] = []
    while deal.to_act is not None:
        legal = [move for move in legal_moves(deal, deal.to_act) if not isinstance(move, Concede)]
        passes = deal.phase == "auction" and rng.random() < 0.5
        move = legal[0] if passes else rng.choice(legal)
        moves.append((deal.to_act, move))
        caused = decide(deal, deal.to_act, move)
        for event in caused:
            deal = evolve(deal, event)
        events += caused
    return start, moves, events


def play(deals: list[tuple[Deal, Moves]]) -> None:
    """Every move of every deal, decided and folded."""
    for start, moves in deals:
        deal = start
        for seat, move in moves:
            for event in decide(deal, seat, move):
                deal = evolve(deal, event)


def fold(deals: list[tuple[Deal, list[DealEvent]]]) -> None:
    """Every event of every deal, folded."""
    for start, events in deals:
        deal = start
        for event in events:
            deal = evolve(deal, event)


def rates(count: int, work: Callable[[], None]) -> list[float]:
    """How many a second of `count` things `work` does, run by run."""
    found = []
    for _ in range(RUNS):
        begun = time.process_time()
        work()
        found.append(count / (time.process_time() - begun))
    return found


def main() -> None:
    """Measure and print both."""
    rng = random.Random(1996)
    deals = [random_deal(rng) for _ in range(DEALS)]
    played = [(start, moves) for start, moves, _ in deals]
    stored = [(start, msgspec.json.decode(msgspec.json.encode(events), type=list[DealEvent])) for start, _, events in deals]
    moves = sum(len(moves) for _, moves, _ in deals)
    events = sum(len(events) for _, _, events in deals)
    tell("rules_decide_evolve", "moves/s", rates(moves, lambda: play(played)), of=f"{moves} moves")
    tell("rules_fold", "events/s", rates(events, lambda: fold(stored)), of=f"{events} events")


if __name__ == "__main__":
    main()
