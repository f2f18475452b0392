"""F22, F23: the log's folder on a volume of its own that is small, full, or full for a while."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import subprocess

import httpx
import pytest

from services.cli.embedded import EmbeddedServers, log_keeper
from services.cli.embedded.log_keeper import AT_THE_LIMIT, LogKeeper
from services.cli.embedded.log_room import LEAST_ROOM, LogRoom
from shared.eventlog.jetstream.log import open_log
from shared.eventlog.port import StorageFull
from shared.web.service import CannotStart
from tests.contracts.commits import fill as write
from tests.contracts.commits import some_table
from tests.services.cli.processes import until, until_async
from tests.services.cli.serving.test_up import PULKA, home, pulka, up  # noqa: F401 - the two are fixtures

pytestmark = pytest.mark.servers
MB = 1024 * 1024


@pytest.fixture
def volume(home):  # noqa: F811 - a fixture
    """Mount an empty volume of so many MB at HOME/nats; where that is not permitted there is nothing to show."""
    folder = home / "nats"

    def mount(megabytes):
        folder.mkdir(parents=True)
        home.chmod(0o755)
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            assert "CI" not in os.environ, done.stderr  # there a missing permission is a failure
            pytest.skip(f"no volume can be mounted here: {done.stderr.strip()}")
        return folder

    yield mount
    subprocess.run(["umount", "-l", str(folder)], capture_output=True, check=False)


def fill(file):
    """Write until the kernel refuses."""
    handle = os.open(file, os.O_WRONLY | os.O_CREAT)
    try:
        while True:
            os.write(handle, bytes(4096))
    except OSError as full:
        assert full.errno == errno.ENOSPC  # noqa: PT017 - the one that ends the loop
    finally:
        os.close(handle)


def signs_up(url):
    return httpx.post(f"{url}/v1/lobby/players", json={"name": "Vera"}, timeout=30).status_code


def health(url):
    """Status of the whole, and what each service says of the log."""
    found = httpx.get(f"{url}/health").json()
    return found["status"], found["services"]["lobby"]["log_trouble"]


@pytest.mark.chaos
def test_writes_go_on_when_a_full_volume_has_room_again(volume, up):  # noqa: F811 - a fixture
    """F22: `/health` and `/health/ready` say that the log takes nothing; once there is room everything goes on, without a restart."""
    folder = volume(48)
    process, ready = up()
    assert signs_up(ready["url"]) == 201
    assert health(ready["url"]) == ("ok", None)
    fill(folder / "somebody_else")
    until(lambda: signs_up(ready["url"]) == 503, seconds=60)  # the page that a stream has begun takes some more
    assert health(ready["url"]) == ("degraded", "no_ack")
    assert httpx.get(f"{ready['url']}/health/ready").json()["services"]["lobby"]["log_trouble"] == "no_ack"
    (folder / "somebody_else").unlink()
    until(lambda: health(ready["url"]) == ("ok", None), seconds=30)
    for _ in range(20):  # every partition of the lobby
        assert signs_up(ready["url"]) == 201
    assert process.poll() is None


@pytest.mark.chaos
def test_a_small_volume_is_said_at_the_start_and_bounds_the_log(volume, home):  # noqa: F811 - a fixture
    """F23: ready comes with how much the log may still take, which is less than the volume has; what is below that can be written."""
    volume(48)
    command = [*PULKA, "up", "--home", str(home), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        url = process.stdout.readline().strip()
        assert signs_up(url) == 201
        assert health(url)[0] == "ok"
        process.terminate()
        _, told = process.communicate()
    room = int(re.search(r"The log has room for (\d+) MB more: its volume is small or nearly full\.", told)[1])
    assert 30 <= room < 48


def test_a_volume_without_room_is_one_line(volume, home):  # noqa: F811 - a fixture
    """F23: no `ready` where every write would be refused: status 2 and what is missing."""
    volume(8)
    status, ready, complaint = pulka("up", "--home", str(home), "--port", "0")
    assert (status, ready) == (2, "")
    assert re.fullmatch(rf".*disk full: the log in {home}/nats has room for \d MB more, 8 MB are needed\n", complaint)


async def test_the_limit_follows_the_room(volume, home):  # noqa: F811 - a fixture
    """F22, F23: a log that was started beside a large file is refused more by its limit, and takes more once the file has gone."""
    folder = volume(64)
    other = folder / "somebody_else"
    other.write_bytes(bytes(40 * MB))
    with EmbeddedServers(home, postgres=False) as servers:
        log = await open_log(servers.nats_url, "small", durable=True, append_seconds=2)
        watching = asyncio.create_task(servers.watch())
        before = servers.log_room
        with pytest.raises(StorageFull):
            await write(log, some_table(), 400, size=200_000)
        assert log.trouble() == "storage_full"
        other.unlink()
        await until_async(lambda: log.connected() and log.trouble() is None)
        assert servers.log_room.limit > before.limit + 20 * MB
        await write(log, some_table(), 20, size=200_000)
        watching.cancel()
        await log.close()


async def test_room_that_has_gone_again_is_waited_for(tmp_path, monkeypatch):
    """F22: room that is there at a look and no more at the start ends neither the watch nor the server; the next look tries again."""
    monkeypatch.setattr(log_keeper, "LOOK_SECONDS", 0.0)
    tries, renewed = [], asyncio.Event()

    def renew():
        tries.append(1)
        if len(tries) == 1:
            raise CannotStart("disk full: the log has room for 0 MB more, 8 MB are needed")
        renewed.set()

    keeper = LogKeeper(tmp_path / "nats.log", LogRoom(20 * MB, 0), lambda: LogRoom(20 * MB, 30 * MB), renew)
    watching = asyncio.create_task(keeper.watch())
    async with asyncio.timeout(10):
        await renewed.wait()
    watching.cancel()
    assert (len(tries), keeper.given.limit) == (2, 50 * MB)


def test_the_server_is_renewed_once_and_only_with_room(tmp_path):
    """F22: a write that failed is remembered until there is room; then the server starts with the limit of now, once."""
    told, renewed, said = tmp_path / "nats.log", [], LogRoom(10 * MB, 30 * MB)
    told.write_text("started\n")
    keeper = LogKeeper(told, said, lambda: said, lambda: renewed.append(1))
    keeper.look(LogRoom(20 * MB, 20 * MB))
    with told.open("a") as file:
        file.write("[ERR] write 1.blk: no space ")
    keeper.look(LogRoom(20 * MB, 0))
    with told.open("a") as file:
        file.write("left on device\n")
    keeper.look(LogRoom(20 * MB, LEAST_ROOM - 1))
    assert renewed == []
    keeper.look(LogRoom(20 * MB, LEAST_ROOM))
    keeper.look(LogRoom(20 * MB, LEAST_ROOM - 1))
    assert renewed == [1]
    keeper.look(LogRoom(20 * MB + LEAST_ROOM - AT_THE_LIMIT, LEAST_ROOM))  # at its limit, and there is more by now
    assert renewed == [1, 1]
