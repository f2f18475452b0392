"""A table whose commits could not be read: what its readers are told, and what is left of it once somebody has looked."""

from __future__ import annotations

import pytest

from services.ledger.audit.verify import verify_table
from services.ledger.books import Books
from services.ledger.own.own_events import OwnEvents, parking_of
from services.ledger.own.parked import NotAnswered, ParkingChronicle, left_out, order_about, ordered, parked_tables
from shared.events import upcast
from shared.events.commit import SCHEMA
from shared.projections.parking.orders import RETRY, SKIP, Outcome
from shared.projections.versions.live_version import LiveVersion
from shared.projections.versions.rebuild import fingerprint, rebuild
from tests.partitions import TABLE_STREAMS
from tests.services.ledger.played import PlayedTable

pytestmark = pytest.mark.servers

ONE = TABLE_STREAMS[:1]  # the tests play in partition 0


@pytest.fixture
def record(log):
    return ParkingChronicle(OwnEvents(log), Books.name)


@pytest.fixture
async def projector(log, postgres_dsn, versions, connection, record):  # noqa: ARG001 - the connection clears away afterwards
    projector = LiveVersion(log, Books(), ONE, postgres_dsn, versions, chronicle=record)
    await projector.start()
    yield projector
    await projector.stop()


async def poisoned(log, projector, seed, *, before=20, after=15, **options):
    """A table in whose middle a later version of the program wrote one commit."""
    played = PlayedTable(log, seed, **options)
    if before:
        await played.play(commits=before)
    played.schema = SCHEMA + 1
    await played.step()
    played.schema = SCHEMA
    await played.play(commits=before + 1 + after)
    assert await projector.at_least.wait(played.commits[-1].position)
    return played


async def told(log):
    return [type(event).__name__ for _, event in await OwnEvents(log).read(parking_of(Books.name))]


async def rebuilt(connection, schema, dsn, log, record):
    """Whether the rows are those of a rebuild from the log alone."""
    await rebuild(log, Books(), ONE, dsn, schema + "_again", chronicle=record)
    again = await fingerprint(connection, schema + "_again")
    await connection.execute(f'DROP SCHEMA "{schema}_again" CASCADE')
    return again == await fingerprint(connection, schema)


async def test_what_is_parked_is_applied_by_a_program_that_knows_it(  # noqa: PLR0917 - fixtures
    log, projector, connection, schema, postgres_dsn, record, site, monkeypatch
):
    """Read by a later program, which knows the schema, what waited is applied like the rest, and the rows are those of a rebuild."""
    sick, well = await poisoned(log, projector, 41), await PlayedTable(log, 42).play(commits=30)
    assert await projector.at_least.wait(well.commits[-1].position)
    (waiting,) = await parked_tables(connection)
    assert (waiting.table_id, waiting.revision, waiting.reason, waiting.follow) == (sick.id, 21, "NewerSchema", 15)
    order = order_about(waiting, RETRY, "anna")
    assert await ordered(connection, log, Books(), record, [order]) == {order.id: Outcome(0, 16, 21, "NewerSchema")}
    monkeypatch.setattr(upcast, "SCHEMA", SCHEMA + 1)
    order = order_about(waiting, RETRY, "anna")
    assert await ordered(connection, log, Books(), record, [order]) == {order.id: Outcome(16)}
    assert (await site.read(sick, "/audit", limit=200))["position"] == sick.commits[-1].position
    assert "parked" not in await site.read(sick, "/sheet")
    assert projector.health()["status"] == "ok"
    assert await told(log) == ["CommitParked", "ParkedRetried"]
    assert await rebuilt(connection, schema, postgres_dsn, log, record)


async def test_readers_are_told_that_the_books_stopped(log, projector, site):
    """What is shown of a parked table is the state before the commit that could not be read, and says so; other tables say nothing."""
    sick, well = await poisoned(log, projector, 43, before=60, after=5), await PlayedTable(log, 44).play(commits=60)
    stopped = {"revision": 61, "reason": "NewerSchema"}
    for path in ("/sheet", "/deals", "/audit"):
        answer = await site.read(sick, path)
        assert (answer["parked"], answer["position"]) == (stopped, sick.commits[59].position)
        assert "parked" not in await site.read(well, path)
    file = await site.get(f"/tables/{sick.id}/score-file")
    assert file.headers["Pulka-Parked"] == "NewerSchema"
    assert "Pulka-Parked" not in (await site.get(f"/tables/{well.id}/score-file")).headers


async def test_whoever_sees_deals_late_is_not_told_how_far_play_is(log, projector, site):
    """A spectator of a delayed table learns that the books stopped and why, not at which commit; a player learns both."""
    late = {"spectators": {"delay_deals": 1}}
    sick = await poisoned(log, projector, 45, before=80, after=5, terms=late)
    assert (await site.read(sick, "/sheet"))["parked"] == {"revision": None, "reason": "NewerSchema"}
    assert (await site.read(sick, "/sheet", sick.seats[0]))["parked"] == {"revision": 81, "reason": "NewerSchema"}


async def test_a_table_that_is_parked_from_its_first_commit_on_is_not_unknown(log, projector, site):
    """Its terms could not be read, so nothing of it can be shown: 503 and not 404."""
    sick = await poisoned(log, projector, 46, before=0, after=3)
    answer = await site.get(f"/tables/{sick.id}/sheet")
    assert (answer.status_code, answer.json()["code"]) == (503, "table_parked")
    assert "Retry-After" in answer.headers


async def test_a_commit_is_skipped_with_a_word_that_the_audit_repeats(log, projector, connection, schema, postgres_dsn, record):
    """The audit names who left the commit out and why, and finds nothing else to complain of in the rows of the others."""
    sick = await poisoned(log, projector, 47)
    assert ("parked", 21) in {(one["code"], one["revision"]) for one in (await verify_table(log, sick.address, connection))["problems"]}
    (waiting,) = await parked_tables(connection)
    order = order_about(waiting, SKIP, "boris", "torn page")
    (outcome,) = (await ordered(connection, log, Books(), record, [order])).values()
    await sick.play(commits=len(sick.commits) + 10)
    assert await projector.at_least.wait(sick.commits[-1].position)
    (skip,) = await left_out(connection)
    assert (skip.table_id, skip.revision, skip.by, skip.why) == (sick.id, 21, "boris", "torn page")
    assert outcome.applied + outcome.parked == 15
    told_by_audit = {one["code"]: one for one in (await verify_table(log, sick.address, connection))["problems"]}
    assert told_by_audit["skipped"]["message"] == "This revision was left out of the books by boris: torn page"
    assert told_by_audit.keys() <= {"skipped", "unreadable", "parked"}
    assert (await told(log))[:2] == ["CommitParked", "ParkedSkipped"]
    assert await rebuilt(connection, schema, postgres_dsn, log, record)


async def test_a_row_alone_leaves_nothing_out(log, projector, connection):
    """Somebody who takes rows away and writes that they were left out is found: the log does not say so."""
    played = await PlayedTable(log, 48).play(commits=40)
    assert await projector.at_least.wait(played.commits[-1].position)
    step = await connection.fetchrow("DELETE FROM audit_trail WHERE revision = 30 RETURNING hash")
    subject = played.address.subject
    await connection.execute("INSERT INTO skipped VALUES ($1, 30, $2, 'boris', 'torn page', 1)", subject, step["hash"])
    problems = (await verify_table(log, played.address, connection))["problems"]
    assert {"revision": 30, "code": "rows_differ", "message": "The books leave this revision out, and the log does not say so."} in problems


async def test_an_order_that_nobody_takes_is_taken_back(log, projector, connection, record):
    """Where a ledger holds the lease and does not answer in time, nothing stays behind that would be done later."""
    await poisoned(log, projector, 49)
    (waiting,) = await parked_tables(connection)
    await projector.stop()
    await connection.execute("UPDATE lease SET holder = 'somebody', renewed = 'infinity'")
    with pytest.raises(NotAnswered):
        await ordered(connection, log, Books(), record, [order_about(waiting, RETRY, "anna")], patience=0.5)
    assert await connection.fetchval("SELECT count(*) FROM parking_orders") == 0
