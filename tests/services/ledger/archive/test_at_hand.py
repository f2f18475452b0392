"""`/health` says when the archive is not at hand, and what to do about it; it never waits for a disk."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest

from services.ledger import main
from services.ledger.archive import archive_files, at_hand
from services.ledger.archive.at_hand import ArchiveAtHand
from services.ledger.own.own_events import ARCHIVE, OwnEvents
from shared.eventlog.memory import MemoryLog, MemoryStore
from shared.events.ledger_events import TableArchived
from shared.web.settings import Settings
from tests.services.ledger.played import PlayedTable


@pytest.fixture
def memory():
    return MemoryLog(MemoryStore())


async def archived(log, folder, number=1):
    """The log tells of a table, of which a file is in `folder`."""
    file = f"0/table-{number}{archive_files.ENDING}"
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")
    await OwnEvents(log).append(ARCHIVE, f"archived:{number}", 1, TableArchived(f"table-{number}", file, "digest", 9, "head", "me"))
    return path


async def test_an_archive_that_is_there_is_no_trouble(memory, tmp_path):
    """And neither is one that is configured, or not, before anything was archived."""
    folder = tmp_path / "archive"
    assert await ArchiveAtHand(memory, folder).trouble() is None
    assert await ArchiveAtHand(memory, None).trouble() is None
    await archived(memory, folder)
    assert await ArchiveAtHand(memory, folder).trouble() is None


async def test_what_is_missing_is_told_until_it_is_back(memory, tmp_path):
    """No variable; no folder; something else in its place; an empty one, as a mount that failed leaves it; then all is well again."""
    folder = tmp_path / "archive"
    await archived(memory, folder, 1)
    await archived(memory, folder, 2)
    assert "PULKA_ARCHIVE_DIR is not set: set it" in await ArchiveAtHand(memory, None).trouble()
    looking = ArchiveAtHand(memory, folder)
    folder.rename(tmp_path / "away")
    told = await looking.trouble()
    assert "(No such file or directory): mount it" in told
    assert str(tmp_path) not in told, "everybody reads /health"
    folder.write_text("")
    assert "(Not a directory)" in await looking.trouble()
    folder.unlink()
    folder.mkdir()
    assert "no file of the table that was archived last" in await looking.trouble()
    folder.rmdir()
    (tmp_path / "away").rename(folder)
    assert await looking.trouble() is None


async def test_without_the_log_the_answer_is_what_it_was(memory, tmp_path):
    """Nobody knows then what was archived."""
    folder = tmp_path / "archive"
    path = await archived(memory, folder)
    looking = ArchiveAtHand(memory, folder)
    assert await looking.trouble() is None
    path.unlink()
    memory.disconnect()
    assert await looking.trouble() is None
    memory.reconnect()
    assert await looking.trouble() == at_hand.OTHER


async def test_a_disk_that_hangs_keeps_nobody_waiting(memory, tmp_path, monkeypatch):
    """One thread waits for it, however often somebody asks; when it answers, so does the next look."""
    monkeypatch.setattr(at_hand, "LOOK_S", 0.02)
    folder = tmp_path / "archive"
    path = await archived(memory, folder)
    path.unlink()
    os.mkfifo(path)  # opening it waits for a writer, as a disk that hangs waits for the network
    looking = ArchiveAtHand(memory, folder)
    tasks = len(asyncio.all_tasks())
    for _ in range(3):
        assert await looking.trouble() == at_hand.HANGS
    assert len(asyncio.all_tasks()) == tasks + 1
    with path.open("wb"):
        await looking._look
    assert await asyncio.to_thread(path.unlink) is None
    assert await looking.trouble() == at_hand.OTHER
    await looking.close()


def test_a_disk_that_hangs_keeps_no_process_from_ending(tmp_path):
    """The loop ends while the look still waits: its thread is not one that anybody waits for."""
    os.mkfifo(tmp_path / "file")

    async def look():
        looking = asyncio.create_task(at_hand._apart(tmp_path, "file"))
        await asyncio.sleep(0)
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)

    asyncio.run(look())
    waiting = [thread for thread in threading.enumerate() if thread.name == "archive at hand"]
    assert [thread.daemon for thread in waiting] == [True]
    (tmp_path / "file").open("wb").close()
    waiting[0].join(20)


@pytest.mark.servers
async def test_the_ledger_is_degraded_while_its_archive_is_away(club, nats_urls, postgres_dsn, namespace):
    """Not down: sheets, lists and statements need nothing of it."""
    over = await PlayedTable(club.log, 47, target=2).play()
    await club.read(over)
    await club.archive()
    await club.projector.stop()
    settings = Settings(nats_url=nats_urls.service, postgres_dsn=postgres_dsn, namespace=namespace, archive_dir=str(club.folder))
    service = main.create(settings)
    await service.start()
    try:
        well = await service.health()
        assert (well["status"], well["archive"]) == ("ok", None)
        club.folder.rename(club.folder.with_name("away"))
        ill = await service.health()
        assert (ill["status"], "PULKA_ARCHIVE_DIR" in ill["archive"]) == ("degraded", True)
        club.folder.with_name("away").rename(club.folder)
        assert (await service.health())["status"] == "ok"
    finally:
        await service.stop()
