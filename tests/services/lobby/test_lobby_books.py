"""Lobby aggregates that grow are kept now and then too: who logs in for years is not folded from the first day."""

import secrets

from services.lobby import players, tables
from services.lobby.players import Player
from services.lobby.tables import Table
from shared.eventlog import snapshots
from shared.eventlog.aggregates.aggregates import Aggregates
from shared.eventlog.memory import MemoryLog, MemoryStore
from shared.eventlog.snapshots import STATE
from shared.events.address import Address, new_id
from shared.events.lobby_events import PlayerReady, SeatLeft, SeatTaken, TableOpened
from shared.events.sealing import LobbyCodec
from tests.contracts.counter import request

WHERE = Address("lobby", "table", new_id(bytes(17)))


async def test_a_table_where_people_come_and_go_is_kept_every_64_commits():
    """It comes out of its snapshot as it went in, sets of players included, and few commits are folded."""
    store, where = MemoryStore(), Address("lobby", "table", new_id(secrets.token_bytes(17)))
    instance = Aggregates(MemoryLog(store), LobbyCodec(), tables.initial, tables.fold, books=tables.BOOKS)
    opened = TableOpened("host", {"preset": "sochi"}, 3, 10, {})
    events = [opened, *(one for seat in range(100) for one in (SeatTaken(seat % 3, f"p{seat}"), SeatLeft(seat % 3, f"p{seat}")))]
    for number, event in enumerate([*events, SeatTaken(1, "ann"), PlayerReady(1, "ann")]):
        await instance.transact(where, request(f"c{number}"), lambda _loaded, _at, event=event: (event,))
    await instance.drain()
    kept = snapshots.decode(store.snapshots.kept[where, STATE])
    assert kept.revision == 192
    fresh = Aggregates(MemoryLog(store), LobbyCodec(), tables.initial, tables.fold, books=tables.BOOKS)
    loaded = await fresh.load(where)
    assert loaded == await instance.load(where)
    assert (len(loaded.state.stood_up), loaded.state.seats) == (100, (None, "ann", None))


def test_states_come_out_as_they_went_in():
    """Of a player and of a table, with nothing and with something in every field that is not sealed."""
    for state in (
        Player("a"),
        Player("a", bot=True, erased=True),
        Table("b"),
        Table("b", "open", seats=("a", None), stood_up=frozenset("xyz")),
    ):
        books = players.BOOKS if isinstance(state, Player) else tables.BOOKS
        assert books.unpack(WHERE, books.pack(WHERE, state)) == state
