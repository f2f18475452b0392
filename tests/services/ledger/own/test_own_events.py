"""The ledger's own events: durable once, whoever sends them how often."""

from __future__ import annotations

import msgspec
import pytest

from services.ledger.own.own_events import ARCHIVE, OwnEvents, parking_of, versions_of
from shared.eventlog.aggregates.aggregates import Mismatch
from shared.eventlog.memory import MemoryLog
from shared.events.chain import verify_chain
from shared.events.ledger_events import ParkedRetried, TableArchived, VersionSwitched

SWITCHED = VersionSwitched("books", 3, 2, {"TABLE_0": 17}, "ann")
ARCHIVED = TableArchived("3-a", "club.ndjson.gz", "0" * 64, 12, "f" * 64, "ann")


async def test_an_event_is_stored_once_also_by_two_processes():
    """Two writers that know nothing of each other send the same command: one commit, and both are content."""
    log = MemoryLog()
    for _ in range(2):
        await OwnEvents(log).append(versions_of("books"), "switch:3", 1_000, SWITCHED)
    found = await OwnEvents(log).read(versions_of("books"))
    assert [(commit.revision, commit.at, event) for commit, event in found] == [(1, 1_000, SWITCHED)]


async def test_a_command_id_stands_for_one_thing_only():
    """The same command id with another event is refused, and nothing is stored."""
    own = OwnEvents(MemoryLog())
    await own.append(ARCHIVE, "archive:3-a", 1_000, ARCHIVED)
    with pytest.raises(Mismatch):
        await own.append(ARCHIVE, "archive:3-a", 2_000, TableArchived("3-a", "other.gz", "1" * 64, 12, "f" * 64, "ann"))
    assert [event for _, event in await own.read(ARCHIVE)] == [ARCHIVED]


async def test_what_lies_in_the_log_is_a_chain():
    """Each question has its own chain of commits, as every aggregate has."""
    log = MemoryLog()
    own = OwnEvents(log)
    for number in range(3):
        await own.append(parking_of("books"), f"retry:{number}", number, ParkedRetried("table.3.3-a", number, "ann"))
    records = await log.read(parking_of("books"))
    assert {recorded.stream for recorded in records} == {"LEDGER"}
    assert verify_chain([recorded.data for recorded in records], parking_of("books").subject, {}).verified


async def test_f20_an_event_that_lies_in_the_log_twice_is_read_once():
    """F20: the last commit published once more is the same commit: it is read once, and the next event follows it."""
    log = MemoryLog()
    own = OwnEvents(log)
    await own.append(ARCHIVE, "archive:3-a", 1_000, ARCHIVED)
    (stored,) = await log.read(ARCHIVE)
    await log.append(ARCHIVE, stored.data, stored.sequence)
    assert [event for _, event in await own.read(ARCHIVE)] == [ARCHIVED]
    await own.append(ARCHIVE, "archive:3-b", 2_000, msgspec.structs.replace(ARCHIVED, table="3-b"))
    assert [(commit.revision, event.table) for commit, event in await own.read(ARCHIVE)] == [(1, "3-a"), (2, "3-b")]
