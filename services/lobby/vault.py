"""The vault: every person's key, wrapped under a master key, in a Postgres schema of its own, never rebuilt, backed up apart.

Deleting a row is what erases a person: nothing that was sealed under their key can be read any more, in no copy of the log.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import msgspec

from services.lobby.database import Database
from shared.events.keys import MasterKeys
from shared.events.personal import PersonKeys
from shared.events.sealed import BoxKey, Sealed

_decode = msgspec.json.Decoder(Sealed).decode


def vault_schema(namespace: str) -> str:
    """The schema of the vault."""
    return f"{namespace}_vault" if namespace else "vault"


class Vault:
    """The keys of persons. Raises what Postgres raises when it is away."""

    def __init__(self, database: Database, keys: MasterKeys, namespace: str) -> None:
        self._database = database
        self._persons = PersonKeys(keys)
        self._schema = vault_schema(namespace)

    @property
    def table(self) -> str:
        """The table of the keys, as a statement names it."""
        return f'"{self._schema}".person_keys'

    @property
    def ddl(self) -> str:
        """Statements that make the schema where it is missing."""
        return f"""
            CREATE SCHEMA IF NOT EXISTS "{self._schema}";
            CREATE TABLE IF NOT EXISTS "{self._schema}".person_keys (person text PRIMARY KEY, wrapped bytea NOT NULL);
        """

    async def create(self, person: str, entropy: bytes) -> BoxKey:
        """A new key for a new `person`; `entropy` is 32 random bytes."""
        wrapped = self._persons.new(person, entropy)
        await self._database.run(
            f'INSERT INTO "{self._schema}".person_keys (person, wrapped) VALUES ($1, $2)',  # noqa: S608 - the schema is a setting, checked there
            person,
            msgspec.json.encode(wrapped),
        )
        return self._persons.unwrap(person, wrapped)

    async def digest(self, person: str) -> str:
        """SHA-256 of the person's wrapped key, hex; empty when there is none (any more)."""
        rows: list[Any] = await self._database.fetch(f"SELECT wrapped FROM {self.table} WHERE person = $1", person)  # noqa: S608 - see `create`
        return hashlib.sha256(rows[0]["wrapped"]).hexdigest() if rows else ""

    async def destroy(self, persons: Iterable[str]) -> None:
        """Destroy the keys of `persons`, for ever, where there still are some."""
        await self._database.run(f"DELETE FROM {self.table} WHERE person = ANY($1)", list(persons))  # noqa: S608 - see `create`

    async def key(self, person: str) -> BoxKey | None:
        """The person's key, None when there is none (any more)."""
        return (await self.keys([person])).get(person)

    async def keys(self, persons: Iterable[str]) -> dict[str, BoxKey]:
        """The keys of `persons`, without those that are erased."""
        rows: list[Any] = await self._database.fetch(
            f'SELECT person, wrapped FROM "{self._schema}".person_keys WHERE person = ANY($1)',  # noqa: S608 - see `create`
            list(persons),
        )
        return {row["person"]: self._persons.unwrap(row["person"], _decode(row["wrapped"])) for row in rows}
