"""How a schema is filled from the beginning: on one connection, and in steps that leave room for those who read meanwhile."""

import asyncio

import asyncpg
import pytest

from shared.projections.versions import filling
from shared.projections.versions.filling import ALONE, BESIDE, READ_S, somebody_reads
from shared.projections.versions.rebuild import fingerprint, rebuild
from tests.contracts.projection_subject import Tally, Writer
from tests.contracts.versions.conftest import STREAMS, until

pytestmark = pytest.mark.servers


async def test_a_filling_holds_one_connection_whatever_the_number_of_streams(log, world, versions):
    """Stream after stream on one connection: more at a time would leave those who read meanwhile no room on a small machine."""
    seen = []

    class Watched(Tally):
        async def apply(self, connection, batch):
            await super().apply(connection, batch)
            seen.append(
                await connection.fetchval("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE $1", f"pulka {schema}%"[:63])
            )

    schema = versions.schema(2)
    await world.follow(log)
    for partition in (0, 1):
        await Writer(log, partition).spread(ALONE + 1, 3)
    await world.next(log, Watched()).fill("ann")
    assert seen == [1, 1, 1, 1]


@pytest.mark.parametrize("lost_in", [0, 1, 2, 3])
async def test_a_filling_that_loses_its_connection_goes_on_with_another(log, world, connection, versions, lost_in):
    """Nothing of the batch is written then, and it is written once after that: the rows are those of the live version."""
    batches = 0

    class Cut(Tally):
        async def apply(self, filling, batch):
            nonlocal batches
            await super().apply(filling, batch)
            if batches == lost_in:
                await connection.execute("SELECT pg_terminate_backend($1)", filling.get_server_pid())
            batches += 1

    await world.follow(log)
    for partition in (0, 1):
        await Writer(log, partition).spread(ALONE + 1, 3)
    done = await world.next(log, Cut()).fill("ann")
    assert batches == 5
    await rebuild(log, Tally(), STREAMS, world.dsn, versions.schema(2) + "_again")
    assert await fingerprint(connection, versions.schema(done.version.number)) == await fingerprint(
        connection, versions.schema(2) + "_again"
    )


async def test_a_filling_takes_smaller_steps_from_when_somebody_reads(log, world, connection, versions, monkeypatch):
    """Alone it is fast; as soon as somebody reads, its transactions are short, so that he need not wait for the processor behind them."""
    monkeypatch.setattr(filling, "STRETCH", ALONE)
    sizes = []
    reader = await asyncpg.connect(world.dsn, server_settings={"application_name": versions.readers})

    class Read(Tally):
        async def apply(self, connection, batch):
            await super().apply(connection, batch)
            sizes.append(len(batch))
            if len(sizes) == 1:
                await reader.execute("BEGIN; SELECT 1")

    try:
        await world.follow(log)
        await until_nobody_reads(connection, versions)
        await Writer(log).spread(2 * ALONE, 3)
        await world.next(log, Read()).fill("ann")
    finally:
        await reader.close()
    assert sizes[0] == ALONE
    assert len(sizes) > 2
    assert max(sizes[1:]) <= BESIDE
    assert sum(sizes) == 2 * ALONE


async def test_a_rebuild_apart_is_nobodys_and_need_not_make_room(log, world, connection, versions):  # noqa: ARG001 - the connection clears away afterwards
    """Rows that are only compared are read by no name: connections without a name, such as the server's own, are not their readers."""
    sizes = []

    class Sized(Tally):
        async def apply(self, connection, batch):
            await super().apply(connection, batch)
            sizes.append(len(batch))

    await Writer(log).spread(ALONE, 3)
    nameless = await asyncpg.connect(world.dsn)
    try:
        await nameless.execute("BEGIN; SELECT 1")
        await rebuild(log, Sized(), STREAMS, world.dsn, versions.schema(1) + "_apart")
    finally:
        await nameless.close()
    assert sizes == [ALONE]


async def test_a_read_counts_for_a_moment_after_its_end(world, versions, connection):
    """Between two reads of the same person a filling goes on in small steps; an open connection that asks nothing is nobody who reads."""
    assert not await somebody_reads(connection, versions.readers)
    reader = await asyncpg.connect(world.dsn, server_settings={"application_name": versions.readers})
    try:
        began = asyncio.get_running_loop().time()
        await reader.execute("SELECT 1")
        read = await somebody_reads(connection, versions.readers)
        assert read or asyncio.get_running_loop().time() - began >= READ_S
        await until_nobody_reads(connection, versions)
        await reader.execute("BEGIN; SELECT 1")
        assert await somebody_reads(connection, versions.readers)
    finally:
        await reader.close()


async def until_nobody_reads(connection, versions):
    async def quiet():
        return not await somebody_reads(connection, versions.readers)

    await until(quiet)
