"""The forms of an export by themselves: what a cell of CSV and a column of Parquet hold."""

from __future__ import annotations

import csv
import io

import pyarrow.parquet

from services.ledger.exports import export_rows
from services.ledger.exports.export_forms import Csv
from services.ledger.exports.export_parquet import Parquet
from services.ledger.exports.export_rows import Place

NO_MARKS = (0,) * 8


def test_parquet_has_text_alone_of_what_no_integer_column_holds():
    """An exact number beyond 64 bits keeps its text; numerator and denominator are null, and the rows beside it are whole."""
    form = Parquet("statement")
    place = Place((0,) * 8)
    nets = ("1/3", f"1/{3**40}", f"{2**63}/7", str(2**63 - 1))
    empty = dict.fromkeys(export_rows.COLUMNS["statement"])
    data = form.head(place) + form.rows([empty | {"net": net} for net in nets], place) + form.end(place)
    read = pyarrow.parquet.read_table(io.BytesIO(data)).to_pylist()
    assert [row["net"] for row in read] == list(nets)
    assert [(row["net_numerator"], row["net_denominator"]) for row in read] == [(1, 3), (None, None), (None, None), (2**63 - 1, 1)]


def test_a_text_is_no_formula():
    """What a spreadsheet would run begins with an apostrophe; quotes and line ends are quoted; numbers stay numbers (RFC 4180)."""
    texts = ("=1+1", "+1", "-1", "@a", "\tx", "\rx", 'say "no"', "a,b", "a\nb", "plain")
    row = dict.fromkeys(export_rows.COLUMNS["entries"], None) | {"amount": "-184/3", "seat": 0}
    written = Csv("entries", resumed=True).rows([row | {"why": text} for text in texts], Place(NO_MARKS)).decode()
    read = list(csv.DictReader(io.StringIO(written, newline=""), fieldnames=list(export_rows.COLUMNS["entries"])))
    assert [one["why"] for one in read] == ["'=1+1", "'+1", "'-1", "'@a", "'\tx", "'\rx", 'say "no"', "a,b", "a\nb", "plain"]
    assert {one["amount"] for one in read} == {"-184/3"}
