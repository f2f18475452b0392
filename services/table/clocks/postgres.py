"""The clocks' store in Postgres, in the schema of the `openings` projection, whose `ddl` makes its tables (`running_tables`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import msgspec

from services.table.clocks.outages import LATEST
from services.table.clocks.store import AT_A_TIME, Beat, Outage, Running, Silence
from services.table.running_tables import CLOCK_LEASES
from shared.leases.port import Instance, ShareLease
from shared.projections.core import checkpoint
from shared.projections.core.projection import Connection

COMMAND_S: Final = 2.0  # seconds a statement may take: each takes milliseconds, and a lease lasts as long

# A stream that has no beat of its own yet goes on from the one of an instance of an earlier version, which had one for all.
_BEATS = """
SELECT b.stream, b.beat, b.holder FROM clock_beat b
UNION ALL SELECT '', s.beat, s.holder FROM sweep s
"""
_BEAT = """
INSERT INTO clock_beat AS b (stream, holder, beat) SELECT w.stream, $1, w.beat FROM unnest($2::text[], $3::bigint[]) AS w (stream, beat)
ON CONFLICT (stream) DO UPDATE SET holder = excluded.holder, beat = excluded.beat
WHERE b.beat = ($4::jsonb ->> b.stream)::bigint
RETURNING b.stream
"""
# An instance of an earlier version takes this for a leader that lives, and stands by; it never finds a silence that was none.
_AS_BEFORE = "UPDATE sweep SET beat = all_of.beat FROM (SELECT min(beat) AS beat FROM clock_beat) all_of WHERE sweep.beat <> all_of.beat"
_OUTAGE = """
INSERT INTO outage AS o (began, ended, streams) SELECT w.began, w.ended, array_agg(w.stream ORDER BY w.stream)
FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS w (began, ended, stream) GROUP BY w.began, w.ended
ON CONFLICT (began, ended) DO UPDATE SET streams = o.streams || excluded.streams
"""
# A table's stream is told by its id, as `Address.stream` does; the contract tests hold the two together.
_TABLES = """
SELECT r.table_id, r.shortest, r.revision, r.ends_at FROM running_table r
WHERE 'TABLE_' || split_part(r.table_id, '-', 1) = ANY($1)
"""
_FRESH = f" AND NOT r.known LIMIT {AT_A_TIME}"
# The lease rows are locked, so that whoever takes one over reads what was noted before, and nothing is noted after.
_MINE = """
WITH mine AS MATERIALIZED (
    SELECT l.stream FROM clock_lease l JOIN unnest($1::text[], $2::bigint[]) AS h (stream, epoch) USING (stream, epoch)
    WHERE l.holder <> '' FOR SHARE OF l
)
"""
_NOTE = f"""{_MINE}
UPDATE running_table AS r SET known = true, revision = n.revision, ends_at = n.ends_at, look_at = n.ends_at
FROM unnest($3::text[], $4::bigint[], $5::bigint[]) AS n (table_id, revision, ends_at)
WHERE r.table_id = n.table_id AND 'TABLE_' || split_part(r.table_id, '-', 1) IN (SELECT stream FROM mine)
"""  # noqa: S608 - our own words
_OVER = f"""{_MINE}
DELETE FROM running_table AS r
WHERE r.table_id = ANY($3) AND 'TABLE_' || split_part(r.table_id, '-', 1) IN (SELECT stream FROM mine)
"""  # noqa: S608 - our own words


class PostgresClockStore:
    """A `ClockStore` over one connection, for one task at a time."""

    def __init__(self, dsn: str, schema: str) -> None:
        self._dsn = dsn
        self._schema = schema
        self._connected: Connection | None = None

    async def open(self) -> None:
        """See `ClockStore.open`."""
        await self.close()
        self._connected = await checkpoint.opened(self._dsn, self._schema, "clocks", COMMAND_S)

    async def close(self) -> None:
        """See `ClockStore.close`."""
        connection, self._connected = self._connected, None
        if connection is not None:
            await checkpoint.close(connection)

    async def time(self) -> int:
        """See `ClockStore.time`."""
        return int(await self._connection.fetchval("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"))

    async def standing(self) -> tuple[list[ShareLease], list[Instance]]:
        """See `LeaseStore.standing`."""
        return await CLOCK_LEASES.standing(self._connection)

    async def renew(self, holder: str, names: Collection[str], held: Mapping[str, int]) -> frozenset[str]:
        """See `LeaseStore.renew`."""
        return await CLOCK_LEASES.renew(self._connection, holder, names, held)

    async def take(self, holder: str, seen: ShareLease) -> ShareLease | None:
        """See `LeaseStore.take`."""
        return await CLOCK_LEASES.take(self._connection, holder, seen)

    async def release(self, held: Mapping[str, int]) -> None:
        """See `LeaseStore.release`."""
        await CLOCK_LEASES.release(self._connection, held)

    async def leave(self, holder: str) -> None:
        """See `LeaseStore.leave`."""
        await CLOCK_LEASES.leave(self._connection, holder)

    async def beats(self) -> dict[str, Beat]:
        """See `ClockStore.beats`."""
        return {row["stream"]: Beat(row["beat"], row["holder"]) for row in await self._connection.fetch(_BEATS)}

    async def beat(self, holder: str, silences: Sequence[Silence]) -> frozenset[str]:
        """See `ClockStore.beat`."""
        ordered = sorted(silences, key=lambda one: one.stream)  # rows are locked in one order by all
        was = msgspec.json.encode({one.stream: one.was for one in ordered}).decode()
        async with self._connection.transaction():
            rows = await self._connection.fetch(_BEAT, holder, [one.stream for one in ordered], [one.at for one in ordered], was)
            moved = frozenset(row["stream"] for row in rows)
            out = [one for one in ordered if one.until and one.stream in moved]
            if out:
                await self._connection.execute(_OUTAGE, [one.was for one in out], [one.until for one in out], [one.stream for one in out])
            await self._connection.execute(_AS_BEFORE)
        return moved

    async def strike(self, now: int) -> None:
        """See `ClockStore.strike`."""
        await self._connection.execute("DELETE FROM outage WHERE ended > $1", now)

    async def outages(self) -> list[Outage]:
        """See `ClockStore.outages`."""
        rows = await self._connection.fetch("SELECT began, ended, streams FROM outage ORDER BY ended DESC, began LIMIT $1", LATEST)
        return [Outage(row["began"], row["ended"], None if row["streams"] is None else tuple(row["streams"])) for row in rows]

    async def tables(self, streams: Collection[str], *, fresh: bool = False) -> list[Running]:
        """See `ClockStore.tables`."""
        rows = await self._connection.fetch(_TABLES + (_FRESH if fresh else ""), list(streams))
        return [Running(*row) for row in rows]

    async def note(self, held: Mapping[str, int], found: Sequence[Running], over: Collection[str]) -> None:
        """See `ClockStore.note`."""
        leases = list(held), list(held.values())
        async with self._connection.transaction():
            if found:
                ids, revisions, ends = zip(*((row.table_id, row.revision, row.ends_at) for row in found), strict=True)
                await self._connection.execute(_NOTE, *leases, list(ids), list(revisions), list(ends))
            if over:
                await self._connection.execute(_OVER, *leases, list(over))

    @property
    def _connection(self) -> Connection:
        if self._connected is None:
            raise ConnectionError("not connected")
        return self._connected
