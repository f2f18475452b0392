"""`pulka ledger rebuild`, `status` and `drop` on a real NATS and a real Postgres, while the ledger is read."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import signal
import sys

import pytest

from services.ledger import main
from services.ledger.books import Books
from services.ledger.own.own_events import OwnEvents, versions_of
from shared.eventlog.jetstream.log import open_log
from shared.events.ledger_events import VersionSwitched
from shared.projections.versions.rebuild import fingerprint, rebuild
from shared.web.problems import Problem
from shared.web.settings import Settings
from tests.partitions import TABLE_STREAMS
from tests.services.cli.processes import until_async
from tests.services.ledger.played import PlayedTable

pytestmark = pytest.mark.servers


@pytest.fixture
async def log(nats_url, namespace):
    log = await open_log(nats_url, namespace, heartbeat=0.2)
    yield log
    await log.close()


class Operator:
    """Commands in processes of their own."""

    def __init__(self, settings):
        self.environment = {f"PULKA_{name.upper()}": getattr(settings, name) for name in ("nats_url", "postgres_dsn", "namespace")}

    async def begin(self, *arguments):
        pulka = [sys.executable, "-c", "from services.cli.main import main; main()", "ledger", *arguments]
        return await asyncio.create_subprocess_exec(
            *pulka, env=self.environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )

    async def run(self, *arguments):
        """Exit status, standard output and standard error."""
        process = await self.begin(*arguments)
        out, err = await process.communicate()
        return process.returncode, out.decode(), err.decode()

    async def told(self, *arguments):
        status, out, err = await self.run(*arguments, "--json")
        assert status == 0, err
        return json.loads(out)


@pytest.fixture
def settings(nats_url, postgres_dsn, namespace):
    return Settings(nats_url=nats_url, postgres_dsn=postgres_dsn, namespace=namespace)


@pytest.fixture
def operator(settings):
    return Operator(settings)


@pytest.fixture
async def ledgers(settings, connection):  # noqa: ARG001 - the connection clears away afterwards
    """Two instances of the service over the same books."""
    services = [main.create(settings) for _ in range(2)]
    for service in services:
        await service.start()
    yield [service.start.__self__ for service in services]
    for service in services:
        await service.stop()


async def poll(ledgers, played, stop):
    """Read a table from one instance after the other; every answer is whole, and none is older than the one before. How many there were."""
    seen_before, reads = 0, 0
    while not stop.is_set():
        for ledger in ledgers:
            async with ledger.desk().table(played.id, None, None) as (connection, seen):
                commits, last = await connection.fetchrow("SELECT count(*), max(revision) FROM audit_trail WHERE table_id = $1", played.id)
                scored = await connection.fetchval("SELECT count(*) FROM scores WHERE table_id = $1", played.id)
                closed = await connection.fetchval(
                    "SELECT count(*) FROM audit_trail WHERE table_id = $1 AND events LIKE '%DealScored%'", played.id
                )
            assert seen.revision == commits == last >= seen_before > -1
            assert scored == closed
            seen_before, reads = seen.revision, reads + 1
        await asyncio.sleep(0)
    return reads


async def test_readers_never_see_an_older_a_mixed_or_an_empty_answer(log, ledgers, operator, postgres_dsn, connection, versions):
    """While tables are played the books are rebuilt twice: readers of two instances see each table grow and nothing else."""
    tables = [await PlayedTable(log, seed, partition=seed % 8, target=100).play(deals=1) for seed in range(4)]
    for played in tables:
        assert await ledgers[0]._books.at_least.wait(played.commits[-1].position, 10.0)
    stop = asyncio.Event()
    polls = [asyncio.create_task(poll(ledgers, played, stop)) for played in tables]
    rebuilds = asyncio.create_task(twice(operator))
    while not rebuilds.done():
        for played in tables:
            last = await played.step()
        await asyncio.sleep(0)
    assert [done["version"] for done in await rebuilds] == [2, 3]
    for ledger in ledgers:
        assert await ledger._books.at_least.wait(last.position, 10.0)
        async with ledger.desk().table(tables[-1].id, None, last.position) as (_, seen):
            assert seen.revision == len(tables[-1].commits)
    stop.set()
    assert min(await asyncio.gather(*polls)) > 20
    assert [ledger._books.live.number for ledger in ledgers] == [3, 3]
    now = await settled(connection, versions.schema(3), log)
    await rebuild(log, Books(), TABLE_STREAMS, postgres_dsn, versions.schema(3) + "_again")
    assert await fingerprint(connection, versions.schema(3) + "_again") == now


async def twice(operator):
    return [await operator.told("rebuild", "--by", "ann"), await operator.told("rebuild", "score_sheet")]


async def settled(connection, schema, log):
    """The rows once they show the whole log."""
    ends = {stream: last for stream in TABLE_STREAMS if (last := await log.last_sequence(stream))}
    there: dict[str, int] = {}
    async with asyncio.timeout(10):
        while there != ends:
            there = {row["stream"]: row["sequence"] for row in await connection.fetch(f'SELECT * FROM "{schema}".checkpoint')}
    return await fingerprint(connection, schema)


async def filling(process, connection, versions):
    """Stop the process while its version is half filled."""
    half: list[int] = []
    async with asyncio.timeout(30):
        while not half:
            half = [version.number for version in await versions.known(connection) if version.state == "filling"]
    process.send_signal(signal.SIGSTOP)
    assert [version.number for version in await versions.known(connection) if version.state == "filling"] == half
    return half[0]


async def test_a_rebuild_that_is_killed_is_never_read(log, ledgers, operator, connection, versions):
    """Killed in mid-fill it leaves the books as they were; the next rebuild clears away what it left, and switches."""
    played = await PlayedTable(log, 1, target=30).play(deals=3)
    process = await operator.begin("rebuild")
    await filling(process, connection, versions)
    process.send_signal(signal.SIGKILL)
    await process.wait()
    assert (await versions.live(connection)).number == 1
    async with ledgers[1].desk().table(played.id, None, played.commits[-1].position) as (_, seen):
        assert seen.revision == len(played.commits)
    done = await operator.told("rebuild")
    assert (done["previous"], done["parked"]) == (1, 0)
    assert [version.state for version in await versions.known(connection)] == ["retired", "live"]


async def test_a_second_rebuild_is_refused(log, ledgers, operator, connection, versions):
    """Whoever starts one while another runs is told so with status 1; the first goes on, also after it was stopped for a while."""
    await PlayedTable(log, 1).play(deals=1)
    first = await operator.begin("rebuild", "--by", "ann")
    half = await filling(first, connection, versions)
    status, out, err = await operator.run("rebuild", "--by", "boris")
    assert (status, out) == (1, "")
    assert f"version {half} is being filled, for ann" in err
    status, _, err = await operator.run("drop", str(half), "--json")
    assert (status, json.loads(err)["error"]["code"]) == (1, "refused")
    first.send_signal(signal.SIGCONT)
    assert await first.wait() == 0, (await first.stderr.read()).decode()
    await until_async(lambda: ledgers[0]._books.live.number == half)


async def test_status_tells_how_each_version_is(log, ledgers, operator):
    """By stream and summed: where it is, how far behind, who works on it; readers' old version is ended, the new one is followed."""
    played = await PlayedTable(log, 1, partition=3).play(deals=1)
    done = await operator.told("rebuild", "--by", "ann")
    await until_async(lambda: all(state.state in {"following", "standby"} for one in ledgers for state in one._books.status()))
    await until_async(lambda: [one._books.live.number for one in ledgers] == [2, 2])
    told = await operator.told("status")
    assert (told["projection"], told["rows"]) == ("ledger", Books.version)
    old, now = told["versions"]
    assert (old["version"], old["state"], now["version"], now["state"], now["author"]) == (1, "retired", 2, "live", "ann")
    assert (now["position"], now["lag_commits"], now["parked"], now["reason"]) == (len(played.commits), 0, 0, None)
    assert done["marks"] == {"TABLE_3": len(played.commits)}
    assert {stream["worker"] for stream in old["streams"]} == {"ended"}
    assert {stream["worker"] for stream in now["streams"]} == {"following"}
    assert (await operator.run("status", "--streams"))[1].count(" epoch ") == 8
    _, summary, _ = await operator.run("status")
    assert max(map(len, summary.splitlines())) <= 80
    assert "streams: 8 following" in summary
    switched = dt.datetime.fromtimestamp(now["switched"] / 1000, tz=dt.UTC).isoformat(timespec="seconds")
    assert summary.count(f"ledger 1: retired since {switched}, ") == 1, "not since it was read, but since readers left it"
    assert f"ledger 2: live since {switched}, " in summary


async def test_status_without_a_service(log, operator, connection, versions):  # noqa: ARG001 - the connection clears away afterwards
    """Postgres and the log are enough; that nobody works is what is said."""
    assert (await operator.run("status"))[:2] == (0, "the ledger has no tables here yet; start it once, or run `pulka ledger rebuild`\n")
    await PlayedTable(log, 1).play(deals=1)
    await operator.told("rebuild")
    (now,) = (await operator.told("status"))["versions"]
    assert (now["state"], now["lag_commits"], now["reason"]) == ("live", 0, "nobody_follows")


async def test_the_log_hears_of_each_switch_once(log, ledgers, operator):
    """`VersionSwitched` tells who ordered it, between which versions, and how far the new one was, however many ledgers follow."""
    played = await PlayedTable(log, 1).play(deals=1)
    await operator.told("rebuild", "--by", "ann")
    await until_async(lambda: [one._books.live.number for one in ledgers] == [2, 2])
    told = [event for _, event in await OwnEvents(log).read(versions_of("ledger"))]
    assert told == [
        VersionSwitched("ledger", 1, 0, {}, "service"),
        VersionSwitched("ledger", 2, 1, {"TABLE_0": len(played.commits)}, "ann"),
    ]


async def test_bad_orders(ledgers, operator):  # noqa: ARG001 - so that there are books
    """A view or a version that there is not: status 2; the version that is read: status 1; each in one line."""
    for status, *arguments in (
        (2, "rebuild", "moon"),
        (2, "rebuild", "--by", " "),
        (2, "drop", "9"),
        (2, "drop", "0"),
        (1, "drop", "1"),
    ):
        ended, out, err = await operator.run(*arguments)
        assert (ended, out) == (status, ""), arguments
        assert "Traceback" not in err


async def test_rows_of_another_program_are_not_served(log, settings, ledgers, connection, versions):
    """A program that writes other rows reads none of these: 503 while its own version is filled, then that one."""
    played = await PlayedTable(log, 1).play(deals=1)
    assert await ledgers[0]._books.at_least.wait(played.commits[-1].position, 10.0)
    await connection.execute(f'UPDATE "{versions.registry}".version SET rows = rows - 1')  # as if an older program had filled it
    for ledger in ledgers:
        ledger._readers._live = None  # as in a process that has just started
        with pytest.raises(Problem) as refused:
            async with ledger.desk().table(played.id, None, None):
                pass
        assert (refused.value.status_code, refused.value.code) == (503, "unavailable")
    later = main.create(settings)
    await later.start()
    async with later.start.__self__.desk().table(played.id, None, played.commits[-1].position) as (_, seen):
        assert seen.revision == len(played.commits)
    assert (await later.health())["books"]["version"] == 2
    await later.stop()


async def test_ratings_are_computed_anew_by_themselves(log, ledgers, operator, connection, versions):
    """`rebuild rating` leaves version and rows as they are and computes the ratings once more; `status` says whether some are due."""
    for seed in (1, 2):
        played = await PlayedTable(log, seed, target=2).play()
    assert await ledgers[0]._books.at_least.wait(played.commits[-1].position, 10.0)
    await until_async(lambda: all(one._books.beside is not None for one in ledgers))
    assert await ledgers[0].ratings().caught_up(10.0)
    before = await fingerprint(connection, versions.schema(1))
    assert await connection.fetchval("SELECT count(*) FROM rating_changes") == 6
    await connection.execute("UPDATE rating_changes SET rating = 1; UPDATE ratings SET rating = 1")
    assert await operator.told("rebuild", "rating") == {"projection": "ledger", "version": 1, "view": "rating"}
    assert await fingerprint(connection, versions.schema(1)) == before
    (now,) = (await operator.told("status"))["versions"]
    assert now["derived"] == {"rating": {"pulkas": 0, "since": None, "restatements": 0}}
