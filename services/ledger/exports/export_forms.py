"""How exported rows are written down: NDJSON, which can be gone on with; CSV for spreadsheets. Parquet has a file of its own.

A form writes bytes bit by bit and keeps none of them: `head`, then `rows` part by part, then `end`.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias

import msgspec

from services.ledger.exports.export_columns import COLUMNS, Kind
from services.ledger.exports.export_rows import Place
from shared.web.paging import to_cursor

NDJSON: Final = "application/x-ndjson"
CSV: Final = "text/csv; charset=utf-8; header=present"
RISKY: Final = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet may take for the beginning of a formula
GUARD: Final = "'"
LIKE_A_DATE: Final = re.compile(r"[0-9]{1,4}([./-][0-9]{1,4}){1,2}")  # "10/3" and "4.1.1", as spreadsheets read them
BOM: Final = "\ufeff".encode()  # by which Excel knows UTF-8

Separator: TypeAlias = Literal["comma", "semicolon"]


class Dialect(NamedTuple):
    """How a CSV is written for a spreadsheet: `semicolon` where the comma parts decimals; `bom`: it begins with the mark of UTF-8."""

    separator: Separator = "comma"
    bom: bool = False


_encode: Final = msgspec.json.Encoder().encode


class Form(Protocol):
    """Writes rows down."""

    @property
    def media_type(self) -> str:
        """What it is, for HTTP."""
        ...

    def head(self, place: Place) -> bytes:
        """What comes before the first row; `place` is there."""
        ...

    def rows(self, rows: Sequence[Mapping[str, Any]], place: Place) -> bytes:
        """Some rows; `place` is the one after them."""
        ...

    def end(self, place: Place) -> bytes:
        """What comes after the last row."""
        ...


class Ndjson:
    """One object a line. The first says what it is, `cursor` (there too) where one can go on, the last how many rows there were in all.

    `names`: the rows have players' names; the first line says so, and nothing of names where they have none.
    """

    media_type = NDJSON

    def __init__(self, what: str, player: str | None, *, resumed: bool, names: bool = False) -> None:
        said = {"format": 1, "what": what, "player": player} | ({"names": True} if names else {})
        self._first = None if resumed else said

    def head(self, place: Place) -> bytes:
        """Nothing when it goes on."""
        return b"" if self._first is None else _line({"export": self._first | {"cursor": to_cursor(place)}})

    def rows(self, rows: Sequence[Mapping[str, Any]], place: Place) -> bytes:
        """The rows, and where one can go on after them."""
        return b"".join([*map(_line, rows), _line({"cursor": to_cursor(place)})])

    def end(self, place: Place) -> bytes:
        """Without this line something is missing."""
        return _line({"end": {"rows": place.rows}})


class Csv:
    """RFC 4180 in UTF-8. A text that a spreadsheet could run as a formula begins with an apostrophe; null is an empty cell.

    An exact number is text, and behind the other columns its numerator and denominator as whole numbers. With a mark of UTF-8, which is for
    a spreadsheet, what one would take for a date begins with an apostrophe too.
    """

    media_type = CSV

    def __init__(self, what: str, dialect: Dialect = Dialect(), *, resumed: bool) -> None:  # noqa: B008 - a value that nobody can change
        self._columns: Mapping[str, Kind] = COLUMNS[what]
        self._exact = [name for name, kind in self._columns.items() if kind == "exact"]
        self._dialect = dialect
        self._resumed = resumed

    def head(self, place: Place) -> bytes:  # noqa: ARG002 - see `rows`
        """The names of the columns, but not when it goes on."""
        if self._resumed:
            return b""
        parts = [f"{name}_{part}" for name in self._exact for part in ("numerator", "denominator")]
        return (BOM if self._dialect.bom else b"") + self._written([[*self._columns, *parts]])

    def rows(self, rows: Sequence[Mapping[str, Any]], place: Place) -> bytes:  # noqa: ARG002 - a spreadsheet has no use for it
        """One line a row."""
        return self._written([[*self._cells(row), *self._parts(row)] for row in rows])

    def end(self, place: Place) -> bytes:  # noqa: ARG002 - see `rows`
        """Nothing."""
        return b""

    def _cells(self, row: Mapping[str, Any]) -> Iterator[object]:
        for name, kind in self._columns.items():
            cell = _cell(row.get(name), kind)
            dated = self._dialect.bom and kind in ("text", "exact") and isinstance(cell, str) and LIKE_A_DATE.fullmatch(cell.lstrip("-"))
            yield f"{GUARD}{cell}" if dated else cell

    def _parts(self, row: Mapping[str, Any]) -> Iterator[object]:
        for name in self._exact:
            value = row.get(name)
            exact = None if value is None else Fraction(value)
            yield from ("", "") if exact is None else (exact.numerator, exact.denominator)

    def _written(self, rows: Sequence[Sequence[object]]) -> bytes:
        text = io.StringIO()
        csv.writer(text, delimiter=";" if self._dialect.separator == "semicolon" else ",", lineterminator="\r\n").writerows(rows)
        return text.getvalue().encode()


def _line(document: Mapping[str, Any]) -> bytes:
    return _encode(document) + b"\n"


def _cell(value: object, kind: Kind) -> object:
    """An exact number is text that holds nothing but digits, a sign and a stroke; every other text is guarded."""
    if value is None:
        return ""
    if kind == "flag":
        return "true" if value else "false"
    return GUARD + value if kind == "text" and isinstance(value, str) and value.startswith(RISKY) else value
