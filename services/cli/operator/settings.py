"""`pulka settings`: list every setting and its current value."""

from __future__ import annotations

import os

import click
import msgspec
from rich.console import Console
from rich.table import Column, Table

from shared.web.settings import describe_settings, read_settings


@click.command("settings")
@click.option("--json", "as_json", is_flag=True, help="A JSON list of objects: variable, value, default, description.")
def settings_command(*, as_json: bool) -> None:
    """List the PULKA_* variables with their values (passwords masked), defaults and meanings."""
    rows = describe_settings(read_settings(os.environ))
    if as_json:
        click.echo(msgspec.json.encode(rows))
        return
    table = Table(Column("variable", no_wrap=True), Column("value", overflow="fold"), "default", Column("meaning", overflow="fold"))
    for row in rows:
        table.add_row(row["variable"], _shown(row["value"]), _shown(row["default"]), row["description"])
    Console(soft_wrap=False).print(table)


def _shown(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
