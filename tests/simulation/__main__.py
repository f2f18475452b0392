"""`make simulate`: worlds by seed, one after the other; prints the seed of each that fails, and how to see it again."""

from __future__ import annotations

import argparse
import json
import sys
import time
import traceback

import structlog

from tests.simulation.world import FAULTS, World, deals_of


def main() -> int:
    """Run, and say how many worlds held; status 1 when one did not."""
    options = argparse.ArgumentParser(prog="python -m tests.simulation")
    options.add_argument("--seeds", type=int, default=2_000, help="how many worlds (2000: some five minutes)")
    options.add_argument("--first", type=int, default=10_000, help="the first seed; `make test` has those below 200")
    options.add_argument("--json", action="store_true", help="the result as one JSON object")
    chosen = options.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))  # instances fall by the hundred: that is no news
    failed, commits, kills, began = [], 0, 0, time.monotonic()
    for seed in range(chosen.first, chosen.first + chosen.seeds):
        world = World(seed, deals=deals_of(seed), faults=FAULTS[seed % len(FAULTS)])
        try:
            world.run()
        except Exception:  # noqa: BLE001 - whatever it is, the seed is told and the others go on
            failed.append(seed)
            sys.stderr.write(
                f"\nseed {seed} failed:\n{traceback.format_exc()}see it again: python -m tests.simulation --first {seed} --seeds 1\n"
            )
        commits += world.commits
        kills += world.kills
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{seed - chosen.first + 1}/{chosen.seeds} worlds, {commits} commits, {kills} instances killed")
    told = {"worlds": chosen.seeds, "commits": commits, "kills": kills, "failed": failed, "seconds": round(time.monotonic() - began, 1)}
    sys.stdout.write(
        json.dumps(told) + "\n"
        if chosen.json
        else f"\n{told['worlds']} worlds, {commits} commits, {kills} instances killed, {len(failed)} failed, {told['seconds']} s\n"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
