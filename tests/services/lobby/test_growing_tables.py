"""One command opens one table, whichever instances have it, at the same time or one after the other, while the partitions grow."""

from __future__ import annotations

import asyncio

import pytest

from services.lobby.tables import Order, Tables
from services.lobby.terms import OpenTable, agree
from shared.eventlog.memory import MemoryLog, MemoryStore
from shared.events.address import MOST, Partitions
from shared.events.commit import decode
from shared.events.keys import MasterKeys

KEYS = MasterKeys((("test", bytes(range(32))),))
TERMS = agree(OpenTable())
STAGES = {  # which instances are there at the same time
    "all know eight": (Partitions(), Partitions()),
    "some know sixteen": (Partitions(), Partitions(16, 8)),
    "some use sixteen": (Partitions(16, 8), Partitions(16, 16)),
    "all use sixteen": (Partitions(16, 16), Partitions(16, 16)),
    "some know sixty-four": (Partitions(16, 16), Partitions(64, 16)),
    "some use sixty-four": (Partitions(64, 16), Partitions(64, 64)),
}
COMMANDS = [f"key-{number}" for number in range(40)]


def instances(store, partitions):
    return [Tables(MemoryLog(store, partitions=one), KEYS) for one in partitions]


async def opened(tables, key, now=1):
    """The id of the table that this command opens, or has opened."""
    result = await tables.open(Order("host", key, now, "request"), TERMS)
    assert result.loaded.state.status == "open"
    return result.loaded.address.id


def made(store):
    """Every table that was opened, by the command that did it."""
    found: dict[str, list[str]] = {}
    for partition in range(MOST):
        for stored in store.stream(f"LOBBY_{partition}"):
            commit = decode(stored.data)
            if b'"TableOpened"' in stored.data:
                found.setdefault(commit.command_id, []).append(stored.address.id)
    return found


@pytest.mark.parametrize("stage", STAGES)
async def test_at_the_same_time(stage):
    """However two instances of a stage interleave with the same commands, sent to each of them twice."""
    store = MemoryStore()
    one, two = instances(store, STAGES[stage])
    for order in ((one, two, one, two), (two, one, two, one)):
        for key in COMMANDS:
            ids = await asyncio.gather(*(opened(tables, f"{key}-{order[0] is one}") for tables in order))
            assert len(set(ids)) == 1
    assert {len(ids) for ids in made(store).values()} == {1}
    assert len(made(store)) == 2 * len(COMMANDS)


async def test_from_stage_to_stage():
    """A command that is repeated at any later stage, at either instance, finds the table that it opened."""
    store, first = MemoryStore(), dict[str, str]()
    for stage, partitions in STAGES.items():
        both = instances(store, partitions)
        for number, key in enumerate(COMMANDS):
            first[f"{stage}-{key}".replace(" ", "_")] = await opened(both[number % 2], f"{stage}-{key}".replace(" ", "_"))
        for key, table in first.items():
            assert {await opened(tables, key, now=2) for tables in both} == {table}
    assert {key: [table] for key, table in first.items()} == made(store)
    used = {
        stage: max(int(table.partition("-")[0]) for key, table in first.items() if key.startswith(stage.replace(" ", "_")))
        for stage in STAGES
    }
    assert used["some know sixteen"] < 8 <= used["all use sixteen"] < 16 <= used["some use sixty-four"]


async def test_a_place_that_was_left_stays_empty():
    """Where a command was said to be carried out elsewhere there is no table: nobody sits there, and no row tells of it."""
    store = MemoryStore()
    older, newer = instances(store, STAGES["some use sixteen"])
    tables = {key: await opened(older, key) for key in COMMANDS}
    left = [
        stored.address.id
        for partition in range(8, 16)
        for stored in store.stream(f"LOBBY_{partition}")
        if b'"TableElsewhere"' in stored.data
    ]
    assert left
    for table in left:
        loaded = await newer.load(table)
        assert (loaded.state.status, loaded.state.elsewhere in tables.values()) == ("none", True)
        sat = await newer.sit(table, Order("anna", "sit", 3, "request"), None)
        assert sat.refused.code == "no_such_table"
