"""Who is erased cannot be read any more, in no copy of the log, and the log still proves all that was played."""

from __future__ import annotations

import asyncio
import hashlib
import time
from pathlib import Path

import asyncpg
import msgspec
import pytest

from services.lobby import erasures, main
from services.lobby.players import address_of
from services.lobby.projection import LobbyRows
from shared.events.chain import verify_chain
from shared.events.commit import decode
from shared.events.keys import MasterKeys
from shared.events.lobby_events import PlayerErased
from shared.events.personal import PersonKeys, open_personal
from shared.events.sealed import Sealed, TamperedBox
from shared.events.upcast import stored_lobby_events
from shared.projections.core.projection import schema_of
from shared.web.auth import OPERATE
from tests.services.lobby.conftest import Person
from tests.token_keys import ISSUER


@pytest.fixture
def operator(client):
    return Person(client, token=ISSUER.issue("operator", (OPERATE,), int(time.time())))


@pytest.fixture
async def vault(settings, lobby):  # noqa: ARG001 - the lobby has made the schema
    connection = await asyncpg.connect(settings.postgres_dsn, server_settings={"search_path": f"{settings.namespace}_vault"})
    yield connection
    await connection.close()


async def events_of(log, player):
    records = await log.read(address_of(player))
    assert verify_chain([recorded.data for recorded in records], address_of(player).subject, {}).verified
    return [event for recorded in records for event in stored_lobby_events(decode(recorded.data))]


async def test_a_player_erases_himself(sign_up, vault, log):
    """The key is gone, the log proves which one it was, his chain verifies, and nobody can call him by name or log him in."""
    anna = await sign_up("Anna", password="corona borealis")
    wrapped = await vault.fetchval("SELECT wrapped FROM person_keys WHERE person = $1", anna.id)
    answer = await anna.delete("/me")
    assert (answer["player"], answer["erased"]) == (anna.id, True)
    assert await vault.fetchval("SELECT count(*) FROM person_keys WHERE person = $1", anna.id) == 0
    assert (await events_of(log, anna.id))[-1] == PlayerErased(anna.id, anna.id, hashlib.sha256(wrapped).hexdigest())
    assert (await anna.get("/me"))["player"] == {"id": anna.id, "name": None}
    wrong = await anna.post("/tokens", {"player": anna.id, "password": "corona borealis"}, status=401)
    assert wrong["code"] == "wrong_password"


async def test_without_the_key_the_log_says_nothing(sign_up, vault, log, settings):
    """Before the erasure the key opens the name in the log; with every key that is left after it none does."""
    anna, boris = await sign_up("Anna"), await sign_up("Boris")
    persons = PersonKeys(MasterKeys.load(Path(settings.master_keys_file)))

    async def keys():
        rows = await vault.fetch("SELECT person, wrapped FROM person_keys")
        return {row["person"]: persons.unwrap(row["person"], msgspec.json.decode(row["wrapped"], type=Sealed)) for row in rows}

    name = (await events_of(log, anna.id))[0].name
    assert open_personal((await keys())[anna.id], "name", name) == "Anna"
    await anna.delete("/me")
    left = await keys()
    assert left.keys() == {boris.id}
    with pytest.raises(TamperedBox):
        open_personal(left[boris.id], "name", name)


async def test_an_operator_erases_a_player_once(operator, sign_up, log):
    """A second erasure gives the same proof again and writes nothing; nobody else may do it, and nobody unknown can be erased."""
    anna, boris = await sign_up("Anna"), await sign_up("Boris")
    first = await operator.post(f"/players/{anna.id}/erasure", status=200)
    again = await operator.post(f"/players/{anna.id}/erasure", status=200)
    assert first == again
    assert [type(event).__name__ for event in await events_of(log, anna.id)].count("PlayerErased") == 1
    assert (await boris.post(f"/players/{anna.id}/erasure", status=403))["code"] == "scope_missing"
    for nobody in ("3-" + "a" * 26, "nobody"):
        assert (await operator.post(f"/players/{nobody}/erasure", status=404))["code"] == "no_such_player"


@pytest.mark.parametrize("rows", ["that know", "that have to learn"])
async def test_a_key_that_comes_back_is_destroyed_again(sign_up, vault, settings, lobby, rows):
    """A vault restored from an older backup forgets the erased ones as soon as the lobby starts, though its rows be as old."""
    anna = await sign_up("Anna")
    kept = await vault.fetchrow("SELECT person, wrapped FROM person_keys WHERE person = $1", anna.id)
    answer = await anna.delete("/me")
    await anna.get(f"/tables?at_least={answer['position']}")
    await vault.execute("INSERT INTO person_keys VALUES ($1, $2)", *kept)
    await lobby.stop()
    if rows == "that have to learn":
        await vault.execute(f'DROP SCHEMA "{schema_of(LobbyRows(), settings.namespace)}" CASCADE')
    again = main.create(settings)
    await again.start()
    try:
        assert await vault.fetchval("SELECT count(*) FROM person_keys WHERE person = $1", anna.id) == 0
    finally:
        await again.stop()


async def test_people_whose_key_an_older_vault_lacks_are_counted(sign_up, vault, settings, lobby):
    """Who signed up after that backup has no name any more; `/health` says how many there are, the erased not among them."""
    anna, boris = await sign_up("Anna"), await sign_up("Boris")
    answer = await anna.delete("/me")
    await boris.get(f"/tables?at_least={answer['position']}")
    assert (await lobby.health())["without_key"] == 0
    await vault.execute("DELETE FROM person_keys WHERE person = $1", boris.id)
    await lobby.stop()
    again = main.create(settings)
    await again.start()
    try:
        assert (await again.health())["without_key"] == 1
    finally:
        await again.stop()


async def test_a_key_that_comes_back_under_a_running_lobby(sign_up, vault, settings, monkeypatch):
    """A crash before it, Postgres that was away, or a vault that is put back meanwhile: the next look destroys it."""
    monkeypatch.setattr(erasures, "AGAIN_S", 0.01)
    running = main.create(settings)
    await running.start()
    try:
        anna = await sign_up("Anna")
        kept = await vault.fetchrow("SELECT person, wrapped FROM person_keys WHERE person = $1", anna.id)
        answer = await anna.delete("/me")
        await anna.get(f"/tables?at_least={answer['position']}")
        await vault.execute("INSERT INTO person_keys VALUES ($1, $2)", *kept)
        async with asyncio.timeout(20):
            while await vault.fetchval("SELECT count(*) FROM person_keys WHERE person = $1", anna.id):  # noqa: ASYNC110 - Postgres sets no Event
                await asyncio.sleep(0.01)
    finally:
        await running.stop()
