"""A table's snapshots: exact, small, without a secret, and never needed."""

import json
import random

import pytest

from services.table.table import TableBooks, fold, initial
from services.table.tables import Tables
from services.table.view import view
from shared.eventlog import snapshots
from shared.eventlog.aggregates.aggregates import Committed
from shared.eventlog.aggregates.packing import Unpackable
from shared.eventlog.memory import MemoryLog, MemoryStore
from shared.eventlog.snapshots import LARGEST, STATE
from shared.events import address
from shared.events.commit import decode
from shared.events.keys import UnknownKey
from shared.events.sealed import TamperedBox
from shared.events.sealing import TableCodec
from tests.services.ledger.played import KEYS as PLAYED_KEYS
from tests.services.ledger.played import PlayedTable
from tests.services.table import kept_folds
from tests.services.table.misplaying import JUDGE, Misplaying
from tests.services.table.playing import KEYS, TABLE_ID, Playing

WHERE = address.table(TABLE_ID)
UNREADABLE = (Unpackable, TamperedBox, UnknownKey)
BOOKS = TableBooks(TableCodec(KEYS))
GAMES = [
    {"convention": "sochi", "players": 3},
    {"convention": "leningrad", "players": 4},
    {"convention": "rostov", "players": 5},
    {"convention": "code", "players": 2},
    {"convention": "classic", "players": 4},  # dark calls, bombs, opening rounds
]
COURTS = [
    {"terms": {"arbiter": JUDGE}},
    {"terms": {"entries": "by_hand"}},
]


async def closed_states(playing, commits):
    """Every state of `playing` at which the books were closed, and whether the pulka was over at the end."""
    found = []
    for _ in range(commits):
        if (await playing.table()).pulka.status == "over":
            break
        outcome = await playing.step()
        if isinstance(outcome, Committed) and BOOKS.closes(outcome.loaded, outcome.events):
            found.append(outcome.loaded.state)
    return found


@pytest.mark.parametrize("game", [*GAMES, *COURTS], ids=str)
async def test_a_state_comes_out_as_it_went_in(game):
    """Exactly: equal records, of the same types, and every viewer sees the same."""
    playing = await (Misplaying(seed=3, target=9, wild=0.1, **game) if "convention" not in game else Playing(seed=3, **game)).open()
    states = await closed_states(playing, 900)
    assert len(states) > 2
    for state in states:
        data = BOOKS.pack(WHERE, state)
        again = BOOKS.unpack(WHERE, data)
        assert again == state
        assert repr(again) == repr(state)
        assert len(data) < LARGEST // 2
        for seat in (None, *range(state.pulka.players)):
            assert view(again, seat, "", 0, ()) == view(state, seat, "", 0, ())


def test_what_is_kept_of_one_table_is_read_at_no_other():
    """And under no other key; nothing of it can be read without one."""
    table = initial(WHERE)
    data = BOOKS.pack(WHERE, table)
    assert TABLE_ID.encode() not in data
    with pytest.raises(UNREADABLE):
        BOOKS.unpack(address.table("0-" + "a" * 26), data)
    with pytest.raises(UNREADABLE):
        TableBooks(TableCodec(PLAYED_KEYS)).unpack(WHERE, data)
    assert BOOKS.unpack(WHERE, data) == table


async def test_a_table_that_is_pushed_out_of_memory_is_kept_as_it_is():
    """In the middle of a deal too: who touches it next reads one commit, and sees the same; no card of it can be read."""
    playing = await Playing("leningrad", players=4, target=3, seed=9).open()
    table = await playing.until("play")
    tables = Tables(playing.log, TableCodec(KEYS), capacity=0)
    await tables.load(TABLE_ID)
    await tables.load(address.new_id(bytes(17)).replace("0-", "1-"))  # nothing there, so it stays
    other = Playing("sochi", seed=4)
    other.store = playing.store
    await tables.open(address.new_id(b"x" * 17), other.opening, playing.now, None)
    await tables.drain()
    part = playing.store.snapshots.kept[WHERE, STATE]
    kept = snapshots.decode(part)
    assert kept.revision == table.revision
    assert max(table.pulka.secrets.hands, key=len).encode() not in part
    assert (await Tables(MemoryLog(playing.store), TableCodec(KEYS)).load(TABLE_ID)).state == table


async def test_between_deals_nothing_is_hidden():
    """No seed and no card of a deal in progress: there is none, and the cards of the last one are revealed."""
    playing = await Playing("leningrad", players=4, target=3, seed=9).open()
    for state in await closed_states(playing, 400):
        assert (state.hidden, state.pulka.deal, state.pulka.commitment) == ((), None, "")
        assert state.pulka.secrets == type(state.pulka.secrets)()


@pytest.mark.slow
async def test_a_table_of_a_hundred_deals_has_a_small_snapshot():
    """At most 8 KB a part, and what a first touch reads is one deal at most."""
    store = MemoryStore()
    log = MemoryLog(store)
    played = PlayedTable(log, 7, players=4, target=500)
    while played.pulka.number < 101:
        await played.step()
    tables = Tables(log, TableCodec(PLAYED_KEYS))
    whole = await tables.load(played.id)
    await tables.drain()
    assert {part: len(data) <= LARGEST for (_, part), data in store.snapshots.kept.items()} == {
        STATE: True,
        **{f"keys-{first}": True for first in range(1, whole.revision, 512)},
    }
    kept = snapshots.decode(store.snapshots.kept[played.address, STATE])
    assert whole.revision - kept.revision < 60
    assert await Tables(MemoryLog(store), TableCodec(PLAYED_KEYS)).load(played.id) == whole


@pytest.mark.parametrize("seed", range(3))
async def test_deleting_at_random_while_a_table_plays_changes_nothing(seed):
    """Two instances that keep one table at most, their snapshots deleted and put back at random: the log folds to what was played."""
    lot = random.Random(seed)
    playing = await (Misplaying(seed=seed, target=3, wild=0.1) if seed else Playing(seed=seed, target=3)).open()
    kept, once_kept, parts = playing.store.snapshots.kept, [], set()
    while (await playing.table()).pulka.status != "over":
        if kept and lot.random() < 0.1:
            part = lot.choice(list(kept))
            once_kept.append((part, kept.pop(part)))
        if once_kept and lot.random() < 0.05:
            part, data = lot.choice(once_kept)
            kept[part] = data
        if lot.random() < 0.2:
            playing.tables = Tables(MemoryLog(playing.store), TableCodec(KEYS), capacity=0)
        await playing.step()
        await playing.tables.drain()
        parts |= {part for _, part in kept}
    assert STATE in parts
    table = initial(address.table(TABLE_ID))
    for stored in playing.store.aggregate(address.table(TABLE_ID)):
        commit = decode(stored.data)
        table = fold(table, commit, playing.tables.codec.open(commit))
    assert table == (await playing.table())


@pytest.mark.parametrize(
    "data",
    [b"", b"\xc0", b"tests:", BOOKS.pack(WHERE, initial(WHERE))[:-1], b"x" + BOOKS.pack(WHERE, initial(WHERE))],
    ids=["nothing", "none", "no box", "cut off", "another key"],
)
def test_what_no_packing_has_made_is_not_unpacked(data):
    """An error that the reader of snapshots passes over."""
    with pytest.raises(UNREADABLE):
        BOOKS.unpack(WHERE, data)


def test_a_fold_that_makes_another_state_has_another_version():
    """Else a newer program would go on from what an older one has folded in its own way: raise `FOLD`, and write down anew what is kept."""
    known = json.loads(kept_folds.KEPT.read_text(encoding="utf-8"))
    now = kept_folds.folds()
    assert now["digest"] == known["digest"] or now["fold"] != known["fold"], (
        "fold makes another state: raise FOLD in services/table/table.py"
    )
    assert now == known, "write it down: python -m tests.services.table.kept_folds"
