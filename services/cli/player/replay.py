"""`pulka replay`: a deal record, move by move, under the rules."""

from __future__ import annotations

import click

from services.cli.console.documents import Document, RefusedByRule, answer_lines, answer_one
from shared.rules.score_files.deal_record import ReplayRefused, replay_document


@click.command()
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("--lines", is_flag=True, help="FILE has one deal record a line; answer each with a line.")
@click.option("--json", "as_json", is_flag=True, help="The answer is JSON with or without it.")
def replay(file: str, *, lines: bool, as_json: bool) -> None:  # noqa: ARG001 - every command takes --json
    """Replay the deal record in FILE (- for standard input): the seat on turn, its legal moves, tricks, events, the score at the end.

    Answers with one JSON object. Exit status 1: the rules refuse a move, which is named on standard error; 2: a record that
    cannot be read.
    """
    (answer_lines if lines else answer_one)(file, _replayed)


def _replayed(record: bytes) -> Document:
    answer = replay_document(record)
    if isinstance(answer, ReplayRefused):
        raise RefusedByRule(answer.document())
    return answer
