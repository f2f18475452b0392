"""The double entry in bulk: transactions, their postings, and corrections seat by seat, of pulkas that are over."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

from services.ledger.exports.export_columns import day_of
from services.ledger.views import tables
from services.ledger.whists import postings
from services.ledger.whists.postings import Transaction
from shared.projections.core.projection import Connection
from shared.rules.language.amount import Amount, written

#: What was made of the tables as they ended, up to the mark; parameters as in `export_rows`. `{seen}` and `{whose}` are its conditions.
MADE: Final = """
    SELECT t.over_sequence, made.table_id, made.revision
    FROM tables t JOIN transactions made USING (table_id)
    JOIN audit_trail a ON a.table_id = made.table_id AND a.revision = made.revision
    WHERE t.stream = $1 AND t.over_sequence >= $2 AND (t.over_sequence, made.revision) > ($2, $3::int) AND t.over_sequence <= $4
      AND a.sequence <= $4 AND {seen} AND {whose}
    ORDER BY t.over_sequence, made.revision LIMIT $8
"""
HIS: Final = "EXISTS (SELECT FROM accounts his WHERE his.table_id = t.table_id AND his.player = $7)"


async def transactions(connection: Connection, found: Sequence[Any], _player: str | None) -> list[dict[str, Any]]:
    """A row a transaction; `found` are rows of `MADE`."""
    return [_head(one) | _decided(one) for one in await _made(connection, found)]


async def posted(connection: Connection, found: Sequence[Any], player: str | None) -> list[dict[str, Any]]:
    """A row a posting, of `player` alone where one is named."""
    return [
        _head(one)
        | {
            "unit": posting.unit,
            "from": posting.payer,
            "to": posting.payee,
            "amount": _text(posting.amount),
            "entered_on": day_of(one.at),
            "from_name": None,
            "to_name": None,
        }
        for one in await _made(connection, found)
        for posting in one.postings
        if player is None or player in (posting.payer, posting.payee)
    ]


async def corrections(connection: Connection, found: Sequence[Any], player: str | None) -> list[dict[str, Any]]:
    """A row a seat of each correction: what was added to what that seat had won, nothing too."""
    made = [one for one in await _made(connection, found) if one.kind == "correction"]
    known = await tables.load(connection, sorted({one.table_id for one in made}))
    return [
        _head(one) | _decided(one) | {"seat": seat, "player": who, "amount": _text(one.won(who)), "name": None}
        for one in made
        for seat, who in enumerate(known[one.table_id].seats)
        if player is None or player == who
    ]


async def _made(connection: Connection, found: Sequence[Any]) -> list[Transaction]:
    """The transactions that `found` names, in its order."""
    every = await postings.read(connection, sorted({row["table_id"] for row in found}))
    by_key = {(one.table_id, one.revision): one for one in every}
    return [by_key[row["table_id"], row["revision"]] for row in found]


def _head(one: Transaction) -> dict[str, Any]:
    return {"table_id": one.table_id, "revision": one.revision, "transaction": one.id, "kind": one.kind, "at": one.at}


def _decided(one: Transaction) -> dict[str, Any]:
    return {"author": one.author, "reason": one.reason, "entered_on": day_of(one.at)}


def _text(amount: Amount) -> str:
    return str(written(Fraction(amount)))
