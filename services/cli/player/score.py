"""`pulka score`: from what a scorer knows to the sheet and the settlement."""

from __future__ import annotations

from typing import cast

import click
import msgspec

from services.cli.console.documents import Answer, Document, answer_lines, answer_one
from shared.rules.score_files.explanation import explained
from shared.rules.score_files.score_file import score_document, scored
from shared.rules.score_files.scorer_words import Lang


@click.command()
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("--lines", is_flag=True, help="FILE has one score file a line; answer each with a line.")
@click.option("--explain", is_flag=True, help="Explain the score: each entry with its rule, and the settlement step by step.")
@click.option("--lang", type=click.Choice(["en", "ru"]), default="en", show_default=True, help="Language of --explain.")
@click.option("--json", "as_json", is_flag=True, help='The answer is JSON with or without it; with --explain {"lines": [...]}.')
def score(file: str, lang: str, *, lines: bool, explain: bool, as_json: bool) -> None:
    """Score the pulka in FILE (- for standard input): what each deal wrote and why, the sheet, the settlement.

    `pulka sheet FILE` draws it.

    Answers with one JSON object, or with plain text for --explain. Exit status 1: a deal after the pulka's end; 2: a file that
    cannot be read, with the place of what is wrong on standard error.
    """
    if lang != "en" and not explain:
        raise click.UsageError("--lang is the language of --explain; give that too")
    if not explain:
        (answer_lines if lines else answer_one)(file, score_document)
    elif lines:
        answer_lines(file, _told(lang))
    else:
        answer_one(file, _told(lang), msgspec.json.encode if as_json else _text)


def _told(lang: str) -> Answer:
    """Score files as a scorer tells them, `{"lines": […]}`."""
    return lambda document: {"lines": list(explained(scored(document), cast("Lang", lang)))}


def _text(told: Document) -> str:
    return "\n".join(told["lines"])
