"""What the servers can do to the ledger: it waits and says so, or refuses and says so, and goes on by itself where that is safe."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import asyncpg
import pytest

from shared.web.service import CannotStart
from tests.chaos.ledger_house import PATIENCE, SCHEMA
from tests.services.ledger.played import PlayedTable

pytestmark = [pytest.mark.chaos, pytest.mark.servers]

ALL = {f"TABLE_{partition}": "postgres_unreachable" for partition in range(8)}


async def test_the_database_is_away_for_a_while(house):
    """Killed and away while play goes on: the ledger says so, reads nothing wrong, and catches up by itself when it is back."""
    played = await PlayedTable(house.log, 1).play(commits=40)
    await house.start()
    assert await house.shown(played) == 40
    house.kill("postgres")
    await house.says(status="degraded", **ALL)
    assert (await house.service.health())["status"] == "down"  # nothing can be read
    await played.play(commits=80)
    with pytest.raises((OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError)):
        async with house.desk.readers.reading():
            pass
    house.servers.revive()
    await house.says(status="ok")
    assert await house.shown(played) == 80
    assert await house.differences() == set()


async def test_the_disk_is_full(house):
    """Postgres that cannot write a row for want of room says so to the ledger, which waits, and goes on when there is room.

    The file of one table leads to /dev/full, where the kernel refuses each write as a full disk does.
    """
    await house.start()
    await house.stop()  # a session that made the tables has their files open
    connection = await asyncpg.connect(house.servers.postgres_dsn)
    data = Path(await connection.fetchval("SHOW data_directory"))
    file = data / await connection.fetchval(f"SELECT pg_relation_filepath('{SCHEMA}.audit_trail')")
    await connection.close()
    file.rename(file.with_suffix(".kept"))
    file.symlink_to("/dev/full")
    await house.start()
    sick, well = PlayedTable(house.log, 1, partition=1), PlayedTable(house.log, 2, partition=2)
    await sick.play(commits=30)
    await house.says(status="degraded", TABLE_1="postgres_disk_full")
    file.unlink()
    file.with_suffix(".kept").rename(file)
    await well.play(commits=30)
    assert await house.shown(well) == 30
    assert await house.shown(sick) == 30
    await house.says(status="ok")
    assert await house.differences() == set()


async def test_the_database_is_put_back_from_an_older_backup(house):
    """Under a running ledger: it goes on from the backup's checkpoint; who waits for a position does not see older rows."""
    played, later = await PlayedTable(house.log, 1).play(commits=40), PlayedTable(house.log, 2)
    await house.start()
    assert await house.shown(played) == 40
    house.kill("postgres")
    data = house.servers.home / "postgres"
    shutil.copytree(data, data.with_name("backup"))
    house.servers.revive()
    await played.play(commits=90)
    await later.play(commits=50)
    assert (await house.shown(played), await house.shown(later)) == (90, 50)
    house.kill("postgres")
    await house.says(status="degraded", **ALL)
    data.rename(data.with_name("lost"))
    data.with_name("backup").rename(data)
    for path in (data, *data.rglob("*")):
        shutil.chown(path, *_owner(data.with_name("lost")))
    data.chmod(0o700)
    house.servers.revive()
    await house.says(status="ok")
    assert (await house.shown(played), await house.shown(later)) == (90, 50)
    await played.play(commits=100)
    assert await house.shown(played) == 100
    assert await house.differences() == set()


def _owner(path):
    found = path.stat()
    return found.st_uid, found.st_gid


async def test_the_log_is_put_back_from_an_older_copy(house):
    """Under a running ledger and before a start: it refuses and names what is wrong, writes nothing, and goes on with the true log."""
    played = await PlayedTable(house.log, 1).play(commits=40)
    await house.start()
    assert await house.shown(played) == 40
    store = house.servers.home / "nats"
    house.kill("nats")
    shutil.copytree(store, store.with_name("older"))
    house.servers.revive()
    await house.says(status="ok")
    await _again(house, played.play, commits=90)
    assert await house.shown(played) == 90

    house.kill("nats")
    store.rename(store.with_name("true"))
    shutil.copytree(store.with_name("older"), store)
    _same_owner(store, store.with_name("true"))
    house.servers.revive()
    await house.says(status="down", TABLE_0="log_behind")
    await house.stop()
    with pytest.raises(CannotStart, match="log_behind: TABLE_0 ends at sequence 40, but 90 has been applied"):
        await house.start()
    await house.stop()

    other = PlayedTable(house.log, 7)
    await _again(house, other.play, commits=60)  # a log that is longer than what was applied, and another
    with pytest.raises(CannotStart, match="history_differs: TABLE_0:90 is not the commit"):
        await house.start()
    await house.stop()

    house.kill("nats")
    shutil.rmtree(store)
    store.with_name("true").rename(store)
    house.servers.revive()
    await house.start()
    assert await house.shown(played) == 90
    await _again(house, played.play, commits=95)
    assert await house.shown(played) == 95
    assert await house.differences() == set()


async def test_the_log_is_wiped(house):
    """An empty log is behind what was read: refused while it runs and at each start, until somebody puts the books away."""
    played = await PlayedTable(house.log, 1).play(commits=40)
    await house.start()
    assert await house.shown(played) == 40
    house.kill("nats")
    for stored in (house.servers.home / "nats").iterdir():
        shutil.rmtree(stored)
    house.servers.revive()
    await house.log.close()
    await house.open()  # makes the streams anew
    await house.says(status="down", TABLE_0="log_behind")
    await house.stop()
    with pytest.raises(CannotStart, match="log_behind: TABLE_0 ends at sequence 0, but 40 has been applied"):
        await house.start()


def _same_owner(folder, as_of):
    for path in (folder, *folder.rglob("*")):
        shutil.chown(path, *_owner(as_of))


async def _again(house, play, **much):
    """Play on once the log's connection is back."""
    async with asyncio.timeout(PATIENCE):
        while not house.log.connected():  # noqa: ASYNC110 - the client tells only who asks
            await asyncio.sleep(0.02)  # the interval of a poll
    await play(**much)
