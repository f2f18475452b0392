"""An instance of the table service is killed, or stands still: the other one ends the turns of its streams, in time and once."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import time
from contextlib import ExitStack

import asyncpg
import httpx
import pytest

from services.table.openings import Openings
from services.table.running_tables import runs
from services.table.tables import Tables
from shared.eventlog.jetstream.log import open_log
from shared.events.address import ENTROPY_BYTES, FEWEST, new_id
from shared.events.commit import decode
from shared.events.keys import MasterKeys
from shared.events.sealing import TableCodec
from shared.projections.core.projection import schema_of
from shared.rules.convention.options import resolve
from shared.rules.language.game_events import TurnTimedOut
from shared.rules.pulka.decider import OpenPulka
from tests.journeys.club import PATIENCE, Club

pytestmark = pytest.mark.chaos

KEYS = MasterKeys((("test", bytes.fromhex("5a" * 32)),))  # as the instances have them
TURN_S = 4
LATE = 5_000  # milliseconds: a lease is taken over in three seconds, and this machine has more to do; `bench_clocks` has the figure
OPENING = OpenPulka(
    resolve("sochi", 100), "00" * 32, 3, 100, ("ann", "ben", "cid"), {"clock": {"move_s": TURN_S, "cut_s": TURN_S}}, 0
)  # fmt: skip


def now_ms() -> int:
    return time.time_ns() // 1_000_000


async def looked_after(club: Club) -> float:
    """How many streams an instance has."""
    async with httpx.AsyncClient(trust_env=False) as http:
        figures = (await http.get(f"{club.url}/metrics")).text
    return next(float(line.split()[1]) for line in figures.splitlines() if line.startswith("pulka_clock_streams "))


async def until(condition) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await condition():  # noqa: ASYNC110 - another process, which tells nobody
            await asyncio.sleep(0.05)  # the interval of a poll


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_the_other_instance_ends_the_turns(nats_url, postgres_dsn, namespace, tmp_path, how):
    """Every table's turn ends after its time and not long after it, nobody gets time back for it, and whoever goes on ends none again."""
    with ExitStack() as clubs:
        folders = [tmp_path / name for name in ("one", "two")]
        for folder in folders:
            folder.mkdir()
        one, two = (clubs.enter_context(Club(nats_url, postgres_dsn, namespace, folder, "table")) for folder in folders)
        asyncio.run(_taken_over(nats_url, postgres_dsn, namespace, one, two, how))
        if how == signal.SIGKILL:
            one.kill()


async def _taken_over(nats_url, postgres_dsn, namespace, one, two, how):
    async def shared() -> bool:
        return [await looked_after(club) for club in (one, two)] == [FEWEST / 2] * 2

    log = await open_log(nats_url, namespace, durable=True)
    postgres = await asyncpg.connect(postgres_dsn, server_settings={"search_path": schema_of(Openings(None, None, None), namespace)})
    tables = Tables(log, TableCodec(KEYS))
    await until(shared)
    ids = [new_id(bytes([partition]) + secrets.token_bytes(ENTROPY_BYTES - 1)) for partition in range(FEWEST)]
    for table_id in ids:
        await tables.open(table_id, OPENING, now_ms(), None)
        await tables.start_deal(table_id, 1, now_ms())
        await runs(postgres, table_id, 1000 * TURN_S)
    os.kill(one.process.pid, how)

    async def ended() -> bool:
        return all([(await tables.load(table_id, at_leader=True)).revision >= 5 for table_id in ids])  # opened, dealt, three turns

    await until(ended)
    if how == signal.SIGSTOP:
        os.kill(one.process.pid, signal.SIGCONT)
        await until(shared)
    for table_id in ids:
        flagged = []
        address = (await tables.load(table_id)).address
        for stored in await log.read(address):
            commit = tables.codec.open(decode(stored.data))
            flagged += [(event, decode(stored.data).at) for event in commit if isinstance(event, TurnTimedOut)]
        assert len({event.deadline for event, _ in flagged}) == len(flagged) >= 3
        assert all(event.credit == 0 and 0 <= at - event.deadline <= LATE for event, at in flagged), flagged
    assert await postgres.fetchval("SELECT count(*) FROM outage") == 0
    await postgres.close()
    await log.close()
