"""Two bot hosts, each a process that has no key, beside two instances of everything else: one is killed while many tables play."""

from __future__ import annotations

import asyncio
import secrets
import time
from contextlib import ExitStack

import pytest

from services.bots.client import connect
from services.bots.share import BUCKETS
from tests.journeys.bots import BotHost, Watched, host_token
from tests.journeys.club import Club

pytestmark = pytest.mark.timeout(300)  # seconds; five processes and twelve pulkas, on a busy machine

TABLES = 12
HALF = BUCKETS // 2
ENOUGH = 60.0  # seconds for what takes one or three


async def until(true):
    async with asyncio.timeout(ENOUGH):
        while not true():  # noqa: ASYNC110 - other processes, which tell nobody
            await asyncio.sleep(0.05)  # the interval of a poll


@pytest.fixture
def sites(nats_url, postgres_dsn, tmp_path):
    """Two instances of all services but the bots, with the same keys."""
    namespace = f"j{secrets.token_hex(4)}"
    with ExitStack() as running:
        yield [running.enter_context(Club(nats_url, postgres_dsn, namespace, tmp_path, PULKA_BOTS="no")) for _ in range(2)]


@pytest.fixture
def hosts(sites, tmp_path):
    """Two hosts, each with the lobby of one site and the tables of the other."""
    one, two = sites
    with ExitStack() as running:
        found = []
        for name, (lobby, table) in (("first", (one, two)), ("second", (two, one))):
            (tmp_path / name).mkdir()
            found.append(running.enter_context(BotHost(one, tmp_path / name, lobby.url, table.url)))
        yield found


async def _with_one_killed(sites, hosts):
    await until(lambda: [host.told()["buckets"] for host in hosts] == [HALF, HALF])
    tables = [Watched() for _ in range(TABLES)]
    async with connect(sites[0].url) as http, asyncio.TaskGroup() as group:
        for table in tables:
            group.create_task(table.play(http))
        await asyncio.gather(*(table.reached.wait() for table in tables))
        seats = [host.told()["seats"] for host in hosts]
        hosts[0].kill()
        killed = time.monotonic()
        await until(lambda: hosts[1].told()["buckets"] == BUCKETS)
        taken = time.monotonic() - killed
    return tables, seats, taken


def test_one_of_two_hosts_is_killed(sites, hosts):
    """Each has half of the buckets and plays there; the other takes over within the time of a lease, all pulkas end, nothing is played
    twice, nobody's time runs out, and hardly a move is refused.
    """
    tables, seats, taken = asyncio.run(_with_one_killed(sites, hosts))
    assert {table.view["status"] for table in tables} == {"over"}
    for table in tables:
        assert table.revisions == list(range(1, table.view["revision"] + 1))
        assert len(table.kinds("CardPlayed")) == 3 * len(table.kinds("TrickWon"))
        assert not table.kinds("TurnTimedOut")
    assert 0 < sum(seats) <= 2 * TABLES
    assert taken < 5.0  # three seconds are promised; this machine has more to do
    told = hosts[1].told()
    assert (told["buckets"], told["status"]) == (BUCKETS, "ok")
    logs = [host.errors.read_text() for host in hosts]
    refused = sum(log.count("bot_move_refused") + log.count("bot_call_refused") for log in logs)
    moves = sum(len(table.revisions) for table in tables)
    assert refused <= moves / 50, (refused, moves)
    assert not any("bot_failed" in log or "bot_left_its_seat" in log for log in logs)


def test_one_that_comes_gets_its_share_and_one_that_stops_gives_it_back(sites, hosts):
    """At once and whole, as processes that are asked to end; a token that the lobby does not take is told by `/health`."""
    asyncio.run(until(lambda: [host.told()["buckets"] for host in hosts] == [HALF, HALF]))
    hosts[0].stop()
    began = time.monotonic()
    asyncio.run(until(lambda: hosts[1].told()["buckets"] == BUCKETS))
    assert time.monotonic() - began < 1.5  # at the next look; a dead one's would take two seconds
    token = hosts[0].errors.parent / "token"
    token.write_text(token.read_text()[:-10])
    hosts[0].start()
    asyncio.run(until(lambda: hosts[0].told().get("reason") == "token_invalid"))
    assert hosts[1].told()["buckets"] == BUCKETS
    token.write_text(host_token(sites[0]))
    asyncio.run(until(lambda: [host.told()["buckets"] for host in hosts] == [HALF, HALF]))
    assert hosts[0].told()["status"] == "ok"
