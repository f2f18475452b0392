"""What a service writes to have read tables: a name, the tables, and how a batch of commits changes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import asyncpg

from shared.eventlog.aggregates.decisions import BrokenChain
from shared.eventlog.port import Stored
from shared.events.keys import UnknownKey
from shared.events.sealed import TamperedBox
from shared.events.upcast import NewerSchema
from shared.rules.language.refusal import Malformed

Connection: TypeAlias = Any  # asyncpg ships no types: an `asyncpg.Connection` whose search path is the projection's schema

# What a fold or its rows raise because of the commit itself: this table is parked, the others go on. A lost connection, a full disk or a
# missing relation is none of these: nothing is wrong with the commit, and the whole batch is tried again.
UNAPPLICABLE: tuple[type[Exception], ...] = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,  # msgspec's and json's errors are ValueErrors
    Malformed,
    NewerSchema,
    BrokenChain,
    TamperedBox,
    UnknownKey,
    asyncpg.DataError,
    asyncpg.IntegrityConstraintViolationError,
)


class Projection(Protocol):
    """A fold of the log into rows of one Postgres schema.

    `name` and `version` name the schema (`ledger_v1`): another version fills beside the old one. `ddl` makes the tables where they are
    missing, every name unqualified (the search path is the schema), every table with a primary key. Rows come from commits alone: no clock,
    no sequence numbers of the database, no randomness, so that a rebuild gives the same bytes.
    """

    @property
    def name(self) -> str:
        """The first part of the schema's name, and the label of its metrics."""
        ...

    @property
    def version(self) -> int:
        """Raised whenever the same log gives other rows."""
        ...

    @property
    def ddl(self) -> str:
        """Statements that may run again and again."""
        ...

    async def apply(self, connection: Connection, batch: Sequence[Stored]) -> None:
        """Write what `batch` changes, within the open transaction.

        `batch` is of one stream, in order, each commit once, none after a parked one of its aggregate. Called again from the same rows when
        the transaction was lost, and commit by commit after it raised one of `UNAPPLICABLE`.
        """
        ...


def schema_of(projection: Projection, namespace: str = "") -> str:
    """The Postgres schema of a projection: `ledger_v1`, behind a namespace `tests_ledger_v1`."""
    prefix = f"{namespace}_" if namespace else ""
    return f"{prefix}{projection.name}_v{projection.version}"
