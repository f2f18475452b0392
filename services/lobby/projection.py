"""The lobby's read tables: the tables to choose from, and players' sealed names. A fold of the lobby's streams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from services.lobby import table_progress, tables
from services.lobby.tables import Table
from shared.eventlog.port import Stored
from shared.events.commit import decode
from shared.events.lobby_events import PlayerErased, PlayerSignedUp
from shared.events.sealing import LobbyCodec
from shared.projections.core.projection import Connection

DDL: Final = (
    """
CREATE TABLE IF NOT EXISTS tables (
    table_id text PRIMARY KEY,
    status text NOT NULL,
    preset text NOT NULL,
    public boolean NOT NULL,
    wants_bots boolean NOT NULL,
    opened_at bigint NOT NULL,
    state bytea NOT NULL
);
CREATE INDEX IF NOT EXISTS tables_by_status ON tables (status, opened_at DESC, table_id DESC);
CREATE INDEX IF NOT EXISTS tables_by_time ON tables (opened_at DESC, table_id DESC);
CREATE TABLE IF NOT EXISTS players (player text PRIMARY KEY, name bytea NOT NULL, bot boolean NOT NULL);
CREATE TABLE IF NOT EXISTS erased (player text PRIMARY KEY);
"""
    + table_progress.DDL
)
_UPSERT: Final = """
INSERT INTO tables (table_id, status, preset, public, wants_bots, opened_at, state) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (table_id) DO UPDATE SET status = excluded.status, wants_bots = excluded.wants_bots, state = excluded.state
"""

encode_state: Final = msgspec.json.Encoder(order="deterministic").encode
decode_state: Final = msgspec.json.Decoder(Table).decode


class LobbyRows:
    """One row a table and one a player; of an erased player only that they are erased."""

    name = "lobby"
    version = 1
    ddl = DDL

    def __init__(self) -> None:
        self._codec = LobbyCodec()

    async def apply(self, connection: Connection, batch: Sequence[Stored]) -> None:
        """Fold `batch` into the rows."""
        ids = list({stored.address.id for stored in batch if stored.address.kind == "table"})
        rows = await connection.fetch("SELECT table_id, state FROM tables WHERE table_id = ANY($1)", ids) if ids else []
        states = {row["table_id"]: decode_state(row["state"]) for row in rows}
        players: list[tuple[str, bytes, bool]] = []
        erased: list[str] = []
        for stored in batch:
            commit = decode(stored.data)
            events = self._codec.open(commit)
            if stored.address.kind == "table":
                before = states.get(stored.address.id) or tables.initial(stored.address)
                states[stored.address.id] = tables.fold(before, commit, events)
            else:
                players += [
                    (event.player, msgspec.json.encode(event.name), event.bot) for event in events if isinstance(event, PlayerSignedUp)
                ]
                erased += [event.player for event in events if isinstance(event, PlayerErased)]
        if states:
            await connection.executemany(_UPSERT, [_row(table) for table in states.values() if table.status != "none"])
        if players:
            await connection.executemany("INSERT INTO players (player, name, bot) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", players)
        if erased:
            await connection.execute("INSERT INTO erased SELECT unnest($1::text[]) ON CONFLICT DO NOTHING", erased)
            await connection.execute("DELETE FROM players WHERE player = ANY($1)", erased)


def shown_status(table: Table) -> str:
    """The status as far as the lobby's own log goes: `open` while seats are free, `full` until all are ready, `starting`, `closed`."""
    return "full" if table.status == "open" and None not in table.seats else table.status


def _row(table: Table) -> tuple[str, str, str, bool, bool, int, bytes]:
    return (
        table.id,
        shown_status(table),
        str(table.convention["preset"]),
        table.terms["visibility"] == "public",
        table.status == "open" and bool(table.free(bots=True)),
        table.opened_at,
        encode_state(table),
    )
