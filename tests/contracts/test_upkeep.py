"""What a start does with the streams that it finds, and what only an operator does: on one node."""

import asyncio
import json
from contextlib import asynccontextmanager

import nats
import pytest

from shared.eventlog.jetstream.connection import Connection
from shared.eventlog.jetstream.log import open_log
from shared.eventlog.jetstream.streams import Namespace, configurations
from shared.eventlog.jetstream.upkeep import StreamDrift, Upkeep, Wanted
from shared.eventlog.port import NotPermitted, Unavailable
from shared.events.address import Partitions
from tests.contracts.commits import fill, some_commit, some_table

pytestmark = pytest.mark.servers

SECONDS = 15.0  # for what takes milliseconds on a healthy machine
ROOM = 1 << 20


@asynccontextmanager
async def upkeep(url, namespace, **wanted):
    connection = Connection()
    await connection.open(url, "upkeep", SECONDS, None)
    yield Upkeep(connection, Namespace(namespace), Wanted(**wanted))
    await connection.close()


@asynccontextmanager
async def opened(url, namespace, **options):
    log = await open_log(url, namespace, **options)
    try:
        yield log
    finally:
        await log.close()


async def applied(nats_urls, namespace, *, lower=False, **wanted):
    """What the operator's command changes."""
    async with upkeep(nats_urls.operator, namespace, **wanted) as operators:
        survey = await operators.survey(SECONDS)
        return {name: change async for name, change in operators.apply(survey, SECONDS, lower=lower)}


async def present(nats_urls, namespace):
    """Every stream's configuration, by its name without the namespace."""
    client = await nats.connect(nats_urls.operator)
    names = json.loads((await client.request("$JS.API.STREAM.NAMES", json.dumps({"subject": f"{namespace}.>"}).encode(), timeout=5)).data)
    found = {}
    for name in names["streams"] or ():
        info = await client.request(f"$JS.API.STREAM.INFO.{name}", timeout=5)
        found[name[len(namespace) + 1 :]] = json.loads(info.data)["config"]
    await client.close()
    return found


async def test_a_start_makes_what_is_missing_and_changes_nothing(nats_urls, namespace):
    """Room that an operator gave stays when a service starts with other settings; the difference is told, in words, and nothing else."""
    async with opened(nats_urls.service, namespace, max_bytes=ROOM) as log:
        table = some_table(partition=3)
        (first,) = await fill(log, table, 1)
        assert log.streams_health()["status"] == "ok"
    before = await present(nats_urls, namespace)
    async with opened(nats_urls.service, namespace, max_bytes=2 * ROOM) as log:
        assert await log.read(table) == [first]
        told = log.streams_health()
        assert told["status"] == "degraded"
        assert told["problems"]["TABLE_3"] == f"room of {ROOM} bytes, should be room of {2 * ROOM} bytes"
    async with opened(nats_urls.service, namespace, max_bytes=ROOM // 2) as log:
        assert log.streams_health() | {"behind": []} == {
            "status": "ok",
            "partitions": {"there": 8, "known": 8, "used": 8},
            "copies": {"least": 1, "wanted": 1, "nodes": 1},
            "behind": [],
            "problems": {},
        }
    assert await present(nats_urls, namespace) == before


async def test_the_services_user_may_change_nothing(nats_urls, namespace):
    """What a stolen service could do to the log's safety is refused by the server itself, and nothing is changed."""
    if nats_urls.service == nats_urls.operator:
        pytest.skip("this server has one user for everything")
    async with opened(nats_urls.service, namespace, max_bytes=ROOM):
        pass
    async with upkeep(nats_urls.service, namespace, max_bytes=2 * ROOM) as services:
        survey = await services.survey(SECONDS)
        with pytest.raises(NotPermitted, match="may not change"):
            await anext(services.apply(survey, SECONDS, lower=False))
    assert {one["max_bytes"] for one in (await present(nats_urls, namespace)).values()} == {ROOM}


async def test_an_operator_raises_and_lowers_only_when_told_to(nats_urls, namespace):
    """Each change is said once; less room needs its own word; what was set by hand beside it stays."""
    async with opened(nats_urls.service, namespace, max_bytes=ROOM):
        pass
    client = await nats.connect(nats_urls.operator)
    mine = (await present(nats_urls, namespace))["LEDGER"] | {"description": "seen by Ann"}
    await client.request(f"$JS.API.STREAM.UPDATE.{mine['name']}", json.dumps(mine).encode(), timeout=5)
    await client.close()
    raised = await applied(nats_urls, namespace, max_bytes=2 * ROOM)
    assert raised["TABLE_0"] == f"room of {ROOM} bytes -> room of {2 * ROOM} bytes"
    assert len(raised) == len(configurations(Namespace(namespace), 1, None))
    assert await applied(nats_urls, namespace, max_bytes=2 * ROOM) == {}
    assert await applied(nats_urls, namespace, max_bytes=ROOM) == {}
    lowered = await applied(nats_urls, namespace, max_bytes=ROOM, lower=True)
    assert lowered["TABLE_0"] == f"room of {2 * ROOM} bytes -> room of {ROOM} bytes"
    assert (await applied(nats_urls, namespace))["LOBBY_7"] == f"room of {ROOM} bytes -> room without limit"
    assert (await present(nats_urls, namespace))["LEDGER"]["description"] == "seen by Ann"


async def test_more_copies_than_there_are_nodes_is_said_in_a_sentence(nats_urls, namespace):
    """Three copies on one node cannot be; the servers' own words are passed on."""
    with pytest.raises((StreamDrift, Unavailable), match=r"replicas|peers"):
        await open_log(nats_urls.service, namespace, replicas=3, open_seconds=3)
    assert await present(nats_urls, namespace) == {}


async def test_partitions_are_added_beside_what_is_there(nats_urls, namespace):
    """The first step: whoever knows more makes the streams and goes on making ids in those that hold something; what exists stays."""
    async with opened(nats_urls.service, namespace) as older:
        table = some_table(partition=5)
        (first,) = await fill(older, table, 1)
        before = await present(nats_urls, namespace)
        async with opened(nats_urls.service, namespace, partitions=16) as newer:
            assert newer.partitions == Partitions(known=16, used=8)
            assert await newer.read(table) == [first]
            assert await older.append(table, some_commit(table, 2), first.sequence)
        after = await present(nats_urls, namespace)
        assert {name: after[name] for name in before} == before
        assert after.keys() - before.keys() == {f"{kind}_{number}" for kind in ("TABLE", "LOBBY") for number in range(8, 16)}
    async with opened(nats_urls.service, namespace) as log:  # without a setting: as many as there are
        assert log.partitions == Partitions(known=16, used=8)


async def test_then_they_are_used(nats_urls, namespace):
    """The second step, by the setting; from the first commit there on they are used without it, and never left unread."""
    async with opened(nats_urls.service, namespace), opened(nats_urls.service, namespace, partitions=16, used=16) as log:
        assert log.partitions == Partitions(known=16, used=16)
        await fill(log, some_table(partition=12), 1)
    async with opened(nats_urls.service, namespace) as log:
        assert log.partitions == Partitions(known=16, used=16)
    with pytest.raises(StreamDrift, match="commits in 16 partitions, and PULKA_PARTITIONS is 8: it is never lowered"):
        await open_log(nats_urls.service, namespace, partitions=8)


async def test_an_instance_that_was_left_behind_says_so(nats_urls, namespace, monkeypatch):
    """It goes on with what it knows; `/health` says that there is more, and where to say it."""
    monkeypatch.setattr("shared.eventlog.jetstream.log.LOOK_SECONDS", 0.0)
    async with opened(nats_urls.service, namespace) as older, opened(nats_urls.service, namespace, partitions=16, used=16) as newer:
        await fill(newer, some_table(partition=9), 1)
        async with asyncio.timeout(SECONDS):
            while "partitions" not in (told := older.streams_health())["problems"]:
                await older.last_sequence("TABLE_0")
        assert told["partitions"] == {"there": 16, "known": 8, "used": 8}
        assert told["problems"] == {"partitions": "the log has commits in 16 partitions, and this instance knows 8 (PULKA_PARTITIONS)"}
        assert told["status"] == "degraded"
        assert newer.streams_health()["status"] == "ok"


async def test_a_new_log_uses_what_it_is_given(nats_urls, namespace):
    """Nobody else is there who would have to know first."""
    async with opened(nats_urls.service, namespace, partitions=32) as log:
        assert log.partitions == Partitions(known=32, used=32)


async def test_none_is_used_that_is_not_known(nats_urls, namespace):
    """The second step without the first is refused before anything is made."""
    with pytest.raises(StreamDrift, match="PULKA_PARTITIONS_USED is 16, and 8 partitions are known"):
        await open_log(nats_urls.service, namespace, used=16)
    assert await present(nats_urls, namespace) == {}


async def test_a_log_of_a_newer_program_is_refused_in_a_sentence(nats_urls, namespace):
    """More partitions than this program can know, even without a commit: somebody has to look."""
    async with opened(nats_urls.service, namespace):
        pass
    client = await nats.connect(nats_urls.operator)
    beyond = (await present(nats_urls, namespace))["TABLE_0"] | {
        "name": f"{namespace.upper()}_TABLE_99",
        "subjects": [f"{namespace}.table.99.*"],
    }
    made = await client.request(f"$JS.API.STREAM.CREATE.{beyond['name']}", json.dumps(beyond).encode(), timeout=5)
    assert "error" not in json.loads(made.data)
    await client.close()
    with pytest.raises(StreamDrift, match="the log has 100 partitions: 64 at most"):
        await open_log(nats_urls.service, namespace)


async def test_many_start_at_once(nats_urls, namespace):
    """Instances that begin together on a new log make its streams together, and none fails for another's having been first."""
    logs = await asyncio.gather(*(open_log(nats_urls.service, namespace, max_bytes=ROOM * (1 + number % 2)) for number in range(6)))
    assert len(await present(nats_urls, namespace)) == len(configurations(Namespace(namespace), 1, None))
    await asyncio.gather(*(log.close() for log in logs))
