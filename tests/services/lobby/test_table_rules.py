"""The table as an aggregate: laws that hold after any commands in any order."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.lobby import tables
from services.lobby.tables import Table, evolve, initial
from services.lobby.terms import OpenTable, Terms, agree
from services.table.openings import opening
from shared.eventlog.memory import MemoryLog
from shared.events.keys import MasterKeys
from shared.events.lobby_events import PlayerReady, SeatTaken, TableFilled, TableOpened
from shared.rules.convention.options import PRESETS, resolve, to_document
from shared.rules.language.refusal import Malformed, Refused

HUMANS, BOTS = ("anna", "boris", "vera", "gleb"), ("robot", "golem")
HOST = "anna"
AT = 1_800_000_000_000

commands = st.lists(
    st.one_of(
        st.tuples(st.just("sit"), st.sampled_from(HUMANS + BOTS), st.sampled_from((None, 0, 1, 2, 3))),
        st.tuples(st.sampled_from(("leave", "ready", "ready", "close")), st.sampled_from(HUMANS + BOTS), st.none()),
    ),
    max_size=40,
)


def opened(bots: int) -> Table:
    terms = agree(OpenTable(bots=bots))
    assert not isinstance(terms, Refused)
    return after(initial(tables.address_of("0-x")), tables.open_table(initial(tables.address_of("0-x")), HOST, terms))


def decide(table, command):
    what, player, seat = command
    match what:
        case "sit":
            return tables.sit(table, player, seat, bot=player in BOTS)
        case "leave":
            return tables.leave(table, player)
        case "ready":
            return tables.ready(table, player)
    return tables.close(table, player)


def after(table, events):
    for event in () if isinstance(events, Refused) else events:
        table = evolve(table, event, AT)
    return table


@given(bots=st.integers(0, 2), said=commands)
def test_laws(bots, said):
    """Nobody has two seats; bots sit on their seats and only there; a table fills once, with whoever then sits, and never changes again; a
    repeated command decides to nothing, or is refused as it was.
    """
    table, filled = opened(bots), []
    for command in said:
        before, decision = table, decide(table, command)
        table = after(table, decision)
        seated = [player for player in table.seats if player is not None]
        assert len(seated) == len(set(seated))
        assert all((player in BOTS) == table.for_bot(seat) for seat, player in enumerate(table.seats) if player is not None)
        assert not any(ready and player is None for player, ready in zip(table.seats, table.ready, strict=True))
        if before.status != "open":
            assert table == before
        if not isinstance(decision, Refused):
            filled += [event for event in decision if isinstance(event, TableFilled)]
        again = decide(table, command)
        assert again == (decision if isinstance(decision, Refused) else ())
    assert len(filled) == (table.status == "starting")
    assert all(event.seats == table.seats for event in filled)


def test_a_table_is_opened_once():
    """Opening a table that is there decides to nothing."""
    table = opened(0)
    terms = agree(OpenTable())
    assert tables.open_table(table, "boris", terms) == ()


async def test_a_table_is_found_again_after_a_new_master_key():
    """Opening repeated under its key, after another master key was put in front, gives the first table and opens no second."""
    old, new = ("old", bytes(range(32))), ("new", bytes(range(1, 33)))
    log, order, terms = MemoryLog(), tables.Order(HOST, "my key", AT, "r1"), agree(OpenTable())
    first = await tables.Tables(log, MasterKeys((old,))).open(order, terms)
    again = await tables.Tables(log, MasterKeys((new, old))).open(order, terms)
    assert (again.repeated, again.loaded.address) == (True, first.loaded.address)


def test_the_last_ready_is_one_commit():
    """The last `ready` and the filled table are one decision: no instance can stop between them."""
    table = opened(0)
    for seat, player in enumerate(("anna", "boris", "vera")):
        table = after(table, (SeatTaken(seat, player),))
    table = after(table, (PlayerReady(0, "anna"), PlayerReady(1, "boris")))
    ready, filled = tables.ready(table, "vera")
    assert ready == PlayerReady(2, "vera")
    assert (filled.seats, filled.players, filled.target) == (("anna", "boris", "vera"), 3, 10)


@pytest.mark.parametrize("option", [{"shared_misere": True}, {"misere_no_talon": True}, {"ends_when": "time:60", "help": "none"}])
@pytest.mark.parametrize("preset", PRESETS)
def test_every_option_of_every_preset_is_played_at_a_table(preset, option):
    """A table is opened on any preset, dark calls, time limits, shared misere and misere without the talon included."""
    for wanted in (preset, {"preset": preset, **option}):
        terms = agree(OpenTable(convention=wanted, players=4))
        assert terms.convention == to_document(resolve(wanted, terms.target))


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_1_2_tables_of_two_to_five(players):
    """A table has a seat a player, all but the host's may be kept for bots, and when all are ready its pulka can begin (1.2)."""
    terms = agree(OpenTable(players=players, bots=players - 1))
    with pytest.raises(Malformed, match="bots"):
        agree(OpenTable(players=players, bots=players))
    empty = initial(tables.address_of("0-x"))
    table = after(empty, tables.open_table(empty, HOST, terms))
    everybody = (HOST, *(f"robot-{seat}" for seat in range(1, players)))
    for player in everybody:
        table = after(table, tables.sit(table, player, None, bot=player != HOST))
    for player in everybody:
        said = tables.ready(table, player)
        table = after(table, said)
    (filled,) = [event for event in said if isinstance(event, TableFilled)]
    assert filled.seats == everybody
    assert filled.terms["bots"] == players - 1  # whoever reads the table's log knows by it that they play
    begins = opening(filled, 7)
    assert (begins.players, begins.seats, begins.lot) == (players, everybody, 7)


def test_conventions_that_need_no_target():
    """A convention that ends by deals or time has no target unless one is asked for; the others play to 10 (4.2.2)."""
    by_deals = {"preset": "leningrad", "ends_when": "deals:8"}
    assert agree(OpenTable(convention=by_deals)).target is None
    assert agree(OpenTable(convention=by_deals, target=5)).target == 5
    assert agree(OpenTable(convention="leningrad")).target == 10


def test_what_was_opened_is_what_was_agreed():
    """The table holds exactly the terms it was opened on."""
    terms = agree(OpenTable(bots=1))
    (event,) = tables.open_table(initial(tables.address_of("0-x")), HOST, terms)
    assert event == TableOpened(HOST, terms.convention, 3, 10, terms.terms, 1)
    table = after(initial(tables.address_of("0-x")), (event,))
    assert (table.seats, table.ready, table.opened_at) == ((None,) * 3, (False,) * 3, AT)


@pytest.mark.parametrize("wanted", [OpenTable(), OpenTable(convention="leningrad", mode="adjudicated", stake="7/100", rated=False)])
def test_agreed_terms_are_as_the_log_gives_them_back(wanted):
    """An answer shows them; the repeat of its request after a restart shows what was read, and is the same to the byte."""
    agreed = agree(wanted)
    assert isinstance(agreed, Terms)
    for document in (agreed.convention, agreed.terms):
        assert msgspec.json.encode(document) == msgspec.json.encode(document, order="deterministic")
