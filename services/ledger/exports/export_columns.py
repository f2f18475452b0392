"""The columns of what is exported as a table of rows. Deal records and score files are documents and have none."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final, Literal, TypeAlias

What: TypeAlias = Literal["entries", "deals", "score-files", "statement", "transactions", "postings", "corrections"]
#: `exact`: a number that may be a fraction, as text or whole; `time`: milliseconds since 1970; `day`: text as `2026-11-01`.
Kind: TypeAlias = Literal["text", "whole", "exact", "flag", "time", "day"]
Columns: TypeAlias = Mapping[str, Kind]

#: Of the pulka that a row is of: what it was played for and by, and whether it counts.
_PULKA: Final[Columns] = {"annulled": "flag", "stake": "exact", "convention": "text", "played_on": "day", "entered_on": "day"}
_MADE: Final[Columns] = {"table_id": "text", "revision": "whole", "transaction": "text", "kind": "text", "at": "time"}
_DECIDED: Final[Columns] = {"author": "text", "reason": "text", "entered_on": "day"}

COLUMNS: Final[Mapping[str, Columns]] = {
    "entries": {
        "table_id": "text",
        "deal": "whole",
        "entry": "whole",
        "seat": "whole",
        "player": "text",
        "column": "text",
        "on": "whole",
        "amount": "exact",
        "rule": "text",
        "why": "text",
        "at": "time",
        "recorded": "flag",
        **_PULKA,
        "name": "text",
    },
    "statement": {
        "table_id": "text",
        "seat": "whole",
        "player": "text",
        "at": "time",
        "net": "exact",
        "rounded": "whole",
        "payment": "exact",
        "recorded": "flag",
        **_PULKA,
        "name": "text",
    },
    "transactions": {**_MADE, **_DECIDED},
    "postings": {
        **_MADE,
        "unit": "text",
        "from": "text",
        "to": "text",
        "amount": "exact",
        "entered_on": "day",
        "from_name": "text",
        "to_name": "text",
    },
    "corrections": {**_MADE, **_DECIDED, "seat": "whole", "player": "text", "amount": "exact", "name": "text"},
}
#: Where a name stands, and whose it is; null unless names were asked for.
NAMED: Final[Mapping[str, Mapping[str, str]]] = {
    "entries": {"name": "player"},
    "statement": {"name": "player"},
    "postings": {"from_name": "from", "to_name": "to"},
    "corrections": {"name": "player"},
}


def day_of(at: int) -> str:
    """The day of a time of the log, milliseconds since 1970, by UTC."""
    return datetime.fromtimestamp(at // 1000, UTC).date().isoformat()
