"""A lobby on a real NATS and a real Postgres, asked over HTTP; and a hand that writes what the table service would."""

from __future__ import annotations

import secrets
import time
from typing import Any

import httpx
import msgspec
import pytest

from services.lobby import main
from shared.eventlog.jetstream.log import open_log
from shared.events import address
from shared.events.catalogue import encode_event
from shared.events.commit import FIRST_PREV_HASH, SCHEMA, Commit, encode, hash_of
from shared.events.keys import MasterKeys
from shared.rules.convention.options import PRESETS, to_document
from shared.rules.language.game_events import PulkaClosed, PulkaOpened, PulkaRefused
from shared.web.application import build
from shared.web.settings import Settings
from tests.token_keys import ISSUER, token_files


class Person:
    """Somebody with a token, or a stranger without one."""

    def __init__(self, client: httpx.AsyncClient, player: str = "", token: str = "") -> None:
        self.client, self.id, self.token = client, player, token

    async def ask(self, method: str, path: str, body: Any = None, key: str | None = None, status: int | None = None) -> Any:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        if key is not None:
            headers["Idempotency-Key"] = key
        answer = await self.client.request(method, f"/v1/lobby{path}", headers=headers, json=body)
        if status is not None:
            assert answer.status_code == status, answer.text
        return answer if status is None else answer.json()

    async def get(self, path: str, status: int = 200) -> Any:
        return await self.ask("GET", path, status=status)

    async def post(self, path: str, body: Any = None, key: str | None = None, status: int = 201) -> Any:
        return await self.ask("POST", path, body, key, status)

    async def delete(self, path: str, status: int = 200) -> Any:
        return await self.ask("DELETE", path, status=status)


class TableService:
    """Writes a table's own log, as the table service would."""

    def __init__(self, log: Any) -> None:
        self.log = log
        self.heads: dict[str, tuple[int, int, str]] = {}

    async def write(self, table_id: str, *events: Any) -> None:
        sequence, revision, prev = self.heads.get(table_id, (0, 0, FIRST_PREV_HASH))
        where = address.table(table_id)
        commit = Commit(
            aggregate=where.subject,
            revision=revision + 1,
            schema=SCHEMA,
            at=int(time.time() * 1000),
            actor="service",
            command_id=secrets.token_hex(8),
            command_digest="",
            cause=None,
            correlation=None,
            prev_hash=prev,
            events=tuple(msgspec.Raw(encode_event(event)) for event in events),
        )
        data = encode(commit)
        recorded = await self.log.append(where, data, sequence)
        self.heads[table_id] = (recorded.sequence, revision + 1, hash_of(data))

    async def open(self, table_id: str) -> None:
        await self.write(table_id, PulkaOpened(to_document(PRESETS["sochi"]), "00", 3, 10, ("a", "b", "c"), 0, {}))

    async def refuse(self, table_id: str) -> None:
        await self.write(table_id, PulkaRefused("malformed", "no"))

    async def close(self, table_id: str) -> None:
        await self.write(table_id, PulkaClosed("all_closed", {}))


@pytest.fixture
def settings(nats_url, postgres_dsn, namespace, tmp_path):
    MasterKeys.create(tmp_path / "master_keys", "k1", secrets.token_bytes(32))
    return Settings(
        nats_url=nats_url,
        postgres_dsn=postgres_dsn,
        namespace=namespace,
        master_keys_file=str(tmp_path / "master_keys"),
        **token_files(tmp_path),
    )


@pytest.fixture
async def lobby(settings):
    service = main.create(settings)
    await service.start()
    yield service
    await service.stop()


@pytest.fixture
async def client(lobby, settings):
    async with httpx.AsyncClient(transport=httpx.ASGITransport(build([lobby], settings)), base_url="http://test") as client:
        yield client


@pytest.fixture
def stranger(client):
    return Person(client)


@pytest.fixture
def sign_up(client):
    async def up(name: str = "Anna", **more: str) -> Person:
        answer = await Person(client).post("/players", {"name": name, **more})
        return Person(client, answer["player"]["id"], answer["token"])

    return up


@pytest.fixture
def host_token():
    return ISSUER.issue_host(int(time.time()))


@pytest.fixture
def sign_up_bot(client, host_token):
    async def up(name: str = "Robot") -> Person:
        answer = await Person(client, token=host_token).post("/players", {"name": name})
        return Person(client, answer["player"]["id"], answer["token"])

    return up


@pytest.fixture
async def log(settings, lobby):  # noqa: ARG001 - the lobby has made the streams
    log = await open_log(settings.nats_url, settings.namespace)
    yield log
    await log.close()


@pytest.fixture
def table_service(log):
    return TableService(log)
