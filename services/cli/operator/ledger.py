"""`pulka ledger`: the operator's commands for the books."""

from __future__ import annotations

import click

from services.cli.operator import parking, versions


@click.group()
def ledger() -> None:
    """The books: how they are, what waits, and what to do about it."""


ledger.add_command(versions.status)
ledger.add_command(versions.rebuild)
ledger.add_command(versions.drop)
ledger.add_command(parking.parked)
ledger.add_command(parking.retry)
ledger.add_command(parking.skip)
