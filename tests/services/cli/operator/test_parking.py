"""`pulka ledger parked`, `retry` and `skip` on real servers: with a ledger that runs, and with none."""

from __future__ import annotations

import asyncio
import json
import random

import pytest
from click.testing import CliRunner

from services.cli.operator.ledger import ledger
from services.ledger import main
from services.ledger.books import Books
from services.ledger.own.own_events import OwnEvents, parking_of
from services.ledger.own.parked import ParkingChronicle, left_out
from shared.eventlog.jetstream.log import open_log
from shared.events import upcast
from shared.events.commit import SCHEMA
from shared.events.ledger_events import ParkedSkipped
from shared.projections.versions.rebuild import fingerprint, rebuild
from shared.projections.versions.versions import Versions
from shared.web.service import CannotStart
from shared.web.settings import Settings
from tests.partitions import TABLE_STREAMS
from tests.services.ledger.played import PlayedTable

pytestmark = pytest.mark.servers


@pytest.fixture
def schema(namespace):
    return Versions(Books.name, namespace).schema(1)


@pytest.fixture
async def log(nats_url, namespace):
    log = await open_log(nats_url, namespace, heartbeat=0.2)
    yield log
    await log.close()


class Shell:
    """Runs `pulka ledger` in this process, in a thread beside the ledger."""

    def __init__(self, nats_url, postgres_dsn, namespace):
        self.environment = {"PULKA_NATS_URL": nats_url, "PULKA_POSTGRES_DSN": postgres_dsn, "PULKA_NAMESPACE": namespace}
        self.settings = Settings(nats_url=nats_url, postgres_dsn=postgres_dsn, namespace=namespace)

    async def run(self, *arguments):
        return await asyncio.to_thread(CliRunner(env=self.environment).invoke, ledger, list(arguments))

    async def answer(self, status, *arguments):
        """Its JSON object, when it ends with `status`."""
        ended = await self.run(*arguments, "--json")
        assert ended.exit_code == status, ended.output
        return json.loads(ended.stdout)


@pytest.fixture
def shell(nats_url, postgres_dsn, namespace):
    return Shell(nats_url, postgres_dsn, namespace)


async def test_poison_in_mid_play(log, shell, connection, schema, postgres_dsn, monkeypatch):
    """One table's commit of a newer program is parked with what follows while the others play on; the newer program then applies it all."""
    tables, chance = [PlayedTable(log, seed, partition=seed % 3, target=20) for seed in range(4)], random.Random(4)
    sick = tables[0]
    old = main.create(shell.settings)
    await old.start()
    for move in range(200):
        sick.schema = SCHEMA + (move > 60 and move % 7 == 0)
        await (sick if move % 4 == 0 else chance.choice(tables[1:])).step()
    desk = old.start.__self__.desk()
    for played in tables:
        await desk.reached(played.commits[-1].position)
    (waiting,) = (await shell.answer(0, "parked"))["parked"]
    poison = next(recorded.revision for recorded in sick.commits if f'"schema":{SCHEMA + 1}'.encode() in recorded.data)
    assert (waiting["table_id"], waiting["revision"], waiting["reason"]) == (sick.id, poison, "NewerSchema")
    assert waiting["follow"] == len(sick.commits) - poison
    assert (await old.health())["status"] == "degraded"
    (still,) = (await shell.answer(1, "retry", sick.id))["tables"]
    assert (still["applied"], still["parked"], still["revision"], still["reason"]) == (0, waiting["follow"] + 1, poison, "NewerSchema")
    assert "still parked: NewerSchema" in (await shell.run("retry", "--all")).stdout
    await old.stop()

    monkeypatch.setattr(upcast, "SCHEMA", SCHEMA + 1)
    new = main.create(shell.settings)
    await new.start()
    for played in tables:
        await played.step()
    desk = new.start.__self__.desk()
    for played in tables:
        await desk.reached(played.commits[-1].position)
    (done,) = (await shell.answer(0, "retry", "--all", "--by", "anna"))["tables"]
    assert (done["applied"], done["parked"], done["reason"]) == (waiting["follow"] + 2, 0, None)
    assert (await new.health())["status"] == "ok"
    assert (await shell.run("parked")).stdout == "nothing is parked\n"
    await new.stop()
    await rebuild(log, Books(), TABLE_STREAMS, postgres_dsn, schema + "_again")
    assert await fingerprint(connection, schema + "_again") == await fingerprint(connection, schema)
    assert await connection.fetchval("SELECT count(*) FROM audit_trail") == sum(len(played.commits) for played in tables)


async def test_a_commit_is_left_out_where_no_ledger_runs(log, shell, connection, schema, postgres_dsn):
    """With no service the command does the work itself, under the lease, unless the books are being written anew; the log remembers it."""
    service = main.create(shell.settings)
    await service.start()
    played = await PlayedTable(log, 7).play(commits=30)
    played.schema = SCHEMA + 1
    bad = await played.step()
    played.schema = SCHEMA
    await service.start.__self__.desk().reached(bad.position)
    await service.stop()
    assert await Versions(Books.name, shell.settings.namespace).alone(connection)  # as whoever fills a next version
    refused = await shell.run("skip", played.id, "--why", "torn page")
    assert (type(refused.exception), len(await left_out(connection))) == (CannotStart, 0)
    assert "a rebuild is running" in str(refused.exception)
    await connection.execute("SELECT pg_advisory_unlock_all()")
    answer = await shell.answer(0, "skip", played.id, "--why", "  torn\n page ", "--by", "boris")
    assert answer == {"table_id": played.id, "skipped": 31, "applied": 0, "parked": 0, "revision": None, "reason": None}
    (said,) = [event for _, event in await OwnEvents(log).read(parking_of(Books.name)) if isinstance(event, ParkedSkipped)]
    assert (said.position, said.revision, said.author, said.why) == (bad.position, 31, "boris", "torn page")
    assert f"{played.id}: revision 31 left out by boris at " in (await shell.run("parked")).stdout
    assert (await shell.answer(1, "skip", played.id, "--why", "again"))["reason"] == "not_parked"
    record = ParkingChronicle(OwnEvents(log), Books.name)
    await rebuild(log, Books(), TABLE_STREAMS, postgres_dsn, schema + "_again", chronicle=record)
    live, again = await fingerprint(connection, schema), await fingerprint(connection, schema + "_again")
    assert {name for name in live if live[name] != again[name]} == set()


async def test_what_cannot_be_an_order_is_refused(shell, connection, schema):  # noqa: ARG001 - clears away afterwards
    """No books, no table, no reason, two answers to one question: said in a line, with status 2."""
    table = "0-" + "a" * 26
    nothing = await shell.run("parked")
    assert isinstance(nothing.exception, CannotStart)
    assert "no books" in str(nothing.exception)
    assert isinstance((await shell.run("retry", "nonsense")).exception, CannotStart)
    for wrong in (
        ("retry",),
        ("retry", table, "--all"),
        ("skip", table),
        ("skip", table, "--why", " "),
        ("skip", table, "--why", "x" * 501),
    ):
        assert (await shell.run(*wrong)).exit_code == 2
