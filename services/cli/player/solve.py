"""`pulka solve`: what a position with all hands open is worth."""

from __future__ import annotations

import click

from services.cli.console.documents import answer_lines, answer_one
from shared.rules.open_cards.document import solve_document


@click.command()
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("--lines", is_flag=True, help="FILE has one position a line; answer each with a line.")
@click.option("--json", "as_json", is_flag=True, help="The answer is JSON with or without it.")
def solve(file: str, *, lines: bool, as_json: bool) -> None:  # noqa: ARG001 - every command takes --json
    """Solve the position in FILE (- for standard input): the tricks when everybody sees all cards and plays best, and one such line.

    Answers with one JSON object. Exit status 2: a file that cannot be read, with the place of what is wrong on standard error.
    """
    (answer_lines if lines else answer_one)(file, solve_document)
