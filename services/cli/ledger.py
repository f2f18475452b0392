"""`pulka ledger`: the operator's commands for the books."""

from __future__ import annotations

import click

from services.cli import parking


@click.group()
def ledger() -> None:
    """The books: what waits, and what to do about it."""


ledger.add_command(parking.parked)
ledger.add_command(parking.retry)
ledger.add_command(parking.skip)
