"""What a signed move costs beside one that nobody signs: decided and kept on the in-memory log, in turns. JSON lines.

The players' own signing is not counted; the service's checking is.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

import structlog

from shared.rules.pulka import decider as match
from tests.load.figures import tell
from tests.services.table.test_signed_moves import Signing

ROUNDS: Final = 9
MOVES: Final = 400  # of a round


async def took(keyed: tuple[int, ...], seed: int) -> float:
    """Microseconds a move."""
    playing, spent, moves = await Signing(keyed=keyed, target=40, seed=seed).open(), 0.0, 0
    inner = playing.tables.move

    async def timed(*args: object) -> object:
        nonlocal spent, moves
        began = time.perf_counter()
        outcome = await inner(*args)  # type: ignore[arg-type]
        spent, moves = spent + time.perf_counter() - began, moves + 1
        return outcome

    playing.tables.move = timed  # type: ignore[method-assign, assignment]
    while moves < MOVES and match.phase((await playing.table()).pulka) != "over":
        await playing.step()
    return 1e6 * spent / moves


async def run() -> None:
    """All figures."""
    plain, signed = [], []
    for seed in range(ROUNDS):
        plain.append(await took((), seed))
        signed.append(await took((0, 1, 2), seed))
    tell("move_unsigned", "µs", plain)
    tell("move_signed", "µs", signed)
    tell("move_signed_of_unsigned", "times", [two / one for one, two in zip(plain, signed, strict=True)])


def main() -> None:
    """Run and print."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(30))  # warnings and worse: figures only
    asyncio.run(run())


if __name__ == "__main__":
    main()
