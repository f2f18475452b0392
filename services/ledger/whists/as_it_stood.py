"""Results as they stood at an earlier commit of the log: what was posted up to it, and nothing that was corrected or annulled since.

`accounts` holds what stands now. An export in parts must not: a table whose lines fell into two parts, with a correction between them,
would have won whists out of nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from services.ledger.views import score_sheet, tables
from services.ledger.views.tables import Table
from services.ledger.whists import postings
from services.ledger.whists.postings import Transaction
from shared.projections.core.projection import Connection
from shared.rules.language.amount import exact, written
from shared.rules.scoring.settlement import first_of_equals, rounded

#: The first change after the mark `$2` of the tables `$1`, which are of one stream: few results are changed, and nearly none meanwhile.
_CHANGED_SINCE: Final = """
    SELECT made.table_id, min(made.revision) AS revision FROM transactions made JOIN audit_trail a USING (table_id, revision)
    WHERE made.table_id = ANY($1) AND made.kind <> 'settlement' AND a.sequence > $2 GROUP BY made.table_id
"""


async def as_it_stood(connection: Connection, lines: Sequence[Mapping[str, Any]], mark: int) -> list[dict[str, Any]]:
    """`lines` with `net`, `rounded` and `payment` as of the sequence `mark` of their stream, by which their pulkas were over.

    A line has `table_id` and `player` besides. They may be some of a table's: the whole whists are rounded among all its seats (4.2.14).
    """
    rows = await connection.fetch(_CHANGED_SINCE, sorted({line["table_id"] for line in lines}), mark)
    changed: dict[str, int] = {row["table_id"]: row["revision"] for row in rows}
    if not changed:
        return [dict(line) for line in lines]
    known = await tables.load(connection, list(changed))
    made: dict[str, list[Transaction]] = {table_id: [] for table_id in changed}
    for one in await postings.read(connection, list(changed)):
        if one.revision < changed[one.table_id]:
            made[one.table_id].append(one)
    dealers = await score_sheet.last_dealers(connection, list(changed))
    stood = {table_id: _result(known[table_id], made[table_id], dealers.get(table_id)) for table_id in changed}
    return [dict(line) if line["table_id"] not in changed else _then(line, stood[line["table_id"]]) for line in lines]


def _result(table: Table, made: Sequence[Transaction], dealer: int | None) -> dict[str, dict[str, Any]]:
    """What each player has won by these transactions, as a line says it; `dealer` dealt the table's last deal."""
    players = table.seats
    net = [exact(sum((one.won(player) for one in made), Fraction(0))) for player in players]
    paid = [exact(sum((one.won(player, "money") for one in made), Fraction(0))) for player in players]
    whole_ones = rounded(tuple(net), first_of_equals(table.rules, len(players), dealer)) if players else ()
    return {
        player: {"net": str(written(whists)), "rounded": whole, "payment": str(written(money))}
        for player, whists, whole, money in zip(players, net, whole_ones, paid, strict=True)
    }


def _then(line: Mapping[str, Any], stood: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """A line with the result of its player; without a stake there is no payment then or now (4.2.13)."""
    result = stood[line["player"]]
    return {**line, **result, "payment": None if line["payment"] is None else result["payment"]}
