"""Old events in today's form. A commit says under which schema it was written; what it holds is raised step by step before it is decoded.

A step takes the JSON object of one event as it was stored under schema n and returns it as schema n + 1 has it. Steps are never changed
once commits went through them, and never removed. When to raise the schema: see `catalogue`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from shared.events.catalogue import StoredTableEvent, decode_ledger_event, decode_lobby_event, decode_table_event, encode_event
from shared.events.commit import SCHEMA, Commit
from shared.events.ledger_events import AnyLedgerEvent
from shared.events.lobby_events import AnyLobbyEvent

Stored = dict[str, Any]


class NewerSchema(Exception):
    """The commit was written by a later version of this program; folding it would lose what this one does not know."""

    def __init__(self, commit: Commit) -> None:
        super().__init__(f"{commit.aggregate} revision {commit.revision} has schema {commit.schema}, this program knows {SCHEMA}")


def _card_played_0(stored: Stored) -> Stored:
    """Schema 0 knew no open play: every card was played by the seat that held it."""
    return stored | {"by": stored["seat"]}


# (service, event, the schema it was written under) -> the step to the next schema. Events that a schema did not change have no step.
STEPS: Final[dict[tuple[str, str, int], Callable[[Stored], Stored]]] = {
    ("table", "CardPlayed", 0): _card_played_0,
}


def current(commit: Commit) -> tuple[msgspec.Raw, ...]:
    """The events of `commit` in the form of today's schema. Raises `NewerSchema`."""
    if commit.schema == SCHEMA:
        return commit.events
    if commit.schema > SCHEMA:
        raise NewerSchema(commit)
    return tuple(_raised(commit, raw) for raw in commit.events)


def stored_table_events(commit: Commit) -> tuple[StoredTableEvent, ...]:
    """A table's commit as it lies in the log, boxes closed: all that somebody without keys can read.

    Raises `NewerSchema`, and `msgspec.ValidationError` for what the catalogue does not know.
    """
    return tuple([decode_table_event(raw) for raw in current(commit)])


def stored_lobby_events(commit: Commit) -> tuple[AnyLobbyEvent, ...]:
    """A lobby commit as it lies in the log, personal data sealed. Raises as `stored_table_events`."""
    return tuple([decode_lobby_event(raw) for raw in current(commit)])


def stored_ledger_events(commit: Commit) -> tuple[AnyLedgerEvent, ...]:
    """A commit of the ledger's own. Raises as `stored_table_events`."""
    return tuple([decode_ledger_event(raw) for raw in current(commit)])


def _raised(commit: Commit, raw: msgspec.Raw) -> msgspec.Raw:
    service = commit.aggregate.partition(".")[0]
    stored: Stored = msgspec.json.decode(raw)
    for schema in range(commit.schema, SCHEMA):
        step = STEPS.get((service, stored["type"], schema))
        if step is not None:
            stored = step(stored)
    return msgspec.Raw(encode_event(stored))
