"""`pulka ledger`: the operator's commands for the ledger's read tables."""

from __future__ import annotations

import click

from services.cli.operator import parking, versions


@click.group()
def ledger() -> None:
    """Manage the ledger's read tables: their state, parked commits, and rebuilds."""


ledger.add_command(versions.status)
ledger.add_command(versions.rebuild)
ledger.add_command(versions.drop)
ledger.add_command(parking.parked)
ledger.add_command(parking.retry)
ledger.add_command(parking.skip)
