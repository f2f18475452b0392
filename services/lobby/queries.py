"""What is read of the lobby: which tables there are, and what players are called. Names are opened for the answer and kept nowhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec
import structlog

from services.lobby.database import Database
from services.lobby.players import Players
from services.lobby.projection import decode_state
from services.lobby.tables import Table
from services.lobby.vault import Vault
from shared.events.personal import open_personal
from shared.events.sealed import Sealed
from shared.projections.core.status import PASSING

LOBBY_STATUSES: Final = frozenset({"open", "full", "starting", "closed"})  # these end when the table's own log begins

log = structlog.get_logger(__name__)
_decode = msgspec.json.Decoder(Sealed).decode


class Wanted(msgspec.Struct, frozen=True):
    """Which tables to list: by status, by preset, only those that want bots, private ones too; after the key of the last one seen."""

    status: str | None = None
    preset: str | None = None
    wants_bots: bool = False
    private: bool = False
    after: tuple[int, str] | None = None
    limit: int = 50


class Listed(msgspec.Struct, frozen=True):
    """A table, with the status that its own log gives it (None before its pulka)."""

    table: Table
    progress: str | None


class BotSeat(msgspec.Struct, frozen=True):
    """A seat that is kept for bots and that one has taken; `ready`: they have said so."""

    table: str
    seat: int
    player: str
    ready: bool


class Seats(msgspec.Struct, frozen=True):
    """Of a table's row what says who sits there."""

    players: int
    bots: int
    seats: tuple[str | None, ...]
    ready: tuple[bool, ...]


_decode_seats = msgspec.json.Decoder(Seats).decode


class Reads:
    """Queries. Raises what Postgres raises when it is away, but for names."""

    def __init__(self, database: Database, vault: Vault, players: Players, schema: str) -> None:
        self._database = database
        self._vault = vault
        self._players = players
        self._schema = schema

    async def tables(self, wanted: Wanted) -> list[Listed]:
        """The newest first, one more than `limit` when there are more."""
        where, values = _conditions(wanted)
        rows = await self._database.fetch(
            f"""
            SELECT t.state, p.status FROM "{self._schema}".tables t LEFT JOIN "{self._schema}".progress p USING (table_id)
            WHERE {" AND ".join(where)} ORDER BY t.opened_at DESC, t.table_id DESC LIMIT {wanted.limit + 1}
            """,  # noqa: S608 - conditions of ours with numbered values, our own schema's name, a number
            *values,
        )
        return [Listed(decode_state(row["state"]), row["status"]) for row in rows]

    async def bot_seats(self, after: str, limit: int) -> tuple[list[BotSeat], str | None]:
        """Seats that bots have at tables that wait or play, among the `limit` tables whose ids come after `after`; and the last of these,
        `None` when there are no more.
        """
        rows = await self._database.fetch(
            f"""
            SELECT t.table_id, t.state FROM "{self._schema}".tables t LEFT JOIN "{self._schema}".progress p USING (table_id)
            WHERE t.table_id > $1 AND (p.status = 'playing' OR (p.table_id IS NULL AND t.status IN ('open', 'full', 'starting')))
            ORDER BY t.table_id LIMIT {limit}
            """,  # noqa: S608 - our own schema's name, a number
            after,
        )
        found: list[BotSeat] = []
        for row in rows:
            table = _decode_seats(row["state"])
            for seat in range(table.players - table.bots, table.players):
                player = table.seats[seat]
                if player is not None:
                    found.append(BotSeat(row["table_id"], seat, player, table.ready[seat]))
        return found, rows[-1]["table_id"] if len(rows) == limit else None

    async def as_of(self) -> int:
        """The time of the newest commit in the rows, milliseconds since 1970; 0 when there is none."""
        rows = await self._database.fetch(f'SELECT max(at) AS at FROM "{self._schema}".checkpoint')  # noqa: S608 - our own schema's name
        return rows[0]["at"] or 0

    async def progress(self, table_id: str) -> str | None:
        """The status that the rows know from the table's own log; None when they know none, or Postgres is away."""
        try:
            rows = await self._database.fetch(f'SELECT status FROM "{self._schema}".progress WHERE table_id = $1', table_id)  # noqa: S608 - see `as_of`
        except PASSING:
            return None
        return rows[0]["status"] if rows else None

    async def erased(self) -> list[str]:
        """Everybody who is erased, as far as the rows know. Raises what Postgres raises."""
        rows = await self._database.fetch(f'SELECT player FROM "{self._schema}".erased')  # noqa: S608 - see `as_of`
        return [row["player"] for row in rows]

    async def without_key(self) -> int:
        """How many players are not erased, as far as the rows know, and have no key in the vault. Raises what Postgres raises."""
        rows = await self._database.fetch(
            f'SELECT count(*) FROM "{self._schema}".players p'  # noqa: S608 - see `as_of`
            f" WHERE NOT EXISTS (SELECT FROM {self._vault.table} k WHERE k.person = p.player)"
        )
        return int(rows[0]["count"])

    async def names(self, players: Iterable[str]) -> dict[str, str]:
        """What `players` are called; without those that are erased, and empty when Postgres, which keeps the keys, is away."""
        wanted = list(dict.fromkeys(players))
        if not wanted:
            return {}
        try:
            keys = await self._vault.keys(wanted)
            rows = await self._database.fetch(f'SELECT player, name FROM "{self._schema}".players WHERE player = ANY($1)', wanted)  # noqa: S608 - see `as_of`
        except PASSING as away:
            log.warning("names_unavailable", reason=type(away).__name__)
            return {}
        sealed = {row["player"]: _decode(row["name"]) for row in rows}
        for player in keys.keys() - sealed.keys():  # signed up a moment ago: the rows are not there yet
            if (name := (await self._players.load(player)).state.name) is not None:
                sealed[player] = name
        return {player: open_personal(keys[player], "name", box) for player, box in sealed.items() if player in keys}


def _conditions(wanted: Wanted) -> tuple[list[str], list[Any]]:
    where, values = ["true"], list[Any]()

    def hold(condition: str, *more: Any) -> None:
        numbers = [f"${len(values) + place + 1}" for place in range(len(more))]
        where.append(condition.format(*numbers))
        values.extend(more)

    if wanted.status in LOBBY_STATUSES:
        hold("t.status = {} AND p.table_id IS NULL", wanted.status)
    elif wanted.status is not None:
        hold("p.status = {}", wanted.status)
    if wanted.preset is not None:
        hold("t.preset = {}", wanted.preset)
    if wanted.wants_bots:
        hold("t.wants_bots")
    if not wanted.private:
        hold("t.public")
    if wanted.after is not None:
        hold("(t.opened_at, t.table_id) < ({}::bigint, {}::text)", *wanted.after)
    return where, values
