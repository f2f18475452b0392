"""Tables whose commits could not be applied: the log's record of them, the list, and how an operator gives an order about them."""

from __future__ import annotations

import asyncio
import secrets
import time
from contextlib import suppress
from typing import Final, Literal

import msgspec

from services.ledger.own.own_events import OwnEvents, parking_of
from shared.eventlog.aggregates.aggregates import Mismatch
from shared.eventlog.port import EventLog
from shared.events.address import from_subject
from shared.events.ledger_events import CommitParked, ParkedRetried, ParkedSkipped
from shared.projections.core import checkpoint
from shared.projections.core.checkpoint import LeaseLost
from shared.projections.core.history import check_against_log
from shared.projections.core.projection import Connection, Projection
from shared.projections.following.follow import new_holder
from shared.projections.parking import orders, parking, skipping
from shared.projections.parking.chronicle import Chronicle
from shared.projections.parking.clerk import Clerk
from shared.projections.parking.orders import Order, Outcome
from shared.projections.parking.parking import Parked
from shared.projections.parking.skipping import Skip

LOOK_S: Final = 0.2  # seconds between two looks for the outcome: a worker attends to orders once a second
PATIENCE_S: Final = 15.0  # seconds for an order: a leader that died is followed by another within three, a long table takes a few more


class ParkingChronicle:
    """The ledger's `Chronicle`: its own events in the stream `LEDGER`. The clock gives their commits' times and nothing else."""

    def __init__(self, own: OwnEvents, projection: str) -> None:
        self._own = own
        self._where = parking_of(projection)

    async def skips(self) -> list[Skip]:
        """Everything that was ever left out of the books."""
        return [
            Skip(event.aggregate, event.revision, event.hash, event.author, event.why, commit.at)
            for commit, event in await self._own.read(self._where)
            if isinstance(event, ParkedSkipped)
        ]

    async def parked(self, first: Parked) -> None:
        """Tell of a commit that could not be applied, once."""
        event = CommitParked(first.aggregate, first.position, first.revision, first.hash, first.reason)
        with suppress(Mismatch):  # told before by a program that failed at it for another reason
            await self._own.append(self._where, f"parked:{first.position}", _now(), event)

    async def retried(self, order: str, aggregate: str, commits: int, author: str) -> None:
        """Tell that all of it has been applied, once an order."""
        await self._own.append(self._where, f"retried:{order}", _now(), ParkedRetried(aggregate, commits, author))

    async def skipped(self, first: Parked, author: str, why: str) -> None:
        """Leave a commit out for good; who did so first is remembered."""
        event = ParkedSkipped(first.aggregate, first.position, first.revision, first.hash, author, why)
        with suppress(Mismatch):  # another was faster
            await self._own.append(self._where, f"skipped:{first.position}", _now(), event)


def _now() -> int:
    return int(time.time() * 1000)


# ---- what is parked --------------------------------------------------------------------------------------------------


class ParkedTable(msgspec.Struct, frozen=True):
    """A table that waits: at which commit, why (the kind of error), since when (that commit's time, milliseconds since 1970, None where it
    cannot be read), and how many commits follow it.
    """

    table_id: str
    position: str
    revision: int
    reason: str
    since: int | None
    follow: int


class LeftOut(msgspec.Struct, frozen=True):
    """A commit that somebody left out of the books; `at` in milliseconds since 1970."""

    table_id: str
    revision: int
    hash: str
    by: str
    why: str
    at: int


async def parked_tables(connection: Connection) -> list[ParkedTable]:
    """All tables that wait, those first whose commit lies first in its stream."""
    first: dict[str, Parked] = {}
    waiting: dict[str, int] = {}
    for one in await parking.list_parked(connection):
        first.setdefault(one.aggregate, one)
        waiting[one.aggregate] = waiting.get(one.aggregate, 0) + 1
    return [
        ParkedTable(from_subject(name).id, one.position, one.revision, one.reason, one.at, waiting[name] - 1) for name, one in first.items()
    ]


async def left_out(connection: Connection) -> list[LeftOut]:
    """All commits that were left out."""
    return [
        LeftOut(from_subject(skip.aggregate).id, skip.revision, skip.hash, skip.author, skip.why, skip.at)
        for skip in await skipping.skipped(connection)
    ]


# ---- orders ----------------------------------------------------------------------------------------------------------


class NotAnswered(Exception):
    """Nobody carried the orders out in time; they have been taken back. `tables`: whose."""

    def __init__(self, tables: list[str]) -> None:
        super().__init__(f"no ledger answered in {PATIENCE_S:.0f} s; the order was taken back")
        self.tables = tables


def order_about(table: ParkedTable, kind: Literal["retry", "skip"], author: str, why: str = "") -> Order:
    """An order about one table that waits: to apply it, or to leave its first commit out and apply the rest."""
    stream, _, _ = table.position.partition(":")
    return Order(secrets.token_hex(12), stream, f"table.{table.table_id[0]}.{table.table_id}", kind, table.revision, author, why)


async def ordered(
    connection: Connection, event_log: EventLog, projection: Projection, chronicle: Chronicle, given: list[Order],
    patience: float = PATIENCE_S,
) -> dict[str, Outcome]:  # fmt: skip
    """Have orders carried out: by the ledger that runs, else here, under the lease that nobody holds. Returns the outcomes by order.

    `connection` has the schema that is read as its search path. Raises `NotAnswered`, `RefusedToRun`, `LogError`.
    """
    for order in given:
        await orders.place(connection, order)
    open_orders = {order.id: order for order in given}
    outcomes: dict[str, Outcome] = {}
    try:
        async with asyncio.timeout(patience):
            while True:
                outcomes |= await orders.collect(connection, open_orders)
                for done in outcomes:
                    open_orders.pop(done, None)
                if not open_orders:
                    return outcomes
                await asyncio.sleep(LOOK_S)
                for stream in sorted({order.stream for order in open_orders.values()}):
                    await _stand_in(connection, event_log, projection, chronicle, stream)
    except TimeoutError:
        taken_back = await orders.withdraw(connection, open_orders)
        if taken_back:
            raise NotAnswered(sorted(from_subject(open_orders[one].aggregate).id for one in taken_back)) from None
        return outcomes | await orders.known(connection, open_orders)  # done, and the log hears of it when it can be asked again
    except BaseException:
        await orders.withdraw(connection, open_orders)
        raise


async def _stand_in(connection: Connection, event_log: EventLog, projection: Projection, chronicle: Chronicle, stream: str) -> None:
    """Do a worker's part between two batches where no worker holds the lease."""
    lease = await checkpoint.take(connection, stream, new_holder())
    if lease is None:
        return
    try:
        await check_against_log(event_log, await checkpoint.read(connection, stream), connection)
        await Clerk(event_log, projection, stream, chronicle).open(connection, lease)
    except LeaseLost:
        return
    finally:
        await checkpoint.release(connection, lease)
