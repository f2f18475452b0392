"""F20, F21: one damaged or doubled commit stops one table, not its partition; every message names the table and what is wrong."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys

import asyncpg
import msgspec
import nats
import pytest

from services.ledger.books import Books
from services.table.tables import Tables
from shared.eventlog.aggregates.aggregates import BrokenChain
from shared.eventlog.jetstream.streams import Namespace
from shared.events.commit import decode, encode, hash_of
from shared.events.sealing import TableCodec
from shared.projections.versions.rebuild import rebuild
from shared.web.problems import problem_of
from tests.chaos.ledger_house import NAMESPACE
from tests.partitions import TABLE_STREAMS
from tests.services.ledger.played import KEYS, PlayedTable

pytestmark = [pytest.mark.chaos, pytest.mark.servers]

PULKA = (sys.executable, "-c", "from services.cli.main import main; main()")


async def published(house, table, data):
    """Publish bytes on a table's subject as no service does: without saying what they are expected to follow."""
    client = await nats.connect(house.servers.nats_operator_url)
    answer = await client.request(Namespace(NAMESPACE).subject(table.address), data, timeout=5)
    await client.close()
    return msgspec.json.decode(answer.data)["seq"]


async def audited(house):
    """Exit status of `pulka audit verify`, and the verdict of each table."""
    environment = {
        **os.environ,
        "PULKA_NATS_URL": house.servers.nats_url,
        "PULKA_POSTGRES_DSN": house.servers.postgres_dsn,
        "PULKA_NAMESPACE": NAMESPACE,
        "PULKA_NATS_DURABLE": "yes",
    }
    process = await asyncio.create_subprocess_exec(
        *PULKA, "audit", "verify", "--json", stdout=asyncio.subprocess.PIPE, env=environment
    )  # fmt: skip
    told, _ = await process.communicate()
    return process.returncode, {verdict["table_id"]: verdict for verdict in msgspec.json.decode(told)["tables"]}


def wrong_in(verdict):
    return [(problem["revision"], problem["code"]) for problem in verdict["problems"]]


async def parked(house):
    """By table the revision at which the books stopped, and why."""
    async with house.desk.readers.reading() as connection:
        rows = await connection.fetch("SELECT DISTINCT ON (aggregate) aggregate, revision, reason FROM parked ORDER BY aggregate, sequence")
    return {row["aggregate"].rpartition(".")[2]: (row["revision"], row["reason"]) for row in rows}


async def test_a_copy_of_a_tables_last_commit_is_passed_over(house):
    """F20: it is the same commit by revision and hash: table, books and neighbours go on, and the audit tells of it with status 1."""
    sick, well = PlayedTable(house.log, 1), PlayedTable(house.log, 2)
    await sick.play(commits=20)
    await house.start()
    assert await house.shown(sick) == 20
    copied = await published(house, sick, sick.commits[-1].data)
    await well.play(commits=20)
    assert await house.shown(well) == 20
    tables = Tables(house.log, TableCodec(KEYS))
    loaded = await tables.load(sick.id, at_leader=True)
    assert (loaded.revision, loaded.sequence) == (20, copied)
    sick._sequence = copied
    await sick.play(commits=30)
    assert await house.shown(sick) == 30
    assert await parked(house) == {}
    assert (await tables.load(sick.id, at_leader=True)).revision == 30
    status, verdicts = await audited(house)
    assert (status, wrong_in(verdicts[sick.id]), verdicts[well.id]["verified"]) == (1, [(20, "added")], True)
    assert f"TABLE_0:{copied}" in verdicts[sick.id]["problems"][0]["message"]


def copy_of_an_earlier_one(table):
    return table.commits[7].data


def no_commit(_table):
    return b'{"aggregate":'


def brackets_without_end(_table):
    return b'{"x":' + b"[" * 100_000


def follows_from_another(table):
    last = decode(table.commits[-1].data)
    return encode(msgspec.structs.replace(last, revision=last.revision + 1, prev_hash="ab" * 32))


def leaves_one_out(table):
    last = decode(table.commits[-1].data)
    return encode(msgspec.structs.replace(last, revision=last.revision + 2))


def numbered_beyond_every_number(table):
    return with_member(table, b'"revision":21', b'"revision":1' + b"0" * 30)


def at_no_time(table):
    return re.sub(rb'"at":[0-9]+', b'"at":1' + b"0" * 30, with_member(table, b"", b""))


def of_no_text(table):
    return with_member(table, b'"x"', b'"\xff"')


def of_an_event_that_is_none(table):
    return following(table, b'{"type":"CardThrown","seat":1}')


def of_an_event_of_another_shape(table):
    return following(table, b'{"type":"BidMade","seat":"first","bid":"6S"}')


def of_a_pulka_from_elsewhere_that_is_none(table):
    return following(
        table,
        b'{"type":"PulkaRecorded","score_file":{},"rules_digest":"","players":3,"target":10,"seats":[],"terms":{},"deals":[],'
        b'"settlement":{},"author":"operator:desk"}',
    )


def with_member(table, was, becomes):
    return following(table, b'{"type":"BidMade","seat":0,"bid":"x"}').replace(was, becomes)


def following(table, event):
    """A commit with one event, rightly linked to the last."""
    stored = table.commits[-1].data
    last, links = decode(stored), {"prev_hash": hash_of(stored), "command_id": "another", "events": (msgspec.Raw(event),)}
    return encode(msgspec.structs.replace(last, revision=last.revision + 1, **links))


@pytest.mark.parametrize(
    ("damage", "at", "why", "found"),
    [
        (copy_of_an_earlier_one, 8, "revision 8 a second time", (8, "added")),
        (no_commit, 21, "is no commit", (21, "unreadable")),
        (brackets_without_end, 21, "is no commit", (21, "unreadable")),
        (numbered_beyond_every_number, 21, "is no commit", (21, "unreadable")),
        (at_no_time, 21, "is no commit", (21, "unreadable")),
        (of_no_text, 21, "DecodeError", (21, "unreadable")),
        (of_an_event_that_is_none, 21, "ValidationError", (21, "unreadable")),
        (of_an_event_of_another_shape, 21, "ValidationError", (21, "unreadable")),
        (of_a_pulka_from_elsewhere_that_is_none, 21, "KeyError", (21, "unreadable")),
        (follows_from_another, 21, "does not follow from revision 20", (20, "changed")),
        (leaves_one_out, 22, "revision 21 is missing", (21, "missing")),
    ],
)
async def test_a_damaged_commit_parks_its_table_alone(house, damage, at, why, found):
    """F20: the books park the table and say why, its neighbours go on, its own answers name the damage, the audit names the revision."""
    sick, well = PlayedTable(house.log, 1), PlayedTable(house.log, 2)
    await sick.play(commits=20)
    await well.play(commits=10)
    await house.start()
    await published(house, sick, damage(sick))
    await well.play(commits=20)
    assert await house.shown(well) == 20
    assert await parked(house) == {sick.id: (at, why)}
    await house.says(status="degraded")
    tables = Tables(house.log, TableCodec(KEYS))
    assert (await tables.load(well.id, at_leader=True)).revision == 20
    with pytest.raises(BrokenChain) as broken:
        await tables.load(sick.id, at_leader=True)
    assert broken.value.revision == 21
    problem = problem_of(broken.value)
    assert (problem.status_code, problem.code, problem.revision) == (500, "log_damaged", None)  # F25: how far it is concerns its viewers
    status, verdicts = await audited(house)
    assert (status, verdicts[well.id]["verified"]) == (1, True)
    assert found in wrong_in(verdicts[sick.id])
    assert (at, "parked") in wrong_in(verdicts[sick.id])


@pytest.mark.parametrize("revision", [8, 20])
async def test_a_byte_that_flips_on_the_disk_costs_one_table(house, revision):
    """F21: the server drops the commit it cannot read; the audit names it, all other tables go on and are verified, a rebuild too."""
    sick, well = PlayedTable(house.log, 1), PlayedTable(house.log, 2)
    for commits in (10, 20):
        await well.play(commits=commits)
        await sick.play(commits=commits)
    await house.start()
    assert await house.shown(sick) == 20
    await house.stop()
    await house.log.close()
    _end_gently(house)
    (block,) = (house.servers.home / "nats").glob(f"**/{NAMESPACE.upper()}_TABLE_0/msgs/1.blk")
    data = bytearray(block.read_bytes())
    data[data.find(sick.commits[revision - 1].data) + 30] ^= 1
    block.write_bytes(data)
    house.servers.revive()
    await house.open()
    await house.start()
    for table in (sick, well):
        table._log = house.log
    await well.play(commits=30)
    assert await house.shown(well) == 30
    tables = Tables(house.log, TableCodec(KEYS))
    with pytest.raises(BrokenChain) as broken:
        await tables.load(sick.id, at_leader=True)
    assert problem_of(broken.value).code == "log_damaged"
    status, verdicts = await audited(house)
    assert (status, verdicts[well.id]["verified"]) == (1, True)
    assert wrong_in(verdicts[sick.id]) == [(revision, "missing")]
    await house.says(status="ok")
    await rebuild(house.log, Books(), TABLE_STREAMS[:1], house.servers.postgres_dsn, "again")
    connection = await asyncpg.connect(house.servers.postgres_dsn, server_settings={"search_path": "again"})
    stopped = await connection.fetch("SELECT revision, reason FROM parked ORDER BY sequence LIMIT 1")
    assert [tuple(row) for row in stopped] == ([] if revision == 20 else [(revision + 1, f"revision {revision} is missing")])
    assert await connection.fetchval("SELECT revision FROM tables WHERE table_id = $1", well.id) == 30
    await connection.close()


def _end_gently(house):
    os.kill(house.servers.pids["nats"], signal.SIGTERM)  # it writes down where its blocks end, as every stop of ours lets it
    os.waitid(os.P_PID, house.servers.pids["nats"], os.WEXITED | os.WNOWAIT)
