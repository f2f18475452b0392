"""How `pulka score` and `pulka replay` read documents and answer: one from a file or standard input, or one a line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import IO, Any, TypeAlias, cast

import click
import msgspec

from shared.rules.language.refusal import Malformed, NotJson

Document: TypeAlias = dict[str, Any]
Answer: TypeAlias = Callable[[bytes], Document]

REFUSED, BAD_INPUT = 1, 2  # exit statuses (docs/command-line.md)


class RefusedByRule(Exception):
    """A document is well formed, and a rule refuses what stands in it; `error` is the object to answer with."""

    def __init__(self, error: Document) -> None:
        super().__init__(error["message"])
        self.error = error


def answer_one(file: str, answer: Answer, shown: Callable[[Document], bytes | str] = msgspec.json.encode) -> None:
    """Answer the document in `file` ("-": standard input) on standard output as `shown`, or its error on standard error, and exit."""
    with opened(file) as source:
        status, result, _ = _answered(source.read(), answer)
    click.echo(msgspec.json.encode(result) if status else shown(result), err=status != 0)
    sys.exit(status)


def answer_lines(file: str, answer: Answer) -> None:
    """Answer each line of `file` by one line, in order, errors too; exit 2 at the end if one was not JSON. Blank lines are none."""
    worst = 0
    with opened(file) as lines:
        for line in lines:
            if line.strip():
                _, result, is_json = _answered(line, answer)
                worst = worst if is_json else BAD_INPUT
                click.echo(msgspec.json.encode(result))
    sys.exit(worst)


def opened(file: str) -> IO[bytes]:
    """The file, "-" for standard input; one that cannot be read is bad input like any other."""
    try:
        return cast("IO[bytes]", click.open_file(file, "rb"))
    except OSError as wrong:
        click.echo(msgspec.json.encode({"error": Malformed("", f"{file}: {wrong.strerror}").document()}), err=True)
        sys.exit(BAD_INPUT)


def _answered(document: bytes, answer: Answer) -> tuple[int, Document, bool]:
    """Exit status of one document, its answer, and whether it is JSON at all."""
    try:
        return 0, answer(document), True
    except RefusedByRule as refused:
        return REFUSED, {"error": refused.error}, True
    except Malformed as wrong:
        status = BAD_INPUT if wrong.code == "malformed" else REFUSED
        return status, {"error": wrong.document()}, not isinstance(wrong, NotJson)
