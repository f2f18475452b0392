"""Under which master keys was sealed is written down, also when another key begins to seal; nobody starts without one of them."""

from __future__ import annotations

import asyncpg
import pytest

from services.table.keys_seen import KeysSeen
from services.table.running_tables import DDL
from shared.events import key_files
from shared.events.keys import MasterKeys, UnknownKey

OLD, NEW = ("old", b"o" * 32), ("new", b"n" * 32)


@pytest.fixture
async def seen(postgres_dsn, namespace, monkeypatch, tmp_path):
    """Makes one that follows a file with these keys, and says what is written down."""
    monkeypatch.setattr("shared.events.key_files.LOOK_S", 0.0)
    connection = await asyncpg.connect(postgres_dsn, server_settings={"search_path": namespace})
    await connection.execute(f'CREATE SCHEMA "{namespace}"; {DDL}')

    def made(*keys, name="master"):
        path = tmp_path / name
        key_files.create(path, key_files.lines(keys))
        return path, KeysSeen(postgres_dsn, namespace, MasterKeys.load(path))

    async def noted():
        return {row["key_id"] for row in await connection.fetch("SELECT key_id FROM key_seen")}

    yield made, noted
    await connection.close()


async def test_a_key_counts_from_when_it_seals(seen):
    """Added behind it is not written down, made the first it is; then no instance starts without it, nor without the older one."""
    made, noted = seen
    path, keys = made(OLD)
    await keys.look()
    assert await noted() == {"old"}
    key_files.replace(path, key_files.lines([OLD, NEW]))
    await keys.look()
    assert (await noted(), keys.health()) == ({"old"}, {"seals": "old", "opens": ["old", "new"], "trouble": None})
    key_files.replace(path, key_files.lines([NEW, OLD]))
    await keys.look()
    assert (await noted(), keys.health()["seals"]) == ({"old", "new"}, "new")
    for number, lacking in enumerate([OLD, NEW]):
        _, other = made(lacking, name=f"other {number}")
        with pytest.raises(UnknownKey, match="new" if lacking is OLD else "old"):
            await other.begin()


async def test_a_file_that_is_not_used_is_told(seen):
    """In the service's health, by its line."""
    made, _ = seen
    path, keys = made(OLD)
    await keys.begin()
    key_files.replace(path, "nonsense")
    assert keys.health() == {"seals": "old", "opens": ["old"], "trouble": f"{path}, line 1: not `id:64 hex digits`"}
    await keys.stop()


async def test_without_postgres_it_is_done_later(tmp_path):
    """A start does not wait for it: tables are opened one by one, and each names a key that it lacks."""
    key_files.create(tmp_path / "master", key_files.lines([OLD]))
    keys = KeysSeen("postgresql://nobody@127.0.0.1:1/none", "none", MasterKeys.load(tmp_path / "master"))
    await keys.begin()
    assert keys.health()["trouble"] is None
    await keys.stop()
