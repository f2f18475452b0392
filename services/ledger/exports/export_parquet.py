"""Exported rows as Apache Parquet, a row group at a time. An exact number is text, and its numerator and denominator as whole numbers, both
null where 64 bits do not hold them; a time is a time, a day a day.

In a file of its own since it imports Arrow, which takes a tenth of a second and 40 MB: see `export_files.form_of`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from fractions import Fraction
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from services.ledger.exports.export_columns import COLUMNS, Kind
from services.ledger.exports.export_rows import Place

PARQUET: Final = "application/vnd.apache.parquet"
FORMAT: Final = "2"  # 1 had times as whole numbers
GROUP: Final = 10_000  # rows a group: few enough to be held (some 10 MB), enough to be packed well
LARGEST: Final = 2**63 - 1  # in an integer column

_TYPES: Final[Mapping[Kind, Any]] = {
    "text": pa.string(),
    "whole": pa.int64(),
    "exact": pa.string(),
    "flag": pa.bool_(),
    "time": pa.timestamp("ms", tz="UTC"),
    "day": pa.date32(),
}


class _Written:
    """A file that is taken away as it is written."""

    closed = False

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._length = 0

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._pieces.append(piece)
        self._length += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._length

    def flush(self) -> None:
        """Nothing waits here."""

    def close(self) -> None:
        """Its pieces are taken away all the same."""

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def taken(self) -> bytes:
        """What was written since the last time."""
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)


class Parquet:
    """A `Form`; the schema says in its metadata what it is."""

    media_type = PARQUET

    def __init__(self, what: str) -> None:
        self._columns = COLUMNS[what]
        self._waiting: list[Mapping[str, Any]] = []
        self._written = _Written()
        fields = [field for name, kind in self._columns.items() for field in _fields(name, kind)]
        self._schema = pa.schema(fields, metadata={"pulka.export": what, "pulka.format": FORMAT})
        self._writer = pq.ParquetWriter(self._written, self._schema, compression="zstd")

    def head(self, place: Place) -> bytes:  # noqa: ARG002 - see `rows`
        """The four letters that such a file begins with."""
        return self._written.taken()

    def rows(self, rows: Sequence[Mapping[str, Any]], place: Place) -> bytes:  # noqa: ARG002 - there is no going on with half a file
        """Nothing until a group is full."""
        self._waiting += rows
        while len(self._waiting) >= GROUP:
            self._group(self._waiting[:GROUP])
            self._waiting = self._waiting[GROUP:]
        return self._written.taken()

    def end(self, place: Place) -> bytes:  # noqa: ARG002 - see `rows`
        """The last group and the footer."""
        if self._waiting:
            self._group(self._waiting)
            self._waiting = []
        self._writer.close()
        return self._written.taken()

    def _group(self, rows: Sequence[Mapping[str, Any]]) -> None:
        arrays: list[Any] = []
        for name, kind in self._columns.items():
            values = [row.get(name) for row in rows]
            if kind == "exact":
                exact = [None if value is None else _fitting(Fraction(value)) for value in values]
                arrays.append([None if value is None else str(value) for value in values])
                arrays.append([None if value is None else value.numerator for value in exact])
                arrays.append([None if value is None else value.denominator for value in exact])
            elif kind == "day":
                arrays.append([None if value is None else date.fromisoformat(value) for value in values])
            else:
                arrays.append(values)
        columns = [pa.array(values, field.type) for values, field in zip(arrays, self._schema, strict=True)]
        self._writer.write_table(pa.Table.from_arrays(columns, schema=self._schema))


def _fitting(value: Fraction) -> Fraction | None:
    return value if max(abs(value.numerator), value.denominator) <= LARGEST else None


def _fields(name: str, kind: Kind) -> list[Any]:
    field = pa.field(name, _TYPES[kind])
    parts = [pa.field(f"{name}_{part}", pa.int64()) for part in ("numerator", "denominator")]
    return [field, *parts] if kind == "exact" else [field]
