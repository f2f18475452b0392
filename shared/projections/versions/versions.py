"""Which versions of a projection's rows there are, and which one is read: a registry that no rebuild touches.

A version is one filling of the tables from the log, in a Postgres schema of its own (`ledger_v3`). One row says which one is read, so that
a single statement switches all readers, and a read that asks for that row in its own snapshot is never between two versions.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Final, Literal

import msgspec

from shared.projections.core.checkpoint import DDL_LOCK
from shared.projections.core.projection import Connection

REGISTRY: Final = "projections"  # its schema, behind the namespace's prefix
NAME: Final = 63  # bytes of a connection's name that Postgres keeps
RETIRED: Final = "retired"  # holder of the leases of a version that is read no more: nobody may move its rows again

DDL: Final = """
CREATE TABLE IF NOT EXISTS version (
    projection text NOT NULL,
    number int NOT NULL,
    rows int NOT NULL,
    author text NOT NULL,
    began bigint NOT NULL,
    switched bigint,
    marks jsonb,
    previous int,
    announced bool NOT NULL DEFAULT false,
    PRIMARY KEY (projection, number)
);
CREATE TABLE IF NOT EXISTS live (
    projection text PRIMARY KEY,
    number int NOT NULL,
    FOREIGN KEY (projection, number) REFERENCES version
);
CREATE TABLE IF NOT EXISTS counted (
    projection text PRIMARY KEY,
    number int NOT NULL
);
"""

State = Literal["filling", "live", "retired"]
_COLUMNS: Final = "v.number, v.rows, v.author, v.began, v.switched, v.marks, v.previous, v.announced, l.projection IS NOT NULL AS live"


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """One filling. `rows`: the `version` of the code that folds it. `began`, `switched`: milliseconds since 1970; None: never read yet.

    `marks`: by stream how far it was filled when it began to be read, and `previous` the version read before (0: none). `announced`: the
    log has heard of the switch. `author`: who asked for it.
    """

    number: int
    rows: int
    author: str
    began: int
    switched: int | None
    marks: dict[str, int]
    previous: int
    announced: bool
    live: bool

    @property
    def state(self) -> State:
        """Whether it is being filled (or was left half filled), is read, or was."""
        return "live" if self.live else "filling" if self.switched is None else "retired"


class Versions:
    """The versions of the projection `name`; every method works on a connection that it is given."""

    def __init__(self, name: str, namespace: str = "") -> None:
        prefix = f"{namespace}_" if namespace else ""
        self.name = name
        self.registry = f"{prefix}{REGISTRY}"
        self.channel = self.registry  # on which a switch is told to whoever listens; the payload is the projection's name
        self.readers = f"pulka {prefix}{name} reads"[:NAME]  # the name by which those connect who read; a filling makes room for them
        self._prefix = f"{prefix}{name}_v"

    def schema(self, number: int) -> str:
        """Where the rows of a version are: `ledger_v3`, behind a namespace `tests_ledger_v3`."""
        return f"{self._prefix}{number}"

    async def prepare(self, connection: Connection) -> None:
        """Make the registry where it is missing."""
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1)", DDL_LOCK)
            await connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{self.registry}"')
            await connection.execute(f'SET LOCAL search_path TO "{self.registry}"')
            await connection.execute(DDL)

    async def known(self, connection: Connection) -> list[Version]:
        """All versions, oldest first; none before the first `prepare`."""
        if await connection.fetchval("SELECT to_regclass($1)", f'"{self.registry}".live') is None:
            return []
        rows = await connection.fetch(
            f"""
            SELECT {_COLUMNS} FROM "{self.registry}".version v
            LEFT JOIN "{self.registry}".live l ON (l.projection, l.number) = (v.projection, v.number)
            WHERE v.projection = $1 ORDER BY v.number
            """,  # noqa: S608 - names and constants of ours
            self.name,
        )
        return [_version(row) for row in rows]

    async def live(self, connection: Connection) -> Version | None:
        """The version that is read."""
        return next((version for version in await self.known(connection) if version.live), None)

    async def alone(self, connection: Connection) -> bool:
        """Whether nobody else is filling a version: true until the connection ends, whatever becomes of its process."""
        mine: bool = await connection.fetchval("SELECT pg_try_advisory_lock(hashtextextended($1, 0))", f"{self.registry} {self.name}")
        return mine

    async def begin(self, connection: Connection, rows: int, author: str) -> Version:
        """Enter a next version, to be filled. Its number was never one before, nor has a schema of that number been left by others."""
        there = await connection.fetch("SELECT nspname FROM pg_namespace WHERE starts_with(nspname, $1)", self._prefix)
        tails = [row["nspname"].removeprefix(self._prefix) for row in there]
        left = max((int(tail) for tail in tails if tail.isascii() and tail.isdecimal()), default=0)
        number: int = await connection.fetchval(
            f"""
            INSERT INTO "{self.registry}".counted AS c VALUES ($1, 1 + $2)
            ON CONFLICT (projection) DO UPDATE SET number = 1 + greatest(c.number, $2) RETURNING number
            """,  # noqa: S608 - our own schema's name
            self.name,
            left,
        )
        began = _now()
        await connection.execute(
            f'INSERT INTO "{self.registry}".version (projection, number, rows, author, began) VALUES ($1, $2, $3, $4, $5)',  # noqa: S608 - see above
            self.name,
            number,
            rows,
            author,
            began,
        )
        return Version(
            number=number, rows=rows, author=author, began=began, switched=None, marks={}, previous=0, announced=False, live=False
        )

    async def switch(self, connection: Connection, to: Version, previous: Version | None, marks: Mapping[str, int]) -> None:
        """Let readers read `to`, within the open transaction, and tell who listens once it is committed.

        Raises `LookupError` when `previous` is not what is read.
        """
        await connection.execute(
            f'UPDATE "{self.registry}".version SET switched = $3, marks = $4, previous = $5 WHERE projection = $1 AND number = $2',  # noqa: S608 - see above
            self.name,
            to.number,
            _now(),
            msgspec.json.encode(dict(marks)).decode(),
            previous.number if previous else 0,
        )
        if previous is None:
            done = await connection.execute(
                f'INSERT INTO "{self.registry}".live VALUES ($1, $2) ON CONFLICT DO NOTHING',  # noqa: S608 - see above
                self.name,
                to.number,
            )
        else:
            done = await connection.execute(
                f'UPDATE "{self.registry}".live SET number = $2 WHERE projection = $1 AND number = $3',  # noqa: S608 - see above
                self.name,
                to.number,
                previous.number,
            )
        if not done.endswith(" 1"):
            raise LookupError(f"another version of {self.name} became live meanwhile")
        await connection.execute("SELECT pg_notify($1, $2)", self.channel, self.name)

    async def announced(self, connection: Connection, version: Version) -> None:
        """The log has heard of the switch to `version`."""
        await connection.execute(
            f'UPDATE "{self.registry}".version SET announced = true WHERE projection = $1 AND number = $2',  # noqa: S608 - see above
            self.name,
            version.number,
        )

    async def retire(self, connection: Connection, version: Version, streams: Sequence[str]) -> None:
        """Take the leases of `version` for good, within the open transaction: its workers write nothing more."""
        await connection.execute(
            f"""
            INSERT INTO "{self.schema(version.number)}".lease AS l (stream, holder, epoch, renewed)
            SELECT stream, $2, 1, 'infinity' FROM unnest($1::text[]) AS stream
            ON CONFLICT (stream) DO UPDATE SET holder = $2, epoch = l.epoch + 1, renewed = 'infinity'
            """,  # noqa: S608 - see above
            list(streams),
            RETIRED,
        )

    async def drop(self, connection: Connection, number: int) -> bool:
        """Forget a version and its rows; whether there was anything. Raises `ValueError` for the one that is read."""
        async with connection.transaction():
            versions = {version.number: version for version in await self.known(connection)}
            if number in versions and versions[number].live:
                raise ValueError(f"version {number} is being read")
            there = await connection.fetchval("SELECT count(*) FROM pg_namespace WHERE nspname = $1", self.schema(number))
            await connection.execute(f'DROP SCHEMA IF EXISTS "{self.schema(number)}" CASCADE')
            if number in versions:
                await connection.execute(
                    f'DELETE FROM "{self.registry}".version WHERE projection = $1 AND number = $2',  # noqa: S608 - see above
                    self.name,
                    number,
                )
        return bool(there) or number in versions


def _version(row: Mapping[str, object]) -> Version:
    marks = row["marks"]
    return msgspec.convert(
        {**dict(row), "marks": msgspec.json.decode(marks) if isinstance(marks, str) else {}, "previous": row["previous"] or 0}, Version
    )


def _now() -> int:
    return int(time.time() * 1000)
