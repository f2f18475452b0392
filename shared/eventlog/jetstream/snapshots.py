"""Snapshots on NATS JetStream: one stream, one message a part, the newest in place of the one before."""

from __future__ import annotations

from typing import Final

import msgspec
import structlog

from shared.eventlog.jetstream.connection import Connection, NoResponders, Unanswered, Unsent, status_of
from shared.eventlog.jetstream.streams import SNAPSHOTS, Namespace
from shared.eventlog.snapshots import LARGEST
from shared.events.address import Address

log = structlog.get_logger()

READ_SECONDS: Final = 0.25  # for one part; it takes under a millisecond, and folding a whole pulka instead some 70


class JetStreamSnapshots:
    """A `Snapshots`; see there."""

    def __init__(self, connection: Connection, namespace: Namespace) -> None:
        self._connection = connection
        self._namespace = namespace
        self._ask = f"$JS.API.DIRECT.GET.{namespace.stream(SNAPSHOTS)}"  # from any replica: an older one is as true

    async def read(self, address: Address, part: str) -> bytes | None:
        """See `Snapshots.read`."""
        try:
            query = msgspec.json.encode({"last_by_subj": self._subject(address, part), "no_hdr": True})  # to read headers takes 35 µs
            answer = await self._connection.request(self._ask, query, READ_SECONDS)
        except (Unsent, NoResponders, Unanswered) as cause:
            log.debug("snapshot_not_read", aggregate=address.subject, reason=type(cause).__name__)
            return None
        return None if status_of(answer) else answer.data

    async def keep(self, address: Address, part: str, data: bytes) -> None:
        """See `Snapshots.keep`."""
        if len(data) > LARGEST:
            return
        try:
            await self._connection.publish(self._subject(address, part), data)
        except Unsent as cause:
            log.debug("snapshot_not_kept", aggregate=address.subject, reason=str(cause))

    def _subject(self, address: Address, part: str) -> str:
        return f"{self._namespace.name}.snapshot.{address.subject}.{part}"
