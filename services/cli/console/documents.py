"""How every command reads a document that a person names, and how `pulka score` and `pulka replay` answer: one, or one a line."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, Final, NoReturn, TypeAlias, cast

import click
import msgspec

from shared.rules.language.refusal import Malformed, NotJson

Document: TypeAlias = dict[str, Any]
Answer: TypeAlias = Callable[[bytes], Document]

REFUSED, BAD_INPUT = 1, 2  # exit statuses (deploy/docs/command-line.md)
STDIN: Final = "-"
LARGEST: Final = 1 << 20  # bytes of one document: an evening of 400 deals has 80 KB, and what is ten times that is no score file
_KINDS: Final[Mapping[int, str]] = {stat.S_IFDIR: "is a folder", stat.S_IFIFO: "is a pipe", stat.S_IFCHR: "is a device"}
_NOT_READ: Final = "{}: {}, not a regular file (- reads standard input)"
_TOO_LARGE: Final = "{}: over {} MiB, which no such document has"


class RefusedByRule(Exception):
    """A document is well formed, and a rule refuses what stands in it; `error` is the object to answer with."""

    def __init__(self, error: Document) -> None:
        super().__init__(error["message"])
        self.error = error


# ---- reading -----------------------------------------------------------------------------------------------------------


def read_document(file: str, most: int = LARGEST) -> bytes:
    """All of `file` ("-": standard input). Raises `Malformed`: there is none, it is no regular file, or it has over `most` bytes."""
    with opened(file) as source:
        text = source.read(most + 1)
    if len(text) > most:
        raise Malformed("", _TOO_LARGE.format(file, most >> 20))
    return text


def lines_of(file: str) -> Generator[bytes, None, None]:
    """The lines of `file` ("-": standard input), each a document. Raises `Malformed` as `read_document`, for a line over `LARGEST` too."""
    with opened(file) as source:
        while line := source.readline(LARGEST + 1):
            if len(line) > LARGEST:
                raise Malformed("", _TOO_LARGE.format(f"{file}, a line", LARGEST >> 20))
            yield line


@contextmanager
def opened(file: str) -> Iterator[IO[bytes]]:
    """`file` for reading ("-": standard input). A pipe that nobody writes to, or a device that never ends, is not waited for."""
    try:
        if file == STDIN and sys.stdin is None:  # it was closed before the command began
            raise Malformed("", "there is no standard input")
        if file == STDIN:
            yield cast("IO[bytes]", click.open_file(STDIN, "rb"))
            return
        _require_regular(file, os.stat(file).st_mode)  # noqa: PTH116 - before it is opened: to open a pipe waits for its writer
        handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as source:
            _require_regular(file, os.fstat(handle).st_mode)  # another may have taken its name since
            yield source
    except OSError as wrong:
        raise Malformed("", f"{file}: {wrong.strerror}") from None
    except ValueError:  # a name with a zero byte
        raise Malformed("", f"{file!r}: cannot be read") from None


def _require_regular(file: str, mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise Malformed("", _NOT_READ.format(file, _KINDS.get(stat.S_IFMT(mode), "is something else")))


# ---- answering ---------------------------------------------------------------------------------------------------------


def answer_one(file: str, answer: Answer, shown: Callable[[Document], bytes | str] = msgspec.json.encode) -> None:
    """Answer the document in `file` ("-": standard input) on standard output as `shown`, or its error on standard error, and exit."""
    status, result, _ = _answered(document_or_exit(file), answer)
    click.echo(msgspec.json.encode(result) if status else shown(result), err=status != 0)
    sys.exit(status)


def answer_lines(file: str, answer: Answer) -> None:
    """Answer each line of `file` by one line, in order, errors too; exit 2 at the end if one was not JSON. Blank lines are none."""
    worst = 0
    try:
        for line in lines_of(file):
            if line.strip():
                _, result, is_json = _answered(line, answer)
                worst = worst if is_json else BAD_INPUT
                click.echo(msgspec.json.encode(result))
    except Malformed as wrong:
        exit_unread(wrong)
    sys.exit(worst)


def document_or_exit(file: str) -> bytes:
    """`read_document`, for commands that answer by JSON: what cannot be read is told as one object, and the command ends with 2."""
    try:
        return read_document(file)
    except Malformed as wrong:
        exit_unread(wrong)


def exit_unread(wrong: Malformed) -> NoReturn:
    """Tell it as one object on standard error, and end."""
    click.echo(msgspec.json.encode({"error": wrong.document()}), err=True)
    sys.exit(BAD_INPUT if wrong.code == "malformed" else REFUSED)


def _answered(document: bytes, answer: Answer) -> tuple[int, Document, bool]:
    """Exit status of one document, its answer, and whether it is JSON at all."""
    try:
        return 0, answer(document), True
    except RefusedByRule as refused:
        return REFUSED, {"error": refused.error}, True
    except Malformed as wrong:
        status = BAD_INPUT if wrong.code == "malformed" else REFUSED
        return status, {"error": wrong.document()}, not isinstance(wrong, NotJson)
