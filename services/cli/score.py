"""`pulka score`: from what a scorer knows to the sheet and the settlement."""

from __future__ import annotations

import click

from services.cli.documents import answer_lines, answer_one
from shared.rules.score_file import score_document


@click.command()
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("--lines", is_flag=True, help="FILE has one score file a line; answer each by a line.")
@click.option("--json", "as_json", is_flag=True, help="The answer is JSON with or without it.")
def score(file: str, *, lines: bool, as_json: bool) -> None:  # noqa: ARG001 - every command takes --json
    """Score the pulka in FILE (- for standard input): what each deal wrote and why, the sheet, the settlement.

    Answers by one JSON object. Exit status 1: a deal after the pulka's end; 2: a file that cannot be read, with the place
    of what is wrong on standard error.
    """
    (answer_lines if lines else answer_one)(file, score_document)
