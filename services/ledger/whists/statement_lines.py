"""What is read of the double entry: a player's statement, pulka by pulka with a running balance, and a table's transactions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

import msgspec

from services.ledger.views.tables import Table
from services.ledger.views.view_terms import Sight
from services.ledger.whists import postings, statement
from services.ledger.whists.postings import Transaction
from services.ledger.whists.statement import MAY_SEE
from shared.projections.core.projection import Connection
from shared.rules.language.amount import Amount, exact, written

UNITS: Final = ("whists", "money")

_LINES: Final = f"""
    SELECT a.table_id, a.seat, a.closed_at AS at, a.net, a.rounded, a.payment, t.recorded FROM accounts a JOIN tables t USING (table_id)
    WHERE a.player = $1 AND a.closed_at IS NOT NULL AND {MAY_SEE}
      AND ($3::bigint IS NULL OR (a.closed_at, a.table_id) < ($3, $4))
    ORDER BY a.closed_at DESC, a.table_id DESC LIMIT $5
"""  # noqa: S608 - a constant of ours

# By denominator, since a database adds no fractions: there are a handful of them. `earlier`: at pulkas before the one with the key $3, $4.
_SUMS: Final = f"""
    SELECT e.unit, e.denominator::text AS denominator, sum(e.numerator)::text AS numerator,
           coalesce(sum(e.numerator) FILTER (WHERE (a.closed_at, a.table_id) < ($3::bigint, $4::text)), 0)::text AS earlier
    FROM entries e JOIN accounts a ON a.player = e.account AND a.table_id = e.table_id JOIN tables t ON t.table_id = e.table_id
    WHERE e.account = $1 AND {MAY_SEE} GROUP BY e.unit, e.denominator
"""  # noqa: S608 - a constant of ours


class Balance(msgspec.Struct, frozen=True):
    """What somebody has won so far, in whists and, where a stake was agreed on, in money; less than nothing if they have lost."""

    whists: Amount = 0
    money: Amount = 0

    def __add__(self, other: Balance) -> Balance:
        return Balance(exact(self.whists + other.whists), exact(self.money + other.money))

    def document(self) -> dict[str, str]:
        """Both as exact numbers in text."""
        return {"whists": str(written(self.whists)), "money": str(written(self.money))}


async def page(connection: Connection, player: str, reader: str | None, before: tuple[int, str] | None, limit: int) -> dict[str, Any]:
    """A page of `player`'s closed pulkas that `reader` may know of, newest first: those after the key `before`, at most `limit`.

    `pulkas`, each with the `balance` after it; `opening` before the oldest of them and `closing` after the newest; `balance` of all, on
    other pages too; `more`: whether there are further ones.
    """
    rows = await connection.fetch(_LINES, player, reader, *(before or (None, None)), limit + 1)
    lines, more = [dict(row) for row in rows[:limit]], len(rows) > limit
    made: dict[str, list[Transaction]] = {}
    for one in await postings.read(connection, [line["table_id"] for line in lines]):
        made.setdefault(one.table_id, []).append(one)
    total, opening = await _balances(connection, player, reader, (lines[-1]["at"], lines[-1]["table_id"]) if lines else (None, None))
    running = opening
    for line in reversed(lines):
        running += Balance(exact(Fraction(line["net"])), exact(Fraction(line["payment"] or 0)))
        line.update(_told(line, player, made.get(line["table_id"], ())), balance=running.document())
    return {
        "pulkas": lines,
        "opening": opening.document(),
        "closing": running.document(),
        "balance": total.document(),
        "more": more,
    }


async def _balances(
    connection: Connection, player: str, reader: str | None, oldest: tuple[int | None, str | None]
) -> tuple[Balance, Balance]:
    """All that `player` has won where `reader` may know of it, and what of it at pulkas before the one with the key `oldest`."""
    rows = await connection.fetch(_SUMS, player, reader, *oldest)

    def sums(column: str) -> Balance:
        parts: Mapping[str, list[Fraction]] = {unit: [] for unit in UNITS}
        for row in rows:
            parts[row["unit"]].append(Fraction(int(row[column]), int(row["denominator"])))
        return Balance(*(exact(sum(parts[unit], Fraction(0))) for unit in UNITS))

    return sums("numerator"), sums("earlier")


def _told(line: Mapping[str, Any], player: str, made: Sequence[Transaction]) -> dict[str, Any]:
    """What a line says of how its result came about, as far as `player` is concerned."""
    settled = next((one for one in made if one.kind == "settlement"), None)
    corrections = [{**_decided(one), "amount": _text(one.won(player))} for one in made if one.kind == "correction"]
    annulled = next((_decided(one) for one in made if one.kind == "annulment"), None)
    posted = [
        {
            "transaction": one.id,
            "unit": posting.unit,
            "with": posting.payer if posting.payee == player else posting.payee,
            "amount": _text(posting.amount if posting.payee == player else -posting.amount),
        }
        for one in made
        for posting in one.postings
        if player in (posting.payer, posting.payee)
    ]
    return {
        "settled": None
        if settled is None
        else {"net": _text(settled.won(player)), "payment": None if line["payment"] is None else _text(settled.won(player, "money"))},
        "corrections": corrections,
        "annulled": annulled,
        "postings": posted,
    }


async def of_table(connection: Connection, sight: Sight, after: int, limit: int) -> tuple[list[Transaction], list[dict[str, Any]]]:
    """A table's transactions with a revision above `after`, at most `limit`, and what stands for each seat; nothing before the end."""
    if sight.table.status != "over":
        return [], []
    made = await postings.read(connection, [sight.table.table_id], after=after, limit=limit)
    accounts = await statement.of_table(connection, sight.table.table_id)
    standing = [{name: getattr(one, name) for name in ("seat", "player", "net", "rounded", "payment")} for one in accounts]
    return made, standing


def document(one: Transaction) -> dict[str, Any]:
    """A transaction as the API shows it."""
    return {
        "transaction": one.id,
        "kind": one.kind,
        "revision": one.revision,
        "at": one.at,
        "author": one.author,
        "reason": one.reason,
        "postings": [
            {"unit": posting.unit, "from": posting.payer, "to": posting.payee, "amount": _text(posting.amount)} for posting in one.postings
        ],
    }


async def since_the_settlement(connection: Connection, table: Table) -> dict[str, Any]:
    """What the sheet of a settled pulka must say besides: its `corrections` (`amounts` by seat), and by whom and why it is `annulled`."""
    if table.status != "over" or not await postings.stands_corrected(connection, table.table_id):
        return {}
    made = await postings.read(connection, [table.table_id])
    corrections = [
        {**_decided(one), "amounts": [_text(one.won(player)) for player in table.seats]} for one in made if one.kind == "correction"
    ]
    annulled = next((_decided(one) for one in made if one.kind == "annulment"), None)
    return ({"corrections": corrections} if corrections else {}) | ({} if annulled is None else {"annulled": annulled})


def _decided(one: Transaction) -> dict[str, Any]:
    """Who decided what was corrected or annulled, when and why."""
    return {"revision": one.revision, "at": one.at, "author": one.author, "reason": one.reason}


def _text(number: Amount) -> str:
    return str(written(number))
