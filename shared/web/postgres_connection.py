"""What a person is told of a Postgres that cannot be worked with, and waiting for one that is only starting."""

from __future__ import annotations

import asyncio
from typing import Final

import asyncpg
import structlog

from shared.web.service import ServersUnreachable
from shared.web.settings import Settings, masked

STARTING_S: Final = 60.0  # seconds that a start waits for Postgres to start or recover; whoever supervises us tries again after that
PAUSE_S: Final = 0.5  # seconds between two questions
PATIENCE_S: Final = 3.0  # seconds to connect, as for a TCP connection

AWAY: Final = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)  # `TimeoutError` is an `OSError`
_SAID: Final[tuple[tuple[type[BaseException], str], ...]] = (  # the first that fits
    (asyncpg.CannotConnectNowError, "it is starting, recovering or stopping"),
    (asyncpg.InvalidAuthorizationSpecificationError, "user or password refused"),
    (asyncpg.InvalidCatalogNameError, "it has no such database"),
    (asyncpg.TooManyConnectionsError, "it takes no more connections"),
    (asyncpg.DiskFullError, "its disk is full"),
    (asyncpg.OperatorInterventionError, "it was told to stop"),
    (asyncpg.PostgresConnectionError, "the connection broke off"),
    (asyncpg.InterfaceError, "the connection broke off"),
    (asyncpg.InternalClientError, "the connection broke off"),
    (ConnectionRefusedError, "nothing listens there"),
    (TimeoutError, "it does not answer in time"),
    (ConnectionError, "the connection broke off"),
)

log = structlog.get_logger("web")


def why_away(wrong: BaseException) -> str:
    """What came of asking Postgres, in words for a person who knows nothing of the libraries that met it."""
    for kind, said in _SAID:
        if isinstance(wrong, kind):
            return said
    if isinstance(wrong, asyncpg.PostgresError):
        return f"it refuses: {wrong}"
    return (wrong.strerror if isinstance(wrong, OSError) else None) or "it cannot be reached"


def postgres_away(settings: Settings, wrong: BaseException) -> ServersUnreachable:
    """What to raise for what came of asking Postgres: one line, without the password."""
    return ServersUnreachable(f"Postgres at {masked(settings.postgres_dsn)}: {why_away(wrong)}")


async def postgres_started(settings: Settings, seconds: float = STARTING_S) -> None:
    """Wait, at most `seconds`, while Postgres says that it is starting or recovering. Raises `ServersUnreachable`, at once for any other
    trouble.
    """
    until = asyncio.get_running_loop().time() + seconds
    waited = False
    while True:
        try:
            connection = await asyncpg.connect(settings.postgres_dsn, timeout=PATIENCE_S)
        except asyncpg.CannotConnectNowError as wrong:
            if asyncio.get_running_loop().time() + PAUSE_S > until:
                raise postgres_away(settings, wrong) from wrong
            if not waited:
                log.warning("postgres_is_starting", seconds=seconds)
            waited = True
            await asyncio.sleep(PAUSE_S)
        except AWAY as wrong:
            raise postgres_away(settings, wrong) from wrong
        else:
            connection.terminate()  # no farewell to wait for: it was only asked whether it is there
            return
