"""Orders about what is parked: whoever holds the stream's lease carries them out between two batches.

An order is a row beside the rows that it is about; its outcome comes into the same row, in the transaction that did it. `told` says that
nothing more will come: the log has heard of it too.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, Literal

import msgspec

from shared.projections.core.projection import Connection

RETRY: Final = "retry"
SKIP: Final = "skip"


class Order(msgspec.Struct, frozen=True):
    """`retry`: apply what is parked of `aggregate`. `skip`: leave out its first parked commit, which has to be `revision`, then go on."""

    id: str
    stream: str
    aggregate: str
    kind: Literal["retry", "skip"]
    revision: int
    author: str
    why: str


class Outcome(msgspec.Struct, frozen=True):
    """What came of an order: so many commits `applied`, so many still `parked`, the first at `revision` for `reason` (the kind of error).

    Other reasons: `not_parked`, `another_commit` (the first parked one is no longer the one that was meant), `out_of_place` (it is not its
    table's next commit, and leaving its revision out would leave out the true one).
    """

    applied: int = 0
    parked: int = 0
    revision: int | None = None
    reason: str | None = None


_COLUMNS: Final = "id, stream, aggregate, kind, revision, author, why"
_decode: Final = msgspec.json.Decoder(Outcome).decode
_encode: Final = msgspec.json.Encoder().encode


async def place(connection: Connection, order: Order) -> None:
    """Give an order."""
    await connection.execute(
        f"INSERT INTO parking_orders ({_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7)",  # noqa: S608 - a constant of ours
        *msgspec.structs.astuple(order),
    )


async def pending(connection: Connection, stream: str) -> list[tuple[Order, Outcome | None]]:
    """The orders of `stream` that are not done or not told yet, oldest first."""
    rows = await connection.fetch(
        f"SELECT {_COLUMNS}, outcome FROM parking_orders WHERE stream = $1 AND NOT told ORDER BY asked, id",  # noqa: S608 - a constant of ours
        stream,
    )
    return [(Order(*list(row)[:-1]), None if row["outcome"] is None else _decode(row["outcome"])) for row in rows]


async def settle(connection: Connection, order: Order, outcome: Outcome, *, told: bool) -> None:
    """Write an order's outcome, within the transaction of what it did."""
    await connection.execute("UPDATE parking_orders SET outcome = $2, told = $3 WHERE id = $1", order.id, _encode(outcome).decode(), told)


async def collect(connection: Connection, ids: Collection[str]) -> dict[str, Outcome]:
    """The outcomes of those of the orders `ids` that are through; each is handed out once."""
    rows = await connection.fetch("DELETE FROM parking_orders WHERE id = ANY($1) AND told RETURNING id, outcome", list(ids))
    return {row["id"]: _decode(row["outcome"]) for row in rows}


async def known(connection: Connection, ids: Collection[str]) -> dict[str, Outcome]:
    """The outcomes of those of the orders `ids` that have been done, whether or not the log has heard of it."""
    rows = await connection.fetch("SELECT id, outcome FROM parking_orders WHERE id = ANY($1) AND outcome IS NOT NULL", list(ids))
    return {row["id"]: _decode(row["outcome"]) for row in rows}


async def withdraw(connection: Connection, ids: Collection[str]) -> set[str]:
    """Take back orders that nobody has begun; returns those that were."""
    rows = await connection.fetch("DELETE FROM parking_orders WHERE id = ANY($1) AND outcome IS NULL RETURNING id", list(ids))
    return {row["id"] for row in rows}
