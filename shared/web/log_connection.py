"""A process's connection to the log, as its settings say."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from shared.eventlog.jetstream.log import JetStreamLog, open_log
from shared.eventlog.jetstream.streams import DEFAULT_NAMESPACE
from shared.eventlog.jetstream.upkeep import StreamDrift
from shared.eventlog.port import LogError
from shared.web.service import CannotStart, ServersUnreachable
from shared.web.settings import Settings, masked


def end_process() -> None:
    """Stop in order, as by a signal from outside: a supervisor starts a process that can work again."""
    os.kill(os.getpid(), signal.SIGTERM)


async def connected_log(settings: Settings, name: str, on_closed: Callable[[], None] | None = end_process) -> JetStreamLog:
    """The log that `settings` name; `name` shows in the server's list of clients.

    `on_closed` hears of a connection that has ended for good (a revoked password); None where the next request says it in time.
    Raises `ServersUnreachable` with one line for a person, without the password; `CannotStart` for a log that does not fit the settings.
    """
    try:
        return await open_log(
            settings.nats_url,
            settings.namespace or DEFAULT_NAMESPACE,
            durable=settings.nats_durable,
            partitions=settings.partitions,
            used=settings.partitions_used,
            replicas=settings.replicas,
            max_bytes=settings.stream_bytes or None,
            on_closed=on_closed,
            name=name,
        )
    except StreamDrift as wrong:  # the servers answer, and trying again changes nothing
        raise CannotStart(f"NATS at {masked(settings.nats_url)}: {wrong}") from wrong
    except LogError as wrong:
        raise ServersUnreachable(f"NATS at {masked(settings.nats_url)}: {wrong}") from wrong
