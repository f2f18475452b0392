"""How far a long command is, on standard error: a bar on a terminal, else a line now and then."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

TELL_S: Final = 5.0  # seconds between two lines where there is no terminal


@contextmanager
def how_far(unit: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Call what it gives with how many `unit` are done, of `total` if that is known."""
    console, told = Console(stderr=True), time.monotonic()

    def line(done: int) -> None:
        nonlocal told
        if time.monotonic() - told >= TELL_S:
            told = time.monotonic()
            click.echo(f"{done} {unit}" if total is None else f"{done} of {total} {unit}", err=True)

    if not console.is_terminal:
        yield line
        return
    known = (BarColumn(), MofNCompleteColumn(), TextColumn(unit), TextColumn("left"), TimeRemainingColumn())
    columns = (TextColumn("{task.completed:,} " + unit), TimeElapsedColumn()) if total is None else known
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(unit, total=total)
        yield lambda done: bar.update(task, completed=done)
