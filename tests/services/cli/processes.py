"""Looking at real processes: which belong to a HOME, and waiting for something to become true."""

import asyncio
import subprocess
import time
from collections.abc import Callable
from pathlib import Path


def processes_of(home: Path) -> list[str]:
    """Command lines, with pid, of what runs with `home` in its command line; zombies have none."""
    listed = subprocess.run(["ps", "-eww", "-o", "pid=,stat=,command="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()]
    return [" ".join(row) for row in rows if len(row) == 3 and str(home) in row[2] and not row[1].startswith("Z")]


def until(true: Callable[[], object], seconds: float = 20.0) -> None:
    """Poll until `true()` is; fails after `seconds`, many times what it takes."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.01)  # the interval of the poll, not a guess at how long something takes


async def until_async(true: Callable[[], object], seconds: float = 20.0) -> None:
    """`until`, while other tasks of the loop run."""
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110 - what is waited for happens to another process, which sets no Event
            await asyncio.sleep(0.01)
