"""A projection that cannot go on: it runs on no other log, and says what is wrong in our words, without a text that may be a card."""

import asyncio

import asyncpg
import pytest
import structlog

from shared.eventlog.memory import MemoryLog, MemoryStore
from shared.projections.core import status
from shared.projections.core.history import HistoryDiffers, LogBehindCheckpoint
from shared.projections.core.status import LogSilent
from shared.projections.following.projector import Projector
from tests.contracts.followers import Arrival, tallied
from tests.contracts.projection_subject import Tally, Writer

pytestmark = pytest.mark.servers


LOST = "the connection to Postgres was lost; it is opened again"


async def applied_and_stopped(running, log):
    """Ten commits are in the rows, and their worker has ended."""
    writer, arrival = Writer(log), Arrival()
    worker, task = running.start(log, reached=arrival)
    await writer.spread(10, 2)
    await arrival.at(10)
    worker.stop()
    await task


async def test_a_log_behind_the_checkpoint_is_refused(log, running, connection):
    """A log that ends before what has been applied is an older copy: the worker stops and says so, and the rows stay."""
    await applied_and_stopped(running, log)
    older = MemoryLog(MemoryStore())
    await Writer(older).spread(9, 2)
    worker, task = running.start(older)
    with pytest.raises(LogBehindCheckpoint):
        await task
    assert (worker.status().state, worker.status().reason) == ("refused", "log_behind")
    assert sum((await tallied(connection)).values()) == 10


async def test_another_log_is_refused(log, running):
    """A log with another commit at the checkpoint was wiped and written anew: refused, even when it is longer."""
    await applied_and_stopped(running, log)
    other = MemoryLog(MemoryStore())
    await Writer(other, seed=2).spread(30, 2)
    worker, task = running.start(other)
    with pytest.raises(HistoryDiffers):
        await task
    assert worker.status().reason == "history_differs"


async def test_a_projector_does_not_start_on_another_log(log, schema, postgres_dsn):
    """The refusal of one stream's worker is the refusal of the service to start."""
    first = Projector(log, Tally(), ("LOBBY_0", "LOBBY_1"), postgres_dsn, schema)
    written = await Writer(log).spread(3, 1)
    await first.start()
    assert await first.at_least.wait(written[-1].position)
    await first.stop()
    second = Projector(MemoryLog(MemoryStore()), Tally(), ("LOBBY_0", "LOBBY_1"), postgres_dsn, schema)
    with pytest.raises(LogBehindCheckpoint):
        await second.start()
    assert second.health()["status"] == "down"


class Defective(Tally):
    """Fails for no fault of the commit, with a text that nobody may read; `again` is set when it is asked a second time."""

    def __init__(self):
        super().__init__()
        self.calls, self.again = 0, asyncio.Event()

    async def apply(self, connection, batch):  # noqa: ARG002 - fails before it looks
        self.calls += 1
        if self.calls > 1:
            self.again.set()
        raise RuntimeError("AS KS QS")


async def test_a_defect_is_told_without_its_text(log, running, connection):
    """What nobody foresaw is said by kind and place, in log and status alike: its text may be a card."""
    await Writer(log).spread(1, 1)
    defective = Defective()
    with structlog.testing.capture_logs() as lines:
        worker, _ = running.start(log, projection=defective)
        await asyncio.wait_for(defective.again.wait(), 10)
    (told, *_) = [line for line in lines if line["event"] == "projection_down"]
    assert (told["log_level"], told["reason"], told["detail"]) == ("critical", "defect", "RuntimeError")
    assert any("test_projections_stopped.py" in place for place in told["where"])
    assert "AS KS" not in f"{lines} {worker.status()}"
    assert await tallied(connection) == {}


@pytest.mark.parametrize("busy", [False, True])
async def test_a_lost_connection_is_told_in_our_words(log, running, connection, schema, busy):
    """Whether the server's farewell comes between two statements or in one: what is wrong, and that it is mended by itself."""
    writer, arrival = Writer(log), Arrival()
    worker, _ = running.start(log, reached=arrival)
    await writer.spread(5, 1)
    await arrival.at(5)
    with structlog.testing.capture_logs() as lines:
        async with connection.transaction():
            if busy:  # it waits for this lock in the middle of a batch
                await connection.execute("LOCK TABLE tally IN ACCESS EXCLUSIVE MODE")
                await writer.spread(5, 1)
                waits = "SELECT count(*) FROM pg_locks WHERE relation = 'tally'::regclass AND NOT granted"
                while not await connection.fetchval(waits):  # noqa: ASYNC110 - Postgres tells nobody that somebody waits
                    await asyncio.sleep(0.002)  # the interval of a poll
            await connection.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = $1", f"pulka {schema} LOBBY_0"[:63]
            )
        await writer.spread(5, 1)
        await arrival.at(15 if busy else 10)
    told = [(line["reason"], line["detail"]) for line in lines if line["event"] == "projection_down"]
    assert set(told) == {("postgres_unreachable", LOST)}
    assert worker.status().detail is None


@pytest.mark.parametrize(
    ("error", "reason", "sentence"),
    [
        (asyncpg.InterfaceError("cannot perform operation: connection is closed"), "postgres_unreachable", LOST),
        (asyncpg.InternalClientError("got result for unknown protocol state 3"), "postgres_unreachable", LOST),
        (asyncpg.AdminShutdownError("terminating connection due to administrator command"), "postgres_unreachable", LOST),
        (ConnectionResetError(104, "reset by peer"), "postgres_unreachable", LOST),
        (ConnectionRefusedError(111, "Connect call failed"), "postgres_unreachable", "Postgres does not answer; it is asked again"),
        (TimeoutError(), "postgres_unreachable", "Postgres does not answer; it is asked again"),
        (asyncpg.CannotConnectNowError("x"), "postgres_unreachable", "Postgres is starting or stopping; it is asked again"),
        (asyncpg.DiskFullError("x"), "postgres_disk_full", "the disk of Postgres is full; the batch is tried again"),
        (asyncpg.ReadOnlySQLTransactionError("read-only"), "postgres_error", "Postgres refuses: read-only; the batch is tried again"),
        (LogSilent("silence"), "log_unavailable", "the log does not go on: silence; it is followed anew"),
        (RuntimeError("AS KS QS"), "defect", "RuntimeError"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_in_a_sentence(error, reason, sentence):
    """Under a reason that stays: what is wrong and what happens next, without the words of a library; of a defect nothing but its kind."""
    assert (status.classify(error), status.told(error)) == (reason, sentence)


async def test_postgres_away_is_waited_out(log, schema, connection, postgres_dsn):
    """A projector whose sessions are refused says why it is down, and goes on by itself when they are let in again."""
    writer = Writer(log)
    user, password = f"{schema}_user", "p"
    await connection.execute(f"CREATE USER \"{user}\" LOGIN PASSWORD '{password}' SUPERUSER")
    _, _, place = postgres_dsn.rpartition("@")
    projector = Projector(log, Tally(), ("LOBBY_0",), f"postgresql://{user}:{password}@{place}", schema)
    await projector.start()
    try:
        await connection.execute(f'ALTER USER "{user}" NOLOGIN')
        await connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1", user)
        (recorded,) = await writer.spread(1, 1)
        assert not await projector.at_least.wait(recorded.position, 0.5)
        assert projector.health()["problems"] == {"LOBBY_0": "postgres_login_refused"}
        await connection.execute(f'ALTER USER "{user}" LOGIN')
        assert await projector.at_least.wait(recorded.position, 5.0)
        assert projector.health()["status"] == "ok"
    finally:
        await projector.stop()
        await connection.execute(f'DROP SCHEMA "{schema}" CASCADE')
        await connection.execute(f'DROP USER "{user}"')
