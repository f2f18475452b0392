"""An export as one stream of bytes in the form that was asked for."""

from __future__ import annotations

import importlib
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Any, Final, Literal, TypeAlias, cast

from services.ledger.desk.player_names import Names, nobody
from services.ledger.exports.export_columns import COLUMNS, NAMED, What
from services.ledger.exports.export_forms import Csv, Dialect, Form, Ndjson
from services.ledger.exports.export_rows import Place, Reading, Scope, parts

FormName: TypeAlias = Literal["ndjson", "csv", "parquet"]
_PARQUET: Final = "services.ledger.exports.export_parquet"


class NoSuchForm(Exception):
    """Deal records and score files are documents and no rows: they have no form but NDJSON."""


class NotInstalled(Exception):
    """Parquet is written by pyarrow, which comes with the extra `parquet` and not by itself."""

    def __init__(self) -> None:
        super().__init__(
            "Parquet needs the extra `parquet`, which is not installed here (pip install 'pulka[parquet]'); ndjson and csv come without"
        )


def form_of(name: FormName, what: What, player: str | None, dialect: Dialect | None = None, *, resumed: bool, names: bool = False) -> Form:
    """The form called `name` for rows of `what`; `resumed`: they follow others; `names`: with players' names, which only NDJSON says.

    Raises `NoSuchForm`, `NotInstalled`.
    """
    if dialect is not None and name != "csv":
        raise NoSuchForm(f"separator and bom are of csv; {name} has none")
    if name == "ndjson":
        return Ndjson(what, player, resumed=resumed, names=names)
    if what not in COLUMNS:
        raise NoSuchForm(f"{what} are documents; they come as ndjson only")
    if name == "csv":
        return Csv(what, dialect or Dialect(), resumed=resumed)
    try:
        parquet = importlib.import_module(_PARQUET)  # when it is asked for: no ledger needs to hold Arrow's 40 MB for nothing
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] != "pyarrow":
            raise
        raise NotInstalled from None
    return cast("Callable[[str], Form]", parquet.Parquet)(what)


async def written(
    reading: Reading, what: What, scope: Scope, place: Place, form: Form, names: Names = nobody
) -> AsyncGenerator[bytes, None]:
    """Everything after `place`, bit by bit. Raises what `reading` raises: then the end is missing, and a reader must be told."""
    yield form.head(place)
    async with aclosing(parts(reading, what, scope, place)) as found:
        async for part in found:
            place = part.place
            await _name(what, part.rows, names)
            if data := form.rows(part.rows, place):
                yield data
    yield form.end(place)


async def one_part(
    reading: Reading, what: What, scope: Scope, place: Place, form: Form, size: int, names: Names = nobody
) -> tuple[bytes, Place | None]:
    """At most `size` units after `place` as a file of their own, and the place after them; None when there is nothing more."""
    async with aclosing(parts(reading, what, scope, place, size)) as found:
        part = await anext(found, None)
    if part is None:
        return form.head(place) + form.end(place), None
    await _name(what, part.rows, names)
    written_down = [form.head(place), form.rows(part.rows, part.place)]
    return b"".join([*written_down, form.end(part.place)]), part.place


async def _name(what: What, rows: Sequence[dict[str, Any]], names: Names) -> None:
    """Write the names that are known into `rows`, which have none yet."""
    if (columns := NAMED.get(what)) is None or names is nobody:
        return
    known = await names({row[player] for row in rows for player in columns.values() if row[player] is not None})
    for row in rows:
        row |= {column: known.get(row[player]) for column, player in columns.items()}
