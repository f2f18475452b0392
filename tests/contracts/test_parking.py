"""What cannot be applied waits for a fix, alone; orders about it are carried out between two batches, and leave what a rebuild leaves."""

import asyncio

import pytest

from shared.eventlog.port import Unavailable
from shared.projections.core import checkpoint
from shared.projections.core.history import HistoryDiffers
from shared.projections.parking import orders, parking, skipping
from shared.projections.parking.chronicle import Untold
from shared.projections.parking.clerk import Clerk
from shared.projections.parking.orders import RETRY, SKIP, Order, Outcome
from shared.projections.parking.skipping import Skip
from shared.projections.versions.rebuild import fingerprint, rebuild
from tests.contracts.followers import Arrival, tallied
from tests.contracts.projection_subject import POISON, Tally, Writer

pytestmark = pytest.mark.servers


class Chronicle:
    """What a log would be told, once each; `away` while nobody can be told."""

    def __init__(self):
        self.told, self.away = [], False

    async def skips(self):
        return [told for told in self.told if isinstance(told, Skip)]

    async def parked(self, first):
        self._tell(("parked", first.position, first.reason))

    async def retried(self, order, aggregate, commits, author):
        self._tell(("retried", order, aggregate, commits, author))

    async def skipped(self, first, author, why):
        self._tell(Skip(first.aggregate, first.revision, first.hash, author, why, 17))

    def _tell(self, what):
        if self.away:
            raise Unavailable("away")
        if what not in self.told:
            self.told.append(what)


@pytest.fixture
def chronicle():
    return Chronicle()


async def stopped(worker, task):
    worker.stop()
    await task


async def obeyed(connection, log, projection, address, kind, chronicle=None, revision=2):
    """What comes of an order where no worker runs."""
    lease = await checkpoint.take(connection, "LOBBY_0", "the test")
    await orders.place(connection, Order("1", "LOBBY_0", address.subject, kind, revision, "the arbiter", "torn page"))
    await Clerk(log, projection, "LOBBY_0", chronicle or Untold()).open(connection, lease)
    await checkpoint.release(connection, lease)
    return (await orders.collect(connection, ["1"]))["1"]


async def until(connection, ids):
    """The outcomes of orders that a running worker carries out."""
    found = {}
    async with asyncio.timeout(20):
        while len(found) < len(ids):
            found |= await orders.collect(connection, ids)
            await asyncio.sleep(0.02)  # the interval of a poll
    return found


async def equals_a_rebuild(connection, schema, dsn, log, projection, chronicle):
    await rebuild(log, projection, ("LOBBY_0",), dsn, schema + "_again", chronicle=chronicle)
    return await fingerprint(connection, schema + "_again") == await fingerprint(connection, schema)


async def sick_and_well(log, running, **options):
    """Two aggregates, one of which has a commit, its second of five, that cannot be applied; and the worker that met it."""
    writer, arrival = Writer(log), Arrival()
    sick, well = writer.aggregate(), writer.aggregate()
    await writer.append(sick)
    worker, task = running.start(log, reached=arrival, **options)
    await writer.append(well)
    await writer.append(sick, POISON)
    for _ in range(3):
        await writer.append(well)
        await writer.append(sick)
    await arrival.at(9)
    return writer, sick, well, worker, task


async def test_poison_parks_its_aggregate_only(log, running, connection):
    """A commit that cannot be applied is parked with the rest of its aggregate; the others go on; a retry after the fix applies it."""
    writer, sick, well, worker, task = await sick_and_well(log, running)
    assert await tallied(connection) == {sick.subject: 1, well.subject: 4}
    assert worker.status().parked == 1
    waiting = await parking.list_parked(connection)
    assert [(one.aggregate, one.revision, one.at) for one in waiting] == [
        (sick.subject, n, 1_700_000_000_000 + n - 1) for n in (2, 3, 4, 5)
    ]
    assert [one.reason for one in waiting] == ["ValueError", *["follows a parked commit"] * 3]

    await stopped(worker, task)
    assert await obeyed(connection, log, Tally(), sick, RETRY) == Outcome(0, 4, 2, "ValueError")
    assert await parking.list_parked(connection) == waiting
    assert await obeyed(connection, log, Tally(poisoned=False), sick, RETRY) == Outcome(4)
    assert await obeyed(connection, log, Tally(poisoned=False), sick, RETRY) == Outcome(reason="not_parked")
    assert await tallied(connection) == {sick.subject: 5, well.subject: 4}
    assert await parking.list_parked(connection) == []
    arrival = Arrival()
    running.start(log, reached=arrival)
    await writer.append(sick)
    await arrival.at(10)
    assert await tallied(connection) == {sick.subject: 6, well.subject: 4}


async def test_a_running_worker_carries_out_a_retry(log, running, connection, schema, postgres_dsn, chronicle):
    """The worker that holds the lease applies what waits between two batches, tells of it once, and its rows are those of a rebuild."""
    projection = Tally()
    _, sick, well, worker, _ = await sick_and_well(log, running, projection=projection, chronicle=chronicle)
    await orders.place(connection, Order("still", "LOBBY_0", sick.subject, RETRY, 2, "anna", ""))
    assert await until(connection, ["still"]) == {"still": Outcome(0, 4, 2, "ValueError")}
    projection.poisoned = False
    await orders.place(connection, Order("fixed", "LOBBY_0", sick.subject, RETRY, 2, "anna", ""))
    await orders.place(connection, Order("again", "LOBBY_0", sick.subject, RETRY, 2, "anna", ""))
    assert await until(connection, ["fixed", "again"]) == {"fixed": Outcome(4), "again": Outcome(reason="not_parked")}
    assert worker.status().parked == 0
    assert chronicle.told == [("parked", "LOBBY_0:3", "ValueError"), ("retried", "fixed", sick.subject, 4, "anna")]
    assert await tallied(connection) == {sick.subject: 5, well.subject: 4}
    assert await equals_a_rebuild(connection, schema, postgres_dsn, log, Tally(poisoned=False), chronicle)


async def test_a_skipped_commit_is_left_out_for_good(log, running, connection, schema, postgres_dsn, chronicle):
    """Who skips the first parked commit says why; the rest goes on, later commits too, and every rebuild leaves out the same commit."""
    writer, sick, well, worker, task = await sick_and_well(log, running, chronicle=chronicle)
    await orders.place(connection, Order("third", "LOBBY_0", sick.subject, SKIP, 3, "boris", "looked at another list"))
    await orders.place(connection, Order("second", "LOBBY_0", sick.subject, SKIP, 2, "boris", "torn page"))
    found = await until(connection, ["third", "second"])
    assert found == {"third": Outcome(0, 4, 2, "another_commit"), "second": Outcome(3)}
    await writer.append(sick)
    await stopped(worker, task)
    assert await tallied(connection) == {sick.subject: 4, well.subject: 4}
    (left_out,) = await skipping.skipped(connection, sick.subject)
    assert (left_out.revision, left_out.author, left_out.why, left_out.at) == (2, "boris", "torn page", 17)
    arrival = Arrival()
    running.start(log, reached=arrival, chronicle=chronicle)
    await arrival.at(10)
    assert await tallied(connection) == {sick.subject: 5, well.subject: 4}
    assert await equals_a_rebuild(connection, schema, postgres_dsn, log, Tally(), chronicle)
    await connection.execute(f'DROP SCHEMA "{schema}_again" CASCADE')
    assert await equals_a_rebuild(connection, schema, postgres_dsn, log, Tally(poisoned=False), chronicle)


async def test_what_still_fails_behind_a_skipped_commit_is_parked_anew(log, running, connection, schema, postgres_dsn, chronicle):
    """A second commit that cannot be applied stops the rest at its own place, as it would in a rebuild."""
    writer, sick, _, worker, task = await sick_and_well(log, running, chronicle=chronicle)
    await writer.append(sick, POISON)
    await writer.append(sick)
    await orders.place(connection, Order("1", "LOBBY_0", sick.subject, SKIP, 2, "boris", "torn page"))
    assert await until(connection, ["1"]) == {"1": Outcome(3, 2, 6, "ValueError")}
    await stopped(worker, task)
    assert await equals_a_rebuild(connection, schema, postgres_dsn, log, Tally(), chronicle)


async def test_a_skip_that_the_log_knows_is_carried_through_after_a_crash(log, running, connection, schema, postgres_dsn, chronicle):
    """Killed between the log's word and the rows, the next worker follows the log's word; nobody has to order it again."""
    _, sick, well, worker, task = await sick_and_well(log, running, chronicle=chronicle)
    await stopped(worker, task)
    first = (await parking.parked_of(connection, sick.subject))[0]
    await chronicle.skipped(first, "boris", "torn page")
    worker, task = running.start(log, chronicle=chronicle)
    await worker.settled.wait()
    assert await tallied(connection) == {sick.subject: 4, well.subject: 4}
    await stopped(worker, task)
    assert await equals_a_rebuild(connection, schema, postgres_dsn, log, Tally(), chronicle)


async def test_a_log_that_cannot_be_told_stops_no_table(log, running, connection, chronicle):
    """While the log takes no word about parking the other tables go on; the order waits, and everything is told once it can be."""
    chronicle.away = True
    arrival = Arrival()
    chronicle.skips = Untold().skips  # reading goes on, writing does not
    projection = Tally()
    writer, sick, well, worker, _ = await sick_and_well(log, running, projection=projection, chronicle=chronicle)
    projection.poisoned = False
    await orders.place(connection, Order("1", "LOBBY_0", sick.subject, RETRY, 2, "anna", ""))
    running.start(log, reached=arrival)  # a standby, which sees how far the leader is
    await writer.append(well)
    await arrival.at(10)
    assert (await tallied(connection))[well.subject] == 5
    chronicle.away = False
    assert await until(connection, ["1"]) == {"1": Outcome(4)}
    assert chronicle.told == [("parked", "LOBBY_0:3", "ValueError"), ("retried", "1", sick.subject, 4, "anna")]
    assert worker.status().parked == 0


async def test_an_order_about_a_changed_log_is_refused(log, running, connection, chronicle):
    """A parked commit whose bytes are others by now is no commit to be applied: the worker refuses the log and says so."""
    _, sick, _, worker, task = await sick_and_well(log, running, chronicle=chronicle)
    await connection.execute("UPDATE parked SET hash = repeat('0', 64) WHERE revision = 3")
    await orders.place(connection, Order("1", "LOBBY_0", sick.subject, RETRY, 2, "anna", ""))
    with pytest.raises(HistoryDiffers):
        await task
    assert (worker.status().state, worker.status().reason) == ("refused", "history_differs")
    assert await orders.collect(connection, ["1"]) == {"1": Outcome(reason="history_differs")}


async def test_no_projection_without_a_chronicle_leaves_anything_out(log, running, connection):
    """Where no log would remember it, a skip is refused by its kind and nothing changes."""
    _, sick, well, worker, task = await sick_and_well(log, running)
    await stopped(worker, task)
    assert await obeyed(connection, log, Tally(), sick, SKIP) == Outcome(revision=2, reason="NotImplementedError")
    assert await tallied(connection) == {sick.subject: 1, well.subject: 4}
    assert len(await parking.list_parked(connection)) == 4


async def test_f20_a_copy_among_what_is_parked_is_passed_over(log, running, connection, schema, postgres_dsn, chronicle):
    """F20: a commit that lies in the log twice is applied once, by the retry after a fix as by a rebuild."""
    writer, sick, _, worker, task = await sick_and_well(log, running, chronicle=chronicle)
    last = await writer.append(sick)
    await log.append(sick, last.data, last.sequence)
    await stopped(worker, task)
    arrival = Arrival()
    worker, task = running.start(log, reached=arrival, chronicle=chronicle)
    await arrival.at(11)
    await stopped(worker, task)
    assert [one.revision for one in await parking.parked_of(connection, sick.subject)] == [2, 3, 4, 5, 6, 6]
    assert await obeyed(connection, log, Tally(poisoned=False), sick, RETRY, chronicle) == Outcome(6)
    assert (await tallied(connection))[sick.subject] == 6
    assert await equals_a_rebuild(connection, schema, postgres_dsn, log, Tally(poisoned=False), chronicle)
