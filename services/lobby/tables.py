"""A table before its pulka: opened, filled seat by seat, ready. Events (`lobby_events`) · State and evolve · decide · the service.

Its pulka begins at the table service, under the same id, from `TableFilled`; from then on the table's own log says how it fares.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Callable
from typing import Any, Final

import msgspec

from services.lobby.terms import Terms
from shared.eventlog.aggregates.aggregates import Aggregates, Committed, Loaded, Nothing, RefusedAt, Request
from shared.eventlog.aggregates.closed_books import RegularBooks
from shared.eventlog.port import EventLog
from shared.events.address import Address
from shared.events.commit import Commit
from shared.events.keys import MasterKeys, command_digest, former_digests
from shared.events.lobby_events import AnyLobbyEvent, PlayerReady, SeatLeft, SeatTaken, TableElsewhere, TableFilled, TableOpened, TableOver
from shared.events.sealing import LobbyCodec
from shared.rules.convention.rules_digest import rules_digest
from shared.rules.language.refusal import Refused

# ---- State and evolve --------------------------------------------------------------------------------------------------


class Table(msgspec.Struct, frozen=True):
    """A table as the lobby's log leaves it. `status`: `none` (no such table), `open`, `starting` (all ready, terms final), `closed`.

    `seats` are player ids clockwise, None where free; the last `bots` seats are kept for bots. `opened_at`: milliseconds since 1970.
    """

    id: str
    status: str = "none"
    host: str = ""
    convention: dict[str, Any] = {}
    players: int = 0
    target: int | None = None
    terms: dict[str, Any] = {}
    bots: int = 0
    seats: tuple[str | None, ...] = ()
    ready: tuple[bool, ...] = ()
    keys: tuple[str, ...] = ()  # public ones, with which players sign their moves, "" without one
    ends: tuple[str, ...] = ()  # of the chains that players have promised, by seat, "" without one
    opened_at: int = 0
    revision: int = 0
    stood_up: frozenset[str] = frozenset()  # players who had a seat and left it, so that leaving twice is leaving once
    elsewhere: str = ""  # the table that was opened instead of this one, which then stays `none`

    def seat_of(self, player: str) -> int | None:
        """The player's seat, None without one."""
        return self.seats.index(player) if player in self.seats else None

    def for_bot(self, seat: int) -> bool:
        """Whether the seat is kept for a built-in player."""
        return seat >= self.players - self.bots

    def free(self, *, bots: bool) -> list[int]:
        """The free seats of one kind, in order."""
        return [seat for seat, player in enumerate(self.seats) if player is None and self.for_bot(seat) == bots]


def initial(where: Address) -> Table:
    """A table that nobody has opened."""
    return Table(where.id)


def evolve(table: Table, event: AnyLobbyEvent, at: int) -> Table:
    """The table after `event`, which happened at `at`."""
    change = msgspec.structs.replace
    match event:
        case TableOpened(players=players):
            return Table(
                id=table.id,
                status="open",
                host=event.host,
                convention=event.convention,
                players=players,
                target=event.target,
                terms=event.terms,
                bots=event.bots,
                seats=(None,) * players,
                ready=(False,) * players,
                ends=("",) * players,
                keys=("",) * players,
                opened_at=at,
            )
        case SeatTaken(seat=seat, player=player):
            return _seated(table, seat, player)
        case SeatLeft(seat=seat, player=player):
            return change(_seated(table, seat, None), stood_up=table.stood_up | {player})
        case PlayerReady(seat=seat, end=end, key=key):
            brought = change(table, ends=_with(table.ends, seat, value=end), keys=_with(table.keys, seat, value=key))
            return change(brought, ready=_with(table.ready, seat, value=True))
        case TableFilled():
            return change(table, status="starting")
        case TableOver():
            return change(table, status="closed")
        case TableElsewhere(table=other):
            return change(table, elsewhere=other)
    return table


def _seated(table: Table, seat: int, player: str | None) -> Table:
    """Somebody, or nobody, on a seat, and what was said from there forgotten."""
    return msgspec.structs.replace(
        table,
        seats=_with(table.seats, seat, value=player),
        ready=_with(table.ready, seat, value=False),
        ends=_with(table.ends, seat, value=""),
        keys=_with(table.keys, seat, value=""),
    )


def fold(table: Table, commit: Commit, events: tuple[AnyLobbyEvent, ...]) -> Table:
    """The table after one commit."""
    for event in events:
        table = evolve(table, event, commit.at)
    return msgspec.structs.replace(table, revision=commit.revision)


#: A table that is open for long, where people sit down and stand up, has many.
BOOKS: Final = RegularBooks(Table, fold=1, every=64)


def _with(values: tuple[Any, ...], place: int, *, value: Any) -> tuple[Any, ...]:
    return (*values[:place], value, *values[place + 1 :])


# ---- decide: a repeat decides to nothing -------------------------------------------------------------------------------

Decision = tuple[AnyLobbyEvent, ...] | Refused

NO_SUCH_TABLE: Final = Refused("no_such_table", "", "There is no such table.")
ARBITER: Final = Refused("arbiter_has_no_seat", "4.2.16", "You are this table's arbiter; an arbiter takes no seat.")
NEVER_SAT: Final = Refused("not_seated", "", "You have no seat at this table to leave.")
STARTED: Final = Refused("table_started", "", "All players were ready, so the seats and terms of this table are final.")
CLOSED: Final = Refused("table_closed", "", "The host has closed this table.")


def open_table(table: Table, host: str, terms: Terms) -> Decision:
    """`host` opens a table on `terms`."""
    if table.status != "none" or table.elsewhere:
        return ()
    return (TableOpened(host, terms.convention, terms.players, terms.target, terms.terms, terms.bots),)


def leave_to(table: Table, other: str) -> Decision:
    """The command of `table` opens `other` instead, unless it is opened here already."""
    return (TableElsewhere(other),) if table.status == "none" and not table.elsewhere else ()


def sit(table: Table, player: str, seat: int | None, *, bot: bool) -> Decision:
    """`player` takes `seat`, or the first free one of their kind: the last seats are for bots, and bots take no others."""
    if table.status == "none":
        return NO_SUCH_TABLE
    if player == table.terms.get("arbiter"):
        return ARBITER
    seated = table.seat_of(player)
    if seated is not None and seat in (None, seated):
        return ()
    if refused := _no_longer_open(table):
        return refused
    if seated is not None:
        return Refused("already_seated", "", f"You sit on seat {seated}; leave it first.")
    free = table.free(bots=bot)
    if seat is None:
        return (SeatTaken(free[0], player),) if free else Refused("table_full", "", "No seat is free for you.")
    if seat >= table.players:
        return Refused("no_such_seat", "", f"This table has seats 0 to {table.players - 1}.")
    if table.seats[seat] is not None:
        return Refused("seat_taken", "", "That seat is taken.")
    if seat not in free:
        return Refused("seat_reserved", "", "A bot takes only a seat that is kept for bots." if bot else "This seat is kept for a bot.")
    return (SeatTaken(seat, player),)


def leave(table: Table, player: str) -> Decision:
    """`player` stands up, as long as the pulka has not begun."""
    if table.status == "none":
        return NO_SUCH_TABLE
    seat = table.seat_of(player)
    if seat is None:
        return () if player in table.stood_up else NEVER_SAT
    return _no_longer_open(table) or (SeatLeft(seat, player),)


def ready(table: Table, player: str, end: str = "", key: str = "") -> Decision:
    """`player` is ready, promises the chain with this `end` and signs with this `key`, if there are any; when they are the last of a full
    table, its terms are final and its pulka can begin.
    """
    if table.status == "none":
        return NO_SUCH_TABLE
    seat = table.seat_of(player)
    if seat is None:
        return Refused("not_seated", "", "Only a player at the table can be ready.")
    if table.ready[seat]:
        return ()
    if refused := _no_longer_open(table):
        return refused
    said = PlayerReady(seat, player, end, key)
    if not all(_with(table.ready, seat, value=True)):
        return (said,)
    digest = rules_digest(table.convention, table.players, table.target, table.terms)
    seats = tuple(player for player in table.seats if player is not None)
    ends, keys = _with(table.ends, seat, value=end), _with(table.keys, seat, value=key)
    brought = (ends if any(ends) else (), keys if any(keys) else ())
    return (said, TableFilled(table.convention, digest, table.players, table.target, seats, table.terms, *brought))


def close(table: Table, player: str) -> Decision:
    """The host gives the table up before its pulka."""
    match table.status:
        case "none":
            return NO_SUCH_TABLE
        case "starting":
            return STARTED
    if player != table.host:
        return Refused("not_the_host", "", "Only the host can close the table.")
    return () if table.status == "closed" else (TableOver("abandoned"),)


def _no_longer_open(table: Table) -> Refused | None:
    return {"starting": STARTED, "closed": CLOSED}.get(table.status)


# ---- The service: load, decide, append ---------------------------------------------------------------------------------

Result = Committed[Table, AnyLobbyEvent] | RefusedAt | Nothing[Table]


class Order(msgspec.Struct, frozen=True):
    """Who wants something done (`bot`: a built-in player), under which idempotency key (None: it will not be repeated), when
    (milliseconds since 1970), and in which HTTP request.
    """

    player: str
    key: str | None
    now: int
    request_id: str
    bot: bool = False


class Tables:
    """Commands on the lobby's tables."""

    def __init__(self, log: EventLog, keys: MasterKeys) -> None:
        self._log = log
        self._keys = keys
        self._aggregates: Aggregates[Table, AnyLobbyEvent] = Aggregates(log, LobbyCodec(), initial, fold, books=BOOKS)
        self.cache = self._aggregates.cache

    async def load(self, table_id: str, *, at_leader: bool = False) -> Loaded[Table]:
        """The table; status `none` when there is none."""
        return await self._aggregates.load(address_of(table_id), at_leader=at_leader)

    async def open(self, order: Order, terms: Terms) -> Result:
        """A new table. Its id follows from host and key, so that a repeat finds the first one, in whichever partition that was made."""
        key = self._keys.digest_key("table ids", self._keys.ids[-1])  # no aggregate is called so; a new key in front changes no id
        made_of = secrets.token_bytes(32) if order.key is None else hmac.digest(key, f"{order.player} {order.key}".encode(), "sha256")
        partitions = self._log.partitions
        own, last = partitions.new_id(made_of), partitions.last_id(made_of)
        if order.key is None:
            return await self._open(own, order, terms)
        if before := await self._made_before([one for one in partitions.former_ids(made_of) if one != last]):
            return await self._open(before, order, terms)
        if own == last:
            done = await self._open(last, order, terms)
            elsewhere = "" if isinstance(done, RefusedAt) else done.loaded.state.elsewhere
            return await self._open(elsewhere, order, terms) if elsewhere else done
        return await self._open(await self._agreed(own, last, order), order, terms)

    async def _open(self, table_id: str, order: Order, terms: Terms) -> Result:
        return await self._transact(table_id, order, ("open", terms), lambda table: open_table(table, order.player, terms))

    async def _made_before(self, ids: list[str]) -> str | None:
        """That one of `ids` under which the command has opened a table while fewer partitions were used."""
        heads = await asyncio.gather(*(self._log.newest(address_of(one)) for one in ids))  # a leader that is cut off may not know it
        return next((one for one, head in zip(ids, heads, strict=True) if head is not None), None)

    async def _agreed(self, own: str, last: str, order: Order) -> str:
        """Where a command is carried out by an instance that knows more partitions than it uses.

        One that uses all would open the table at `last`. So it is said there first that it is opened at `own`, unless that other was first
        and has opened it. Whichever instances have the command at the same time, there is one table.
        """
        without_key = msgspec.structs.replace(order, key=None)  # it stands for opening the table, and this does not
        done = await self._transact(last, without_key, ("elsewhere", own), lambda table: leave_to(table, own))
        return last if isinstance(done, RefusedAt) else done.loaded.state.elsewhere or last

    async def sit(self, table_id: str, order: Order, seat: int | None) -> Result:
        """Take a seat."""
        return await self._transact(table_id, order, ("sit", seat), lambda table: sit(table, order.player, seat, bot=order.bot))

    async def leave(self, table_id: str, order: Order) -> Result:
        """Leave one's seat."""
        return await self._transact(table_id, order, ("leave",), lambda table: leave(table, order.player))

    async def ready(self, table_id: str, order: Order, end: str = "", key: str = "") -> Result:
        """Be ready, with the end of one's chain and one's public key or without."""
        payload = ("ready", end, key) if end or key else ("ready",)
        return await self._transact(table_id, order, payload, lambda table: ready(table, order.player, end, key))

    async def close(self, table_id: str, order: Order) -> Result:
        """Close the table."""
        return await self._transact(table_id, order, ("close",), lambda table: close(table, order.player))

    async def drain(self) -> None:
        """Wait for what was begun."""
        await self._aggregates.drain()

    async def _transact(self, table_id: str, order: Order, payload: tuple[Any, ...], decide: Callable[[Table], Decision]) -> Result:
        where = address_of(table_id)
        encoded = msgspec.json.encode(payload, order="deterministic")
        request = Request(
            command_id=order.key or secrets.token_hex(16),
            actor=order.player,
            digest=command_digest(self._keys, where.subject, encoded),
            now=order.now,
            correlation=order.request_id,
            former_digests=former_digests(self._keys, where.subject, encoded),
        )
        return await self._aggregates.transact(where, request, lambda loaded, _at: decide(loaded.state))


def address_of(table_id: str) -> Address:
    """Where the lobby's log of a table lies; its pulka's lies under `address.table` with the same id."""
    return Address("lobby", "table", table_id)
