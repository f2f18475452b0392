"""The event that records a switch of versions."""

from __future__ import annotations

from services.ledger.own.own_events import OwnEvents, versions_of
from shared.events.ledger_events import VersionSwitched
from shared.projections.versions.versions import Version


async def announce(own_events: OwnEvents, projection: str, version: Version) -> None:
    """Append `VersionSwitched`; once a switch, however often it is called. Raises `LogError`.

    The time of the switch is part of the command's id: a database that was lost counts its versions from 1 again.
    """
    at = version.switched or 0
    event = VersionSwitched(projection, version.number, version.previous, version.marks, version.author)
    await own_events.append(versions_of(projection), f"switch:{version.number}:{at}", at, event)
