"""The ledger's own events: what was done to its rows, appended to the log like any other decision, so that it outlives the database."""

from __future__ import annotations

import hashlib
from typing import Final

from shared.eventlog.aggregates.aggregates import Aggregates, Committed, Nothing, RefusedAt, Request
from shared.eventlog.aggregates.copies import without_copies
from shared.eventlog.port import EventLog
from shared.events.address import Address
from shared.events.catalogue import encode_event
from shared.events.commit import Commit, decode
from shared.events.ledger_events import AnyLedgerEvent
from shared.events.sealing import LedgerCodec
from shared.events.upcast import stored_ledger_events

CHECKPOINTS: Final = Address("ledger", "checkpoints", "club")
ARCHIVE: Final = Address("ledger", "archive", "club")
ACTOR: Final = "service"


def versions_of(projection: str) -> Address:
    """Where the switches of a projection lie."""
    return Address("ledger", "versions", projection)


def parking_of(projection: str) -> Address:
    """Where what was parked of a projection lies."""
    return Address("ledger", "parking", projection)


class OwnEvents:
    """Appends and reads them; any process of the ledger may, with any number of others."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._aggregates: Aggregates[None, AnyLedgerEvent] = Aggregates(
            log, LedgerCodec(), lambda _: None, lambda _state, _commit, _events: None
        )

    async def append(self, where: Address, command_id: str, now: int, *events: AnyLedgerEvent) -> None:
        """Make `events` durable as one commit, once for each `command_id`: a repeat changes nothing. `now` in milliseconds since 1970.

        Raises `Mismatch` for a `command_id` that stood for other events, and what `Aggregates.transact` raises.
        """
        payload = b"\n".join(encode_event(event) for event in events)  # holds no secret: a plain digest tells nothing
        request = Request(command_id, ACTOR, hashlib.sha256(payload).hexdigest(), now)
        result: Committed[None, AnyLedgerEvent] | RefusedAt | Nothing[None]
        result = await self._aggregates.transact(where, request, lambda _loaded, _at: events)
        assert isinstance(result, Committed), "there is an event, and nothing refuses it"  # noqa: S101 - says what `decide` above promises

    async def read(self, where: Address) -> list[tuple[Commit, AnyLedgerEvent]]:
        """All events of one aggregate in order, each with its commit, as the leader knows them. Raises `Unavailable`, `NewerSchema`."""
        head = await self._log.head(where)
        stored = [] if head is None else await self._log.read(where, until=head.sequence)
        commits = [decode(one.data) for one in without_copies(stored)]
        return [(commit, event) for commit in commits for event in stored_ledger_events(commit)]
