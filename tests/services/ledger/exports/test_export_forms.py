"""The forms of an export by themselves: what a cell of CSV and a column of Parquet hold."""

from __future__ import annotations

import csv
import io
from datetime import UTC, date, datetime, timedelta

import pyarrow.parquet
import pytest

from services.ledger.exports.export_columns import COLUMNS
from services.ledger.exports.export_files import NoSuchForm, form_of
from services.ledger.exports.export_forms import BOM, Csv, Dialect
from services.ledger.exports.export_parquet import Parquet
from services.ledger.exports.export_rows import Place

NO_MARKS = (0,) * 8


def test_parquet_has_text_alone_of_what_no_integer_column_holds():
    """An exact number beyond 64 bits keeps its text; numerator and denominator are null, and the rows beside it are whole."""
    form = Parquet("statement")
    place = Place((0,) * 8)
    nets = ("1/3", f"1/{3**40}", f"{2**63}/7", str(2**63 - 1))
    empty = dict.fromkeys(COLUMNS["statement"])
    data = form.head(place) + form.rows([empty | {"net": net} for net in nets], place) + form.end(place)
    read = pyarrow.parquet.read_table(io.BytesIO(data)).to_pylist()
    assert [row["net"] for row in read] == list(nets)
    assert [(row["net_numerator"], row["net_denominator"]) for row in read] == [(1, 3), (None, None), (None, None), (2**63 - 1, 1)]


def test_a_text_is_no_formula():
    """What a spreadsheet would run begins with an apostrophe; quotes and line ends are quoted; numbers stay numbers (RFC 4180)."""
    texts = ("=1+1", "+1", "-1", "@a", "\tx", "\rx", 'say "no"', "a,b", "a\nb", "plain")
    row = dict.fromkeys(COLUMNS["entries"], None) | {"amount": "-184/3", "seat": 0}
    written = Csv("entries", resumed=True).rows([row | {"why": text} for text in texts], Place(NO_MARKS)).decode()
    read = list(csv.DictReader(io.StringIO(written, newline=""), fieldnames=list(COLUMNS["entries"]), restkey="parts"))
    assert [one["why"] for one in read] == ["'=1+1", "'+1", "'-1", "'@a", "'\tx", "'\rx", 'say "no"', "a,b", "a\nb", "plain"]
    assert {one["amount"] for one in read} == {"-184/3"}


def test_f38_numerator_and_denominator_stand_in_csv_too():
    """Behind the other columns, as whole numbers of any length; both empty where there is no number."""
    form = Csv("statement", resumed=False)
    empty = dict.fromkeys(COLUMNS["statement"])
    rows = [empty | {"net": net} for net in ("10/3", "-4", f"1/{3**50}")] + [empty]
    written = (form.head(Place(NO_MARKS)) + form.rows(rows, Place(NO_MARKS))).decode()
    read = list(csv.DictReader(io.StringIO(written, newline="")))
    assert [(one["net"], one["net_numerator"], one["net_denominator"]) for one in read] == [
        ("10/3", "10", "3"),
        ("-4", "-4", "1"),
        (f"1/{3**50}", "1", str(3**50)),
        ("", "", ""),
    ]
    assert list(read[0])[: len(COLUMNS["statement"])] == list(COLUMNS["statement"])
    assert list(read[0])[-2:] == ["stake_numerator", "stake_denominator"]


def test_f38_a_spreadsheet_s_csv():
    """`;` between the columns, the mark of UTF-8 in front, once; what it takes for a date stays text; without the mark all is as ever."""
    row = dict.fromkeys(COLUMNS["entries"]) | {
        "amount": "10/3",
        "rule": "4.1.1",
        "why": "2026-11-30",
        "played_on": "2026-11-30",
        "player": "7S",
    }
    dialect = Dialect("semicolon", bom=True)
    data = Csv("entries", dialect, resumed=False).head(Place(NO_MARKS)) + Csv("entries", dialect, resumed=True).rows([row], Place(NO_MARKS))
    assert data.startswith(BOM)
    assert data.count(BOM) == 1
    (read,) = csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""), delimiter=";")
    assert [read[name] for name in ("amount", "rule", "why", "played_on", "player")] == [
        "'10/3",
        "'4.1.1",
        "'2026-11-30",
        "2026-11-30",
        "7S",
    ]
    assert (read["amount_numerator"], read["amount_denominator"]) == ("10", "3")
    plain = Csv("entries", resumed=True).rows([row], Place(NO_MARKS)).decode()
    assert ",10/3,4.1.1,2026-11-30," in plain


def test_f38_parquet_has_times_and_days_of_their_own_type():
    """A time is a timestamp in UTC to the millisecond, a day a date; the metadata says that the format is another than that of before."""
    form = Parquet("statement")
    place = Place(NO_MARKS)
    row = dict.fromkeys(COLUMNS["statement"]) | {"at": 1_764_000_000_123, "played_on": "2026-11-01", "entered_on": None}
    table = pyarrow.parquet.read_table(io.BytesIO(form.head(place) + form.rows([row], place) + form.end(place)))
    assert str(table.schema.field("at").type) == "timestamp[ms, tz=UTC]"
    assert str(table.schema.field("played_on").type) == "date32[day]"
    (read,) = table.to_pylist()
    assert read["at"] == datetime.fromtimestamp(1_764_000_000, UTC) + timedelta(milliseconds=123)
    assert (read["played_on"], read["entered_on"]) == (date(2026, 11, 1), None)
    assert table.schema.metadata[b"pulka.format"] == b"2"


def test_f38_a_separator_is_a_matter_of_csv():
    """Asked of another form it is refused rather than passed over."""
    for form in ("ndjson", "parquet"):
        with pytest.raises(NoSuchForm, match="of csv"):
            form_of(form, "entries", None, Dialect("semicolon"), resumed=False)
